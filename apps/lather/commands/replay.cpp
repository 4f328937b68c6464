// `lather replay FILE.json…`: replays recorded trajectories of reference implementations and prints the
// largest deviation. Exit status: 0 all within tolerance, 1 some above, 2 a file could not be read or
// understood.

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/optim/replay/quasi_newton.hpp"
#include "lather/optim/replay/replay.hpp"
#include "terminal.hpp"

namespace lather::command {
namespace {

using Json = nlohmann::json;

struct Outcome {
  std::string name;
  double deviation, tolerance;
};

template <auto replay>
Outcome outcome_of(const Json& record) {
  const auto result = replay(record);
  return {result.name, result.deviation, result.tolerance};
}

// One line per kind of record.
const std::map<std::string, Outcome (*)(const Json&)>& kinds() {
  static const std::map<std::string, Outcome (*)(const Json&)> table = {
      {"gradient-replay", outcome_of<optim::replay_gradients>},
      {"objective", outcome_of<optim::replay_objective>},
      {"inverse-hessian-update", outcome_of<optim::replay_inverse_hessian_updates>},
  };
  return table;
}

Json read(const std::string& file) {
  Json record = Json::parse(read_file(file), nullptr, false);
  if (record.is_discarded()) throw Error("not valid JSON (damaged or cut off?)");
  if (!record.is_object()) throw Error(fmt::format("expected a JSON object, got {}", record.type_name()));
  return record;
}

Outcome replay_file(const std::string& file) {
  const Json record = read(file);
  const auto kind = record.find("kind");
  if (kind == record.end() || !kind->is_string())
    throw Error("no field 'kind'; this is not a recorded trajectory");
  std::vector<std::string> known;
  for (const auto& [name, replay] : kinds()) {
    if (*kind == name) return replay(record);
    known.push_back(name);
  }
  throw Error(unknown_name_message("kind of record", kind->get<std::string>(), known));
}

int replay_all(const std::vector<std::string>& files) {
  int status = 0;
  say("{:<32} {:>14} {:>10}  result\n", "case", "deviation", "tolerance");
  for (const auto& file : files) {
    try {
      const auto [name, deviation, tolerance] = replay_file(file);
      const bool pass = deviation <= tolerance;
      if (!pass) status = std::max(status, 1);
      say("{:<32} {:>14.3e} {:>10.1e}  {}\n", name, deviation, tolerance, pass ? "pass" : "FAIL");
    } catch (const std::exception& e) {
      status = 2;
      say_aside("lather replay: {}: {}\n", file, e.what());
    }
  }
  return status;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_status) {
  auto* replay =
      app.add_subcommand("replay", "Replay recorded reference trajectories and print the largest deviation");
  auto files = std::make_shared<std::vector<std::string>>();
  replay->add_option("files", *files, "recorded trajectories (JSON)")->required();
  replay->footer("Example:\n  lather replay tests/golden/*.json");
  replay->callback([files, &exit_status] { exit_status = replay_all(*files); });
}

}  // namespace lather::command
