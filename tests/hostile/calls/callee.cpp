#include "callee.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace lather::hostile {

namespace {

thread_local bool failed = false;
std::atomic<std::uint64_t> failures = 0;  // in all threads
thread_local int depth = 0;

// Every number that the contract promises can be read.
double sum(const double* x, std::size_t count) {
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) total += x[i];
  return total;
}

}  // namespace

bool callback_failed() { return std::exchange(failed, false); }
std::uint64_t callback_failures() { return failures; }

void Callee::call() {
  if (depth > 0) return;
  ++depth;
  static thread_local GuardedMemory memory;
  Chance chance(mixed(seed, evaluations));
  const bool before = failed;  // the inner call judges its own functions
  failed = false;
  make_call(*world, memory, chance.any(table()), chance.bits(), true);
  failed = before;
  --depth;
}

void Callee::free_one() {
  if (world->crowded) return;
  Chance chance(mixed(seed, evaluations));
  const auto slot = chance.below(World::kSlots);
  const auto free = [&](auto& slots, auto* release) {
    auto* object = std::exchange(slots[slot], nullptr);
    if (world->told && object) std::fprintf(stderr, "    (frees an object)\n");
    release(object);
    world->forget(object);
  };
  switch (chance.below(4)) {
    case 0: return free(world->problems, lather_problem_free);
    case 1: return free(world->objectives, lather_objective_free);
    case 2: return free(world->optimizers, lather_optimizer_free);
    default: free(world->trainers, lather_trainer_free);
  }
}

void Callee::raise_it() {
  failed = true;
  ++failures;
  if (seed % 3 == 0) throw seed;  // no std::exception
  throw std::runtime_error("thrown by a function of the caller's");
}

std::int32_t Callee::end(double* written) {
  if (evaluations++ < patience) return 0;
  switch (manner) {
    case Manner::plain: return 0;
    case Manner::calls: call(); return 0;
    case Manner::frees: free_one(); return 0;
    case Manner::not_finite:
      *written = evaluations % 2 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                      : std::numeric_limits<double>::infinity();
      return 0;
    case Manner::throws: raise_it();
    case Manner::fails: break;
  }
  failed = true;
  ++failures;
  return evaluations % 2 == 0 ? -1 : 1;
}

// sum of (x_i - i)^2, as a value with gradient or as residuals; the residuals beyond the size are 1.
std::int32_t callee_value(void* user, const double* x, double* value, double* gradient) {
  auto& callee = *static_cast<Callee*>(user);
  *value = sum(x, callee.size);
  *value = 0;
  for (std::size_t i = 0; i < callee.size; ++i) {
    const double off = x[i] - static_cast<double>(i % 8);
    *value += off * off;
    if (gradient) gradient[i] = 2 * off;
  }
  return callee.end(gradient ? gradient : value);
}

std::int32_t callee_residuals(void* user, const double* x, double* r) {
  auto& callee = *static_cast<Callee*>(user);
  r[0] = sum(x, callee.size);
  for (std::size_t i = 0; i < callee.residuals; ++i)
    r[i] = i < callee.size ? x[i] - static_cast<double>(i % 8) : 1;
  return callee.end(r);
}

std::int32_t callee_jacobian(void* user, const double* x, std::uint64_t first, std::uint64_t count,
                             double* rows) {
  auto& callee = *static_cast<Callee*>(user);
  if (count == 0) return 0;
  if (first > callee.residuals || count > callee.residuals - first)
    defect("rows of a Jacobian that has fewer");
  rows[0] = sum(x, callee.size);
  std::memset(rows, 0, count * callee.size * sizeof(double));
  for (std::uint64_t k = 0; k < count; ++k)
    if (first + k < callee.size) rows[k * callee.size + first + k] = 1;
  return callee.end(rows);
}

std::int32_t callee_progress(void* user, const lather_progress* progress) {
  auto& callee = *static_cast<Callee*>(user);
  if (progress->size < sizeof(lather_progress) || progress->step < 0) defect("a progress that is none");
  double ignored = 0;
  const auto status = callee.end(&ignored);
  failed = false;  // it asks the run to end, which is no failure
  return status;
}

void callee_message(void* user, const char* text) {
  auto& callee = *static_cast<Callee*>(user);
  if (std::strlen(text) > (1u << 20)) defect("a message of more than a megabyte");
  if (callee.manner == Callee::Manner::calls) callee.call();
  if (callee.manner == Callee::Manner::throws && callee.evaluations++ >= callee.patience) callee.raise_it();
}

}  // namespace lather::hostile
