// Experiment files are read strictly, and those in the repository can be run.
#include "lather/experiment/experiment.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/experiment/plan.hpp"
#include "small_experiment.hpp"

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
  EXPECT_TRUE(config.record.reference);  // there is a metric l2
  Experiment without = e;
  without.metrics.pop_back();
  const Plan other = make_plan(without, "quick", Device::cpu);
  EXPECT_FALSE(std::get<train::Config>(other.run(other.cells[1], {}, 7)).record.reference);
  without.maps = {{"heat-1d"}, "adam"};
  EXPECT_TRUE(std::get<train::Config>(other.run(other.cells[1], {}, 7)).record.reference);
}

// One cell of every experiment and budget; `lather check` looks at all of them.
TEST(EveryExperiment, CanBeRunWithinEveryBudget) {
  ASSERT_GE(list_experiments().size(), 14U);
  for (const auto& name : list_experiments()) {
    SCOPED_TRACE(name);
    const Experiment e = read_experiment_file(find_experiment(name));
    EXPECT_EQ(e.name, name);
    EXPECT_EQ(e.budgets.size(), 3U);
    const Plan plan = make_plan(e, "quick", Device::cpu);
    ASSERT_FALSE(plan.cells.empty());
    EXPECT_NO_THROW(plan.run(plan.cells.back(), plan.cells.back().candidates.back(), 1));
  }
}

TEST(EveryExperiment, IsPartOfAllWhereThePaperHasAPlaceForIt) {
  const auto all = read_experiments({"all"});
  EXPECT_EQ(all.size() + 1, list_experiments().size());  // without the study of the preset
  for (const auto& e : all) EXPECT_NE(e.name, "ss-esoap-study");
  EXPECT_EQ(read_experiments({"ss-esoap-study"}).size(), 1U);
}

}  // namespace
}  // namespace lather::experiment
