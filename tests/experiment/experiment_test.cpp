// Experiment files are read strictly, and those in the repository can be run.
#include "lather/experiment/experiment.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/experiment/plan.hpp"
#include "small_experiment.hpp"
#include "train/small_problem.hpp"

namespace lather::experiment {
namespace {

using small_experiment::kSmallExperiment;
using small_experiment::read_text;
using small_experiment::with;

std::string message_for(const std::string& part, const std::string& by) {
  try {
    read_text(with(kSmallExperiment, part, by));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ExperimentFile, IsUnderstood) {
  const Experiment e = read_text(kSmallExperiment);
  ASSERT_EQ(e.variants.size(), 2U);
  EXPECT_EQ(e.settings[0].path, "network.width");
  EXPECT_EQ(e.settings[0].value, "6");
  EXPECT_EQ(e.variants[0].grid[1].path, "optimizer.beta2");
  EXPECT_EQ(e.variants[1].label, "ss-esoap");
  EXPECT_EQ(*e.metrics[0].paper.at("heat-1d").at("ss-esoap").deviation, 1e-4);
  EXPECT_EQ(e.budget("quick").seeds, 2);
  EXPECT_FALSE(e.timed());
}

TEST(ExperimentFile, NamesPlaceAndNearestKeyOfATypo) {
  EXPECT_EQ(
      message_for("claim =", "clam ="),
      "small.toml:5:1: unknown key of an experiment file 'clam'; did you mean 'claim'? (known: name, title, "
      "paper, claim, about, conclusion, recipe, best, events, tau, settings, problem, variant, metric, "
      "check, table, figure, maps, "
      "budget)");
  const auto says = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), message.npos) << message;
    EXPECT_EQ(message.find("small.toml:"), 0U) << message;
  };
  says(message_for("label = \"Heat\"", "lable = \"Heat\""), "did you mean 'label'?");
  says(message_for("{adam = 1e-3", "{adm = 1e-3"), "unknown variant 'adm'; did you mean 'adam'?");
  says(message_for("paper.heat-1d", "paper.heat-1"), "unknown problem 'heat-1'; did you mean 'heat-1d'?");
  says(message_for("\"mean_square\"", "\"mean_sqare\""), "did you mean 'mean_square'?");
  says(message_for("[budget.short]", "[budget.shrt]"), "did you mean 'short'?");
  says(message_for("tuning_steps = 15", "tuning_step = 15"), "did you mean 'tuning_steps'?");
  says(message_for("seeds = 2", "seeds = 0"), "must be at least 1, not 0");
  says(message_for("grid_values = 2", "tuning_seeds = 0"), "must be at least 1, not 0");
  says(message_for("steps = 20", "steps = 20\ntuning_seeds = 3"), "no effect without tuning_steps");
  says(message_for("[1e-3, 1e-2, 1e-1]", "1e-3"), "must be a list of values");
  says(message_for("[2e-3, 1e-4]", "[2e-3]"), "a number, [mean, deviation], or a text");
  says(message_for("name = \"ss-esoap\"", "name = \"adam\""), "the variant 'adam' is there twice");
  says(message_for("quantity = \"l2\"", "quantity = \"seconds_to_target\""), "needs a target");
  says(message_for("title = \"Small\"", ""), "needs the key 'title'");
  const std::string short_budget = "[budget.short]";
  says(message_for(short_budget, "[maps]\n" + short_budget), "needs the key 'variant'");
  says(message_for(short_budget, "[maps]\nvariant = \"adm\"\n" + short_budget), "did you mean 'adam'?");
  says(message_for(short_budget, "[maps]\nvariant = \"adam\"\nproblems = [\"heat-1\"]\n" + short_budget),
       "did you mean 'heat-1d'?");
  const auto check = [&](const std::string& keys) {
    return message_for(short_budget, "[[check]]\nsays = \"So.\"\n" + keys + "\n" + short_budget);
  };
  says(check("variant = \"adam\"\nbelow = [\"ss-esap\"]"), "did you mean 'ss-esoap'?");
  says(check("variant = \"adam\"\nmetric = \"mean_sqare\"\nbelow = [\"ss-esoap\"]"),
       "did you mean 'mean_square'?");
  says(check("variant = \"adam\"\nresult = \"out of memry\""), "did you mean 'out of memory'?");
  says(check("variant = \"adam\"\nover = \"ss-esoap\"\nrange = [5, 2]"), "must be [smallest, largest]");
  says(check("variant = \"adam\""), "[[check]] needs a variant and one of");
  says(check("variant = \"adam\"\nover = \"ss-esoap\""), "[[check]] needs a variant and one of");
  says(check("not_tested = \"why\"\nvariant = \"adam\""), "[[check]] needs a variant and one of");
}

