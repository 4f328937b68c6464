// lather report RUN… [--out page.html] [--figure picture.svg] [--tables DIR]
#include "lather/report/html_report.hpp"

#include <fmt/format.h>

#include <memory>

#include "commands/commands.hpp"
#include "lather/core/files.hpp"
#include "lather/report/draw/figure.hpp"

namespace lather::command {

namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out, figure, tables;
  bool last = false;
};

void make_page(const ReportArguments& a) {
  const std::vector<fs::path> given(a.runs.begin(), a.runs.end());
  const auto runs = report::find_runs(given);
  const auto report = report::make_report(runs, a.last ? report::ShownStep::last : report::ShownStep::best);
  const fs::path page = !a.out.empty()      ? fs::path(a.out)
                        : given.size() == 1 ? given[0] / "report.html"
                                            : fs::path("report.html");
  write_file_atomically(page, report.html);
  for (const auto& note : report.notes) fmt::print(stderr, "lather: {}\n", note);
  fmt::print("{}\n", page.string());
  if (!a.figure.empty()) {
    std::vector<report::RunData> data;
    for (const auto& run : runs) data.push_back(report::read_run_data(run));
    write_file_atomically(a.figure, report::svg_figure(data));
    fmt::print("{}\n", a.figure);
  }
  if (a.tables.empty()) return;
  report::write_tables(report, a.tables);
  for (const auto& table : report.tables)
    fmt::print("{0}/{1}.md {0}/{1}.csv {0}/{1}.tex\n", a.tables, table.name);
}

}  // namespace

void add_report(CLI::App& app, int&) {
  auto* command = app.add_subcommand("report", "Write an HTML report about a run or a comparison");
  auto a = std::make_shared<ReportArguments>();
  command->add_option("runs", a->runs, "run folders, or the folder of a comparison")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("--out", a->out,
                   "the page (default: report.html in the run folder, or here if there are several runs)")
      ->type_name("FILE");
  command
      ->add_option("--figure", a->figure, "also write an SVG figure: convergence, best prediction, its error")
      ->type_name("FILE");
  command
      ->add_option("--tables", a->tables, "also write the tables as Markdown, CSV and LaTeX into this folder")
      ->type_name("DIR");
  command->add_flag("--last", a->last,
                    "tables at the last step instead of the best one (maps always show the best)");
  command->footer(
      "The page is self-contained: open it in a browser, or send it to someone.\n\nExamples:\n"
      "  lather report runs/burgers-ss-esoap-0-1\n  lather report runs/compare-burgers-1 --tables tables\n"
      "  lather report runs/burgers-adam-0-1 runs/burgers-ss-esoap-0-1 --out burgers.html\n"
      "  lather report runs/compare-burgers-1 --figure burgers.svg");
  command->callback([a] { make_page(*a); });
}

}  // namespace lather::command
