#pragma once
// Replays trajectories recorded from the reference implementations (tests/golden/*.json): the recorded
// gradients are fed to our optimizer with the same rule, and the parameters are compared after every step.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lather::optim {

struct ReplayResult {
  std::string name;            // "case" of the file
  std::string optimizer;       // our entry
  double deviation = 0;        // largest |ours - recorded| / max(1, |recorded|) over all steps and parameters
  double tolerance = 0;        // what the file asks for
  std::size_t worst_step = 0;  // counted from 1
  bool passed() const { return deviation <= tolerance; }
};

// For files of kind "gradient-replay". Throws Error if the file is not understood.
ReplayResult replay_gradients(const nlohmann::json& recorded);

// The optimizer entry and its settings for a recorded "case", "reference" and "hyper".
struct ReplayMethod {
  std::string optimizer;
  std::string settings;  // JSON object as text
};
ReplayMethod replay_method(const nlohmann::json& recorded);

}  // namespace lather::optim
