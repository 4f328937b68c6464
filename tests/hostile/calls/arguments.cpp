// Numbers, arrays and structures as arguments: mostly sensible, always of the size that the
// contract asks for.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "callee.hpp"
#include "texts.hpp"

namespace lather::hostile {

namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

double strange(Chance& chance) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return chance.of(
      {std::nan(""), kInfinity, -kInfinity, 1e308, -1e308, 1e200, 1e-310, -0.0, 1e16, -1.0, 1e30});
}

}  // namespace

std::int32_t Call::device() {
  const auto device = chance_.one_in(12) ? chance_.of({1, 2, -1, INT32_MIN, INT32_MAX}) : 0;
  note(std::to_string(device));
  return device;
}
std::int32_t Call::flag() {
  const auto value = chance_.of({0, 1, 0, 1, 0, 1, 2, -1, INT32_MIN});
  note(std::to_string(value));
  return value;
}
std::int64_t Call::most() {
  const auto value = chance_.one_in(6) ? chance_.of<std::int64_t>({0, -1, INT64_MIN})
                                       : static_cast<std::int64_t>(chance_.between(1, 3));
  note(std::to_string(value));
  return value;
}
std::uint64_t Call::seed() {
  const std::uint64_t value =
      chance_.one_in(4) ? chance_.of<std::uint64_t>({kMost, 1u << 31, 1ull << 63}) : chance_.below(5);
  note(std::to_string(value));
  return value;
}
double Call::number() {
  const double value = chance_.one_in(6) ? strange(chance_) : 2 * chance_.uniform();
  if (world_.told) note(std::to_string(value));
  return value;
}

double* Call::array(std::size_t count) {
  auto* list = static_cast<double*>(maybe(count * sizeof(double)));
  if (!list) return nullptr;
  const double size = chance_.one_in(8) ? 1e3 : 1;
  for (std::size_t i = 0; i < count; ++i) list[i] = size * (2 * chance_.uniform() - 1);
  if (count > 0 && chance_.one_in(8)) list[chance_.below(count)] = strange(chance_);
  return list;
}
const double* Call::numbers(std::size_t count) {
  const double* list = array(count);
  if (list)
    kept_.push_back({list, std::string(reinterpret_cast<const char*>(list), count * sizeof(double)), true});
  return list;
}
double* Call::output(std::size_t count) { return array(count); }
double* Call::kept_on_failure(std::size_t count) {
  double* list = array(count);
  if (list)
    kept_.push_back({list, std::string(reinterpret_cast<const char*>(list), count * sizeof(double)), false});
  return list;
}

std::uint64_t Call::first_row(std::uint64_t all) {
  const std::uint64_t first = chance_.one_in(8) ? chance_.of<std::uint64_t>({all, all + 1, kMost, 1ull << 61})
                                                : chance_.below(all + 1);
  note(std::to_string(first));
  return first;
}
std::uint64_t Call::row_count(std::uint64_t all, std::uint64_t first) {
  const std::uint64_t left = first < all ? all - first : 0;
  const std::uint64_t count =
      chance_.one_in(8) ? chance_.of<std::uint64_t>({left + 1, kMost, kMost - first + 1, 1ull << 61})
                        : chance_.below(left + 1);
  note(std::to_string(count));
  return count;
}
bool Call::fits(std::uint64_t all, std::uint64_t first, std::uint64_t count) {
  return first <= all && count <= all - first;
}

// More points than fit in an array come with NULL instead of one.
std::uint64_t Call::point_count() {
  const std::uint64_t count = chance_.one_in(12)
                                  ? chance_.of<std::uint64_t>({kMost, 1ull << 61, 1ull << 63, 1ull << 40})
                                  : chance_.below(6);
  note(std::to_string(count));
  return count;
}
const double* Call::points(std::uint64_t count, std::size_t dimensions) {
  if (count > 1000) {
    note("NULL");
    return nullptr;
  }
  double* list = array(count * dimensions);
  for (std::size_t i = 0; list && i < count * dimensions; ++i)
    if (std::abs(list[i]) <= 1) list[i] = std::abs(list[i]);
  if (list)
    kept_.push_back(
        {list, std::string(reinterpret_cast<const char*>(list), count * dimensions * sizeof(double)), true});
  return list;
}
double* Call::table(std::uint64_t count, std::size_t columns) {
  return count > 1000 ? nullptr : output(count * columns);
}

const lather_tensor* Call::tensors(lather_optimizer* optimizer) {
  const auto sizes = world_.facts(optimizer).block_sizes;
  length_ = chance_.one_in(12) ? chance_.below(sizes.size() + 1) : sizes.size();
  if (length_ > 0 && chance_.one_in(24)) {
    note("NULL");
    return nullptr;
  }
  const bool single = chance_.one_in(3);
  auto* list = static_cast<lather_tensor*>(take(length_ * sizeof(lather_tensor)));
  for (std::size_t k = 0; k < length_; ++k) {
    // What the optimizer has of float32 blocks are single numbers: half the bytes.
    const std::size_t doubles = single ? (sizes[k] + 1) / 2 : sizes[k];
    double* parameter = kept_on_failure(doubles);
    const double* gradient = numbers(doubles);
    if (single)
      for (double* block : {parameter, const_cast<double*>(gradient)})
        for (std::size_t i = 0; block && i < sizes[k]; ++i) reinterpret_cast<float*>(block)[i] = 0.5f;
    list[k] = {parameter, gradient, single ? LATHER_FLOAT32 : LATHER_FLOAT64, sizes[k]};
    if (chance_.one_in(30)) list[k].type = chance_.of<std::int64_t>({2, -1, INT64_MIN});
    if (chance_.one_in(30)) list[k].count = chance_.of<std::uint64_t>({0, sizes[k] + 1, UINT64_MAX});
  }
  if (single)  // written over after they were remembered
    for (auto& kept : kept_) kept.before.assign(static_cast<const char*>(kept.now), kept.before.size());
  return list;
}