// What reading the small experiment with one part replaced says; it must name a place.
void expect_refused(const std::string& part, const std::string& by, const std::string& words) {
  const std::string message = message_for(part, by);
  EXPECT_NE(message.find(words), message.npos) << by << "\n" << message;
  EXPECT_EQ(message.find("small.toml:"), 0U) << message;
}

TEST(ExperimentFile, NamesAreFitForFiles) {
  for (const char* name : {"../evil", "a/b", "a b", ".hidden", "-x", "", "Größe", "a\\n"}) {
    SCOPED_TRACE(name);
    const std::string other = std::string("name = \"") + name + "\"";
    expect_refused("name = \"small\"", other, "letters, digits, '-', '_' and '.'");
    expect_refused("name = \"ss-esoap\"", other, "name of [[variant]] must be");
    expect_refused("name = \"steps\"", other, "name of [[figure]] must be");
    expect_refused("name = \"heat-1d\"", other, "name of [[problem]] must be");
  }
  expect_refused("name = \"small\"", "name = \"" + std::string(65, 'a') + "\"", "must be 1 to 64");
  expect_refused("name = \"heat-1d\"", "name = \"path/to/file.toml\"",
                 "a file is given by `problem = \"path/to/file.toml\"`");
  expect_refused("name = \"small\"", "name = \"reproduction\"", "cannot be named 'reproduction'");
  expect_refused("name = \"small\"", "name = \"index\"", "cannot be named 'index'");
  expect_refused("name = \"small\"", "name = \"all\"", "`lather reproduce all`");
  EXPECT_EQ(message_for("name = \"small\"", "name = \"Small_1.5-b\""), "no error");
}

TEST(ExperimentFile, NoTwoPicturesHaveOneName) {
  const std::string figure = "[[figure]]\nname = \"steps\"";
  expect_refused(figure, figure + "\n" + figure, "would both be written to small-steps.svg");
  expect_refused("\"steps\"", "\"grid\"", "the map of what tuning tried and the figure 'grid'");
  const std::string maps = "[maps]\nvariant = \"adam\"\n";
  expect_refused(figure, maps + "[[figure]]\nname = \"maps-heat-1d-adam\"",
                 "the maps of 'heat-1d' with 'adam' and the figure 'maps-heat-1d-adam'");
  const std::string problem = "[[problem]]\nname = \"heat-1d\"";
  const std::string two = with(kSmallExperiment, problem, "[[problem]]\nname = \"burgers\"\n\n" + problem);
  EXPECT_NO_THROW(read_text(two));
  try {
    read_text(with(two, figure, figure + "\n[[figure]]\nname = \"steps-burgers\""));
    ADD_FAILURE() << "the panel of a figure and another figure share a file";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the panel 'burgers' of the figure 'steps'"), std::string::npos)
        << error.what();
  }
}

