#include "lather/reference/periodic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/core/interrupt.hpp"
#include "lather/reference/cache.hpp"
#include "lather/reference/numerics/chebyshev.hpp"

namespace lather::reference {
namespace {

constexpr int kPeriodicVersion = 1;
// Measured: below about this many points in a segment the plain sum is cheaper than transforming all its
// snapshots.
constexpr std::size_t kDirectBelow = 128;

class PeriodicSolution final : public ReferenceSolution {
 public:
  PeriodicSolution(const PeriodicProblem& problem, const SpectralOptions& options, nlohmann::json settings)
      : problem_(problem),
        degree_(static_cast<int>(options.degree)),
        settings_(std::move(settings)),
        single_(1),
        shape_(static_cast<int>(problem.coordinates.size()) - 1, static_cast<int>(options.modes), single_),
        correction_(gridding_correction(shape_.modes())),
        to_coefficients_(chebyshev_coefficient_matrix<double>(degree_)) {
    problem_.linear = problem_.initial = nullptr;  // only the names are needed from here on
    problem_.pointwise = nullptr;
  }

  std::vector<std::string> fields() const override { return problem_.fields; }
  std::vector<std::string> coordinates() const override { return problem_.coordinates; }
  std::vector<Interval> domain() const override {
    std::vector<Interval> box(problem_.coordinates.size(), problem_.space);
    box.back() = {0, problem_.end_time};
    return box;
  }
  int highest_order() const override { return 6; }
  std::string accuracy() const override { return problem_.accuracy; }
  nlohmann::json settings() const override { return settings_; }

  void visit(StateVisitor& v) {
    v.array("breaks", history_.breaks);
    v.array("snapshots", history_.snapshots);
    if (v.reading() && history_.snapshots.size() != ((history_.breaks.size() - 1) * degree_ + 1) *
                                                        problem_.fields.size() * shape_.half_size() * 2)
      throw Error("snapshots do not fit the settings");
  }
  void set_history(TimeHistory history) { history_ = std::move(history); }

  void evaluate_by(Summation summation, std::span<const double> points, std::size_t count, int field,
                   std::span<const int> orders, std::span<double> out) const {
    const auto [low, high] = problem_.space;
    if (low == -1 && high == 1) return evaluate_on_unit(summation, points, count, field, orders, out);
    const std::size_t dims = problem_.coordinates.size();
    std::vector<double> s(points.begin(), points.end());
    for (std::size_t i = 0; i < s.size(); ++i)
      if (i % dims + 1 < dims) s[i] = (2 * s[i] - low - high) / (high - low);
    evaluate_on_unit(summation, s, count, field, orders, out);
    const int by_space = std::accumulate(orders.begin(), orders.end() - 1, 0);
    for (auto& value : out) value *= std::pow(2 / (high - low), by_space);
  }

 protected:
  void evaluate_checked(std::span<const double> points, std::size_t count, int field,
                        std::span<const int> orders, std::span<double> out) const override {
    evaluate_by(Summation::automatic, points, count, field, orders, out);
  }

 private:
  // With space mapped to s in [-1, 1].
  void evaluate_on_unit(Summation summation, std::span<const double> points, std::size_t count, int field,
                        std::span<const int> orders, std::span<double> out) const {
    const std::size_t dims = problem_.coordinates.size();
    std::vector<std::vector<std::size_t>> by_segment(history_.breaks.size() - 1);
    for (std::size_t i = 0; i < count; ++i) by_segment[segment_of(points[i * dims + dims - 1])].push_back(i);
    for (std::size_t s = 0; s < by_segment.size(); ++s) {
      const Batch batch{s, by_segment[s], points, field, orders};
      if (batch.members.empty()) continue;
      const bool few = batch.members.size() < kDirectBelow;
      if (summation == Summation::direct || (summation == Summation::automatic && few))
        sum_directly(batch, out);
      else
        sum_on_grid(batch, out);
    }
  }

  struct Batch {  // the points of one call that lie in one segment of time
    std::size_t segment;
    const std::vector<std::size_t>& members;
    std::span<const double> points;
    int field;
    std::span<const int> orders;
  };

  std::size_t segment_of(double t) const {
    const auto& b = history_.breaks;
    const auto after = std::upper_bound(b.begin() + 1, b.end() - 1, t);
    return static_cast<std::size_t>(after - b.begin()) - 1;
  }

  std::span<const Complex> snapshot(std::size_t segment, int node, int field) const {
    const std::size_t half = shape_.half_size();
    const auto* all = reinterpret_cast<const Complex*>(history_.snapshots.data());
    return {all + ((segment * degree_ + node) * problem_.fields.size() + field) * half, half};
  }

