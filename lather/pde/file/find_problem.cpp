#include "lather/pde/file/find_problem.hpp"

#include "lather/core/named_files.hpp"

namespace lather::pde {

namespace {

NamedFiles problem_files() {
  return {"problem", "a problem file", "LATHER_PROBLEMS", {LATHER_PROBLEM_DIR, LATHER_INSTALLED_PROBLEM_DIR}};
}

}  // namespace

std::vector<std::string> list_problems() { return problem_files().names(); }

std::filesystem::path find_problem(const std::string& name_or_path) {
  return problem_files().find(name_or_path);
}

}  // namespace lather::pde
