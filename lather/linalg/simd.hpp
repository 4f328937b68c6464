#pragma once
// The vector registers of the instruction set this file is compiled for (GCC vector extensions: + - * / and
// comparisons work lane by lane, a scalar operand is broadcast, a*b + c becomes one fused multiply-add where
// the machine has it). Only for the .cpp files of lather/linalg: a user of the library may compile for
// another instruction set.

#include <cstddef>
#include <cstring>

namespace lather::linalg {

#if defined(__AVX512F__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;
#endif

template <class T>
inline constexpr std::size_t kLanes = kVectorBytes / sizeof(T);

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
inline Vector<T> load(const T* from) {
  Vector<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class T>
inline void store(T* to, const Vector<T>& v) {
  std::memcpy(to, &v, sizeof v);
}

}  // namespace lather::linalg
