// Maps of experiments: drawn from what runs keep, once for each run.
#include "lather/experiment/pages/field_maps.hpp"

#include <gtest/gtest.h>

#include "lather/core/files.hpp"
#include "lather/experiment/pages/write_up.hpp"
#include "reproduce_small.hpp"
#include "small_experiment.hpp"
#include "train/small_problem.hpp"

namespace lather::experiment {
namespace {

using small_experiment::kSmallExperiment;
using small_experiment::read_text;
using small_experiment::with;
using testing::TemporaryFolder;

const std::string kWithMaps = std::string(kSmallExperiment) + "\n[maps]\nvariant = \"ss-esoap\"\n";

TEST(Reproduce, DrawsMapsOfTheBestMethodAndOfTheOneThatIsAlwaysShown) {
  const Experiment e = read_text(kWithMaps);
  const std::vector<Plan> plans{make_plan(e, "quick", Device::cpu)};
  const TemporaryFolder out;
  const auto results = reproduce_small(plans, out.path(), 2).results;
  const bool adam_is_best = measure(results[0], e.metrics[1], results[0].cells[0]).mean() <
                            measure(results[0], e.metrics[1], results[0].cells[1]).mean();
  const FieldMaps maps = make_field_maps(collect(plans, out.path())[0]);
  EXPECT_TRUE(maps.notes.empty());
  ASSERT_EQ(maps.figures.size(), adam_is_best ? 2U : 1U);
  const MapFigure& shown = maps.figures.back();
  EXPECT_EQ(shown.name, "small-maps-heat-1d-ss-esoap");
  EXPECT_EQ(shown.caption.find("the best") == std::string::npos, adam_is_best);
  for (const char* words : {">reference<", ">predicted by ss-esoap<", ">Its error<"})
    EXPECT_NE(shown.svg.find(words), std::string::npos) << words;
  EXPECT_TRUE(write_experiment(results[0], out.path()).empty());
  EXPECT_EQ(read_file(out.path() / "small-maps-heat-1d-ss-esoap.svg"), shown.svg);
  EXPECT_TRUE(std::filesystem::exists(out.path() / "small-maps-heat-1d-ss-esoap.pdf"));
  const Document page = write_page(results, "lather reproduce small");
  EXPECT_NE(page.markdown("figures").find("](figures/small-maps-heat-1d-ss-esoap.svg)"), std::string::npos);
  // Only the seed that is plotted keeps its fields, and no checkpoint.
  const auto& seeds = results[0].cells[1].seeds;
  EXPECT_FALSE(std::filesystem::exists(seeds[1].folder / "fields.json"));
  EXPECT_FALSE(std::filesystem::exists(seeds[0].folder / "checkpoints"));
  EXPECT_EQ(read_file(seeds[0].folder / "fields.json").find("residual."), std::string::npos);
}

TEST(Reproduce, MapsOfARunThatTwoSectionsShareAreDrawnInTheFirst) {
  const std::vector<Experiment> both = {
      read_text(kWithMaps),
      read_text(with(with(kWithMaps, "\"small\"", "\"again\""), "\"Small\"", "\"Again\""))};
  std::vector<Plan> plans;
  for (const auto& e : both) plans.push_back(make_plan(e, "quick", Device::cpu));
  const TemporaryFolder out;
  const auto results = reproduce_small(plans, out.path(), 2).results;
  ASSERT_EQ(results[0].cells[1].seeds[0].folder, results[1].cells[1].seeds[0].folder);
  const std::string page = write_page(results, "lather reproduce small again").markdown("figures");
  EXPECT_NE(page.find("](figures/small-maps-heat-1d-ss-esoap.svg)"), page.npos);
  EXPECT_EQ(page.find("](figures/again-maps-"), page.npos) << "the same maps twice";
  const auto section = page.find("## Again");
  ASSERT_NE(section, page.npos);
  EXPECT_NE(page.find("Maps of Heat with ss-esoap", section), page.npos);
  EXPECT_NE(page.find("see \"Small\", which has them of the same run.", section), page.npos);
  // Alone it has them.
  EXPECT_NE(write_page({&results[1], 1}, "").markdown("figures").find("](figures/again-maps-"),
            std::string::npos);
  EXPECT_TRUE(write_experiment(results[1], out.path()).empty());
  EXPECT_TRUE(std::filesystem::exists(out.path() / "again-maps-heat-1d-ss-esoap.svg"));
}

TEST(Reproduce, MapsComeFromACheckpointWhereThereIsOneAndOtherwiseThePageSaysWhyTheyAreMissing) {
  const Experiment e = read_text(kWithMaps);
  const std::vector<Plan> plans{make_plan(e, "short", Device::cpu)};
  const TemporaryFolder out;
  EXPECT_NE(make_field_maps(collect(plans, out.path())[0]).notes.at(0).find("has not ended"),
            std::string::npos);
  const auto& cell = plans[0].cells[1];
  const RunSpec spec = plans[0].run(cell, cell.candidates[0], 1);
  const RunRecord run = run_store(out.path()).run(spec, false, Keep::all, {});
  const FieldMaps kept = make_field_maps(collect(plans, out.path())[0]);
  ASSERT_EQ(kept.figures.size(), 1U);
  std::filesystem::remove(run.folder / "fields.json");
  const FieldMaps computed = make_field_maps(collect(plans, out.path())[0]);
  ASSERT_EQ(computed.figures.size(), 1U);
  EXPECT_EQ(computed.figures[0].svg, kept.figures[0].svg);
  std::filesystem::remove(run.folder / "fields.json");
  std::filesystem::remove_all(run.folder / "checkpoints");
  const auto results = collect(plans, out.path());
  EXPECT_TRUE(make_field_maps(results[0]).figures.empty());
  const std::string page = write_page(results, "lather reproduce small").markdown("figures");
  EXPECT_NE(page.find("kept neither fields nor a checkpoint"), std::string::npos);
  EXPECT_NE(page.find(run.folder.filename().string()), std::string::npos);
}

}  // namespace
}  // namespace lather::experiment
