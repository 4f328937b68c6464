#include "lather/report/html_report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/report/find_runs.hpp"
#include "small_run.hpp"

namespace lather::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::content;
using testing::edit;
using testing::kSmallRunSteps;
using testing::TemporaryFolder;
using testing::write;

// What the page's script will read.
Json data_in(const std::string& html) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const auto from = html.find(begin) + begin.size();
  return Json::parse(html.substr(from, html.find("</script>", from) - from));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class HtmlReport : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runs_ = new TemporaryFolder;
    testing::train_small_run(*runs_ / "ss-esoap-0", "ss-esoap", 0);
    testing::train_small_run(*runs_ / "adam-0", "adam", 0);
    testing::train_small_run(*runs_ / "adam-1", "adam", 1);
  }
  static void TearDownTestSuite() { delete runs_; }

  // A run to be damaged.
  fs::path a_copy() {
    const fs::path path = folder_ / "copy";
    fs::copy(*runs_ / "ss-esoap-0", path, fs::copy_options::recursive);
    return path;
  }
  static Report page_of(const fs::path& path) { return make_report(find_runs(std::vector{path}).folders); }

  static TemporaryFolder* runs_;
  TemporaryFolder folder_;
};
TemporaryFolder* HtmlReport::runs_ = nullptr;

TEST_F(HtmlReport, OfARunHoldsItsCurvesMapsDiagnosticsSettingsAndEnvironment) {
  const Report report = page_of(*runs_ / "ss-esoap-0");
  EXPECT_TRUE(report.notes.empty()) << report.notes[0];
  const Json data = data_in(report.html);
  ASSERT_EQ(data["runs"].size(), 1u);
  const Json& run = data["runs"][0];
  EXPECT_EQ(run["name"], "ss-esoap-0");
  EXPECT_EQ(run["optimizer"], "ss-esoap");
  EXPECT_EQ(run["problem"], "small");

  const Json& history = run["history"];
  ASSERT_EQ(history["step"].size(), static_cast<std::size_t>(kSmallRunSteps));
  EXPECT_EQ(history["step"].back(), kSmallRunSteps);
  for (const auto& [name, column] : history.items()) EXPECT_EQ(column.size(), history["step"].size()) << name;
  EXPECT_NEAR(history["loss"].back().get<double>(), run["summary"]["loss"].get<double>(),
              1e-5 * run["summary"]["loss"].get<double>());
  EXPECT_TRUE(history["residual"][0].is_null());    // not measured there
  EXPECT_TRUE(history["residual"][4].is_number());  // at step 5
  EXPECT_TRUE(history["seconds"].back().is_number());
  for (const char* column : {"loss.heat", "loss.initial", "residual.walls", "l2.u", "h1.u"})
    EXPECT_TRUE(history.contains(column)) << column;

  const Json& diagnostics = run["diagnostics"];
  EXPECT_EQ(diagnostics["step"].size(), static_cast<std::size_t>(kSmallRunSteps));
  for (const char* quantity : {"tau", "rho", "gamma", "basis_changed"})
    EXPECT_EQ(diagnostics["blocks"]["layer1.weight"][quantity].size(),
              static_cast<std::size_t>(kSmallRunSteps))
        << quantity;

  const Json& fields = run["fields"];
  std::size_t points = 1;
  for (const auto& axis : fields["axes"]) points *= axis.size();
  for (const char* array : {"u", "u.reference", "u.error", "residual.heat"})
    EXPECT_EQ(fields["arrays"][array].size(), points) << array;

  EXPECT_EQ(run["config"], Json::parse(content(*runs_ / "ss-esoap-0" / "config.json")));
  EXPECT_EQ(run["environment"], Json::parse(content(*runs_ / "ss-esoap-0" / "environment.json")));
}

TEST_F(HtmlReport, CountsBasisUpdatesOverTheRecordedSteps) {
  const fs::path run = a_copy();
  write(run / "diagnostics.jsonl",
        R"({"step":1,"blocks":{"a":{"basis_changed":1.0},"b":{"basis_changed":0.0}}})"
        "\n"
        R"({"step":2,"blocks":{"a":{"basis_changed":0.0}}})"
        "\n"
        R"({"step":3,"blocks":{"a":{"basis_changed":1.0},"b":{"basis_changed":1.0}}})"
        "\n");
  const auto blocks = read_run_data(run).diagnostics["blocks"];
  EXPECT_EQ(blocks["a"]["basis_changed"].dump(), "[1.0,1.0,2.0]");
  EXPECT_EQ(blocks["b"]["basis_changed"].dump(), "[0.0,null,1.0]");
}

