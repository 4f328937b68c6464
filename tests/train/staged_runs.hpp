#pragma once
// Runs of the small problem in several stages, whole and in pieces.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lather/train/run.hpp"
#include "lather/train/saved_run.hpp"
#include "small_problem.hpp"

namespace lather::train::test {

inline Config staged(const std::filesystem::path& folder, std::vector<pde::Override> settings,
                     const std::string& optimizer = "lm") {
  ConfigRequest r;
  r.problem = testing::write_small_problem(folder).string();
  r.optimizer = optimizer;
  r.threads = 1;
  r.seed = 3;
  r.settings = {{"network.width", "8"},
                {"training.points", "{interior = 64, initial = 16, walls = 16}"},
                {"training.sampling.every", "0"},
                {"training.validate_every", "5"}};
  r.settings.insert(r.settings.end(), settings.begin(), settings.end());
  return resolve(r);
}

struct Finished {
  Outcome outcome;
  std::vector<std::string> messages;
  bool said(const std::string& words) const {
    return std::any_of(messages.begin(), messages.end(),
                       [&](const std::string& m) { return m.find(words) != std::string::npos; });
  }
};

inline Finished run_all(const Config& config, const std::filesystem::path& path) {
  auto folder = RunFolder::create(path, config);
  Trainer trainer(config);
  Finished finished;
  Watcher watcher;
  watcher.message = [&](const std::string& text) { finished.messages.push_back(text); };
  finished.outcome = run(trainer, folder, watcher);
  return finished;
}

// The same run, interrupted repeatedly: after 3 looks at the clock, then 5, 7, ….
inline void run_in_pieces(const Config& config, const std::filesystem::path& path) {
  RunFolder::create(path, config);
  EndReason reason = EndReason::interrupted;
  for (int session = 0; reason == EndReason::interrupted && session < 20; ++session) {
    auto pieces = RunFolder::open(path);
    Trainer trainer(config);
    std::vector<std::string> messages;
    const double seconds = restore(trainer, pieces, messages);
    Watcher watcher;
    watcher.interrupted = [left = std::make_shared<int>(3 + 2 * session)] { return --*left < 0; };
    reason = run(trainer, pieces, watcher, seconds).reason;
  }
}

inline void expect_same_in_pieces(const Config& config) {
  const testing::TemporaryFolder folder;
  run_all(config, folder / "whole");
  run_in_pieces(config, folder / "pieces");
  for (const char* file : {"history.jsonl", "history.csv", "diagnostics.jsonl"})
    EXPECT_EQ(testing::content(folder / "whole" / file), testing::content(folder / "pieces" / file)) << file;
}

}  // namespace lather::train::test
