// One training step on the GPU, optimizer included, against loss + gradient alone: wall clock per step of a
// long row of steps.   bench_optimizers_cuda [WIDTH [NAME]]: only the rows that begin with NAME
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "lather/core/clock.hpp"
#include "lather/core/rng.hpp"
#include "lather/optim/wrappers/composed.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/pde/objective.hpp"

namespace {

using namespace lather;
using Json = nlohmann::json;

constexpr const char* kBurgers = R"toml(
name = "burgers"
coordinates = ["x", "t"]
fields = ["u"]
[domain]
x = [-1, 1]
t = [0, 1]
[[equation]]
name = "momentum"
residual = "u_t + u*u_x - 0.01/pi*u_xx"
[[condition]]
name = "initial"
where = "t = 0"
residual = "u + sin(pi*x)"
[[condition]]
name = "walls"
where = ["x = -1", "x = 1"]
residual = "u"
[network]
width = {}
depth = 4
)toml";

pde::Points random_points(std::size_t count, int seed) {
  pde::Points p;
  for (int i = 0; i < 2; ++i) {
    auto& array = p.coordinates.emplace_back(count);
    for (std::size_t k = 0; k < count; ++k) array[k] = Random(seed, i).uniform(k);
  }
  return p;
}

// Median over rows of steps, in milliseconds per step, after a warm-up row.
double milliseconds(pde::PinnObjective& objective, std::vector<double> x, const Json& settings) {
  const auto optimizer =
      optim::make_composed(objective.layout(), optim::optimizer_spec(settings), Device::cuda);
  constexpr std::size_t kRow = 100;
  const std::vector<double> factors(kRow, 1.0);
  std::vector<double> times;
  for (int repeat = 0; repeat < 12; ++repeat) {
    const Stopwatch watch;
    for (std::size_t taken = 0; taken < kRow;) {
      std::int64_t done = 0;
      optimizer->steps(objective, x, std::span(factors).first(kRow - taken), done);
      taken += static_cast<std::size_t>(done);
    }
    if (repeat >= 2) times.push_back(1e3 * watch.seconds() / kRow);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double gradient_milliseconds(pde::PinnObjective& objective, const std::vector<double>& x) {
  std::vector<double> gradient(x.size()), times;
  for (int repeat = 0; repeat < 120; ++repeat) {
    const Stopwatch watch;
    objective.value_and_gradient(x, gradient);
    if (repeat >= 20) times.push_back(1e3 * watch.seconds());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int only_width = argc > 1 ? std::atoi(argv[1]) : 0;
  const std::string only_name = argc > 2 ? argv[2] : "";
  const auto report = cuda_report();
  fmt::print("{}\n", report.text);
  if (!report.usable) return 0;
  struct Row {
    const char* name;
    Json settings;
  };
  const std::vector<Row> rows = {
      {"adam", {{"name", "adam"}}},
      {"ss-esoap, bases kept", {{"name", "ss-esoap"}, {"trigger", 1e9}}},
      {"ss-esoap, bases replaced in every step", {{"name", "ss-esoap"}, {"trigger", 0}}},
      {"ss-esoap as recommended", {{"name", "ss-esoap"}}},
      {"soap, bases kept", {{"name", "soap"}, {"precondition_frequency", 1000000}}},
      {"soap, bases updated in every step", {{"name", "soap"}, {"precondition_frequency", 1}}},
      {"soap, every 10", {{"name", "soap"}}},
      {"purifying-shampoo, bases kept", {{"name", "purifying-shampoo"}, {"precondition_frequency", 1000000}}},
      {"purifying-shampoo, bases replaced in every step",
       {{"name", "purifying-shampoo"}, {"precondition_frequency", 1}, {"tolerance", 0}}},
      {"purifying-shampoo, every 10", {{"name", "purifying-shampoo"}}},
      {"shampoo, roots kept",
       {{"name", "shampoo"}, {"precondition_frequency", 1000000}, {"start_preconditioning_step", 1}}},
      {"shampoo, roots computed in every step", {{"name", "shampoo"}, {"precondition_frequency", 1}}},
      {"shampoo, every 10", {{"name", "shampoo"}}},
      {"muon", {{"name", "muon"}}},
      {"sgd", {{"name", "sgd"}}},
      {"multiadam, a gradient for each of three terms", {{"name", "multiadam"}}},
  };
  for (const int width : {128, 256}) {
    if (only_width != 0 && width != only_width) continue;
    std::string text = kBurgers;
    text.replace(text.find("{}"), 2, std::to_string(width));
    pde::PinnObjective objective(pde::read_problem_text(text, "burgers.toml"), {.device = Device::cuda});
    const auto x = objective.initialize(1);
    objective.set_points(0, random_points(8192, 1));
    objective.set_points(1, random_points(256, 2));
    objective.set_points(2, random_points(256, 3));
    const double plain = gradient_milliseconds(objective, x);
    // Adam's own work is one kernel: its step stands for loss + gradient with parameters that stay on the
    // device.
    const double base = milliseconds(objective, x, {{"name", "adam"}});
    fmt::print("\nburgers, mlp 4x{}, N = 8192, float64, {} parameters\n", width, x.size());
    fmt::print("{:52} {:8.3f} ms\n", "loss + gradient, parameters from and to the host", plain);
    for (const auto& row : rows) {
      if (!std::string_view(row.name).starts_with(only_name)) continue;
      const double ms = milliseconds(objective, x, row.settings);
      fmt::print("{:52} {:8.3f} ms   {:.2f} of adam's\n", row.name, ms, ms / base);
      std::fflush(stdout);
    }
  }
}
