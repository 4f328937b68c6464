// What a new user does in the first hour, as a script.
#include <gtest/gtest.h>

#include "lather/core/device.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "paths.hpp"
#include "process.hpp"

namespace lather::testing {
namespace {

using Json = nlohmann::json;

class FirstHour : public ::testing::Test {
 protected:
  Finished run(std::vector<std::string> arguments) {
    return lather(std::move(arguments), {folder_.path(), {{"LATHER_PROBLEMS", folder_.path().string()}}});
  }
  TemporaryFolder folder_;
  std::filesystem::path problem_ = write_small_problem(folder_.path());
};

TEST_F(FirstHour, LooksAround) {
  const Finished problems = run({"list", "problems"});
  EXPECT_EQ(problems.status, 0) << problems.err;
  EXPECT_TRUE(contains(problems.out, "burgers"));
  EXPECT_TRUE(contains(problems.out, "Heat in a rod, small"));
  const Finished optimizers = run({"list", "optimizers"});
  EXPECT_TRUE(contains(optimizers.out, "ss-esoap"));
  const Finished one = run({"list", "optimizers", "adam"});
  EXPECT_TRUE(contains(one.out, "optimizer.learning_rate")) << one.out;
  EXPECT_TRUE(contains(run({"list", "networks"}).out, "piratenet"));
  const Finished doctor = run({"doctor"});
  EXPECT_EQ(doctor.status, 0);
  for (const char* word : {"threads", "vectors", "memory", "GPU", "CUDA"})
    EXPECT_TRUE(contains(doctor.out, word)) << word;
  EXPECT_TRUE(Json::parse(run({"doctor", "--json"}).out).contains("cores"));
}

TEST_F(FirstHour, EveryCommandHasHelpWithExamples) {
  std::vector<std::string> commands;
  std::istringstream page(run({"completion", "fish"}).out);  // names every command
  for (std::string line; std::getline(page, line);)
    if (const auto at = line.find("__fish_use_subcommand -a "); at != line.npos)
      commands.push_back(line.substr(at + 25, line.find(' ', at + 25) - at - 25));
  EXPECT_GE(commands.size(), 13u);
  for (const auto& command : commands) {
    const Finished help = run({command, "--help"});
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_TRUE(contains(help.out, "Example")) << command << ": " << help.out;
  }
}

TEST_F(FirstHour, TrainsInterruptsResumesAndEvaluates) {
  Process training(
      lather_command({"train", "small", "--steps", "100000", "--set", "training.record_every=5"}),
      {folder_.path(), {{"LATHER_PROBLEMS", folder_.path().string()}}});
  const auto runs = folder_ / "runs" / "small-ss-esoap-0-1";
  ASSERT_TRUE(wait_until([&] { return content(runs / "history.csv").size() > 3000; }));
  training.send(SIGTERM);
  const Finished stopped = training.wait();
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_TRUE(contains(stopped.err, "lather train --resume runs/small-ss-esoap-0-1")) << stopped.err;
  const auto steps = Json::parse(content(runs / "summary.json"))["step"].get<int>();
  const Finished resumed =
      run({"train", "--resume", "runs/small-ss-esoap-0-1", "--steps", std::to_string(steps + 20)});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  for (const char* words :
       {"resuming", "ended: all", "last", "best", "L2 error of u", "folder: runs/small-ss-esoap-0-1"})
    EXPECT_TRUE(contains(resumed.out, words)) << words << "\n" << resumed.out;
  const Finished eval = run({"eval", "runs/small-ss-esoap-0-1"});
  EXPECT_EQ(eval.status, 0) << eval.err;
  EXPECT_TRUE(contains(eval.out, "relative error against the reference")) << eval.out;
  const Json summary = Json::parse(run({"eval", "runs/small-ss-esoap-0-1", "--json"}).out);
  EXPECT_EQ(summary["step"], steps + 20);
  for (const char* file : {"config.json", "environment.json", "summary.json", "fields.json", "history.jsonl",
                           "history.csv", "diagnostics.jsonl", "timing.csv"})
    EXPECT_GT(std::filesystem::file_size(runs / file), 0u) << file;
  const Json fields = Json::parse(content(runs / "fields.json"));
  EXPECT_EQ(fields["arrays"]["u"].size(), fields["axes"][0].size() * fields["axes"][1].size());
  EXPECT_TRUE(fields["arrays"].contains("u.reference") && fields["arrays"].contains("u.error") &&
              fields["arrays"].contains("residual.heat"));
}

TEST_F(FirstHour, AConfigurationRunsAgainAsItWas) {
  ASSERT_EQ(run({"train", "small", "--steps", "30", "--seed", "4", "--set", "network.width=8", "--quiet",
                 "--out", "one"})
                .status,
            0);
  std::filesystem::remove(problem_);  // the run no longer needs it
  const Finished again = run({"train", "--config", "one/config.json", "--quiet", "--out", "two"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(content(folder_ / "one" / "history.csv"), content(folder_ / "two" / "history.csv"));
  EXPECT_EQ(content(folder_ / "one" / "config.json"), content(folder_ / "two" / "config.json"));
}

TEST_F(FirstHour, ComparesOptimizers) {
  const std::vector<std::string> command = {"compare", "small",  "--optimizers", "adam,soap,lbfgs",
                                            "--seeds", "2",      "--steps",      "15",
                                            "--out",   "versus", "--quiet"};
  const Finished compared = run(command);
  ASSERT_EQ(compared.status, 0) << compared.err;
  for (const char* words : {"| optimizer", "adam", "soap", "lbfgs", "±"})
    EXPECT_TRUE(contains(compared.out, words)) << compared.out;
  const Finished reported = run({"report", "versus", "--tables", "tables"});
  ASSERT_EQ(reported.status, 0) << reported.err;
  EXPECT_TRUE(contains(reported.out, "versus/report.html")) << reported.out;
  const auto again = content(folder_ / "tables" / "optimizers.md");
  std::istringstream rows(
      content(folder_ / "versus" / "table.md"));  // the same figures; the page is sorted alphabetically
  for (std::string row; std::getline(rows, row);) EXPECT_TRUE(contains(again, row)) << row << "\n" << again;
  for (const char* file : {"table.md", "table.csv", "table.tex"})
    EXPECT_GT(std::filesystem::file_size(folder_ / "versus" / file), 0u) << file;
  const auto table = content(folder_ / "versus" / "table.md");
  const auto history = content(folder_ / "versus" / "soap-1" / "history.csv");
  EXPECT_EQ(run(command).status, 0);  // nothing is done twice
  EXPECT_EQ(content(folder_ / "versus" / "table.md"), table);
  EXPECT_EQ(content(folder_ / "versus" / "soap-1" / "history.csv"), history);
}

TEST_F(FirstHour, PredictsAndExports) {
  ASSERT_EQ(run({"train", "small", "--steps", "20", "--quiet", "--out", "run"}).status, 0);
  std::ofstream(folder_ / "points.csv") << "t,x\n0.25,0.5\n1,-1\n";
  const Finished values = run({"predict", "run", "points.csv", "--derivatives", "u_x,u_xx,u_t"});
  ASSERT_EQ(values.status, 0) << values.err;
  EXPECT_TRUE(values.out.starts_with("t,x,u,u_x,u_xx,u_t\n0.25,0.5,")) << values.out;
  for (const char* format : {"npz", "vtk", "safetensors"}) {
    const Finished exported = run({"export", "run", "--format", format, "--grid", "11,6"});
    EXPECT_EQ(exported.status, 0) << exported.err;
  }
  EXPECT_TRUE(content(folder_ / "run" / "fields.npz").starts_with("PK"));
  EXPECT_TRUE(contains(content(folder_ / "run" / "fields.vti"), "<ImageData WholeExtent=\"0 10 0 5 0 0\""));
  EXPECT_EQ(run({"predict", "run", "points.csv", "--derivatives", "u_y"}).status, 2);
}

// The value of u at one point by examples/load_export.py, which knows nothing about Lather except the file.
TEST_F(FirstHour, PythonLoadsTheExportAndGetsTheSameNumbers) {
  if (Process({"python3", "-c", "pass"}).wait().status != 0) GTEST_SKIP() << "no python3";
  const std::vector<std::vector<std::string>> networks = {
      {},
      {"--set", "network.type=modified-mlp"},
      {"--set", "training.corrections=2"},
      {"--set", "network.type=piratenet", "--set", "network.depth=1", "--set", "network.fourier_features=4",
       "--set", "network.weight_factorization=true"}};
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const std::string name = "run" + std::to_string(i);
    std::vector<std::string> train = {"train", "small", "--steps", "10", "--quiet", "--out", name};
    train.insert(train.end(), networks[i].begin(), networks[i].end());
    const Finished trained = run(train);
    ASSERT_EQ(trained.status, 0) << trained.err;
    std::ofstream(folder_ / "points.csv") << "x,t\n0.3,0.7\n";
    const Finished predicted = run({"predict", name, "points.csv"});
    ASSERT_EQ(predicted.status, 0) << predicted.err;
    const double expected = std::stod(predicted.out.substr(predicted.out.rfind(',') + 1));
    ASSERT_EQ(run({"export", name, "--format", "safetensors", "--out", "network.safetensors"}).status, 0);
    const Finished python = Process({"python3", lather::test::source_path("examples/load_export.py"),
                                     (folder_ / "network.safetensors").string(), "0.3", "0.7"})
                                .wait();
    ASSERT_EQ(python.status, 0) << python.err;
    ASSERT_TRUE(python.out.starts_with("u ")) << python.out;
    EXPECT_NEAR(std::stod(python.out.substr(2)), expected, 1e-12) << name;
  }
}

TEST_F(FirstHour, PythonReadsTheNpz) {
  if (Process({"python3", "-c", "pass"}).wait().status != 0) GTEST_SKIP() << "no python3";
  ASSERT_EQ(run({"train", "small", "--steps", "5", "--quiet", "--out", "run"}).status, 0);
  ASSERT_EQ(run({"export", "run", "--format", "npz", "--grid", "3,4"}).status, 0);
  // zipfile verifies the checksums; numpy may be missing, so the header of one array is read by hand.
  const Finished python = Process({"python3", "-c",
                                   "import zipfile,sys\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() "
                                   "is None\nprint(sorted(z.namelist()))\n"
                                   "b=z.read('u.npy')\nn=int.from_bytes(b[8:10],'little')\nh=eval(b[10:10+n])"
                                   "\nprint(h['shape'],h['descr'],len(b)-10-n)",
                                   (folder_ / "run" / "fields.npz").string()})
                              .wait();
  ASSERT_EQ(python.status, 0) << python.err;
  EXPECT_EQ(python.out, "['t.npy', 'u.npy', 'u_t.npy', 'u_x.npy', 'x.npy']\n(3, 4) <f8 96\n");
}

TEST_F(FirstHour, TypingSlipsAreAnsweredWithTheNearestName) {
  EXPECT_TRUE(contains(run({"train", "burger"}).err, "did you mean 'burgers'"));
  EXPECT_TRUE(contains(run({"train", "small", "--optimizer", "adm"}).err, "did you mean 'adam'"));
  EXPECT_TRUE(contains(run({"train", "small", "--set", "optimizer.learning_rte=1"}).err, "learning_rate"));
  if (!cuda_report().usable) {
    EXPECT_TRUE(contains(run({"train", "small", "--device", "cuda"}).err, "use --device cpu"));
  }
  EXPECT_TRUE(contains(run({"eval", "nowhere"}).err, "not a run folder"));
  EXPECT_EQ(run({"train", "burger"}).status, 2);
}

TEST_F(FirstHour, TheShellCompletes) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished script = run({"completion", shell});
    EXPECT_EQ(script.status, 0);
    EXPECT_TRUE(contains(script.out, "train") && contains(script.out, "optimizer")) << shell;
  }
  std::ofstream(folder_ / "completion.bash") << run({"completion", "bash"}).out;
  const Finished syntax = Process({"bash", "-n", (folder_ / "completion.bash").string()}).wait();
  EXPECT_EQ(syntax.status, 0) << syntax.err;
  const std::string script = "source " + (folder_ / "completion.bash").string() +
                             "; COMP_WORDS=(lather tr); COMP_CWORD=1; _lather; echo ${COMPREPLY[@]}";
  EXPECT_EQ(Process({"bash", "-c", script}).wait().out, "train\n");
}

TEST_F(FirstHour, TheManualPageIsThatOfThisCommand) {
  EXPECT_EQ(run({"completion", "man"}).out, content(lather::test::source_path("docs/lather.1")))
      << "run: lather completion man > docs/lather.1";
}

TEST_F(FirstHour, TheTableOfOptionsIsThatOfThisCommand) {
  EXPECT_EQ(run({"list", "optimizers", "--markdown"}).out,
            content(lather::test::source_path("docs/optimizer-options.md")))
      << "run: lather list optimizers --markdown > docs/optimizer-options.md";
}

TEST_F(FirstHour, AMissedTargetIsAStatusOfItsOwn) {
  EXPECT_EQ(
      run({"train", "small", "--steps", "5", "--target", "l2=1e-12", "--quiet", "--out", "missed"}).status,
      3);
  EXPECT_EQ(
      run({"train", "small", "--steps", "500", "--target", "l2=0.9", "--quiet", "--out", "reached"}).status,
      0);
}

}  // namespace
}  // namespace lather::testing
