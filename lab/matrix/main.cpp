// lab_matrix run SPEC FOLDER: starts or resumes a run on one of the paper's matrix problems.
// lab_matrix check SPEC: whether it could be run, on a small problem.
// SPEC is what laboratory/plan.py calls a MatrixRun, as JSON. Exit status as of `lather`: 0 done, 2 an error, 4 not
// enough memory, 130 interrupted and saved.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "matrix/task_folder.hpp"

namespace {

using namespace lather;
using Json = nlohmann::json;

constexpr int kError = 2, kNoMemory = 4, kInterrupted = 130;

volatile std::sig_atomic_t interrupted = 0;

lab::TaskSpec read_spec(const std::string& text) {
  const Json json = Json::parse(text);
  lab::TaskSpec spec;
  spec.task = json.at("task");
  spec.settings = json.at("settings");
  spec.optimizer = json.at("optimizer");
  spec.size = json.at("size") == "small" ? lab::TaskSize::small : lab::TaskSize::paper;
  spec.length = {json.at("steps"), json.at("record"), json.at("also")};
  spec.seed = json.at("seed");
  return spec;
}

optim::OptimizerSpec optimizer_of(const lab::TaskSpec& spec) {
  return optim::read_optimizer(toml_from_json(Json::parse(spec.optimizer), {}));
}

// The options of its methods are those of the small problem, too.
void check(const lab::TaskSpec& spec) {
  const auto task = lab::make_task(spec.task, lab::TaskSize::small, Json::parse(spec.settings), 0);
  lab::require_usable(spec.task, task, optimizer_of(spec));
}

int run(lab::TaskSpec spec, const std::string& folder) {
  spec.optimizer = options::to_json(optimizer_of(spec)).dump();
  std::filesystem::create_directories(folder);
  std::vector<std::string> notes;
  const bool ended = lab::continue_task(
      folder, spec, [] { return interrupted != 0; }, notes);
  for (const auto& note : notes) fmt::print(stderr, "lab_matrix: {}\n", note);
  return ended ? 0 : kInterrupted;
}

int fail(const std::string& message, int status) {
  fmt::print(stderr, "lab_matrix: {}\n", message);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });
  try {
    if (words.size() == 2 && words[0] == "check") return check(read_spec(words[1])), 0;
    if (words.size() == 3 && words[0] == "run") return run(read_spec(words[1]), words[2]);
    return fail("expected `run SPEC FOLDER` or `check SPEC`", 1);
  } catch (const OutOfMemory& error) {
    return fail(error.what(), kNoMemory);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", kNoMemory);
  } catch (const std::exception& error) {
    return fail(error.what(), kError);
  }
}
