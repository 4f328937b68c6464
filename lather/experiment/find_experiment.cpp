#include <algorithm>

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

}  // namespace

std::vector<std::string> list_experiments() { return experiment_files().names(); }

std::filesystem::path find_experiment(const std::string& name_or_path) {
  return experiment_files().find(name_or_path);
}

std::vector<Experiment> read_experiments(const std::vector<std::string>& names) {
  std::vector<Experiment> experiments;
  const bool all = std::find(names.begin(), names.end(), "all") != names.end();
  for (const auto& name : all ? list_experiments() : names) {
    Experiment experiment = read_experiment_file(find_experiment(name));
    if (!all || !experiment.is_study()) experiments.push_back(std::move(experiment));
  }
  return experiments;
}

}  // namespace lather::experiment
