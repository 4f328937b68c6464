#include "lather/local/solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "lather/core/clock.hpp"
#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/local/box_solver.hpp"
#include "lather/local/refinement.hpp"
#include "lather/local/verdict.hpp"

namespace lather::local {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Equations weigh ten times more until the solution is in sight: a lost boundary value cannot be spread over
// small jumps then.
constexpr double kFirstEquationWeight = 10, kInSight = 1e-2;
constexpr double kLessConvection = 4, kBalanced = 3e-2;
constexpr double kShareOfLargest = 0.1;
constexpr const char* kInterrupted = "interrupted";
constexpr int kMoreDegrees = 2;
constexpr int kFirstSteps = 20, kSteps = 6;  // of Newton's method, in the first round and later

class Solver {
 public:
  Solver(const pde::Problem& problem, const Options& options, const Watcher& watcher)
      : equations_(problem),
        options_(options),
        watcher_(watcher),
        tree_(equations_.domain(), breaks_of(problem)),
        solver_(equations_, options.threads,
                {options.memory > 0 ? options.memory * kGiB : 0.5 * available_memory_bytes(),
                 [this] { poll(); }}) {
    if (options_.degree == 0) options_.degree = problem.dimensions() == 3 ? 8 : 16;
    settings_.equation_weight = kFirstEquationWeight;
    settings_.highest_factor = equations_.convection();
  }

  Result run() {
    for (int r = 0;; ++r) {
      const double began = clock_.seconds();
      try {
        solution_ = solver_.solve(tree_, degree(), solution_, r == 0 ? kFirstSteps : kSteps);
      } catch (const OutOfMemory& error) {
        if (!best_) throw;
        result_.stopped = error.message();
        break;
      } catch (const Stopped& error) {
        result_.stopped = error.message();
        break;
      }
      round_seconds_ = clock_.seconds() - began;
      judge_round(r);
      if (watcher_.round) watcher_.round(result_.rounds.back());
      if (may_stop(result_.rounds.back())) break;
      if (settings_.highest_factor > 1 && in_sight_ < kBalanced) {
        settings_.highest_factor /= kLessConvection;
        if (settings_.highest_factor < 1.5) settings_.highest_factor = 1;
        continue;
      }
      refine();
    }
    verify();
    conclude(result_, equations_.problem(), {options_.tolerance, best_round_, best_gain_});
    result_.seconds = clock_.seconds();
    return std::move(result_);
  }

 private:
  // Asked often. The first round, on few boxes, is always finished; a later one gives way to the estimate for
  // the best one before it.
  void poll() const {
    if (!best_) return;
    if (watcher_.interrupted && watcher_.interrupted()) throw Stopped(kInterrupted);
    if (options_.seconds == 0) return;
    const double rest = verifying_ ? 0 : cost_of_higher_degree() * best_seconds_;
    if (clock_.seconds() + rest > options_.seconds) throw Stopped(out_of_time());
  }
  std::string out_of_time() const {
    return fmt::format("another round does not fit into {:g} s", options_.seconds);
  }

  int degree() const { return static_cast<int>(options_.degree); }

  void judge_round(int number) {
    const auto values = solver_.fields(*solution_);
    double scale = 0;
    const auto sizes = solver_.output_sizes(*solution_);
    for (std::size_t f = 0; f < sizes.size(); ++f) scale = std::max(scale, sizes[f] / settings_.sizes[f]);
    left_over_ = solver_.left_over(*solution_);
    for (double& e : left_over_) e /= scale + std::numeric_limits<double>::min();
    Round round;
    round.number = number;
    round.patches = solver_.patches().size();
    round.unknowns = solver_.report().unknowns;
    round.left_over = *std::max_element(left_over_.begin(), left_over_.end());
    round.change = kInfinity;
    if (!fields_before_.empty()) round.change = largest_change(fields_before_, values);
    round.highest_factor = settings_.highest_factor;
    round.equation_weight = settings_.equation_weight;
    round.seconds = clock_.seconds();
    in_sight_ = std::max(round.left_over, round.change);
    settings_.equation_weight = in_sight_ > kInSight ? kFirstEquationWeight : 1;
    fields_before_ = values;
    result_.rounds.push_back(round);
    if (!best_ || !(in_sight_ > best_in_sight_) || round.highest_factor < best_round_.highest_factor) {
      best_ = solution_;
      best_round_ = round;
      best_in_sight_ = in_sight_;
      best_fields_ = values;
      best_seconds_ = round_seconds_;
      const auto worst = std::max_element(left_over_.begin(), left_over_.end()) - left_over_.begin();
      const Patch& patch = *solver_.patches()[static_cast<std::size_t>(worst)];
      for (int k = 0; k < equations_.dimensions(); ++k)
        result_.worst[k] = 0.5 * (patch.box.low[k] + patch.box.high[k]);
      const int parent = tree_.nodes()[static_cast<std::size_t>(patch.node)].parent;
      best_gain_ = parent < 0 ? 0 : round.left_over / left_when_halved_.at(parent);
    }
  }

