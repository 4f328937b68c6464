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

}  // namespace lather::experiment