TEST_F(HtmlReport, OfAComparisonHasAllRunsAndATableByOptimizer) {
  const Report report = page_of(runs_->path());
  const Json data = data_in(report.html);
  ASSERT_EQ(data["runs"].size(), 3u);
  EXPECT_EQ(data["runs"][0]["name"], "adam-0");
  ASSERT_EQ(report.tables.size(), 3u);
  EXPECT_EQ(report.tables[0].name, "optimizers");
  ASSERT_EQ(report.tables[0].table.rows.size(), 2u);
  const double a = data["runs"][0]["summary"]["final"]["residual"],
               b = data["runs"][1]["summary"]["final"]["residual"];
  EXPECT_DOUBLE_EQ(report.tables[0].table.rows[0][1].spread->mean, (a + b) / 2);
  EXPECT_EQ(report.tables[0].table.rows[0][1].spread->count, 2);

  write_tables(report, folder_ / "tables");
  for (const char* name : {"optimizers", "runs", "figures"})
    for (const char* kind : {".md", ".csv", ".tex"})
      EXPECT_TRUE(fs::file_size(folder_ / "tables" / (std::string(name) + kind)) > 0) << name << kind;
  EXPECT_EQ(data["tables"][1]["latex"], content(folder_ / "tables" / "runs.tex"));
}

TEST_F(HtmlReport, HasTheMeanSquareResidualNextToItsRoot) {
  const Report report = page_of(*runs_ / "ss-esoap-0");
  const Table& figures = report.tables.back().table;
  ASSERT_EQ(report.tables.back().name, "figures");
  ASSERT_GT(figures.rows.size(), 2u);
  EXPECT_EQ(figures.rows[0][0].text, "residual (root mean square)");
  EXPECT_EQ(figures.rows[1][0].text, "mean square residual");
  EXPECT_TRUE(figures.rows[2][0].text.starts_with("residual of "));
  const Json best = data_in(report.html)["runs"][0]["summary"]["best"];
  const double root = best["residual"];
  EXPECT_DOUBLE_EQ(best["mean_square_residual"].get<double>(), root * root);
  EXPECT_EQ(figures.rows[0][1].text, fmt::format("{:.3e}", root));
  EXPECT_EQ(figures.rows[1][1].text, fmt::format("{:.3e}", best["mean_square_residual"].get<double>()));
}

TEST_F(HtmlReport, FetchesNothing) {
  const std::string html = page_of(*runs_ / "ss-esoap-0").html;
  EXPECT_EQ(count(html, "src="), 0u);
  EXPECT_EQ(count(html, "@import"), 0u);
  EXPECT_EQ(count(html, "https://"), 0u);
  EXPECT_EQ(count(html, "http://"), 1u);  // the name of SVG
  EXPECT_EQ(count(html, "href=\"data:,\""), 1u);
}

TEST_F(HtmlReport, EscapesNames) {
  const fs::path run = a_copy();
  const std::string hostile = "</script><img src=x onerror=alert(1)><!-- &";
  edit(run / "summary.json", [&](Json& json) { json["problem"] = hostile; });
  edit(run / "config.json", [&](Json& json) { json["problem"]["text"] = "title = \"" + hostile + "\""; });
  const Report report = page_of(run);
  EXPECT_EQ(count(report.html, "</script>"), count(page_of(*runs_ / "ss-esoap-0").html, "</script>"));
  EXPECT_EQ(count(report.html, "<img"), 0u);
  EXPECT_EQ(count(report.html, "<!--"), 0u);
  EXPECT_EQ(data_in(report.html)["runs"][0]["problem"], hostile);
}

TEST_F(HtmlReport, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(script_safe(nlohmann::ordered_json("a\xff<b")), "\"a\xef\xbf\xbd\\u003cb\"");
}

TEST_F(HtmlReport, NotesEveryFileThatIsMissing) {
  for (const char* file :
       {"summary.json", "environment.json", "fields.json", "timing.csv", "history.jsonl", "config.json"}) {
    TemporaryFolder folder;
    const fs::path run = folder / "run";
    fs::copy(*runs_ / "ss-esoap-0", run, fs::copy_options::recursive);
    fs::remove(run / file);
    const Report report = page_of(run);
    ASSERT_EQ(report.notes.size(), 1u) << file;
    EXPECT_NE(report.notes[0].find(file), std::string::npos) << report.notes[0];
    EXPECT_EQ(data_in(report.html)["runs"][0]["notes"].size(), 1u);
  }
}

