// The lid-driven cavity as a reference: u, v, p, psi of (x, y), from the nodal stream function of
// cavity_solver.hpp.
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "lather/core/interrupt.hpp"
#include "lather/core/process_mutex.hpp"
#include "lather/reference/cache.hpp"
#include "lather/reference/cavity_solver.hpp"
#include "lather/reference/numerics/dense_newton.hpp"
#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

constexpr int kCavityVersion = 1;
using Real = long double;

struct CavityOptions {
  double reynolds = 5000;
  Lid lid = Lid::smoothed;
  std::int64_t points = 96;
  void fields(FieldVisitor& v) {
    v.real("reynolds", reynolds, "Reynolds number", between(1, 5000));
    v.choice("lid", lid, "speed of the lid: 1 - cosh(50(x-1/2))/cosh(25), or 1",
             {{"smoothed", Lid::smoothed}, {"unit", Lid::unit}});
    v.integer("points", points, "Chebyshev points per direction, less one (even)", between(8, 128));
  }
};

class Cavity final : public ReferenceSolution {
 public:
  explicit Cavity(const CavityOptions& options)
      : options_(options), line_(chebyshev_line<Real>(static_cast<int>(options.points), 0, 1)) {
    for (const Real x : line_.nodes) nodes_.push_back(static_cast<double>(x));
  }

  std::vector<std::string> fields() const override { return {"u", "v", "p", "psi"}; }
  std::vector<std::string> coordinates() const override { return {"x", "y"}; }
  std::vector<Interval> domain() const override { return {{0, 1}, {0, 1}}; }
  int highest_order() const override { return 2; }
  std::string accuracy() const override {
    if (options_.lid == Lid::unit)
      return "velocity about 1e-3 away from the upper corners, where the lid speed jumps and nothing "
             "converges; p has mean 0 over "
             "the nodes' quadrature and is meaningless within 0.05 of those corners";
    return "velocity 1e-5 (1e-4 within 0.02 of the upper corners, where psi_xy jumps); p, of mean 0, is "
           "unreliable there";
  }
  nlohmann::json settings() const override { return options::to_json(options_); }

  void compute() {
    psi_pairs_ =
        split_pairs(solve_cavity({static_cast<int>(options_.points), options_.reynolds, options_.lid}).data);
  }
  void visit(StateVisitor& v) {
    psi_pairs_.resize(2 * nodes_.size() * nodes_.size());
    v.array("psi", std::span<double>(psi_pairs_));
  }
  void finish() {
    psi_ = Table<Real>(nodes_.size(), nodes_.size());
    psi_.data = join_pairs(psi_pairs_);
    p_ = pressure();
  }

 protected:
  void evaluate_checked(std::span<const double> points, std::size_t count, int field,
                        std::span<const int> orders, std::span<double> out) const override {
    const int a = orders[0] + (field == 1), b = orders[1] + (field == 0);  // u = psi_y, v = -psi_x
    const double sign = field == 1 ? -1 : 1;
    const Table<double>& grid = nodal(field == 2, a, b);
    const std::size_t n = nodes_.size();
    std::map<double, std::vector<std::size_t>> by_y;  // points of a grid share the sums over y
    for (std::size_t i = 0; i < count; ++i) by_y[points[2 * i + 1]].push_back(i);
    std::vector<double> wx(n), wy(n), lines(n);
    for (const auto& [y, members] : by_y) {
      poll_stop();
      interpolation_weights<double>(nodes_, y, wy);
      for (std::size_t k = 0; k < n; ++k) {
        lines[k] = 0;
        for (std::size_t l = 0; l < n; ++l) lines[k] += grid(k, l) * wy[l];
      }
      for (const std::size_t i : members) {
        interpolation_weights<double>(nodes_, points[2 * i], wx);
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += wx[k] * lines[k];
        out[i] = sign * sum;
      }
    }
  }

 private:
  // A derivative of psi or p at the nodes; computed on first use. References into a map stay valid.
  const Table<double>& nodal(bool of_pressure, int a, int b) const {
    const std::lock_guard lock(mutex_);
    auto& grid = nodal_[{of_pressure, a, b}];
    if (grid.data.empty()) grid = converted<double>(differentiated(of_pressure ? p_ : psi_, a, b));
    return grid;
  }

  Table<Real> differentiated(Table<Real> f, int a, int b) const {
    for (int i = 0; i < a; ++i) f = product(line_.D, f);
    for (int i = 0; i < b; ++i) f = product_transposed(f, line_.D);
    return f;
  }

  // p(x,y) = ∫ p_x dx along the middle line, then ∫ p_y dy up and down, with the gradient from the momentum
  // equations; the path does not matter because psi solves the vorticity equation.
  Table<Real> pressure() const {
    const std::size_t n = nodes_.size(), middle = n / 2;
    const auto psi = [&](int a, int b) { return differentiated(psi_, a, b); };
    const auto u = psi(0, 1), v = psi(1, 0), xx = psi(2, 0), xy = psi(1, 1), yy = psi(0, 2), xxx = psi(3, 0),
               xxy = psi(2, 1), xyy = psi(1, 2), yyy = psi(0, 3);  // v here is psi_x, the velocity's negative
    Table<Real> p_x(n, n), p_y(n, n), p(n, n);
    for (std::size_t k = 0; k < n * n; ++k) {
      p_x.data[k] = -(u.data[k] * xy.data[k] - v.data[k] * yy.data[k]) +
                    (xxy.data[k] + yyy.data[k]) / options_.reynolds;
      p_y.data[k] =
          u.data[k] * xx.data[k] - v.data[k] * xy.data[k] - (xxx.data[k] + xyy.data[k]) / options_.reynolds;
    }
    const Table<Real> S = integration_matrix<Real>(line_);
    const auto along_x = product(S, p_x), along_y = product_transposed(p_y, S);
    Real mean = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        p(i, j) = along_x(i, middle) + along_y(i, j) - along_y(i, middle);
        mean += S(n - 1, i) * S(n - 1, j) * p(i, j);
      }
    for (auto& value : p.data) value -= mean;
    return p;
  }

  CavityOptions options_;
  ChebyshevLine<Real> line_;
  std::vector<double> nodes_, psi_pairs_;
  Table<Real> psi_, p_;
  mutable ProcessMutex mutex_;
  mutable std::map<std::tuple<bool, int, int>, Table<double>> nodal_;
};

std::unique_ptr<ReferenceSolution> make_cavity(const TomlValue& settings,
                                               const std::filesystem::path& cache_directory) {
  const auto options = options_from<CavityOptions>("lid-driven-cavity", settings);
  auto cavity = std::make_unique<Cavity>(options);
  cavity->provenance = load_or_compute(
      cache_directory, {"lid-driven-cavity", kCavityVersion, cavity->settings().dump()},
      [&](StateVisitor& v) { cavity->visit(v); }, [&] { cavity->compute(); });
  cavity->finish();
  return cavity;
}

}  // namespace

Maker cavity_maker() { return {"lid-driven-cavity", options::describe(CavityOptions{}), make_cavity}; }

}  // namespace lather::reference
