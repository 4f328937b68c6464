// lather report RUN… [--out page.html] [--figure picture.svg|pdf [--panel …] [--over …]] [--tables DIR]
#include "lather/report/html_report.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "commands/commands.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/report/draw/figure.hpp"
#include "lather/report/draw/pdf.hpp"
#include "lather/report/find_runs.hpp"

namespace lather::command {

namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out, figure, tables;
  std::string panel = "all", over;
  bool last = false;
};

const std::map<std::string, report::FigurePanel> kPanels = {{"all", report::FigurePanel::all},
                                                            {"curves", report::FigurePanel::curves},
                                                            {"reference", report::FigurePanel::reference},
                                                            {"prediction", report::FigurePanel::prediction},
                                                            {"error", report::FigurePanel::error},
                                                            {"maps", report::FigurePanel::maps}};
const std::map<std::string, report::FigureClock> kClocks = {{"seconds", report::FigureClock::seconds},
                                                            {"steps", report::FigureClock::steps}};

template <class Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto& entry : values) names.push_back(entry.first);
  return names;
}

void write_figure(const ReportArguments& a, const std::vector<fs::path>& runs) {
  const fs::path file = a.figure;
  if (file.extension() != ".svg" && file.extension() != ".pdf")
    throw Error(fmt::format("--figure {}: its name must end in .svg or .pdf", a.figure));
  std::vector<report::RunData> data;
  for (const auto& run : runs) data.push_back(report::read_run_data(run));
  const std::string svg = report::svg_figure(
      data, {kPanels.at(a.panel), a.over.empty() ? report::FigureClock::automatic : kClocks.at(a.over)});
  write_file_atomically(file, file.extension() == ".pdf" ? report::pdf_of(svg) : svg);
  fmt::print("{}\n", a.figure);
}

void make_page(const ReportArguments& a) {
  const std::vector<fs::path> given(a.runs.begin(), a.runs.end());
  const auto found = report::find_runs(given);
  const auto& runs = found.folders;
  const auto report = report::make_report(runs, a.last ? report::ShownStep::last : report::ShownStep::best);
  const fs::path page = !a.out.empty()      ? fs::path(a.out)
                        : given.size() == 1 ? given[0] / "report.html"
                                            : fs::path("report.html");
  write_file_atomically(page, report.html);
  for (const auto& notes : {found.notes, report.notes})
    for (const auto& note : notes) fmt::print(stderr, "lather: {}\n", note);
  fmt::print("{}\n", page.string());
  if (!a.figure.empty()) write_figure(a, runs);
  if (a.tables.empty()) return;
  report::write_tables(report, a.tables);
  for (const auto& table : report.tables)
    fmt::print("{0}/{1}.md {0}/{1}.csv {0}/{1}.tex\n", a.tables, table.name);
}

}  // namespace

void add_report(CLI::App& app, int&) {
  auto* command = app.add_subcommand("report", "Write an HTML report about a run or a comparison");
  auto a = std::make_shared<ReportArguments>();
  command
      ->add_option("runs", a->runs, "run folders, or folders of a comparison, a sweep or `lather reproduce`")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("--out", a->out,
                   "the page (default: report.html in the run folder, or here if there are several runs)")
      ->type_name("FILE");
  auto* figure =
      command
          ->add_option("--figure", a->figure,
                       "also write a figure, .svg or .pdf: convergence, best prediction, its error")
          ->type_name("FILE");
  command
      ->add_option("--panel", a->panel,
                   "one part of the figure alone; maps: reference, prediction and error in a row")
      ->needs(figure)
      ->check(CLI::IsMember(names_of(kPanels)));
  command->add_option("--over", a->over, "what its curves lie over (default: seconds)")
      ->needs(figure)
      ->check(CLI::IsMember(names_of(kClocks)));
  command
      ->add_option("--tables", a->tables, "also write the tables as Markdown, CSV and LaTeX into this folder")
      ->type_name("DIR");
  command->add_flag("--last", a->last,
                    "tables at the last step instead of the best one (maps always show the best)");
  command->footer(
      "The page is self-contained: open it in a browser, or send it to someone.\n\nExamples:\n"
      "  lather report runs/burgers-ss-esoap-0-1\n  lather report runs/compare-burgers-1 --tables tables\n"
      "  lather report runs/burgers-adam-0-1 runs/burgers-ss-esoap-0-1 --out burgers.html\n"
      "  lather report runs/compare-burgers-1 --figure burgers.svg\n"
      "  lather report runs/compare-burgers-1 --figure curves.pdf --panel curves --over steps\n"
      "  lather report runs/reproduction-quick --figure curves.pdf --panel curves");
  command->callback([a] { make_page(*a); });
}

}  // namespace lather::command
