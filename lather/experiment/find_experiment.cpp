#include <fmt/format.h>

#include <map>

#include "lather/core/error.hpp"
#include "lather/core/named_files.hpp"
#include "lather/experiment/experiment.hpp"

namespace lather::experiment {

namespace {

NamedFiles experiment_files() {
  return {"experiment",
          "an experiment file",
          "LATHER_EXPERIMENTS",
          {LATHER_EXPERIMENT_DIR, LATHER_INSTALLED_EXPERIMENT_DIR}};
}

// One that is given twice, two of one name, or two that would write a file of one name are refused.
void require_distinct_experiments(const std::vector<Experiment>& experiments,
                                  const std::vector<std::filesystem::path>& files) {
  std::map<std::string, std::size_t> writer;  // of a file, as an index into the experiments
  for (std::size_t i = 0; i < experiments.size(); ++i)
    for (const auto& output : output_files(experiments[i])) {
      const auto [other, is_new] = writer.emplace(output.name, i);
      if (is_new) continue;
      const std::size_t j = other->second;
      std::error_code status;
      if (std::filesystem::equivalent(files[i], files[j], status))
        throw Error(fmt::format("the experiment '{}' is given twice (`all` includes those of the paper)",
                                experiments[i].name));
      throw Error(fmt::format("{} ('{}') and {} ('{}') would both write {}: give one of them another name",
                              files[j].string(), experiments[j].name, files[i].string(), experiments[i].name,
                              output.name));
    }
}

}  // namespace

std::vector<std::string> list_experiments() { return experiment_files().names(); }

std::filesystem::path find_experiment(const std::string& name_or_path) {
  return experiment_files().find(name_or_path);
}

std::vector<Experiment> read_experiments(const std::vector<std::string>& names) {
  std::vector<Experiment> experiments;
  std::vector<std::filesystem::path> files;
  const auto add = [&](const std::string& name, bool studies_too) {
    const auto file = find_experiment(name);
    Experiment experiment = read_experiment_file(file);
    if (experiment.is_study() && !studies_too) return;
    experiments.push_back(std::move(experiment));
    files.push_back(file);
  };
  for (const auto& name : names) {
    if (name != "all") {
      add(name, true);
      continue;
    }
    for (const auto& each : list_experiments()) add(each, false);
  }
  require_distinct_experiments(experiments, files);
  return experiments;
}

}  // namespace lather::experiment
