#include "lather/symbolic/machine/machine.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "lather/linalg/vector_math.hpp"

namespace lather::symbolic {

template <class T>
int Machine<T>::base_of(const Operand& operand) const {
  const int inputs = program_->inputs, outputs = program_->outputs;
  const int constants = static_cast<int>(program_->constants.size());
  switch (operand.place) {
    case Operand::Place::input: return operand.index;
    case Operand::Place::output: return inputs + operand.index;
    case Operand::Place::constant: return inputs + outputs + operand.index;
    case Operand::Place::reg: return inputs + outputs + constants + operand.index;
    default: return -1;
  }
}

template <class T>
Machine<T>::Machine(const Program& program, const Binding& binding)
    : program_(&program), is_scalar_(program.inputs), is_summed_(program.outputs) {
  for (int i : binding.scalar_inputs) is_scalar_[i] = true;
  for (int j : binding.summed_outputs) is_summed_[j] = true;
  for (const auto& i : program.code)
    steps_.push_back({i.op, base_of(i.result), base_of(i.a), base_of(i.b), base_of(i.c)});

  const std::size_t constants = program.constants.size();
  const std::size_t arrays =
      constants + program.registers + binding.scalar_inputs.size() + binding.summed_outputs.size();
  scratch_ = Buffer<T>(arrays * kChunk);
  bases_.resize(program.inputs + program.outputs + constants + program.registers);
  T* next = scratch_.data();
  const auto take = [&next] { return std::exchange(next, next + kChunk); };
  for (std::size_t k = 0; k < constants; ++k) {
    T* array = bases_[program.inputs + program.outputs + k] = take();
    std::fill_n(array, kChunk, static_cast<T>(program.constants[k]));
  }
  for (int r = 0; r < program.registers; ++r)
    bases_[program.inputs + program.outputs + constants + r] = take();
  for (int i : binding.scalar_inputs) bases_[i] = take();
  for (int j : binding.summed_outputs) bases_[program.inputs + j] = take();
}

template <class T>
void Machine<T>::run(std::size_t n, std::span<const T* const> inputs, std::span<T* const> outputs) {
  assert(static_cast<int>(inputs.size()) == program_->inputs &&
         static_cast<int>(outputs.size()) == program_->outputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (is_scalar_[i]) std::fill_n(bases_[i], kChunk, *inputs[i]);
  for (std::size_t start = 0; start < n; start += kChunk) {
    const std::size_t count = std::min(kChunk, n - start);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!is_scalar_[i]) bases_[i] = const_cast<T*>(inputs[i]) + start;  // inputs are never results
    for (std::size_t j = 0; j < outputs.size(); ++j)
      if (!is_summed_[j]) bases_[inputs.size() + j] = outputs[j] + start;
    execute(count);
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      if (!is_summed_[j]) continue;
      const T* values = bases_[inputs.size() + j];
      T sum = 0;
      for (std::size_t k = 0; k < count; ++k) sum += values[k];
      *outputs[j] += sum;
    }
  }
}

namespace {

// Element-wise loops; the result may be one of the operands.
#ifdef __clang__
#define LATHER_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define LATHER_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif
template <class T, class F>
inline void map(std::size_t n, T* r, const T* a, const F& f) {
  LATHER_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < n; ++i) r[i] = f(a[i]);
}
template <class T, class F>
inline void map(std::size_t n, T* r, const T* a, const T* b, const F& f) {
  LATHER_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < n; ++i) r[i] = f(a[i], b[i]);
}
template <class T, class F>
inline void map(std::size_t n, T* r, const T* a, const T* b, const T* c, const F& f) {
  LATHER_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < n; ++i) r[i] = f(a[i], b[i], c[i]);
}

}  // namespace

template <class T>
void Machine<T>::execute(std::size_t n) {
  namespace vmath = linalg::vmath;
  for (const Step& s : steps_) {
    T* const r = bases_[s.result];
    const T* const a = bases_[s.a];
    const T* const b = s.b < 0 ? nullptr : bases_[s.b];
    const T* const c = s.c < 0 ? nullptr : bases_[s.c];
    switch (s.op) {
      case Opcode::copy: map(n, r, a, [](T x) { return x; }); break;
      case Opcode::add: map(n, r, a, b, [](T x, T y) { return x + y; }); break;
      case Opcode::sub: map(n, r, a, b, [](T x, T y) { return x - y; }); break;
      case Opcode::mul: map(n, r, a, b, [](T x, T y) { return x * y; }); break;
      case Opcode::div: map(n, r, a, b, [](T x, T y) { return x / y; }); break;
      case Opcode::multiply_add: map(n, r, a, b, c, [](T x, T y, T z) { return x * y + z; }); break;
      case Opcode::multiply_subtract: map(n, r, a, b, c, [](T x, T y, T z) { return x * y - z; }); break;
      case Opcode::subtract_product: map(n, r, a, b, c, [](T x, T y, T z) { return z - x * y; }); break;
      case Opcode::min: map(n, r, a, b, [](T x, T y) { return y < x ? y : x; }); break;
      case Opcode::max: map(n, r, a, b, [](T x, T y) { return x < y ? y : x; }); break;
      case Opcode::atan2: map(n, r, a, b, [](T y, T x) { return std::atan2(y, x); }); break;
      case Opcode::gate: map(n, r, a, b, [](T x, T y) { return x != 0 ? y : T(0); }); break;
      case Opcode::abs: map(n, r, a, [](T x) { return std::abs(x); }); break;
      case Opcode::sign: map(n, r, a, [](T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x; }); break;
      case Opcode::step: map(n, r, a, [](T x) { return x >= 0 ? T(1) : T(0); }); break;
      case Opcode::sqrt: vmath::sqrt(a, r, n); break;
      case Opcode::exp: vmath::exp(a, r, n); break;
      case Opcode::log: vmath::log(a, r, n); break;
      case Opcode::sin: vmath::sin(a, r, n); break;
      case Opcode::cos: vmath::cos(a, r, n); break;
      case Opcode::tan: vmath::tan(a, r, n); break;
      case Opcode::sinh: vmath::sinh(a, r, n); break;
      case Opcode::cosh: vmath::cosh(a, r, n); break;
      case Opcode::tanh: vmath::tanh(a, r, n); break;
      case Opcode::asinh: vmath::asinh(a, r, n); break;
      case Opcode::atan: vmath::atan(a, r, n); break;
      case Opcode::erf: vmath::erf(a, r, n); break;
      case Opcode::sigmoid: vmath::sigmoid(a, r, n); break;
      case Opcode::softplus: vmath::softplus(a, r, n); break;
      case Opcode::power: vmath::pow(a, b, r, n); break;
    }
  }
}

template class Machine<double>;
template class Machine<float>;

}  // namespace lather::symbolic
