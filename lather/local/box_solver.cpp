#include "lather/local/box_solver.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "lather/local/refinement.hpp"
#include "lather/local/sizes.hpp"

namespace lather::local {

namespace {

std::vector<symbolic::Expr> values_of(const std::vector<pde::Field>& fields) {
  std::vector<symbolic::Expr> list;
  for (const auto& field : fields) list.push_back(field.value);
  return list;
}

}  // namespace

double norm(const std::vector<double>& a) {
  double squares = 0;
  for (const double v : a) squares += v * v;
  return std::sqrt(squares);
}

std::vector<double> relative_changes(const std::vector<std::vector<double>>& a,
                                     const std::vector<std::vector<double>>& b) {
  std::vector<double> changes;
  for (std::size_t f = 0; f < a.size(); ++f) {
    std::vector<double> difference = a[f];
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= b[f][i];
    const double change = norm(difference);
    changes.push_back(change == 0 ? 0 : change / norm(b[f]));
  }
  return changes;
}

double largest_change(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
  const auto changes = relative_changes(a, b);
  return *std::max_element(changes.begin(), changes.end());
}

BoxSolver::BoxSolver(const Equations& equations, int threads, SolveLimits limits)
    : equations_(equations),
      limits_(std::move(limits)),
      fields_(equations.problem(), values_of(equations.problem().fields), {}),
      team_(threads) {
  constexpr std::size_t kProbe = 4000;
  probe_ = spread(equations.domain().bounds(), equations.dimensions(), kProbe);
  probe_ = only(probe_, equations.domain().contains(probe_));
  settings_.sizes = sizes_of_outputs(equations);
}

// Patches of unchanged boxes are kept, with their rows.
std::vector<const Patch*> BoxSolver::patches_of(const Tree& tree, int degree) {
  std::map<int, std::unique_ptr<Known>> kept;
  for (const int leaf : tree.leaves()) {
    auto& known = kept[leaf];
    if (const auto old = known_.find(leaf); old != known_.end() && old->second->patch.degree == degree)
      known = std::move(old->second);
  }
  known_ = std::move(kept);
  std::vector<std::pair<int, std::unique_ptr<Known>*>> list;
  for (auto& [leaf, known] : known_) list.emplace_back(leaf, &known);
  const Basis basis(equations_.dimensions(), degree);
  const RowBuilder builder(equations_, settings_);
  std::atomic<std::size_t> next = 0;
  team_.run([&](int) {
    linalg::TallQr qr;
    for (std::size_t i = next++; i < list.size(); i = next++) {
      if (limits_.poll) limits_.poll();
      auto& known = *list[i].second;
      if (!known) {
        known = std::make_unique<Known>();
        known->patch = make_patch(equations_, tree, list[i].first, degree);
      }
      if (equations_.linear() && known->equation_weight == settings_.equation_weight &&
          known->highest_factor == settings_.highest_factor)
        continue;
      known->rows = compressed(builder.of_patch(known->patch, basis), qr);
      known->equation_weight = settings_.equation_weight;
      known->highest_factor = settings_.highest_factor;
    }
  });
  std::vector<const Patch*> patches;
  for (const auto& [leaf, known] : list) patches.push_back(&(*known)->patch);
  return patches;
}

std::shared_ptr<const Solution> BoxSolver::solve_linearized(const Tree& tree, int degree) {
  patches_ = patches_of(tree, degree);
  const Basis basis(equations_.dimensions(), degree);
  const RowBuilder builder(equations_, settings_);
  System system;
  for (const Patch* patch : patches_) system.own.push_back(known_.at(patch->node)->rows);
  const auto faces = find_faces(equations_.domain(), patches_, false);
  system.couplings.resize(faces.size());
  std::atomic<std::size_t> next = 0;
  team_.run([&](int) {
    for (std::size_t i = next++; i < faces.size(); i = next++)
      system.couplings[i] = {
          faces[i].first, faces[i].second,
          builder.of_face(faces[i], *patches_[faces[i].first], *patches_[faces[i].second], basis)};
  });
  auto coefficients = solve_sparse(system, team_, limits_, report_);
  std::vector<std::pair<int, Solution::Piece>> pieces;
  for (std::size_t p = 0; p < patches_.size(); ++p)
    pieces.push_back({patches_[p]->node, {patches_[p]->support, std::move(coefficients[p])}});
  return std::make_shared<Solution>(tree, degree, equations_.outputs(), std::move(pieces));
}

std::shared_ptr<const Solution> BoxSolver::solve(const Tree& tree, int degree,
                                                 const std::shared_ptr<const Solution>& start, int steps) {
  if (equations_.linear()) return solve_linearized(tree, degree);
  constexpr double kConverged = 1e-9;
  std::shared_ptr<const Solution> at;  // on these boxes
  for (int step = 0; step < steps; ++step) {
    const auto from = at ? at : start;
    settings_.iterate = [from](const Jet& jet, const pde::Points& points) {
      return from ? from->evaluate(jet, points) : std::vector<double>(points.count());
    };
    auto next = solve_linearized(tree, degree);
    if (at) next = shortened(*at, next);
    const bool converged = at && largest_change(fields(*at), fields(*next)) < kConverged;
    at = next;
    if (converged) break;
  }
  settings_.iterate = {};
  return at;
}

std::shared_ptr<const Solution> BoxSolver::shortened(const Solution& from,
                                                     const std::shared_ptr<const Solution>& whole) {
  constexpr int kMostHalvings = 8;
  const double before = norm(left_over(from));
  auto next = whole;
  double share = 1;
  for (int k = 0; k < kMostHalvings && !(norm(left_over(*next)) <= before); ++k)
    next = std::make_shared<Solution>(from.towards(*whole, share *= 0.5));
  return next;
}

std::vector<double> BoxSolver::left_over(const Solution& solution) {
  return local::left_over(equations_, RowBuilder(equations_, settings_), patches_, solution, team_);
}

std::vector<std::vector<double>> BoxSolver::fields(const Solution& solution) const {
  return fields_.residuals_at(
      probe_, [&](const Jet& jet, const pde::Points& points) { return solution.evaluate(jet, points); });
}

std::vector<double> BoxSolver::output_sizes(const Solution& solution) const {
  std::vector<double> sizes;
  for (int k = 0; k < equations_.outputs(); ++k) {
    const auto values = solution.evaluate({k, {}}, probe_);
    sizes.push_back(norm(values) / std::sqrt(static_cast<double>(values.size())));
  }
  return sizes;
}

}  // namespace lather::local
