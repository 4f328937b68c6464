#include "lather/experiment/verdicts/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "lather/experiment/verdicts/events.hpp"

namespace lather::experiment {

namespace {

constexpr double kNoBound = 1e300;

std::string seeds_text(int count) { return fmt::format("{} seed{}", count, count == 1 ? "" : "s"); }

// The label of another variant in a sentence about this one, without the part that both have: "Adam, decayed" beside
// "SS-eSOAP, decayed" is "Adam".
std::string label_beside(const VariantEntry& variant, const VariantEntry& other) {
  const std::size_t comma = variant.label.rfind(", ");
  if (comma == std::string::npos || !other.label.ends_with(variant.label.substr(comma))) return other.label;
  return other.label.substr(0, other.label.size() - (variant.label.size() - comma));
}

// One variant against another on a problem.
struct Contest {
  std::string other;  // its label
  Ratio ratio;

  bool one_seed() const { return ratio.pairs == 1 && ratio.lost == ratio.other; }
  Ratio::Kind kind() const {
    if (ratio.pairs != 1 || ratio.lost != ratio.other) return ratio.kind();
    return ratio.factor < 1   ? Ratio::Kind::better
           : ratio.factor > 1 ? Ratio::Kind::worse
                              : Ratio::Kind::level;
  }
  // Orders by how badly the variant does: behind, then by seeds without a value, then by the factor.
  std::tuple<bool, int, double> badness() const {
    return {kind() == Ratio::Kind::worse, ratio.lost - ratio.other, ratio.factor};
  }
  std::string text() const {
    if (ratio.lost > ratio.other) return fmt::format("{} without a value", seeds_text(ratio.lost));
    if (ratio.lost < ratio.other)
      return fmt::format("{} has {} without a value", other, seeds_text(ratio.other));
    const std::string text = fmt::format("{} times {}", factor_text(ratio.factor), other);
    return kind() == Ratio::Kind::level && ratio.pairs > 1
               ? fmt::format("{}, lower in {} of {} seeds", text, ratio.ahead, ratio.pairs)
               : text;
  }
};

const Contest& hardest(const std::vector<Contest>& contests) {
  return *std::max_element(contests.begin(), contests.end(),
                           [](const Contest& a, const Contest& b) { return a.badness() < b.badness(); });
}

// Ahead of all, behind at least one, or neither.
Verdict::Kind kind_of(const std::vector<Contest>& contests) {
  const auto is = [](Ratio::Kind kind) { return [kind](const Contest& c) { return c.kind() == kind; }; };
  if (std::any_of(contests.begin(), contests.end(), is(Ratio::Kind::worse))) return Verdict::Kind::fails;
  if (std::all_of(contests.begin(), contests.end(), is(Ratio::Kind::unknown))) return Verdict::Kind::untested;
  return std::all_of(contests.begin(), contests.end(), is(Ratio::Kind::better)) ? Verdict::Kind::holds
                                                                                : Verdict::Kind::within_error;
}

std::string labels_of(const std::vector<Contest>& contests, std::initializer_list<Ratio::Kind> kinds) {
  std::vector<std::string> labels;
  for (const auto& contest : contests)
    if (std::find(kinds.begin(), kinds.end(), contest.kind()) != kinds.end()) labels.push_back(contest.other);
  return fmt::format("{}", fmt::join(labels, ", "));
}
bool is_open(const Contest& contest) {
  return contest.kind() == Ratio::Kind::level || contest.kind() == Ratio::Kind::unknown;
}
std::string not_told_apart(const std::vector<Contest>& contests) {
  return labels_of(contests, {Ratio::Kind::level, Ratio::Kind::unknown});
}

std::optional<double> rank_value(const PaperValue& value) {
  if (value.value) return value.value;
  return value.text.empty() ? std::nullopt : std::optional(std::numeric_limits<double>::infinity());
}

// Of the methods the paper prints, the one with the smallest value.
std::string leader_of(const std::map<std::string, PaperValue>& printed) {
  std::string leader;
  double smallest = std::numeric_limits<double>::infinity();
  for (const auto& [name, value] : printed)
    if (const auto rank = rank_value(value); rank && *rank < smallest) {
      smallest = *rank;
      leader = name;
    }
  return leader;
}

// A learning rate that nobody would choose says nothing about its method.
bool survives_tuning(const CellResult& cell) {
  return cell.judged.empty() ||
         std::any_of(cell.judged.begin(), cell.judged.end(), [](double loss) { return std::isfinite(loss); });
}

// A method that both the paper and the runs have: all of its runs have ended.
struct Entrant {
  const VariantEntry* variant;
  double paper;
  bool known;  // at least one of its seeds has a value
};

std::vector<Entrant> entrants_of(const ExperimentResult& result, const MetricEntry& metric,
                                 const std::string& problem) {
  std::vector<Entrant> entrants;
  for (const auto& cell : result.cells) {
    if (cell.cell->problem->name != problem) continue;
    const auto printed = metric.paper.at(problem).find(cell.cell->variant->name);
    if (printed == metric.paper.at(problem).end()) continue;
    if (!survives_tuning(cell)) continue;
    const Measured ours = measure(result, metric, cell);
    const auto paper = rank_value(printed->second);
    if (ours.rank_value() && paper) entrants.push_back({cell.cell->variant, *paper, ours.is_known()});
  }
  return entrants;
}

Contest contest(const ExperimentResult& result, const MetricEntry& metric, const std::string& problem,
                const std::string& variant, const VariantEntry& other) {
  return {label_beside(result.plan->experiment->variant(variant), other),
          ratio_on(result, metric, problem, variant, other.name)};
}

void count_pairs(const ExperimentResult& result, const MetricEntry& metric, const std::string& problem,
                 const std::vector<Entrant>& entrants, Verdict& verdict) {
  for (std::size_t i = 0; i < entrants.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (entrants[i].paper == entrants[j].paper) continue;
      const bool first = entrants[i].paper < entrants[j].paper;
      const auto kind = contest(result, metric, problem, entrants[first ? i : j].variant->name,
                                *entrants[first ? j : i].variant)
                            .kind();
      ++verdict.pairs;
      verdict.agreeing += kind == Ratio::Kind::better;
      verdict.level += kind == Ratio::Kind::level || kind == Ratio::Kind::unknown;
    }
}

std::string ranking_words(Verdict::Kind kind, const std::string& leader,
                          const std::vector<Contest>& contests) {
  if (kind == Verdict::Kind::holds) return fmt::format("{} leads, as in the paper", leader);
  if (kind == Verdict::Kind::within_error)
    return fmt::format("{} leads in the paper; here the seeds cannot tell it from {}", leader,
                       not_told_apart(contests));
  return fmt::format("{} leads in the paper; here it is behind {} ({})", leader,
                     labels_of(contests, {Ratio::Kind::worse}), hardest(contests).text());
}

// The smallest relative L² error of all methods; not a number if fewer than two have one.
double best_error(const ExperimentResult& result, const std::string& problem) {
  MetricEntry metric;
  metric.quantity = Quantity::l2;
  std::vector<double> errors;
  for (const auto& cell : result.cells)
    if (const Measured measured = measure(result, metric, cell);
        cell.cell->problem->name == problem && measured.is_known())
      errors.push_back(measured.centre());
  return errors.size() < 2 ? std::numeric_limits<double>::quiet_NaN()
                           : *std::min_element(errors.begin(), errors.end());
}

bool is_unsolved(const ExperimentResult& result, const MetricEntry& metric, const std::string& problem,
                 Verdict& verdict) {
  if (!is_of_the_solution(metric.quantity)) return false;
  const double error = best_error(result, problem);
  if (!(error > kUnsolved)) return false;
  verdict.words = fmt::format("no method solves it here: the best relative L² error is {:.2f}", error);
  return true;
}

std::string no_value_words(const MetricEntry& metric) {
  return metric.quantity == Quantity::seconds_to_target ? "no method reaches it"
         : is_residual(metric.quantity)                 ? "no method has a value and solves the problem"
                                                        : "no method has a value";
}

// That a method misses a target says something where another reaches it.
Verdict judge_result(const ExperimentResult& result, const CheckEntry& check, const MetricEntry& metric,
                     const std::string& problem, const Measured& measured) {
  Verdict verdict;
  if (metric.quantity == Quantity::seconds_to_target &&
      std::none_of(result.cells.begin(), result.cells.end(), [&](const CellResult& cell) {
        return cell.cell->problem->name == problem && measure(result, metric, cell).is_known();
      })) {
    verdict.words = no_value_words(metric);
    return verdict;
  }
  verdict.words = measured.text();
  if (measured.pending + measured.failed == 0)
    verdict.kind = verdict.words == check.result ? Verdict::Kind::holds : Verdict::Kind::fails;
  return verdict;
}

// The bounds are those of the experiment file, not the paper's: the reader should see them. Shares are given in percent.
std::string range_text(const CheckEntry& check, bool share = false) {
  const double unit = share ? 100 : 1, low = unit * check.low, high = unit * check.high;
  const char* const sign = share ? " %" : "";
  if (low == 0) return fmt::format("at most {:g}{} counts", high, sign);
  if (check.high >= kNoBound) return fmt::format("{:g}{} or more counts", low, sign);
  return fmt::format("{:g} to {:g}{} counts", low, high, sign);
}

// All of the interval lies in the range, or outside of it, or neither.
Verdict::Kind kind_within(const CheckEntry& check, double low, double high) {
  return low >= check.low && high <= check.high ? Verdict::Kind::holds
         : high < check.low || low > check.high ? Verdict::Kind::fails
                                                : Verdict::Kind::within_error;
}

// A range from 0 on is about being below: there a variant without a value in more seeds is behind, and one whose
// rival has none at all is not.
Verdict judge_range(const CheckEntry& check, const Contest& contest) {
  Verdict verdict;
  const Ratio& ratio = contest.ratio;
  const bool below = check.low == 0, behind = ratio.lost > ratio.other;
  if (below && (behind || (ratio.pairs == 0 && ratio.other > 0))) {
    verdict.words = fmt::format("{}; {}", contest.text(), range_text(check));
    verdict.kind = behind ? Verdict::Kind::fails : Verdict::Kind::holds;
    return verdict;
  }
  verdict.words = "no values";
  if (ratio.pairs == 0) return verdict;
  verdict.words =
      fmt::format("{} times {}{}; {}", ratio.interval_text(), contest.other,
                  ratio.lost + ratio.other > 0 ? " where both have a value" : "", range_text(check));
  if (ratio.lost > 0 || (ratio.other > 0 && !below)) return verdict;
  const bool alone = ratio.pairs == 1;  // it has no interval
  const double low = alone ? ratio.factor : ratio.low, high = alone ? ratio.factor : ratio.high;
  if (alone) verdict.words += ", one seed";
  verdict.kind = kind_within(check, low, high);
  return verdict;
}

// The variant's own values: their mean with its 95 % interval.
Verdict judge_values(const CheckEntry& check, const MetricEntry& metric, const Measured& measured) {
  Verdict verdict;
  const bool share = is_share(metric.quantity);
  if (static_cast<int>(measured.values.size()) < measured.seeds || measured.unsolved > 0) {
    verdict.words = fmt::format("{}; {}", measured.text(), range_text(check, share));
    return verdict;
  }
  const double mean = measured.mean(), reach = interval_of_mean(measured), low = std::max(mean - reach, 0.0),
               high = mean + reach;
  const auto number = [&](double value) {
    return share ? percent_text(value) : fmt::format("{:.2e}", value);
  };
  verdict.words = measured.values.size() < 2
                      ? fmt::format("{}, one seed; {}", number(mean), range_text(check, share))
                      : fmt::format("{} ({} … {}); {}", number(mean), number(low), number(high),
                                    range_text(check, share));
  verdict.kind = kind_within(check, low, high);
  return verdict;
}

// What follows the changes of bases of a cell, and how to say it.
struct Aftermath {
  double found;
  std::string words;
  bool share = false;
};

Aftermath aftermath(const std::string& quantity, const Events& events) {
  const auto ten_steps_later = [](const std::vector<double>& after, const std::vector<double>& at) {
    const double found = quantile(after, kMedian);
    return Aftermath{found, fmt::format("{:.2g} ten steps after the median change, {:.2g} at it", found,
                                        quantile(at, kMedian))};
  };
  if (quantity == "rho_after_10") return ten_steps_later(events.rho_after_10, events.rho);
  if (quantity == "gradient_cosine_after_10") return ten_steps_later(events.cosine_after_10, events.cosine);
  if (quantity == "doubled_after_1") {
    const double found = share_above(kSpike, events.after_1);
    return {found, percent_text(found) + " of changes more than double the loss in one step", true};
  }
  const double found = quantile(quantity == "loss_after_1" ? events.after_1 : events.after_10, kWorstTenth);
  return {found, fmt::format("{} times the loss before, in the worst tenth of changes", factor_text(found))};
}

Verdict judge_events(const CheckEntry& check, const Events& events) {
  const auto [found, words, share] = aftermath(check.events, events);
  Verdict verdict;
  verdict.words = "no log of changes of bases was kept, or there were none";
  if (std::isnan(found)) return verdict;
  verdict.words = fmt::format("{}; {}", words, range_text(check, share));
  verdict.kind = kind_within(check, found, found);
  return verdict;
}

Verdict judge_order(const ExperimentResult& result, const MetricEntry& metric, const std::string& problem,
                    const std::vector<Contest>& contests) {
  Verdict verdict;
  if (is_unsolved(result, metric, problem, verdict)) return verdict;
  verdict.kind = kind_of(contests);
  if (verdict.kind == Verdict::Kind::untested) {
    verdict.words = no_value_words(metric);
    return verdict;
  }
  verdict.words = hardest(contests).text();
  if (verdict.kind == Verdict::Kind::within_error && contests.size() > 1) {
    auto open = contests;
    std::erase_if(open, [](const Contest& c) { return !is_open(c); });
    verdict.words = fmt::format("from {}; {}", not_told_apart(contests), hardest(open).text());
  }
  if (std::any_of(contests.begin(), contests.end(), [](const Contest& c) { return c.one_seed(); }))
    verdict.words += ", one seed";
  return verdict;
}

}  // namespace

std::string words_of(const CheckEntry& check) {
  if (!check.ours) return check.says;
  const bool full_stop = check.says.ends_with('.');
  return fmt::format("{} (ours){}", check.says.substr(0, check.says.size() - full_stop),
                     full_stop ? "." : "");
}

std::string Verdict::pairs_text() const {
  if (pairs == 0) return "";
  return fmt::format("{} in its order, {} not told apart, {} reversed", agreeing, level,
                     pairs - agreeing - level);
}

Verdict judge(const ExperimentResult& result, const MetricEntry& metric, const std::string& problem) {
  Verdict verdict;
  if (!metric.ranked || !metric.paper.contains(problem)) {
    verdict.words = "the paper prints no ranking";
    return verdict;
  }
  const auto entrants = entrants_of(result, metric, problem);
  const auto leader = std::find_if(entrants.begin(), entrants.end(), [&](const Entrant& entrant) {
    return entrant.variant->name == leader_of(metric.paper.at(problem));
  });
  if (leader == entrants.end() || entrants.size() < 2) {
    verdict.words = "not tested";
    return verdict;
  }
  if (std::none_of(entrants.begin(), entrants.end(), [](const auto& e) { return e.known; })) {
    verdict.words = "no method has a value";
    return verdict;
  }
  if (is_unsolved(result, metric, problem, verdict)) return verdict;
  count_pairs(result, metric, problem, entrants, verdict);
  std::vector<Contest> contests;
  for (const auto& entrant : entrants)
    if (entrant.variant != leader->variant)
      contests.push_back(contest(result, metric, problem, leader->variant->name, *entrant.variant));
  verdict.kind = kind_of(contests);
  if (verdict.kind == Verdict::Kind::untested) {
    verdict.words = no_value_words(metric);
    return verdict;
  }
  verdict.words = ranking_words(verdict.kind, leader->variant->label, contests);
  if (std::any_of(contests.begin(), contests.end(), [](const Contest& c) { return c.one_seed(); }))
    verdict.words += " (one seed)";
  return verdict;
}

Verdict judge(const ExperimentResult& result, const CheckEntry& check, const std::string& problem) {
  Verdict verdict;
  if (!check.not_tested.empty()) {
    verdict.words = check.not_tested;
    return verdict;
  }
  const Experiment& experiment = *result.plan->experiment;
  const MetricEntry& metric = experiment.metrics[check.metric];
  const CellResult* own = find_cell(result, problem, check.variant);
  auto others = check.below;
  if (!check.over.empty()) others.push_back(check.over);
  std::vector<std::string> missing;
  std::erase_if(others, [&](const auto& other) {
    if (find_cell(result, problem, other)) return false;
    missing.push_back(experiment.variant(other).label);
    return true;
  });
  if (!own || (others.empty() && !missing.empty())) {
    verdict.words = "not part of this budget";
    return verdict;
  }
  std::vector<Contest> contests;
  std::vector<std::string> untuned;
  if (!survives_tuning(*own)) untuned.push_back(own->cell->variant->label);
  bool ended = measure(result, metric, *own).rank_value().has_value();
  for (const auto& other : others) {
    if (!survives_tuning(*find_cell(result, problem, other)))
      untuned.push_back(experiment.variant(other).label);
    ended = ended && measure(result, metric, *find_cell(result, problem, other)).rank_value();
    contests.push_back(contest(result, metric, problem, check.variant, experiment.variant(other)));
  }
  if (!ended) {
    verdict.words = "runs are missing";
    return verdict;
  }
  if (!untuned.empty()) {
    verdict.words = fmt::format("all that tuning tried diverges: {}", fmt::join(untuned, ", "));
    return verdict;
  }
  if (!check.result.empty())
    return judge_result(result, check, metric, problem, measure(result, metric, *own));
  if (!check.events.empty()) return judge_events(check, read_events(*own));
  if (check.below.empty() && check.over.empty())
    return judge_values(check, metric, measure(result, metric, *own));
  verdict = check.over.empty() ? judge_order(result, metric, problem, contests)
                               : judge_range(check, contests.front());
  if (!missing.empty()) verdict.words += fmt::format(", without {}", fmt::join(missing, ", "));
  verdict.partly = !missing.empty();
  return verdict;
}

std::string CheckVerdict::text() const {
  switch (kind) {
    case CheckVerdict::Kind::holds: return partly ? "holds where tested" : "holds";
    case CheckVerdict::Kind::in_part: return "holds in part";
    case CheckVerdict::Kind::undecided: return "cannot tell";
    case CheckVerdict::Kind::fails: return "does not hold";
    case CheckVerdict::Kind::untested: break;
  }
  return "not tested";
}

namespace {

// Labels of rows may continue the one above, as "… starting at zero" does "teacher with a margin": a sentence needs both.
std::string full_label(const ExperimentResult& result, const std::string& name) {
  const std::string continues = "… ";
  const auto& problems = result.plan->experiment->problems;
  auto entry = std::find_if(problems.begin(), problems.end(), [&](const auto& p) { return p.name == name; });
  std::string label = result.plan->problem_label(*entry);
  if (!label.starts_with(continues)) return label;
  while (entry != problems.begin() && entry->label.starts_with(continues)) --entry;
  return fmt::format("{}, {}", entry->label, label.substr(continues.size()));
}

}  // namespace

CheckVerdict judge(const ExperimentResult& result, const CheckEntry& check) {
  if (!check.not_tested.empty()) return {CheckVerdict::Kind::untested, false, check.not_tested};
  CheckVerdict whole;
  std::map<Verdict::Kind, std::vector<std::string>> found;
  for (const auto& name : check.problems) {
    const Verdict verdict = judge(result, check, name);
    whole.partly = whole.partly || verdict.partly;
    found[verdict.kind].push_back(fmt::format("{} ({})", full_label(result, name), verdict.words));
  }
  const bool holds = found.contains(Verdict::Kind::holds),
             level = found.contains(Verdict::Kind::within_error),
             fails = found.contains(Verdict::Kind::fails);
  whole.partly = whole.partly || found.contains(Verdict::Kind::untested);
  if (holds)
    whole.kind = level || fails ? CheckVerdict::Kind::in_part : CheckVerdict::Kind::holds;
  else if (fails)
    whole.kind = CheckVerdict::Kind::fails;
  else if (level)
    whole.kind = CheckVerdict::Kind::undecided;
  std::vector<std::string> parts;
  for (const auto& [kind, words] : std::initializer_list<std::pair<Verdict::Kind, const char*>>{
           {Verdict::Kind::holds, "holds on"},
           {Verdict::Kind::within_error, "cannot tell on"},
           {Verdict::Kind::fails, "does not hold on"},
           {Verdict::Kind::untested, "not tested on"}})
    if (found.contains(kind)) parts.push_back(fmt::format("{} {}", words, fmt::join(found[kind], ", ")));
  whole.evidence = fmt::format("{}", fmt::join(parts, "; "));
  return whole;
}

}  // namespace lather::experiment
