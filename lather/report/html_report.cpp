#include "lather/report/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/text.hpp"
#include "lather/core/version.hpp"
#include "lather/report/comparison.hpp"
#include "lather/report/page_files.hpp"
#include "lather/report/run_groups.hpp"
#include "lather/train/run_folder/run_folder.hpp"

namespace lather::report {

namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

// Replaces each mark with its value; inserted text is not scanned again.
std::string fill_in(std::string_view text,
                    std::span<const std::pair<std::string_view, std::string_view>> values) {
  std::string out;
  while (!text.empty()) {
    const auto begin = text.find("{{");
    const auto end = begin == text.npos ? begin : text.find("}}", begin);
    out += text.substr(0, begin);
    if (end == text.npos) break;
    const auto mark = text.substr(begin + 2, end - begin - 2);
    for (const auto& [name, value] : values)
      if (name == mark) out += value;
    text.remove_prefix(end + 2);
  }
  return out;
}

std::string title_of(const std::vector<RunData>& runs) {
  const auto problems = problem_names(runs);
  std::string title = problems[0];
  for (std::size_t i = 1; i < problems.size(); ++i) title += ", " + problems[i];
  return runs.size() == 1 ? fmt::format("{} with {}", title,
                                        runs[0].optimizer.empty() ? "unknown optimizer" : runs[0].optimizer)
                          : fmt::format("{}: {} runs compared", title, runs.size());
}

std::vector<NamedTable> tables_of(const std::vector<RunData>& runs, ShownStep step) {
  const std::string at = step == ShownStep::best ? "at the best step" : "at the last step";
  std::vector<RunGroup> each, by_optimizer;
  const auto names = group_names(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& run = runs[i];
    const auto& name = names[i];
    each.push_back({run.name, {run.summary}});
    auto group = std::find_if(by_optimizer.begin(), by_optimizer.end(),
                              [&](const RunGroup& g) { return g.name == name; });
    if (group == by_optimizer.end()) group = by_optimizer.insert(group, {name, {}});
    group->summaries.push_back(run.summary);
  }
  std::vector<NamedTable> tables;
  if (problem_names(runs).size() == 1 && by_optimizer.size() < runs.size())
    tables.push_back({"optimizers", "Mean ± standard deviation over the seeds, " + at,
                      comparison_table(by_optimizer, step)});
  tables.push_back({"runs", "Results", runs_table(each)});
  tables.push_back({"figures", "Residuals (root mean square) and errors " + at + ", by term and field",
                    figures_table(each, step)});
  return tables;
}

OrderedJson table_json(const NamedTable& named) {
  OrderedJson rows = OrderedJson::array();
  for (const auto& row : named.table.rows) {
    rows.push_back(OrderedJson::array());
    for (const auto& cell : row) rows.back().push_back(to_text(cell));
  }
  return {{"name", named.name},
          {"title", named.title},
          {"header", named.table.header},
          {"rows", rows},
          {"markdown", to_markdown(named.table)},
          {"csv", to_csv(named.table)},
          {"latex", to_latex(named.table)}};
}

// Which of many runs are shown in full: those with the smallest error, or residual if no error is known.
std::vector<bool> best_of(std::span<const fs::path> paths) {
  std::vector<bool> best(paths.size(), true);
  if (paths.size() <= kMostDetailed) return best;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    double value = std::numeric_limits<double>::infinity();
    try {
      const auto summary = nlohmann::json::parse(
          read_found_file(paths[i] / "summary.json", train::kMostJsonBytes), nullptr, false);
      const auto& shown = summary.at("best");
      if (shown.at("residual").is_number()) value = shown["residual"].get<double>();
      for (const auto& [field, error] : shown.at("l2").items())
        if (error.is_number()) value = error.get<double>();
    } catch (const std::exception&) {  // damaged or missing: the last to be shown
    }
    order.emplace_back(value, i);
  }
  std::sort(order.begin(), order.end());
  for (std::size_t k = kMostDetailed; k < order.size(); ++k) best[order[k].second] = false;
  return best;
}

// Runs with the same name are told apart by their paths.
void make_names_differ(std::vector<RunData>& runs, std::span<const fs::path> paths) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto same = [&](const RunData& other) { return &other != &runs[i] && other.name == runs[i].name; };
    names.push_back(std::any_of(runs.begin(), runs.end(), same) ? paths[i].lexically_normal().string()
                                                                : runs[i].name);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].name = names[i];
}

}  // namespace

OrderedJson report_json(const std::vector<RunData>& runs, const std::vector<NamedTable>& tables) {
  OrderedJson json = {{"format", 1},
                      {"lather", version()},
                      {"title", title_of(runs)},
                      {"runs", OrderedJson::array()},
                      {"tables", OrderedJson::array()}};
  const auto groups = group_names(runs);
  for (const auto& run : runs)
    json["runs"].push_back({{"name", run.name},
                            {"group", groups[json["runs"].size()]},
                            {"problem", problem_name(run)},
                            {"optimizer", run.optimizer},
                            {"notes", run.notes},
                            {"summary", run.summary},
                            {"config", run.config},
                            {"environment", run.environment},
                            {"history", run.history},
                            {"diagnostics", run.diagnostics},
                            {"fields", run.fields},
                            {"data", run.data}});
  for (const auto& table : tables) json["tables"].push_back(table_json(table));
  return json;
}

std::string script_safe(const OrderedJson& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)) switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  return out;
}

Report make_report(std::span<const fs::path> paths, ShownStep step) {
  if (paths.empty()) throw Error("no run folder was given");
  std::vector<RunData> runs;
  Report report;
  const auto detailed = best_of(paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    auto limits = limits_for(paths.size());
    limits.detailed = detailed[i];
    runs.push_back(read_run_data(paths[i], limits));
  }
  make_names_differ(runs, paths);
  if (paths.size() > kMostDetailed)
    runs[0].notes.push_back(fmt::format("fields and diagnostics are those of the {} best of {} runs",
                                        kMostDetailed, paths.size()));
  report.tables = tables_of(runs, step);
  for (const auto& run : runs)
    for (const auto& note : run.notes) report.notes.push_back(fmt::format("{}: {}", run.name, note));
  const std::string title = markup(title_of(runs)), data = script_safe(report_json(runs, report.tables));
  const std::pair<std::string_view, std::string_view> values[] = {
      {"title", title}, {"style", kPage_css}, {"script", kPage_js}, {"data", data}};
  report.html = fill_in(kPage_html, values);
  return report;
}

std::string live_page() {
  const std::pair<std::string_view, std::string_view> values[] = {
      {"title", "Runs"}, {"style", kPage_css}, {"script", kPage_live}, {"data", "{}"}};
  return fill_in(kPage_html, values);
}

std::string sweep_page(const std::string& title, const OrderedJson& json) {
  const std::string head = markup(title), data = script_safe(json);
  const std::pair<std::string_view, std::string_view> values[] = {
      {"title", head}, {"style", kPage_css}, {"script", kPage_sweep}, {"data", data}};
  return fill_in(kPage_html, values);
}

void write_tables(const Report& report, const fs::path& folder) {
  train::create_folder(folder);
  for (const auto& [name, title, table] : report.tables) {
    write_file_atomically(folder / (name + ".md"), to_markdown(table));
    write_file_atomically(folder / (name + ".csv"), to_csv(table));
    write_file_atomically(folder / (name + ".tex"), to_latex(table));
  }
}

}  // namespace lather::report
