#pragma once
// A very short run made by the library, to build pages from.

#include <nlohmann/json.hpp>

#include "../train/small_problem.hpp"
#include "lather/train/run.hpp"

namespace lather::testing {

inline constexpr int kSmallRunSteps = 30;

inline void train_small_run(const std::filesystem::path& folder, const std::string& optimizer,
                            std::uint64_t seed) {
  train::ConfigRequest request;
  request.problem = write_small_problem(folder.parent_path()).string();
  request.optimizer = optimizer;
  request.seed = seed;
  request.threads = 1;
  request.settings = {{"training.steps", std::to_string(kSmallRunSteps)}, {"training.validate_every", "5"}};
  const train::Config config = train::resolve(request);
  auto run = train::RunFolder::create(folder, config);
  train::Trainer trainer(config);
  train::run(trainer, run, {});
}

inline void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Changes one JSON file of a run.
template <class Change>
void edit(const std::filesystem::path& file, Change&& change) {
  auto json = nlohmann::json::parse(content(file));
  change(json);
  write(file, json.dump());
}

}  // namespace lather::testing
