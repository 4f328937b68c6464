#include "lather/local/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace lather::local {

namespace {

// Halving a box divides what is left over by 2^a where the solution grows as the power a of the distance, by
// much more where it is smooth (measured: by 8 to 1e6 in the last round). At a singular place a higher degree
// changes little even if the error is large (measured: a two-hundredth of it at a corner that points into the
// domain), and the last halving changes more.
constexpr double kSingular = 0.2, kNoise = 1e-9;
// Measured: the change by a higher degree has been a seventh of the error where the solution is smooth.
constexpr double kSafety = 10;

std::string place(const pde::Problem& problem, const Place& at) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < problem.domain.size(); ++k)
    parts.push_back(fmt::format("{} = {:.4g}", problem.symbols->coordinate_names()[k], at[k]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

double Result::worst_estimate() const {
  double worst = 0;
  for (const double e : estimated) worst = std::max(worst, e);
  return worst;
}

void conclude(Result& result, const pde::Problem& problem, const Evidence& evidence) {
  const auto& [tolerance, best, gain] = evidence;
  const bool singular = gain > kSingular && best.left_over > kNoise;
  if (singular)
    for (double& e : result.estimated) e = std::max(e, best.change);
  const double estimate = result.worst_estimate();
  const std::string near = place(problem, result.worst);
  const std::string where =
      singular ? fmt::format("; it seems to be singular near {}, as at a corner", near)
               : fmt::format("; {:.1e} of the equations is left over near {}", best.left_over, near);
  if (std::isinf(estimate)) {
    result.verdict = Verdict::not_solved;
    result.message = fmt::format("not solved, and the error is not known: {}", result.stopped);
  } else if (!(estimate <= tolerance)) {
    result.verdict = Verdict::not_solved;
    result.message = fmt::format("not solved: the estimated relative error is {:.1e}{}", estimate, where);
  } else if (kSafety * estimate <= tolerance && best.change <= tolerance && best.left_over <= tolerance) {
    result.verdict = Verdict::solved;
    result.message = fmt::format("solved: the estimated relative error is {:.1e}", estimate);
  } else {
    result.verdict = Verdict::doubtful;
    result.message = fmt::format(
        "doubtful: the estimated relative error is {:.1e}, and estimates have been {} times too small{}",
        estimate, kSafety, where);
  }
}

}  // namespace lather::local