TEST(ExperimentFile, ARangeIsGivenWhereItHasAMeaning) {
  const auto check = [](const std::string& keys) {
    return "[[check]]\nsays = \"So.\"\nvariant = \"adam\"\n" + keys + "\n[budget.short]";
  };
  expect_refused("[budget.short]", check("below = [\"ss-esoap\"]\nrange = [-2, -1]"), "`over` with `range`");
  expect_refused("[budget.short]", check("over = \"ss-esoap\"\nrange = [-2, -1]"), "only the cosine");
  const std::string cosine = check("events = \"gradient_cosine_after_10\"\nrange = [-1, 0]");
  const Experiment e = read_text(with(kSmallExperiment, "[budget.short]", cosine));
  EXPECT_EQ(e.checks[0].low, -1);
  EXPECT_EQ(e.checks[0].high, 0);
  EXPECT_NO_THROW(read_text(with(kSmallExperiment, "[budget.short]", check("range = [0, 1]"))));
  expect_refused("[budget.short]", check("ours = true"), "needs a variant and one of");
  expect_refused("[budget.short]", check("result = \"diverged\"\nrange = [0, 1]"),
                 "needs a variant and one of");
  expect_refused("[budget.short]", check("below = [\"adam\"]"), "compares the variant 'adam' with itself");
  expect_refused("[budget.short]", check("over = \"adam\"\nrange = [1, 2]"), "'adam' with itself");
  expect_refused("[budget.short]", check("below = [\"ss-esoap\", \"ss-esoap\"]"), "names 'ss-esoap' twice");
}

TEST(ExperimentFile, AFigureOverChangesShowsTheTrainingLoss) {
  const auto figure = [](const std::string& keys) { return "[[figure]]\nover = \"changes\"\n" + keys; };
  expect_refused("[[figure]]", figure(""), "must have training.record_every = 1");
  const std::string recorded = with(kSmallExperiment, "[settings]", "[settings]\ntraining.record_every = 1");
  const Experiment e = read_text(with(recorded, "[[figure]]", figure("")));
  EXPECT_TRUE(e.figures[0].around_changes);
  EXPECT_TRUE(e.reads_events());
  expect_refused("[[figure]]", figure("quantity = \"l2\""), "shows the training loss");
  expect_refused("[[figure]]", figure("metric = \"l2\""), "shows the training loss");
}

TEST(ExperimentFile, NothingIsThereTwiceOrEmpty) {
  expect_refused("quantity = \"l2\"", "quantity = \"l2\"\nlabel = \"mean_square\"",
                 "the metric 'mean_square' is there twice");
  const auto table = [](const std::string& keys) {
    return "[[table]]\ntitle = \"T\"\n" + keys + "\n[budget.short]";
  };
  expect_refused("[budget.short]", table("variants = [\"adam\", \"ss-esoap\", \"adam\"]"),
                 "has 'adam' twice");
  const std::string pair = "\"adam\", \"ss-esoap\"";
  expect_refused("[budget.short]", table("pairs = true\nvariants = [" + pair + ", " + pair + "]"),
                 "has 'adam' with 'ss-esoap' twice");
  expect_refused("[budget.short]", table("pairs = true\nvariants = [\"adam\", \"adam\"]"),
                 "compares the variant 'adam' with itself");
  EXPECT_EQ(
      message_for("[budget.short]", table("pairs = true\nvariants = [" + pair + ", \"ss-esoap\", \"adam\"]")),
      "no error");
  const std::string text = kSmallExperiment;
  const std::string budgets = text.substr(text.find("[budget.quick]"));
  expect_refused(budgets, "[budget]\n", "[budget] is empty: it needs one of quick, short, paper");
  expect_refused("label = \"Adam\"", "label = \"Adam\"\nonly = [\"heat-1d\", \"heat-1d\"]",
                 "'heat-1d' twice");
  const std::string problem = "[[problem]]\nname = \"heat-1d\"";
  const std::string two = "[[problem]]\nname = \"burgers\"\n\n" + problem;
  const std::string apart = with(with(text, problem, two), "label = \"Adam\"", "only = [\"burgers\"]");
  try {
    read_text(
        with(apart, "[budget.short]", "[budget.short]\nproblems = [\"heat-1d\"]\nvariants = [\"adam\"]"));
    ADD_FAILURE() << "a budget without runs was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("this budget runs nothing"), std::string::npos) << error.what();
  }
}

TEST(ExperimentFile, TheSeedOfTuningIsNotReported) {
  expect_refused("seeds = 2", "seeds = 1000", "settings are chosen on seed 1000, which must not be reported");
  EXPECT_EQ(message_for("seeds = 2", "seeds = 999"), "no error");
}