TEST_F(HtmlReport, SurvivesEveryFileCutShortOrOverwritten) {
  for (const char* file : {"summary.json", "environment.json", "fields.json", "timing.csv", "history.jsonl",
                           "diagnostics.jsonl", "config.json"}) {
    const std::string whole = content(*runs_ / "ss-esoap-0" / file);
    for (const std::string& damaged : {whole.substr(0, whole.size() / 2), std::string(),
                                       std::string("[1, 2]\n"), std::string("\x00\xff{}", 4)}) {
      TemporaryFolder folder;
      const fs::path run = folder / "run";
      fs::copy(*runs_ / "ss-esoap-0", run, fs::copy_options::recursive);
      write(run / file, damaged);
      const Report report = page_of(run);
      EXPECT_NO_THROW(data_in(report.html)) << file;
      if (std::string_view(file) != "diagnostics.jsonl" && damaged != whole.substr(0, whole.size() / 2)) {
        EXPECT_FALSE(report.notes.empty()) << file;
      }
    }
  }
}

TEST_F(HtmlReport, LeavesOutMapsOfTheWrongSize) {
  const fs::path run = a_copy();
  edit(run / "fields.json", [](Json& json) { json["arrays"]["u"].erase(0); });
  const Report report = page_of(run);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("'u' has"), std::string::npos) << report.notes[0];
  EXPECT_TRUE(data_in(report.html)["runs"][0]["fields"].is_null());
}

TEST_F(HtmlReport, ThinsOutALongHistoryAndKeepsTheLastStep) {
  const fs::path run = a_copy();
  std::string lines;
  for (int step = 1; step <= 9001; ++step)
    lines += "{\"step\":" + std::to_string(step) + ",\"loss\":1.0" +
             (step % 1000 == 0 ? ",\"residual\":0.5}\n" : "}\n");
  write(run / "history.jsonl", lines);
  const RunData data = read_run_data(run);
  EXPECT_LE(data.history["step"].size(), kMostHistoryRows + 10);
  EXPECT_EQ(data.history["step"].back(), 9001);
  int residuals = 0;
  for (const auto& value : data.history["residual"]) residuals += value.is_number();
  EXPECT_EQ(residuals, 9);
  ASSERT_EQ(data.notes.size(), 1u);
}

TEST_F(HtmlReport, NumbersThatAreNoneAreGaps) {
  const fs::path run = a_copy();
  write(run / "history.jsonl", "{\"step\":1,\"loss\":\"nan\"}\n{\"step\":2,\"loss\":1e-7}\n");
  EXPECT_EQ(read_run_data(run).history["loss"].dump(), "[null,1e-07]");
}

TEST_F(HtmlReport, TellsRunsOfTheSameNameApart) {
  const fs::path one = folder_ / "one/run", other = folder_ / "other/run";
  for (const auto& path : {one, other}) {
    fs::create_directories(path.parent_path());
    fs::copy(*runs_ / "adam-0", path, fs::copy_options::recursive);
  }
  const Json data = data_in(make_report(std::vector{one, other}).html);
  EXPECT_NE(data["runs"][0]["name"], data["runs"][1]["name"]);
}

