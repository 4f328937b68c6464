#include "lather/experiment/pages/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "lather/experiment/verdicts/verdict.hpp"

namespace lather::experiment {

namespace {

constexpr std::array kKinds = {CheckVerdict::Kind::holds, CheckVerdict::Kind::in_part,
                               CheckVerdict::Kind::fails, CheckVerdict::Kind::undecided,
                               CheckVerdict::Kind::untested};

struct CheckedClaim {
  const ExperimentResult* result;
  const CheckEntry* check;
  CheckVerdict verdict;
};

std::vector<CheckedClaim> check_all(std::span<const ExperimentResult> results) {
  std::vector<CheckedClaim> checked;
  for (const auto& result : results)
    for (const auto& check : result.plan->experiment->checks)
      checked.push_back({&result, &check, judge(result, check)});
  return checked;
}

int count_of(const std::vector<CheckedClaim>& checked, CheckVerdict::Kind kind) {
  return static_cast<int>(std::count_if(checked.begin(), checked.end(),
                                        [&](const CheckedClaim& c) { return c.verdict.kind == kind; }));
}

// "Hold: 3; hold in part: 0; …"
std::string counts_of(const std::vector<CheckedClaim>& checked) {
  return fmt::format(
      "Hold: {}; hold in part: {}; do not hold: {}; the seeds cannot tell: {}; not tested: {}.",
      count_of(checked, kKinds[0]), count_of(checked, kKinds[1]), count_of(checked, kKinds[2]),
      count_of(checked, kKinds[3]), count_of(checked, kKinds[4]));
}

std::vector<CheckedClaim> those(std::vector<CheckedClaim> checked, bool (*wanted)(const CheckedClaim&)) {
  std::erase_if(checked, [&](const CheckedClaim& claim) { return !wanted(claim); });
  return checked;
}
bool is_ours(const CheckedClaim& claim) { return claim.check->ours; }
bool is_of_the_paper(const CheckedClaim& claim) { return !claim.check->ours; }
bool is_on_matrix_problems(const CheckedClaim& claim) { return claim.result->plan->experiment->only_tasks(); }

const char* answer_to(CheckVerdict::Kind kind) {
  switch (kind) {
    case CheckVerdict::Kind::holds: return "Yes";
    case CheckVerdict::Kind::in_part: return "Not everywhere";
    case CheckVerdict::Kind::undecided: return "Open";
    case CheckVerdict::Kind::fails: return "No";
    case CheckVerdict::Kind::untested: break;
  }
  return "Not tested";
}

report::Table claims_table(const std::vector<CheckedClaim>& checked) {
  report::Table table;
  table.header = {"here", "claim", "where, and by what factor", "section"};
  for (const auto kind : kKinds)
    for (const auto& claim : checked)
      if (claim.verdict.kind == kind)
        table.rows.push_back({{claim.verdict.text(), {}},
                              {words_of(*claim.check), {}},
                              {claim.verdict.evidence, {}},
                              {claim.result->plan->experiment->title, {}}});
  return table;
}

// For experiments with numbers from the paper and no claims in words.
report::Table rankings_table(std::span<const ExperimentResult> results) {
  report::Table table;
  table.header = {"section", "the paper says", "here (problems and metrics)"};
  for (const auto& result : results) {
    const Experiment& experiment = *result.plan->experiment;
    if (!experiment.checks.empty()) continue;
    std::array<int, 4> counts{};
    for (const auto& metric : experiment.metrics)
      for (const auto& [problem, row] : metric.paper)
        if (metric.ranked) ++counts[static_cast<std::size_t>(judge(result, metric, problem).kind)];
    std::vector<std::string> parts;
    constexpr std::array kWords = {"holds", "level", "does not hold", "not tested"};
    for (std::size_t k = 0; k < counts.size(); ++k)
      if (counts[k] > 0) parts.push_back(fmt::format("{} {}", kWords[k], counts[k]));
    table.rows.push_back({{experiment.title, {}},
                          {experiment.claim, {}},
                          {!parts.empty()      ? fmt::format("{}", fmt::join(parts, ", "))
                           : result.complete() ? experiment.conclusion
                                               : "runs are missing",
                           {}}});
  }
  return table;
}

// "K-FAC: 4 of 18 (Boussinesq with K-FAC, …)"
std::string missing_in(const ExperimentResult& result) {
  int missing = 0, wanted = 0;
  std::vector<std::string> cells;
  for (const auto& cell : result.cells) {
    int here = 0;
    for (const auto& run : cell.seeds)
      here += run.status != RunStatus::done && run.status != RunStatus::out_of_memory;
    wanted += static_cast<int>(cell.seeds.size());
    missing += here;
    if (here > 0)
      cells.push_back(fmt::format("{} with {}", cell.cell->problem->label, cell.cell->variant->label));
  }
  if (missing == 0) return "";
  return fmt::format("{}: {} of {} ({})", result.plan->experiment->title, missing, wanted,
                     fmt::join(cells, ", "));
}

// Of the reported runs; those of two sections count once.
std::string effort_of(std::span<const ExperimentResult> results) {
  std::set<std::filesystem::path> folders;
  double seconds = 0;
  for (const auto& result : results)
    for (const auto& cell : result.cells)
      for (const auto& run : cell.seeds)
        if (const auto summary = read_summary(run); summary.is_object() && folders.insert(run.folder).second)
          seconds += summary.value("seconds", 0.0);
  return fmt::format(
      "The {} runs behind the numbers trained for {:.1f} hours in all, several side by side; tuning is not "
      "counted. `values.csv` beside the pictures has the values of every one of them, in each "
      "section that it belongs to.",
      folders.size(), seconds / 3600);
}

}  // namespace

void add_summary(Document& page, std::span<const ExperimentResult> results) {
  const auto checked = check_all(results);
  if (!checked.empty()) {
    const auto papers = those(checked, is_of_the_paper), ours = those(checked, is_ours),
               on_matrices = those(papers, is_on_matrix_problems);
    page.paragraph(
        fmt::format("**Claims of the paper that were looked at: {}. {}**", papers.size(), counts_of(papers)));
    if (!on_matrices.empty() && on_matrices.size() < papers.size())
      page.paragraph(
          fmt::format("{} of them are on matrix problems. {}", on_matrices.size(), counts_of(on_matrices)));
    if (!ours.empty())
      page.paragraph(fmt::format(
          "{} more are claims of the paper under conditions of our own, marked \"ours\" below. {}",
          ours.size(), counts_of(ours)));
    for (const auto& claim : checked)
      if (!claim.check->question.empty())
        page.paragraph(fmt::format("**{}** {}: {}.", claim.check->question, answer_to(claim.verdict.kind),
                                   claim.verdict.evidence));
    page.table(claims_table(checked));
  }
  if (const auto rankings = rankings_table(results); !rankings.rows.empty()) page.table(rankings);
  page.paragraph(effort_of(results));
  std::vector<std::string> missing;
  for (const auto& result : results)
    if (auto words = missing_in(result); !words.empty()) missing.push_back(std::move(words));
  if (!missing.empty())
    page.paragraph(
        fmt::format("**Runs that are missing.** {}. Their cells say \"not run\", and claims that "
                    "need them are not tested.",
                    fmt::join(missing, "; ")));
}

}  // namespace lather::experiment
