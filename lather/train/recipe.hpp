#pragma once
// The [training] part of a problem file: what it recommends,
// in several recipes, with the user's changes on top.

#include <filesystem>
#include <string>
#include <vector>

#include "lather/core/device.hpp"
#include "lather/core/formats/toml.hpp"
#include "lather/optim/optimizer_spec.hpp"
#include "lather/pde/problem.hpp"
#include "lather/train/training_options.hpp"

namespace lather::train {

// The recipes of a problem file: tables of [training] that are not options. Throws Error, at its location,
// for a table that looks like a misspelt option or recipe.
std::vector<std::string> recipe_names(const TomlValue& root);

struct Recipe {
  std::string name;
  std::string adapted;  // how settings were replaced for an optimizer of another family; empty: not at all
  TomlValue tree;       // all of it, as written
  TomlValue optimizer;  // a table with at least a name
  TrainingOptions training;
  RecordOptions record;
  std::vector<TomlEntry> network, parameters, ansatz;  // what differs from the rest of the file
  std::vector<TomlEntry> conditions;                   // `condition`, replacing the file's; or none
};

// The recipe used if none is named: `quick`; on the GPU `best`, if there is one.
std::string default_recipe(const TomlValue& root, Device device);

// [training], overridden by [training.NAME], and both by what `--set training.…` says (a tree). Unknown keys
// are errors, at their location. "quick" need not exist. `optimizer` replaces the recipe's. If it is of
// another family, settings that belong to a family (network size, points, redraws, steps, learning rate,
// schedule) are replaced by those of [training.NAME.FAMILY] or train/family_defaults.hpp.
Recipe read_recipe(const TomlValue& root, const std::string& name, const TomlValue& settings = {},
                   const std::string& optimizer = "");

// The problem file with the recipe's network, parameters, ansatz and conditions. Throws Error for a parameter
// the file does not have.
TomlValue with_recipe(TomlValue root, const Recipe& recipe);

// Throws Error if a recipe asks for something the problem does not have: point sets, coordinates, parameters,
// a time to cut into windows.
void check_recipe(const TomlValue& root, const Recipe& recipe, const pde::Problem& problem);

// Reads every recipe of a problem file, used or not.
void check_all_recipes(const TomlValue& root, const std::filesystem::path& folder);

}  // namespace lather::train
