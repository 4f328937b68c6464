#pragma once
// One HTML page about one run or several: curves, maps, diagnostics of the optimizer, tables, settings,
// environment. It contains its data, style and script and needs no network. The template is in
// lather/report/page.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lather/report/comparison.hpp"
#include "lather/report/run_data.hpp"
#include "lather/report/table.hpp"

namespace lather::report {

struct NamedTable {
  std::string name, title;  // "runs", "Results"
  Table table;
};

struct Report {
  std::string html;
  std::vector<NamedTable> tables;
  std::vector<std::string> notes;  // what could not be read; also on the page
};

Report make_report(std::span<const std::filesystem::path> runs, ShownStep step = ShownStep::best);

// The page that `lather watch` serves: it asks the server for its data.
std::string live_page();
// The page of a sweep from its data (lather/batch/sweep/sweep_page.cpp).
std::string sweep_page(const std::string& title, const nlohmann::ordered_json& data);

// NAME.md, NAME.csv, NAME.tex of every table.
void write_tables(const Report& report, const std::filesystem::path& folder);

// The data behind the page, for tests and for other drawing code.
nlohmann::ordered_json report_json(const std::vector<RunData>& runs, const std::vector<NamedTable>& tables);
// JSON that is safe inside a <script> element: nothing in it can end the element or begin a comment.
std::string script_safe(const nlohmann::ordered_json& json);

}  // namespace lather::report