// A matrix problem and a metric of it.
const char* const kTask = R"(
name = "task"
title = "Task"
[settings]
task.size = "small"
[[problem]]
name = "q"
task = "quadratic"
[[variant]]
name = "adam"
[[metric]]
quantity = "task.gap"
step = 30
[budget.quick]
steps = 100
[budget.short]
steps = 20
)";

TEST(ExperimentFile, MetricsAreThoseOfItsProblems) {
  const auto says = [](const std::string& part, const std::string& by, const std::string& words) {
    try {
      check_runs(read_text(with(kTask, part, by)));
      ADD_FAILURE() << by << " was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  EXPECT_NO_THROW(check_runs(read_text(kTask)));
  says("task.gap", "task.gapp", "small.toml:11:1: unknown task metric 'gapp'; did you mean 'gap'?");
  says("task.gap", "task.accuracy", "unknown task metric 'accuracy'");  // of another problem
  says("step = 30", "step = 30\nlargest = true", "only a task metric without a step can be the largest");
  says("step = 30", "step = 101", "no budget has the step 101 of this metric; the longest has 100");
  says("\"task.gap\"\nstep = 30", "\"mean_square\"", "mean_square is not measured on matrix problems");
  says("[budget.quick]", "[[figure]]\nname = \"f\"\n[budget.quick]", "mean_square is not measured");
  says("[budget.quick]", "[[figure]]\nname = \"f\"\nquantity = \"task.gapp\"\n[budget.quick]",
       "did you mean 'gap'?");
  says("task = \"quadratic\"", "task = \"quadratic\"\nproblem = \"burgers\"", "a `problem` or a `task`");
  says("name = \"adam\"", "name = \"adam\"\ninstead.q = \"burgers\"", "'q' is a matrix problem");
  says("title", "recipe = \"quick\"\ntitle", "recipe has no effect on matrix problems");
  says("steps = 20", "steps = 20\ntime_limit = 5", "time_limit has no effect on matrix problems");
  says("task.size", "task.seed = 3\ntask.size", "task.seed");
  expect_refused("\"mean_square\"", "\"task.loss\"", "task.loss is measured on matrix problems");
}

std::string check_message(const std::string& part, const std::string& by) {
  try {
    check_runs(read_text(with(kSmallExperiment, part, by)));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ExperimentFile, EveryValueOfEveryGridIsTried) {
  const auto says = [](const std::string& message, const std::string& words) {
    EXPECT_NE(message.find(words), message.npos) << message;
  };
  says(check_message("[1e-3, 1e-2, 1e-1]", "[\"fast\", 1e-2, 1e-1]"),
       "small.toml:22:16: grid.optimizer.learning_rate = \"fast\"");
  says(check_message("[1e-3, 1e-2, 1e-1]", "[1e-3, -1, 1e-1]"),
       "learning_rate = -1");  // not tried in `quick`
  says(check_message("steps = 40\ntuning_steps = 15\ngrid_values = 2",
                     "steps = 40\ntuning_steps = 15\naxes = [\"optimizer.beta2\"]"),
       "no error");
  Experiment e = read_text(with(kSmallExperiment, "learning_rate = [1e-3", "learnign_rate = [1e-3"));
  e.budgets.erase("quick");  // `short` tunes nothing
  try {
    check_runs(e);
    ADD_FAILURE() << "learnign_rate was accepted";
  } catch (const Error& error) {
    says(error.what(), "did you mean 'learning_rate'?");
  }
  // The axis at fault is named, not the first.
  says(check_message("optimizer.beta2", "optimizer.bta2"), "grid.optimizer.bta2 = ");
  // A mistake outside the grid is not blamed on it.
  const std::string elsewhere = check_message("network.width", "network.wdth");
  says(elsewhere, "did you mean 'width'");
  EXPECT_EQ(elsewhere.find("grid."), elsewhere.npos) << elsewhere;
}

TEST(ExperimentFile, AMistakeInASettingIsNamedWithItsLine) {
  const auto begins = [](const std::string& message, const std::string& words) {
    EXPECT_TRUE(message.starts_with(words)) << message;
  };
  begins(check_message("network.width = 6", "network.wdth = 6"),
         "small.toml:8:9: small: heat-1d with adam: unknown key of [network] 'wdth'; did you mean 'width'?");
  begins(check_message("training.sampling.every = 10", "training.sampling.every = -3"), "small.toml:13:");
  begins(check_message("network.depth = 2", "parameters.nu = 2"), "small.toml:9:");
  begins(check_message("settings.optimizer.learning_rate = 1e-2", "settings.optimizer.learning_rate = -1"),
         "small.toml:27:");
  begins(check_message("[budget.short]\nsteps = 20", "[budget.short]\nsteps = 20\nsettings.netwrk.width = 3"),
         "small.toml:47:");
}

TEST(ExperimentFile, AnErrorNeedsASolutionToBeMeasuredBy) {
  const testing::TemporaryFolder folder;
  const auto file = testing::write_small_problem(folder.path());
  const std::string key = "label = \"Heat\"\nproblem = \"" + file.string() + "\"";
  EXPECT_EQ(check_message("label = \"Heat\"", key), "no error");
  const std::string text = read_file(file);
  write_file_atomically(file, text.substr(0, text.find("[reference]")));
  const std::string message = check_message("label = \"Heat\"", key);
  EXPECT_EQ(message.find("small.toml:"), 0U) << message;
  EXPECT_NE(message.find("small: heat-1d with adam: l2 cannot be measured"), message.npos) << message;
  EXPECT_EQ(check_message("label = \"Heat\"", key + "\nsettings.training.reference = false"), "no error");
  const std::string metric = "[[metric]]\nquantity = \"l2\"\n";
  const auto only_residual = [&](const std::string& by) {
    Experiment e = read_text(with(with(kSmallExperiment, "label = \"Heat\"", key), metric, by));
    check_runs(e);
  };
  EXPECT_NO_THROW(only_residual(""));
  EXPECT_THROW(only_residual("[maps]\nvariant = \"adam\"\n"), Error);
  EXPECT_THROW(only_residual("[[figure]]\nname = \"errors\"\nquantity = \"h1\"\n"), Error);
}

TEST(ExperimentFile, FigureOverASettingNeedsAPlaceForEveryProblem) {
  const std::string heat = "label = \"Heat\"", figure = "name = \"steps\"";
  // Two problems of these widths, and a figure over it with further keys.
  const auto message = [&](const std::string& widths, const std::string& keys,
                           const std::string& change = "") {
    const std::string text = with(with(kSmallExperiment, heat, heat + widths), figure,
                                  figure + "\nover = \"network.width\"\n" + keys);
    try {
      read_text(text + change);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), text.npos) << text;
    EXPECT_EQ(text.find("small.toml:"), 0U) << text;
  };
  const auto widths = [](const std::string& first, const std::string& second) {
    return "\nsettings.network.width = " + first +
           "\n[[problem]]\nname = \"wide\"\nproblem = \"heat-1d\"\nsettings.network.width = " + second + "\n";
  };
  EXPECT_EQ(message(widths("6", "12"), "metric = \"l2\""), "no error");
  says(message(widths("6", "6"), ""), "the problems 'heat-1d' and 'wide' both set it to 6");
  says(message(widths("6", "12"), "", "problem.wide.network.width = 6\n"), "both set it to 6");
  says(message(widths("6", "\"wide\""), ""), "the problem 'wide' must set it to a positive number");
  says(message(widths("6", "-1"), ""), "the problem 'wide' must set it to a positive number");
  says(message("\n", ""), "unknown axis of [[figure]] 'network.width'");
  says(message(widths("6", "12"), "metric = \"l3\""), "unknown metric 'l3'; did you mean 'l2'?");
  says(message(widths("6", "12"), "quantity = \"l2\""), "one over a setting a `metric`");
  says(message_for(figure, figure + "\nmetric = \"l2\""), "one over a setting a `metric`");
  says(message(widths("6", "12"), "", "variant.adam.network.width = 3\n"),
       "the variant 'adam' must not change it");
}

TEST(ExperimentFile, NamesTheCellWhoseSettingDoesNotExist) {
  const Experiment e = read_text(with(kSmallExperiment, "optimizer.beta2", "optimizer.bta2"));
  try {
    check_runs(e);
    FAIL() << "bta2 was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("small: heat-1d with adam: "), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("did you mean 'beta2'"), std::string::npos) << error.what();
  }
}

TEST(Plan, TriesTheEndsOfAnAxisAndKnowsWhichOnesTheyAre) {
  const Experiment e = read_text(kSmallExperiment);
  const Plan plan = make_plan(e, "quick", Device::cpu);
  ASSERT_EQ(plan.cells.size(), 2U);
  ASSERT_EQ(plan.cells[0].candidates.size(), 4U);  // two learning rates of three, two values of beta2
  EXPECT_EQ(plan.cells[0].candidates[0][0].value, "0.001");
  EXPECT_EQ(plan.cells[0].candidates[2][0].value, "0.1");
  EXPECT_EQ(plan.runs(), 4U + 2U + 2U);
  EXPECT_FALSE(plan.tunes(plan.cells[1]));
  const Plan untuned = make_plan(e, "short", Device::cpu);
  EXPECT_FALSE(untuned.tunes(untuned.cells[0]));
  EXPECT_EQ(at_the_edge(plan, plan.cells[0], plan.cells[0].candidates[1]).size(), 2U);
}

TEST(Plan, SettingsOfTheChoiceWinOverThoseOfTheVariantAndTheFile) {
  const Experiment e = read_text(kSmallExperiment);
  const Plan plan = make_plan(e, "quick", Device::cpu);
  const auto config =
      std::get<train::Config>(plan.run(plan.cells[1], {{"optimizer.learning_rate", "0.5"}}, 7));
  EXPECT_EQ(options::to_json(config.optimizer)["learning_rate"], 0.5);
  EXPECT_EQ(config.seed, 7U);
  EXPECT_EQ(config.stop.steps, 40);
  EXPECT_EQ(config.threads, 1);
  EXPECT_EQ(config.problem.file, "heat-1d.toml");
}

TEST(Plan, MeasuresErrorsWhereASolutionIsJudgedAndNotWhereTimeIs) {
  Experiment e = read_text(kSmallExperiment);
  const Plan plan = make_plan(e, "quick", Device::cpu);
  const auto measures = [&] {
    return std::get<train::Config>(plan.run(plan.cells[1], {}, 7)).record.reference;
  };
  EXPECT_TRUE(measures());  // there is a metric l2
  e.metrics.pop_back();
  EXPECT_TRUE(measures());  // a residual may belong to something else than the solution
  e.metrics[0].quantity = Quantity::storage;
  EXPECT_FALSE(measures());
  e.metrics.push_back({});
  e.metrics[0].quantity = Quantity::seconds_to_target;
  EXPECT_FALSE(measures());
  e.maps = {{"heat-1d"}, "adam"};
  EXPECT_TRUE(measures());
}

// The first and last cell of every experiment and budget; `lather check` looks at all of them.
TEST(EveryExperiment, CanBeRunWithinEveryBudget) {
  ASSERT_GE(list_experiments().size(), 14U);
  for (const auto& name : list_experiments()) {
    SCOPED_TRACE(name);
    const Experiment e = read_experiment_file(find_experiment(name));
    EXPECT_EQ(e.name, name);
    EXPECT_EQ(e.budgets.size(), 3U);
    for (const auto& [budget, settings] : e.budgets) {
      SCOPED_TRACE(budget);
      const Plan plan = make_plan(e, budget, Device::cpu);
      ASSERT_FALSE(plan.cells.empty());
      for (const auto* cell : {&plan.cells.front(), &plan.cells.back()})
        EXPECT_NO_THROW(plan.run(*cell, cell->candidates.back(), 1));
    }
  }
}

TEST(EveryExperiment, IsPartOfAllWhereThePaperHasAPlaceForIt) {
  const auto all = read_experiments({"all"});
  EXPECT_EQ(all.size() + 2, list_experiments().size());  // without our own studies
  for (const auto& e : all) EXPECT_TRUE(e.name != "ss-esoap-study" && e.name != "matrix-secants") << e.name;
  EXPECT_EQ(read_experiments({"ss-esoap-study", "matrix-secants"}).size(), 2U);
}

}  // namespace
}  // namespace lather::experiment
