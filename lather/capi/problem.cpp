#include <filesystem>

#include "lather/capi/handles.hpp"
#include "lather/core/files.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/pde/file/problem_text.hpp"
#include "lather/train/recipe.hpp"

namespace lather::capi {

namespace {

nlohmann::json problem_info(const train::ProblemSource& source) {
  const pde::Problem problem = source.read();
  nlohmann::json info = {{"name", problem.name},
                         {"title", problem.title},
                         {"file", source.file},
                         {"text", source.text},
                         {"coordinates", problem.symbols->coordinate_names()},
                         {"recipes", train::recipe_names(source.tree())},
                         {"warnings", problem.warnings},
                         {"description", pde::describe(problem)}};
  for (const char* list : {"domain", "fields", "terms", "point_sets"}) info[list] = nlohmann::json::array();
  for (const auto& [low, high] : problem.domain) info["domain"].push_back({low, high});
  for (const auto& field : problem.fields) info["fields"].push_back(field.name);
  for (const auto& term : problem.terms) info["terms"].push_back(term.name);
  for (const auto& set : problem.point_sets) info["point_sets"].push_back(set.name);
  info["unknowns"] = nlohmann::json::object();
  for (const auto& unknown : problem.unknowns) {
    auto& entry = info["unknowns"][unknown.name] = {{"initial", unknown.initial}};
    if (unknown.known_value) entry["known"] = *unknown.known_value;
  }
  return info;
}

void open_problem(train::ProblemSource source, lather_problem** out) {
  if (!out) throw Error("the pointer for the result is NULL");
  source.name = source.read().name;  // mistakes show up here
  *out = new lather_problem(std::move(source));
}

}  // namespace

extern "C" {

std::int32_t lather_problem_names(const char** json) {
  return guarded([&] { give_json(json, pde::list_problems()); });
}

std::int32_t lather_problem_open(const char* name_or_file, lather_problem** problem) {
  return guarded([&] {
    const auto path =
        std::filesystem::absolute(pde::find_problem(required_text(name_or_file, "name_or_file")));
    train::ProblemSource source;
    source.file = path.string();
    source.text = read_file(path);
    open_problem(std::move(source), problem);
  });
}

std::int32_t lather_problem_from_text(const char* text, const char* name, lather_problem** problem) {
  return guarded([&] {
    train::ProblemSource source;
    source.text = required_text(text, "text");
    source.file = name && *name ? name : "problem";
    open_problem(std::move(source), problem);
  });
}

void lather_problem_free(lather_problem* problem) { free_handle(problem); }

std::int32_t lather_problem_info(const lather_problem* problem, const char** json) {
  return guarded([&] { give_json(json, problem_info(In(problem, "problem", Use::share)->source)); });
}

}  // extern "C"

}  // namespace lather::capi
