#include "lather/train/needs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "lather/core/memory.hpp"
#include "lather/core/threads.hpp"
#include "lather/linalg/gemm.hpp"
#include "lather/net/architecture.hpp"
#include "lather/optim/least_squares/output_layer/linear.hpp"
#include "lather/optim/memory_need.hpp"
#include "lather/optim/quasi_newton/inverse_hessian.hpp"
#include "lather/parallel/communicator.hpp"
#include "lather/pde/engine/host_jacobian.hpp"
#include "lather/pde/sampling/region.hpp"
#include "lather/symbolic/differentiate.hpp"
#include "lather/train/accuracy/accuracy.hpp"

namespace lather::train {

namespace {

constexpr double kDouble = sizeof(double);

double number(std::size_t count) { return static_cast<double>(count); }

// What optimizers ask of residuals about sizes, without an engine.
class SizesOfResiduals final : public optim::Residuals {
 public:
  SizesOfResiduals(std::size_t parameters, std::size_t residuals, double room)
      : parameters_(parameters), residuals_(residuals), room_(room) {}
  std::size_t size() const override { return parameters_; }
  std::size_t residual_count() const override { return residuals_; }
  double normal_matrix_bytes(std::size_t dimension) const override {
    return pde::HostJacobian::kNormalMatrixCopies * Residuals::normal_matrix_bytes(dimension);
  }
  double available_bytes() const override { return room_; }

