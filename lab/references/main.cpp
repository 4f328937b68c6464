// lab_references: docs/references.md, the self-convergence of all references.
// lab_references NAME: the tables of one. lab_references --check NAME…: compares the two finest resolutions of
// each; exit status 1 if they differ too much.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "lather/core/cache_folder.hpp"
#include "references/studies.hpp"

namespace {

using namespace lather;

bool check_all(const std::vector<std::string>& names, const std::filesystem::path& cache) {
  bool passed = true;
  for (const auto& name : names) {
    const auto report = lab::check_reference(name, cache);
    fmt::print("{}\n", report.text);
    passed = passed && report.passed;
  }
  return passed;
}

int run(std::vector<std::string> words) {
  const auto cache = default_cache_folder();
  const auto progress = [](const std::string& what) { fmt::print(stderr, "solving {}\n", what); };
  if (!words.empty() && words[0] == "--check") {
    words.erase(words.begin());
    return check_all(words.empty() ? reference::reference_names() : words, cache) ? 0 : 1;
  }
  if (words.empty()) fmt::print("{}", lab::convergence_page(cache, progress));
  for (const auto& name : words) fmt::print("{}", lab::convergence_tables(name, cache, progress));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "lab_references: {}\n", error.what());
    return 2;
  }
}
