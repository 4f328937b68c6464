#pragma once
// A function of the caller's, well-behaved or not: it fails after some evaluations, gives NaN,
// throws, calls the library again.

#include <atomic>

#include "call.hpp"

namespace lather::hostile {

struct Callee {
  enum class Manner { plain, fails, not_finite, throws, calls, frees };
  World* world = nullptr;
  std::size_t size = 0, residuals = 0;
  Manner manner = Manner::plain;
  std::uint64_t patience = 0, seed = 0;  // evaluations before it misbehaves
  std::atomic<std::uint64_t> evaluations = 0;

  // What the function returns, once it has written what it should; with not_finite a number is spoilt.
  std::int32_t end(double* written);
  // A call of the library from within a call of the library.
  void call();
  [[noreturn]] void raise_it();
  // Frees an object, perhaps the one whose call this is.
  void free_one();
};

std::int32_t callee_value(void* user, const double* x, double* value, double* gradient);
std::int32_t callee_residuals(void* user, const double* x, double* r);
std::int32_t callee_jacobian(void* user, const double* x, std::uint64_t first, std::uint64_t count,
                             double* rows);
std::int32_t callee_progress(void* user, const lather_progress* progress);
void callee_message(void* user, const char* text);

// Whether a function of the caller's has failed since the last time this was asked, in this thread.
bool callback_failed();
std::uint64_t callback_failures();  // so far, in all threads

}  // namespace lather::hostile
