// lather report RUN… [--out page.html] [--figure picture.svg|pdf [--panel …] [--quantity …] [--over …] [--seeds …]]
// [--tables DIR]
#include "lather/report/html_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>

#include "commands/commands.hpp"
#include "lather/core/error.hpp"
#include "lather/report/draw/figure.hpp"
#include "lather/report/draw/pdf.hpp"
#include "lather/report/find_runs.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out, figure, tables;
  std::string panel = "all", quantity, over, seeds = "together";
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
const std::map<std::string, report::FigureSeeds> kSeeds = {{"together", report::FigureSeeds::together},
                                                           {"apart", report::FigureSeeds::apart}};

// Those that histories record.
std::map<std::string, report::Quantity> drawn_quantities() {
  std::map<std::string, report::Quantity> list;
  for (const auto& name : report::quantity_names()) list[name] = *report::find_quantity(name);
  return list;
}

template <class Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

template <class Value>
Value value_named(const std::string& name, const char* option, const std::map<std::string, Value>& values) {
  const auto found = values.find(name);
  if (found == values.end())
    throw Error(unknown_name_message(fmt::format("value of {}", option), name, names_of(values)));
  return found->second;
}

report::FigureChoice choice_of(const ReportArguments& a) {
  report::FigureChoice choice;
  choice.panel = value_named(a.panel, "--panel", kPanels);
  if (!a.over.empty()) choice.clock = value_named(a.over, "--over", kClocks);
  if (!a.quantity.empty()) choice.quantity = value_named(a.quantity, "--quantity", drawn_quantities());
  choice.seeds = value_named(a.seeds, "--seeds", kSeeds);
  return choice;
}

void require_picture_name(const fs::path& file) {
  if (file.extension() != ".svg" && file.extension() != ".pdf")
    throw Error(fmt::format("--figure {}: its name must end in .svg or .pdf", file.string()));
}

void write_figure(const fs::path& file, const report::FigureChoice& choice,
                  const std::vector<fs::path>& runs) {
  std::vector<report::RunData> data;
  for (const auto& run : runs) data.push_back(report::read_run_data(run));
  const std::string svg = report::svg_figure(data, choice);
  write_result(file.string(), "", file.extension() == ".pdf" ? report::pdf_of(svg) : svg);
}

void make_page(const ReportArguments& a) {
  const auto choice = choice_of(a);
  if (!a.figure.empty()) require_picture_name(a.figure);
  const std::vector<fs::path> given(a.runs.begin(), a.runs.end());
  const auto found = report::find_runs(given);
  const auto& runs = found.folders;
  const auto report = report::make_report(runs, a.last ? report::ShownStep::last : report::ShownStep::best);
  for (const auto& notes : {found.notes, report.notes})
    for (const auto& note : notes) say_aside("lather: {}\n", note);
  write_result(a.out, given.size() == 1 ? given[0] / "report.html" : fs::path("report.html"), report.html);
  if (!a.figure.empty()) write_figure(a.figure, choice, runs);
  if (a.tables.empty()) return;
  report::write_tables(report, a.tables);
  for (const auto& table : report.tables) say("{0}/{1}.md {0}/{1}.csv {0}/{1}.tex\n", a.tables, table.name);
}

}  // namespace

void add_report(CLI::App& app, int&) {
  auto* command = app.add_subcommand("report", "Write an HTML report about a run or a comparison");
  auto a = std::make_shared<ReportArguments>();
  command->add_option("runs", a->runs, "run folders, or folders of a comparison, a sweep or other runs")
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
  const auto add_choice = [&](const char* option, std::string& value, const char* words,
                              const std::vector<std::string>& names) {
    command->add_option(option, value, words)
        ->needs(figure)
        ->type_name(fmt::format("{{{}}}", fmt::join(names, ",")));
  };
  add_choice("--panel", a->panel,
             "one part of the figure alone; maps: reference, prediction and error in a row",
             names_of(kPanels));
  add_choice(
      "--quantity", a->quantity,
      "what its curves show (default: l2, or residual if there are no errors); residual is a root mean "
      "square, mean_square its square",
      names_of(drawn_quantities()));
  add_choice("--over", a->over, "what its curves lie over (default: seconds)", names_of(kClocks));
  add_choice(
      "--seeds", a->seeds,
      "runs that differ only in their seed: one curve, the geometric mean, with a band from the smallest "
      "to the largest value (default), or a curve each",
      names_of(kSeeds));
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
      "  lather report runs/compare-burgers-1 --figure curves.pdf --panel curves --quantity residual "
      "--over steps");
  command->callback([a] { make_page(*a); });
}

}  // namespace lather::command