  // Weights of the snapshots of a segment for the m-th time derivative at t.
  std::vector<double> time_weights(std::size_t segment, double t, int m) const {
    const double low = history_.breaks[segment], high = history_.breaks[segment + 1];
    std::vector<double> T(degree_ + 1), weights(degree_ + 1, 0.0);
    chebyshev_polynomials(std::clamp((2 * t - low - high) / (high - low), -1.0, 1.0), m, T);
    const double scale = std::pow(2 / (high - low), m);
    for (int k = 0; k <= degree_; ++k)
      for (int j = 0; j <= degree_; ++j) weights[j] += scale * T[k] * to_coefficients_(k, j);
    return weights;
  }

  void sum_directly(const Batch& batch, std::span<double> out) const {
    const std::size_t dims = problem_.coordinates.size();
    std::vector<Complex> half(shape_.half_size());
    for (const std::size_t i : batch.members) {
      poll_stop();
      const auto point = batch.points.subspan(i * dims, dims);
      const auto weights = time_weights(batch.segment, point.back(), batch.orders.back());
      std::fill(half.begin(), half.end(), Complex(0));
      for (int j = 0; j <= degree_; ++j) {
        const auto source = snapshot(batch.segment, j, batch.field);
        for (std::size_t m = 0; m < half.size(); ++m) half[m] += weights[j] * source[m];
      }
      out[i] = direct_sum(shape_, half, batch.orders.first(dims - 1), point.first(dims - 1));
    }
  }

  void sum_on_grid(const Batch& batch, std::span<double> out) const {
    const std::size_t dims = problem_.coordinates.size();
    ThreadTeam team(dims == 3 ? available_cores() : 1);
    GriddedSum sum(shape_, correction_, {batch.orders.begin(), batch.orders.end() - 1}, team);
    std::vector<GriddedSum::Stencil> stencils;
    std::vector<std::vector<double>> weights;
    for (const std::size_t i : batch.members) {
      poll_stop();
      const auto point = batch.points.subspan(i * dims, dims);
      stencils.push_back(sum.stencil(point.first(dims - 1)));
      weights.push_back(time_weights(batch.segment, point.back(), batch.orders.back()));
      out[i] = 0;
    }
    std::vector<Complex> grid(sum.grid_size());
    for (int j = 0; j <= degree_; j += 2) {
      const bool pair = j < degree_;
      sum.prepare(snapshot(batch.segment, j, batch.field),
                  pair ? snapshot(batch.segment, j + 1, batch.field) : std::span<const Complex>(), grid);
      team.run([&](int thread) {
        const auto [begin, end] = share_of(batch.members.size(), thread, team.size());
        for (std::size_t m = begin; m < end; ++m) {
          poll_stop();
          const Complex both = sum.sum(grid, stencils[m]);
          out[batch.members[m]] += weights[m][j] * both.real() + (pair ? weights[m][j + 1] * both.imag() : 0);
        }
      });
    }
  }

  PeriodicProblem problem_;
  int degree_;
  nlohmann::json settings_;
  ThreadTeam single_;
  RealTransform shape_;
  std::vector<double> correction_;
  Table<double> to_coefficients_;
  TimeHistory history_;
};

}  // namespace

std::unique_ptr<ReferenceSolution> make_periodic(const PeriodicProblem& problem,
                                                 const SpectralOptions& options, nlohmann::json all_settings,
                                                 const std::filesystem::path& cache_directory) {
  auto rest = options.modes;
  for (const int prime : {2, 3, 5})
    while (rest % prime == 0) rest /= prime;
  if (options.modes % 2 != 0 || rest != 1)
    throw Error(fmt::format("reference {}: modes = {} must be even with no prime factor above 5",
                            problem.name, options.modes));
  const CacheKey key{problem.name, kPeriodicVersion, all_settings.dump()};
  auto solution = std::make_unique<PeriodicSolution>(problem, options, std::move(all_settings));
  solution->provenance = load_or_compute(
      cache_directory, key, [&](StateVisitor& v) { solution->visit(v); },
      [&] { solution->set_history(integrate(problem, options)); });
  return solution;
}

void evaluate_periodic(const ReferenceSolution& periodic, Summation summation, std::span<const double> points,
                       std::size_t count, int field, std::span<const int> orders, std::span<double> out) {
  dynamic_cast<const PeriodicSolution&>(periodic).evaluate_by(summation, points, count, field, orders, out);
}

}  // namespace lather::reference