  bool may_stop(const Round& round) {
    const auto stop = [&](std::string why) {
      result_.stopped = std::move(why);
      return true;
    };
    if (!std::isfinite(round.left_over)) return stop("the solution is not finite");
    if (round.highest_factor == 1 && round.left_over <= options_.accuracy &&
        round.change <= 10 * options_.accuracy)
      return stop(fmt::format("what is left over is at or below {:g}", options_.accuracy));
    if (watcher_.interrupted && watcher_.interrupted()) return stop(kInterrupted);
    if (options_.seconds > 0 &&
        round.seconds + seconds_of_next() * (1 + cost_of_higher_degree()) > options_.seconds)
      return stop(out_of_time());
    if (round.number + 1 >= options_.rounds)
      return stop(fmt::format("all {} rounds are done", options_.rounds));
    if (round.highest_factor == 1 && in_sight_ > 10 * best_in_sight_ && best_in_sight_ < kInSight)
      return stop("halving more boxes makes it worse");
    return false;
  }

  // Patches to be halved, and along which coordinates.
  std::vector<std::pair<std::size_t, unsigned>> halvings() const {
    const double largest = *std::max_element(left_over_.begin(), left_over_.end());
    const double limit = largest > options_.accuracy ? std::max(options_.accuracy, kShareOfLargest * largest)
                                                     : kShareOfLargest * largest;
    std::vector<std::pair<std::size_t, unsigned>> list;
    for (std::size_t p = 0; p < solver_.patches().size(); ++p)
      if (left_over_[p] >= limit)
        list.emplace_back(p, directions_to_halve(*solution_, solver_.patches()[p]->node, settings_.sizes));
    return list;
  }

  void refine() {
    for (const auto& [p, along] : halvings()) {
      left_when_halved_[solver_.patches()[p]->node] = left_over_[p];
      tree_.split(solver_.patches()[p]->node, along, equations_.domain());
    }
  }

  // The factor of a mesh in the plane grows with the power 1.5 of its unknowns, in space with their square.
  double seconds_of_next() const {
    std::size_t patches = solver_.patches().size();
    for (const auto& [p, along] : halvings()) patches += (std::size_t{1} << std::popcount(along)) - 1;
    const double growth = static_cast<double>(patches) / static_cast<double>(solver_.patches().size());
    return round_seconds_ * std::pow(growth, 0.5 * (equations_.dimensions() + 1));
  }

  double cost_of_higher_degree() const {
    const auto functions = [&](int degree) {
      return static_cast<double>(Basis(equations_.dimensions(), degree).size());
    };
    return std::pow(functions(degree() + kMoreDegrees) / functions(degree()), 3);
  }

  // The same boxes as in the best round, with polynomials of higher degree: what they change is the estimate,
  // and they are the result.
  void verify() {
    const std::size_t fields = equations_.problem().fields.size();
    result_.solution = best_;
    result_.estimated.assign(fields, kInfinity);
    const bool was_interrupted = watcher_.interrupted && watcher_.interrupted();
    if (best_round_.highest_factor > 1 || !std::isfinite(best_round_.left_over) || was_interrupted) return;
    settings_.highest_factor = 1;
    settings_.equation_weight = best_in_sight_ > kInSight ? kFirstEquationWeight : 1;
    verifying_ = true;
    try {
      const auto finer = solver_.solve(best_->tree(), degree() + kMoreDegrees, best_, kSteps);
      const auto values = solver_.fields(*finer);
      result_.estimated = relative_changes(best_fields_, values);
      for (double& e : result_.estimated)
        if (std::isnan(e)) e = kInfinity;
      result_.solution = finer;
    } catch (const OutOfMemory& error) {
      result_.stopped += "; no estimate: " + error.message();
    } catch (const Stopped& error) {
      result_.stopped += "; no time for an estimate";
    }
  }

  Equations equations_;
  Options options_;
  const Watcher& watcher_;
  Tree tree_;
  BoxSolver solver_;
  RowSettings& settings_ = solver_.settings();
  Stopwatch clock_;
  std::shared_ptr<const Solution> solution_, best_;
  std::vector<std::vector<double>> fields_before_, best_fields_;
  std::vector<double> left_over_;
  Round best_round_;
  std::map<int, double> left_when_halved_;  // by node
  double in_sight_ = kInfinity, best_in_sight_ = kInfinity, best_gain_ = 0;
  double round_seconds_ = 0, best_seconds_ = 0;
  bool verifying_ = false;
  Result result_;
};

}  // namespace

void Options::fields(FieldVisitor& v) {
  v.integer("degree", degree, "of the polynomials; 0: 16, in three coordinates 8", between(0, 40));
  v.real("accuracy", accuracy, "boxes are halved until this share of the equations is left over", positive());
  v.real("tolerance", tolerance, "an estimated relative error above it is no solution", positive());
  v.integer("rounds", rounds, "at most so many times", at_least(1));
  v.real("memory", memory, "GiB for the factor of the largest system; 0: half of what is available",
         non_negative());
}

Result solve(const pde::Problem& problem, const Options& options, const Watcher& watcher) {
  return Solver(problem, options, watcher).run();
}

}  // namespace lather::local
