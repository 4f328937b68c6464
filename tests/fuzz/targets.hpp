#pragma once
// What is fuzzed, and replayed on the kept corpus by the tests: whatever the bytes, reading them succeeds or
// throws an Error. Any other exception, a crash, or a long wait is a fault.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/core/formats/csv.hpp"
#include "lather/core/formats/npz_file.hpp"
#include "lather/geometry/mesh.hpp"
#include "lather/pde/file/problem_text.hpp"
#include "lather/pde/sampling/point_source.hpp"
#include "lather/reference/cache.hpp"
#include "lather/train/config.hpp"
#include "lather/train/run_folder/run_folder.hpp"
#include "lather/train/weighting/weighting.hpp"
#include "optim/replay/quasi_newton.hpp"
#include "optim/replay/replay.hpp"

namespace lather::testing {

// Lines "#set PATH=VALUE" of a problem file, a comment to TOML, are passed on like --set.
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

// As `lather train FILE --set …` and `lather check FILE` do. `file` is overwritten. Returns the error
// message.
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
    const auto config = train::config_from_text(text, "config.json");
    const auto problem = train::read_problem(config);
    pde::sampling_settings(config.training.points, problem);
    train::make_weighting(config.training.weighting, config.training.causal, problem);
    train::identity(config);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Files with a checksum: nothing random gets past it. If the first byte is 'S', the rest is wrapped in a
// valid file so that the readers behind the checksum are reached; otherwise the bytes are used as they are.
inline bool wrapped(std::string_view bytes) { return !bytes.empty() && bytes[0] == 'S'; }

// State of the kinds used by trainers and references.
struct SmallState {
  double real = 0;
  std::int64_t integer = 0;
  std::vector<double> list;
  double fixed[4] = {};
  void state(StateVisitor& v) {
    v.real("real", real);
    v.integer("integer", integer);
    v.array("list", list);
    v.array("fixed", std::span<double>(fixed));
  }
};

// As `--resume` reads the newest checkpoint.
inline std::string try_checkpoint(std::string_view bytes) {
  try {
    const auto checkpoint = wrapped(bytes)
                                ? train::decode_checkpoint(train::encode_checkpoint(
                                      {.step = 1, .identity = 2, .state = std::string(bytes.substr(1))}))
                                : train::decode_checkpoint(bytes);
    StateReader reader(checkpoint.state);
    SmallState().state(reader);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// As a reference is taken from its cache; a damaged one is computed again. The folder is its own.
inline std::string try_reference_cache(std::string_view bytes, const std::filesystem::path& path) {
  const reference::CacheKey key{.name = "fuzz", .version = 1, .settings = "{}"};
  try {
    const CacheFolder folder(path);
    if (wrapped(bytes))
      reference::write_cache(folder, key, std::string(bytes.substr(1)));
    else
      folder.write(reference::cache_file(key), bytes);
    std::string why;
    const auto payload = reference::read_cache(folder, key, why);
    if (!payload) return why;
    StateReader reader(*payload);
    SmallState().state(reader);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Data files of problems, points of `lather predict`.
inline std::string try_csv(std::string_view text) {
  std::string first;
  for (const auto numbers : {CsvNumbers::any, CsvNumbers::finite}) try {
      parse_csv(text, "data.csv", numbers);
    } catch (const Error& error) {
      first = error.what();
    }
  return first;
}

// Tables of coefficients.
inline std::string try_npz(std::string_view bytes) {
  try {
    for (const auto& array : parse_npz(bytes, "table.npz")) {
      std::size_t count = 1;
      for (const std::size_t n : array.shape) count *= n;
      if (count != array.values.size()) throw std::logic_error("an array with another number of values");
    }
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Bodies: read as STL and as OBJ, and asked for a distance if they are sound.
inline std::string try_mesh(std::string_view bytes) {
  std::string first;
  for (const auto parse : {geometry::parse_stl, geometry::parse_obj}) try {
      const auto shape = geometry::mesh_shape(parse(bytes, "body"), "body");
      shape->signed_distance({0.1, 0.2, 0.3});
    } catch (const Error& error) {
      first = error.what();
    }
  return first;
}

// As tests/optim/replay_test.cpp does, all kinds.
inline std::string try_replay_text(std::string_view text) {
  std::string first;
  nlohmann::json record = nlohmann::json::parse(text, nullptr, false);
  if (!record.is_object()) return "not an object";
  const auto attempt = [&](const auto& replay) {
    try {
      replay(record);
    } catch (const Error& error) {
      first = error.what();
    }
  };
  attempt(optim::replay_gradients);
  attempt(optim::replay_objective);
  attempt(optim::replay_inverse_hessian_updates);
  return first;
}

}  // namespace lather::testing
