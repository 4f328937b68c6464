#pragma once
// Solves a problem with local polynomials: solve, look where it is not satisfied, halve these boxes, again;
// at the end once more with a higher degree, to know how wrong the result is.
//
//   const auto problem = pde::read_problem_file("plate.toml");
//   const auto result = local::solve(problem, {});
//   result.solution->evaluate({0, {}}, points);   // the problem's first output
//   result.message;                               // "solved: the estimated error is 1.0e-07"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lather/core/options.hpp"
#include "lather/local/solution.hpp"
#include "lather/pde/problem.hpp"

namespace lather::local {

struct Options {
  std::int64_t degree = 0;   // 0: 16, in three coordinates 8
  double accuracy = 1e-6;    // boxes are halved until what is left of the equations is below, relatively
  double tolerance = 1e-3;   // an estimated relative error above it is no solution
  std::int64_t rounds = 30;  // at most
  double memory = 0;         // GiB for the largest factor; 0: half of what is available
  double seconds = 120;      // at most, for all of it; 0: no limit
  int threads = 1;
  void fields(FieldVisitor& v);  // all but time and threads
};

// One solve on one set of boxes.
struct Round {
  int number = 0;
  std::size_t patches = 0, unknowns = 0;
  double left_over = 0;  // of equations, conditions and jumps at points of their own, in units of the fields
  double change = 0;     // of the fields since the last round, relatively; infinite in the first
  double seconds = 0;    // so far
  double highest_factor = 1, equation_weight = 1;
};

enum class Verdict { solved, doubtful, not_solved };

struct Result {
  std::shared_ptr<const Solution> solution;
  Verdict verdict = Verdict::not_solved;
  std::string message;            // the verdict in a sentence
  std::vector<double> estimated;  // relative error by field; infinite if it could not be estimated
  std::vector<Round> rounds;
  std::string stopped;  // why the boxes were not halved any more
  Place worst{};        // the middle of the box where most is left over
  double seconds = 0;
  double worst_estimate() const;
};

struct Watcher {
  std::function<void(const Round&)> round;
  std::function<bool()> interrupted;
};

// Throws Error if the problem is not one for local polynomials (require_representable), or if not even the
// first round fits into the memory allowed.
Result solve(const pde::Problem& problem, const Options& options, const Watcher& watcher = {});

}  // namespace lather::local
