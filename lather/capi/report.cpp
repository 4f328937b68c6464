#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "lather/capi/guard.hpp"
#include "lather/report/comparison.hpp"
#include "lather/report/draw/figure.hpp"
#include "lather/report/find_runs.hpp"
#include "lather/report/html_report.hpp"
#include "lather/train/run_folder/run_folder.hpp"

namespace lather::capi {

namespace {

std::vector<std::filesystem::path> found_runs(const char* const* runs, std::uint64_t count) {
  constexpr std::uint64_t kMostRuns = 1'000'000;
  if (count == 0) throw Error("no runs are given");
  if (count > kMostRuns) throw Error(fmt::format("count = {}: at most {} runs", count, kMostRuns));
  std::vector<std::filesystem::path> paths;
  for (std::uint64_t i = 0; i < count; ++i)
    paths.emplace_back(required_text((&required(runs, "runs"))[i], "run"));
  return report::find_runs(paths).folders;
}

report::Table table_of(const char* groups, bool last) {
  const auto json = train::parse_json(required_text(groups, "groups"), "groups");
  std::vector<report::RunGroup> list;
  if (!json.is_array()) throw Error("groups: expected a list");
  for (const auto& group : json) {
    if (!group.is_object() || !group.contains("name") || !group["name"].is_string() ||
        !group.contains("summaries") || !group["summaries"].is_array())
      throw Error("groups: expected {\"name\": …, \"summaries\": […]}");
    list.push_back({group["name"].get<std::string>(), group["summaries"]});
  }
  return report::comparison_table(list, last ? report::ShownStep::last : report::ShownStep::best);
}

}  // namespace

extern "C" {

std::int32_t lather_report_page(const char* const* runs, std::uint64_t count, const char** html) {
  return guarded([&] {
    required(html, "the pointer for the result") =
        keep_text(report::make_report(found_runs(runs, count)).html);
  });
}

std::int32_t lather_report_figure(const char* const* runs, std::uint64_t count, const char** svg) {
  return guarded([&] {
    std::vector<report::RunData> data;
    for (const auto& run : found_runs(runs, count)) data.push_back(report::read_run_data(run));
    required(svg, "the pointer for the result") = keep_text(report::svg_figure(data));
  });
}

std::int32_t lather_report_table(const char* groups, std::int32_t last, const char** markdown) {
  return guarded([&] {
    required(markdown, "the pointer for the result") =
        keep_text(report::to_markdown(table_of(groups, last != 0)));
  });
}

}  // extern "C"

}  // namespace lather::capi