const void* Call::state(lather_optimizer* optimizer) {
  std::string bytes;
  const void* saved = nullptr;
  std::uint64_t count = 0;
  if (!world_.states.empty() && chance_.one_in(2))
    bytes = chance_.any(world_.states);
  else if (optimizer && lather_optimizer_save(optimizer, &saved, &count) == LATHER_OK)
    bytes.assign(static_cast<const char*>(saved), count);
  if (chance_.one_in(2)) bytes = texts::damaged(chance_, bytes);
  length_ = bytes.size();
  void* copy = maybe(bytes.size());
  if (!copy) return nullptr;
  std::memcpy(copy, bytes.data(), bytes.size());
  kept_.push_back({copy, bytes, true});
  return copy;
}
void Call::remember_state(const void*, const void* bytes, std::uint64_t count) {
  if (visitor_ || !bytes) return;
  world_.states.emplace_back(static_cast<const char*>(bytes), count);
  if (world_.states.size() > 4) world_.states.erase(world_.states.begin());
}
std::uint64_t Call::length(const void*) const { return length_; }

// As long as it says, up to the members that a later version may append; now and then shorter.
template <class Struct>
Struct* Call::structure(Struct filled) {
  if (chance_.one_in(10)) {
    note("NULL");
    return nullptr;
  }
  std::uint64_t size = sizeof(Struct);
  if (chance_.one_in(8))
    size = chance_.one_in(3) ? chance_.of<std::uint64_t>({0, 1, 7, 8}) : chance_.below(sizeof(Struct) + 64);
  if (world_.told) note("size " + std::to_string(size));
  char* place = static_cast<char*>(take(std::max<std::size_t>(size, sizeof size)));
  std::memset(place, 0, std::max<std::size_t>(size, sizeof size));
  filled.size = size;
  std::memcpy(place, &filled, std::min<std::size_t>(std::max<std::size_t>(size, sizeof size), sizeof filled));
  return reinterpret_cast<Struct*>(place);
}

lather_step* Call::step() { return structure(lather_step{}); }

lather_function Call::callee(std::size_t size) {
  pending_ = std::make_shared<Callee>();
  world_.keep(pending_);
  auto& callee = *pending_;
  callee.world = &world_;
  callee.size = size;
  callee.seed = chance_.bits();
  using Manner = Callee::Manner;
  callee.manner = chance_.of({Manner::plain, Manner::plain, Manner::plain, Manner::plain, Manner::fails,
                              Manner::not_finite, Manner::throws, Manner::calls, Manner::frees});
  callee.patience = chance_.below(12);
  lather_function function{};
  function.size = sizeof function;
  function.user = &callee;
  if (!chance_.one_in(4)) {
    callee.residuals = chance_.between(1, 2 * size + 1);
    function.residual_count = callee.residuals;
    function.residuals = callee_residuals;
    function.jacobian = callee_jacobian;
  }
  if (function.residual_count == 0 || chance_.one_in(2)) function.value = callee_value;
  return function;
}

const lather_function* Call::function() {
  auto filled = callee(8);  // the size follows with the blocks
  if (chance_.one_in(20)) filled.value = nullptr;
  if (chance_.one_in(20)) filled.residuals = nullptr;
  if (chance_.one_in(20)) filled.jacobian = nullptr;
  if (chance_.one_in(40) && !filled.residuals) filled.residual_count = kMost;
  return structure(filled);
}

void* Call::watched() {
  callee(0);
  return pending_.get();
}

const lather_watcher* Call::watcher(lather_trainer* trainer) {
  after_ = [this, armed = world_.stopper.arm(trainer, nullptr)](std::int32_t) {
    world_.stopper.disarm(armed);
  };
  lather_watcher filled{};
  filled.user = watched();
  if (!chance_.one_in(4)) filled.progress = callee_progress;
  if (!chance_.one_in(4)) filled.message = callee_message;
  filled.interval = number();
  return structure(filled);
}

const lather_runs_watcher* Call::runs_watcher() {
  after_ = [this, armed = world_.stopper.arm(nullptr, &stop_)](std::int32_t) {
    world_.stopper.disarm(armed);
  };
  lather_runs_watcher filled{};
  filled.size = sizeof filled;
  filled.user = watched();
  filled.message = chance_.one_in(2) ? callee_message : nullptr;
  filled.stop = &stop_;
  auto* place = static_cast<lather_runs_watcher*>(take(sizeof filled));
  *place = filled;
  return place;
}

}  // namespace lather::hostile