 private:
  std::size_t parameters_, residuals_;
  double room_;
};

struct SetSize {
  double points, residuals, terms, columns, held_out;
  double tries;  // candidates drawn for a point
  bool surface;  // normals are kept with them
  bool interior;
};

std::vector<SetSize> sizes_of_sets(const Config& config, const pde::Problem& problem) {
  const auto settings = pde::sampling_settings(config.training.points, problem);
  std::vector<SetSize> sizes;
  for (std::size_t s = 0; s < problem.point_sets.size(); ++s) {
    const auto& set = problem.point_sets[s];
    const bool data = set.kind == pde::PointSet::Kind::data;
    SetSize size{};
    size.points = number(data ? set.rows.size() : settings.counts[s]);
    size.residuals = size.points / number(set.group);
    size.columns = number(set.columns.size());
    size.interior = set.kind == pde::PointSet::Kind::interior;
    const auto held_out = static_cast<double>(settings.options.validation);
    size.held_out = !data && held_out > 0 ? held_out : size.points;
    size.tries = 1;
    for (const auto& piece : set.pieces)
      if (piece.region) {
        size.tries = std::max(size.tries, 1.1 / piece.region->share());
        size.surface = piece.region->carrier() == pde::Region::Carrier::boundary;
      }
    for (const auto& term : problem.terms) size.terms += term.point_set == static_cast<int>(s);
    sizes.push_back(size);
  }
  return sizes;
}

// Held only for a while: the largest counts.
Need largest_passing(const Config& config, const pde::Problem& problem, const std::vector<SetSize>& sets,
                     double saved_bytes) {
  const double d = problem.dimensions();
  const auto& sampling = config.training.points.sampling;
  Need draw{"drawing points", 0}, candidates{"candidates of adaptive sampling", 0},
      held_out{"held-out points", 0}, grid{"the grid on which errors are taken", 0};
  double stored = 0;
  for (const SetSize& s : sets) {
    const double row = d + s.columns;
    stored += s.points * row * kDouble;
    const double surface = s.surface ? 7 : 0;
    draw.bytes = std::max(draw.bytes, s.points * s.tries * (row + d + surface) * kDouble);
    held_out.bytes =
        std::max(held_out.bytes, s.held_out * (row + std::max(d * s.tries, s.terms + 1)) * kDouble);
    const bool adaptive = s.interior && sampling.method == pde::SamplingMethod::adaptive &&
                          sampling.every > 0 && config.stop.steps > sampling.every;
    const double count = sampling.candidates > 0 ? static_cast<double>(sampling.candidates) : 10 * s.points;
    if (adaptive)
      candidates.bytes =
          std::max(candidates.bytes, count * (row + std::max(d * s.tries, s.terms + 4)) * kDouble);
  }
  if (config.record.reference && (!problem.exact.empty() || !problem.reference.solver.empty())) {
    const double places = std::pow(static_cast<double>(default_grid(problem.dimensions())), d);
    grid.bytes = places * (d + 4 * number(problem.fields.size())) * kDouble;
  }
  // The state as one text, which grows by doubling, and the file made of it.
  const Need checkpoint{"copies for a checkpoint", 3 * (saved_bytes + stored)};
  return std::max({draw, candidates, held_out, grid, checkpoint},
                  [](const Need& a, const Need& b) { return a.bytes < b.bytes; });
}

struct Network {
  net::Tape tape;
  optim::ParameterLayout layout;
  double width;  // of all its values together
};

Network network_of(const pde::Problem& problem, std::int64_t corrections) {
  std::vector<net::NetworkOptions> networks(static_cast<std::size_t>(1 + corrections), problem.network);
  networks.insert(networks.begin(), problem.earlier_networks.begin(), problem.earlier_networks.end());
  auto tape = net::build_sum(networks, static_cast<int>(problem.network_inputs.size()), problem.outputs());
  auto layout = tape.parameters();
  for (const auto& unknown : problem.unknowns) layout.add_scalar("unknown." + unknown.name);
  double width = 0;
  for (const int w : tape.buffer_widths()) width += number(linalg::padded_width<double>(w));
  return {std::move(tape), std::move(layout), width};
}

// Values and derivatives of all layers at a tile of points, for every point set and thread: values, what comes
// back, and what is kept in between.
double tiles_of_thread(const pde::Problem& problem, double width, double number_size) {
  constexpr double kRows = 96, kArrays = 3;
  double bytes = 0;
  for (const auto& set : problem.point_sets)
    bytes +=
        kArrays * std::max(kRows, number(set.group) * (1.0 + problem.dimensions())) * width * number_size;
  return bytes;
}

// Threads: stacks are reserved whole, which counts where address space is limited; of others a part is used.
double stack_bytes() {
  constexpr double kUsed = 128 * 1024;
  rlimit space{}, stack{};
  const bool limited = ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  if (!limited || ::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur == RLIM_INFINITY) return kUsed;
  return static_cast<double>(stack.rlim_cur);
}

// Points tried side by side, each with a copy of the weights.
double trials_of(const optim::OptimizerSpec& optimizer) {
  if (!optimizer.entry().needs_residuals) return 0;
  return optimizer.name == "lm" ? 3 : optimizer.name == "linear" ? 1 : 8;
}

Needs needs_with_room(const Config& config, const pde::Problem& problem, double room) {
  const auto sets = sizes_of_sets(config, problem);
  const Network network = network_of(problem, config.training.corrections.count);
  const double parameters = number(network.layout.size()), d = problem.dimensions();
  const bool cuda = config.device == Device::cuda;
  const double number_size = config.precision == pde::Precision::float32 ? sizeof(float) : sizeof(double);

  double points = 0, on_device = 0, residuals = 0, weighted = 0;
  for (const SetSize& s : sets) {
    const double row = d + s.columns;
    points += s.points * (2 * row + number(problem.tables.size())) * kDouble;
    on_device += s.points * (row + number(problem.tables.size()) + s.terms) * number_size;
    residuals += s.residuals * s.terms;
    weighted += s.residuals * s.terms * kDouble;
  }
  if (config.training.causal || config.training.weighting.method != WeightingMethod::fixed)
    points += 2 * weighted;

  const int asked = static_cast<int>(config.threads);
  const double threads = std::min(asked, pde::most_threads());
  const double shards = static_cast<double>(config.shards > 0 ? config.shards : config.threads);
  const double gradients = threads * (1 + std::log2(std::max(1.0, shards / threads)));
  // Parameters now, at their best, at the start and as a gradient; weights as they are multiplied with, and
  // transposed.
  const double copies = 5 * kDouble + 2 * number_size * (1 + trials_of(config.optimizer));

  const SizesOfResiduals source(network.layout.size(), static_cast<std::size_t>(residuals), room);
  const auto optimizer =
      optim::memory_need(config.optimizer, network.layout, problem.terms.size(), config.stop.steps, source);
  const bool optimizer_there =
      cuda && (config.optimizer.entry().construct_on_device || trials_of(config.optimizer) > 0);

  Needs needs;
  needs.host = {
      {"points", points},
      {"the network", parameters * copies},
      {fmt::format("the optimizer ({})", config.optimizer.name), optimizer_there ? 0 : optimizer.held}};
  if (!cuda)
    needs.host.push_back({fmt::format("{:.0f} thread{}", threads, threads == 1 ? "" : "s"),
                          threads * (stack_bytes() + tiles_of_thread(problem, network.width, number_size)) +
                              gradients * parameters * kDouble});
  needs.host.push_back(largest_passing(config, problem, sets, optimizer.saved + 3 * parameters * kDouble));
  if (cuda)
    needs.device = {
        {"points", on_device},
        {"the network", parameters * (2 * kDouble + 4 * number_size)},
        {fmt::format("the optimizer ({})", config.optimizer.name), optimizer_there ? optimizer.held : 0}};
  // All ranks of this machine take their share of the same memory.
  if (config.ranks && config.ranks->transport() == "sockets on this machine")
    for (Need& need : needs.host) need.bytes *= config.ranks->size();
  return needs;
}

double sum(const std::vector<Need>& needs) {
  double total = 0;
  for (const Need& need : needs) total += need.bytes;
  return total;
}

// Parts of a hundredth or more, the largest first.
std::string listed(std::vector<Need> needs) {
  const double total = sum(needs);
  std::stable_sort(needs.begin(), needs.end(),
                   [](const Need& a, const Need& b) { return a.bytes > b.bytes; });
  std::vector<std::string> words;
  for (const Need& need : needs)
    if (need.bytes >= 0.01 * total) words.push_back(readable_bytes(need.bytes) + " for " + need.what);
  return fmt::format("{}", fmt::join(words, ", "));
}

// The largest of `least`, …, `most` that passes, to two digits; nothing if `least` does not.
std::optional<std::int64_t> largest_passing_number(std::int64_t least, std::int64_t most,
                                                   const std::function<bool(std::int64_t)>& passes) {
  if (least >= most || !passes(least)) return {};
  while (most - least > std::max<std::int64_t>(1, least / 100)) {
    const std::int64_t middle = least + (most - least) / 2;
    (passes(middle) ? least : most) = middle;
  }
  std::int64_t unit = 1;
  while (least / unit >= 100) unit *= 10;
  return least / unit * unit;
}

// Settings that would do, each on its own.
std::string what_fits(const Config& config, const pde::Problem& problem,
                      const std::function<bool(const Config&, const pde::Problem&)>& fits) {
  std::vector<std::string> ways;
  const auto counts = pde::sampling_settings(config.training.points, problem).counts;
  std::size_t largest = counts.size();
  for (std::size_t s = 0; s < counts.size(); ++s)
    if (problem.point_sets[s].kind != pde::PointSet::Kind::data &&
        (largest == counts.size() || counts[s] > counts[largest]))
      largest = s;
  if (largest < counts.size()) {
    const auto& set = problem.point_sets[largest];
    const auto least = static_cast<std::int64_t>(std::max<std::size_t>(1, set.pieces.size()));
    const auto most = largest_passing_number(least, static_cast<std::int64_t>(counts[largest]), [&](auto n) {
      Config other = config;
      other.training.points.points[set.name] = n;
      return fits(other, problem);
    });
    if (most) ways.push_back(fmt::format("--set training.points.{}={}", set.name, *most));
  }
  if (const auto most = largest_passing_number(1, problem.network.width, [&](auto n) {
        pde::Problem other = problem;
        other.network.width = n;
        return fits(config, other);
      }))
    ways.push_back(fmt::format("--set network.width={}", *most));
  for (const char* method : {"ss-esoap", "adam"}) {
    Config other = config;
    other.optimizer = optim::OptimizerSpec(method);
    if (config.optimizer.name == method || !fits(other, problem)) continue;
    ways.push_back(fmt::format("--optimizer {}", method));
    break;
  }
  if (const auto most = largest_passing_number(1, config.threads, [&](auto n) {
        Config other = config;
        other.threads = n;
        return fits(other, problem);
      }))
    ways.push_back(fmt::format("--threads {}", *most));
  if (ways.empty()) return "No single setting makes it fit: take fewer points and a smaller network";
  return fmt::format("What would fit: {}", fmt::join(ways, ", or "));
}

[[noreturn]] void refuse(const std::vector<Need>& needs, const MemoryRoom& room, const std::string& fitting) {
  throw OutOfMemory(fmt::format("this run would need {} of memory: {}; {} are {}. {}",
                                readable_bytes(sum(needs)), listed(needs), readable_bytes(room.bytes),
                                room.limit, fitting));
}

}  // namespace

double Needs::host_bytes() const { return sum(host); }
double Needs::device_bytes() const { return sum(device); }
std::string Needs::text() const {
  std::string words = fmt::format("{}: {}", readable_bytes(host_bytes()), listed(host));
  if (device_bytes() > 0)
    words += fmt::format("; on the GPU {}: {}", readable_bytes(device_bytes()), listed(device));
  return words;
}

Needs estimate_needs(const Config& config, const pde::Problem& problem) {
  return needs_with_room(config, problem, available_memory_bytes());
}

void require_room(const Config& config, const pde::Problem& problem) {
  const MemoryRoom host = memory_room();
  const MemoryRoom device{
      config.device == Device::cuda ? static_cast<double>(optim::device_memory_bytes()) : 0, "on the GPU"};
  const auto room_for_matrices = config.device == Device::cuda ? device.bytes : host.bytes;
  const auto fits = [&](const Config& c, const pde::Problem& p) {
    try {
      const Needs needs = needs_with_room(c, p, room_for_matrices);
      return needs.host_bytes() <= host.bytes && (device.bytes == 0 || needs.device_bytes() <= device.bytes);
    } catch (const OutOfMemory&) {
      return false;
    }
  };
  const Needs needs = needs_with_room(config, problem, room_for_matrices);
  if (needs.host_bytes() > host.bytes) refuse(needs.host, host, what_fits(config, problem, fits));
  if (device.bytes > 0 && needs.device_bytes() > device.bytes)
    refuse(needs.device, device, what_fits(config, problem, fits));
}

std::string why_not(const std::string& method, std::int64_t columns, std::int64_t residuals, double seconds) {
  // Measured: a core with AVX-512 does 3.5e10 (docs/gauss-newton.md: 3,101 parameters, 2^14 points, 2.7 s on two).
  constexpr double kOperationsPerSecond = 2e10, kPatience = 60;
  constexpr double kFactorizations = 4;  // in a step of lm that tries some strengths of damping
  const double n = static_cast<double>(columns), m = static_cast<double>(residuals);
  const bool lm = method == "lm";
  const double bytes = (lm ? pde::HostJacobian::kNormalMatrixCopies : 1) * n * n * kDouble;
  if (const double room = available_memory_bytes(); bytes > 0.6 * room)
    return fmt::format("the matrix of {} for {} parameters would take {}, and {} are free", method, columns,
                       readable_bytes(bytes), readable_bytes(room));
  const double operations = lm ? m * n * n + kFactorizations * n * n * n / 3
                               : 2 * static_cast<double>(optim::LinearOptions{}.scales + 1) * m * n * n;
  const double step = operations / (kOperationsPerSecond * available_cores());
  if (step <= (seconds > 0 ? std::min(seconds, kPatience) : kPatience)) return "";
  return fmt::format("a step of {} for {} parameters and {} residuals would take some {:.0f} s here", method,
                     columns, residuals, step);
}

}  // namespace lather::train