TEST_F(HtmlReport, SaysWhatIsNoRun) {
  const auto message = [](const fs::path& path) -> std::string {
    try {
      find_runs(std::vector{path});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(folder_ / "nowhere").find("there is no folder"), std::string::npos);
  EXPECT_NE(message(folder_.path()).find("neither a run folder nor a folder of runs"), std::string::npos);
  write(folder_ / "file", "");
  EXPECT_NE(message(folder_ / "file").find("is a file"), std::string::npos);
}

// The output folder of `lather sweep`: runs in a folder of their own, not all of them with a history.
TEST_F(HtmlReport, FindsTheTrainingsOfASweep) {
  const fs::path runs = folder_ / "out/runs";
  fs::create_directories(runs);
  for (const char* name : {"burgers-adam-1-f3", "burgers-adam-1000-00", "burgers-adam-2-aa"})
    fs::copy(*runs_ / "adam-0", runs / name, fs::copy_options::recursive);
  for (const auto& run : fs::directory_iterator(runs)) fs::remove_all(run.path() / "checkpoints");
  fs::remove(runs / "burgers-adam-1000-00/history.jsonl");
  testing::edit(runs / "burgers-adam-2-aa/summary.json", [](Json& json) { json["reason"] = "interrupted"; });
  fs::create_directories(runs / "quadratic-adam-1-bb");
  write(runs / "quadratic-adam-1-bb/config.json", R"({"task": "quadratic"})");
  write(runs / "quadratic-adam-1-bb/history.jsonl", R"({"step": 0, "task.gap": 1})");
  const FoundRuns found = find_runs(std::vector{folder_ / "out"});
  EXPECT_EQ(found.folders, std::vector{runs / "burgers-adam-1-f3"});
  ASSERT_EQ(found.notes.size(), 3U);
  EXPECT_NE(found.notes[0].find("1 run of another kind than trainings"), std::string::npos) << found.notes[0];
  EXPECT_NE(found.notes[1].find("1 run that did not end"), std::string::npos) << found.notes[1];
  EXPECT_NE(found.notes[2].find("1 run without a history"), std::string::npos) << found.notes[2];
  EXPECT_EQ(data_in(make_report(found.folders).html)["runs"].size(), 1U);
  EXPECT_EQ(find_runs(std::vector{runs}).folders.size(),
            2U);  // as in a comparison, one that goes on is shown
  for (const auto& name : {"burgers-adam-1-f3", "burgers-adam-1000-00", "burgers-adam-2-aa"})
    fs::remove_all(runs / name);
  for (const auto& path : {folder_ / "out", runs / "quadratic-adam-1-bb"})
    EXPECT_THROW(find_runs(std::vector{path}), Error);
}

TEST_F(HtmlReport, OfManyRunsStaysSmallAndKeepsTheBestInDetail) {
  const testing::TemporaryFolder folder;
  testing::train_small_run(folder / "run-0", "adam", 0);
  constexpr int kRuns = 30;
  std::string history;
  for (int step = 1; step <= 3000; ++step)
    history += nlohmann::json{{"step", step}, {"loss", 1.0 / step}, {"residual", 1.0 / step}}.dump() + "\n";
  testing::write(folder / "run-0/history.jsonl", history);
  std::vector<std::filesystem::path> paths{folder / "run-0"};
  for (int i = 1; i < kRuns; ++i) {
    paths.push_back(folder / ("run-" + std::to_string(i)));
    std::filesystem::copy(paths[0], paths.back(), std::filesystem::copy_options::recursive);
    testing::edit(paths.back() / "summary.json", [&](nlohmann::json& json) {
      json["best"]["residual"] = 1.0 / i;
      json["best"]["l2"] = nlohmann::json::object();
    });
    testing::edit(paths.back() / "config.json", [&](nlohmann::json& json) { json["seed"] = i; });
  }
  testing::edit(paths[0] / "summary.json", [](nlohmann::json& json) {
    json["best"]["residual"] = 100;
    json["best"]["l2"] = nlohmann::json::object();
  });
  const Report report = make_report(paths);
  const auto from = report.html.find("id=\"data\">") + 10, to = report.html.find("</script>", from);
  const auto data = nlohmann::json::parse(report.html.substr(from, to - from));
  std::size_t with_fields = 0;
  for (const auto& run : data["runs"]) {
    with_fields += run["fields"].is_object();
    EXPECT_LE(run["history"]["step"].size(), 24000U / kRuns + 1);
    EXPECT_EQ(run["group"], "adam");
  }
  EXPECT_EQ(with_fields, kMostDetailed);
  EXPECT_TRUE(data["runs"][0]["fields"].is_null());            // the worst
  EXPECT_TRUE(data["runs"][kRuns - 1]["fields"].is_object());  // the best
}

TEST_F(HtmlReport, GroupsRunsThatDifferInTheirSeedAlone) {
  const testing::TemporaryFolder folder;
  testing::train_small_run(folder / "fast-0", "adam", 0);
  testing::train_small_run(folder / "fast-1", "adam", 1);
  testing::train_small_run(folder / "slow-0", "adam", 0);
  testing::edit(folder / "slow-0/config.json",
                [](nlohmann::json& json) { json["optimizer"]["learning_rate"] = 1e-5; });
  const std::vector<std::filesystem::path> paths{folder / "fast-0", folder / "fast-1", folder / "slow-0"};
  const Report report = make_report(paths);
  ASSERT_EQ(report.tables[0].name, "optimizers");
  ASSERT_EQ(report.tables[0].table.rows.size(), 2U);
  EXPECT_EQ(report.tables[0].table.rows[0][0].text, "fast");
  EXPECT_EQ(report.tables[0].table.rows[1][0].text, "slow");
}

}  // namespace
}  // namespace lather::report
