#pragma once
// What is fuzzed, and replayed on the kept corpus by the tests: whatever the bytes are, reading them ends
// well or in an Error. Any other exception, a crash, or a long wait is a fault.

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/pde/file/problem_text.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/train/config.hpp"
#include "lather/train/run_folder/run_folder.hpp"
#include "lather/train/weighting/weighting.hpp"

namespace lather::testing {

// Lines "#set PATH=VALUE" of a problem file, a comment to TOML, are handed over like --set.
inline std::vector<pde::Override> settings_in(std::string_view text) {
  constexpr std::string_view kMark = "#set ";
  std::vector<pde::Override> settings;
  for (std::size_t at = text.find(kMark); at != text.npos; at = text.find(kMark, at + 1)) {
    const auto line = text.substr(at + kMark.size(), text.find('\n', at) - at - kMark.size());
    const auto equals = line.find('=');
    if (equals != line.npos)
      settings.push_back({std::string(line.substr(0, equals)), std::string(line.substr(equals + 1))});
  }
  return settings;
}

// As `lather train FILE --set …` and `lather check FILE` do. `file` is written over. Returns what the error
// says.
inline std::string try_problem_text(std::string_view text, const std::filesystem::path& file) {
  try {
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
    train::ConfigRequest request;
    request.problem = file.string();
    request.settings = settings_in(text);
    request.threads = 1;
    const auto config = train::resolve(request);
    pde::describe(train::read_problem(config));
    train::config_from_json(train::to_json(config));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// As `lather train --config FILE` and `--resume` do before they train.
inline std::string try_config_text(std::string_view text) {
  try {
    const auto config = train::config_from_json(train::parse_json(text, "config.json"));
    const auto problem = train::read_problem(config);
    pde::sampling_settings(config.training.points, problem);
    train::make_weighting(config.training.weighting, config.training.causal, problem);
    train::identity(config);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace lather::testing
