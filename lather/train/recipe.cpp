#include "lather/train/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/pde/file/problem_file.hpp"
#include "lather/train/family_defaults.hpp"
#include "lather/train/stages/continuation.hpp"
#include "lather/train/weighting/weighting.hpp"

namespace lather::train {

namespace {

const std::vector<std::string> kStandardRecipes = {"quick", "best", "paper"};

// All options of a recipe that are read by their fields().
struct RecipeKeys {
  TrainingOptions training;
  RecordOptions record;
  void fields(FieldVisitor& v) {
    training.fields(v);
    record.fields(v);
  }
};

// Keys of [training] and of every recipe.
std::vector<std::string> recipe_keys() {
  std::vector<std::string> keys = {"optimizer", "network",        "parameters",      "ansatz",
                                   "condition", "resample_every", "causal_tolerance"};
  for (const auto& field : options::describe(RecipeKeys{})) {
    const std::string key = field.name.substr(0, field.name.find('.'));
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

TomlEntry* find_entry(TomlValue& table, std::string_view key) {
  const auto found = std::find_if(table.entries.begin(), table.entries.end(),
                                  [&](const TomlEntry& e) { return e.key == key; });
  return found == table.entries.end() ? nullptr : &*found;
}

std::vector<TomlEntry> take_table(TomlValue& table, const std::string& key) {
  std::vector<TomlEntry> taken;
  if (TomlEntry* entry = find_entry(table, key)) {
    taken = entry->value.as_table("training." + key).entries;
    std::erase_if(table.entries, [&](const TomlEntry& e) { return e.key == key; });
  }
  return taken;
}

// The key a bare value stands for: sampling = "sobol" is sampling = {method = "sobol"}.
std::string_view main_key(std::string_view key) {
  if (key == "optimizer") return "name";
  if (key == "sampling" || key == "weighting") return "method";
  if (key == "time_windows") return "count";
  return key == "causal" ? "tolerance" : "";
}

void expand(TomlEntry& entry) {
  if (entry.value.is_table()) return;
  entry.value = make_table({{std::string(main_key(entry.key)), entry.where, entry.value}}, entry.value.where);
}

// resample_every = 10 is sampling = {every = 10}.
void expand_synonym(TomlValue& layer, std::string_view synonym, const std::string& key,
                    const std::string& inner) {
  TomlEntry* found = find_entry(layer, synonym);
  if (!found) return;
  const TomlEntry given = *found;
  std::erase_if(layer.entries, [&](const TomlEntry& e) { return e.key == synonym; });
  if (!find_entry(layer, key)) layer.entries.push_back({key, given.where, make_table({}, given.where)});
  TomlEntry* entry = find_entry(layer, key);
  expand(*entry);
  if (entry->value.find(inner))
    throw Error(given.where,
                fmt::format("{}.{} and {} are alternatives; give only one", key, inner, synonym));
  entry->value.entries.push_back({inner, given.where, given.value});
}

// Lays one layer of settings over another. A bare value replaces a table, a table changes the keys it names;
// the options of another optimizer or weighting are not kept.
void lay_over(TomlValue& recipe, TomlValue layer) {
  expand_synonym(layer, "resample_every", "sampling", "every");
  expand_synonym(layer, "causal_tolerance", "causal", "tolerance");
  for (const auto& entry : layer.entries) {
    TomlEntry* below = find_entry(recipe, entry.key);
    const std::string_view main = main_key(entry.key);
    if (below && !main.empty() && entry.value.is_table()) {
      expand(*below);
      const TomlValue *old = below->value.find(main), *other = entry.value.find(main);
      const bool decides = entry.key == "optimizer" || entry.key == "weighting";
      if (decides && old && other && old->to_json() != other->to_json()) below->value.entries.clear();
    }
    merge_toml(recipe, make_table({entry}));
  }
}

const TomlValue& training_of(const TomlValue& root) {
  static const TomlValue kNone;
  const TomlValue* training = root.find("training");
  return training ? training->as_table("[training]") : kNone;
}

void check_points(const TomlValue& merged, const pde::Problem& problem) {
  if (const TomlValue* points = merged.find("points")) {
    std::vector<std::string> sets;
    for (const auto& set : problem.point_sets)
      if (set.kind != pde::PointSet::Kind::data) sets.push_back(set.name);
    points->as_table("points").only_keys("points", sets);
  }
  const TomlValue* focus = merged.find("focus");
  if (!focus) return;
  std::vector<std::string> known = problem.symbols->coordinate_names();
  known.insert(known.end(), {"share", "points", "method", "near", "within"});
  for (const auto& item : focus->items) {
    item.only_keys("focus", known);
    item.required("share", "focus");
  }
}

bool is_family_table(const TomlEntry& entry) {
  return entry.value.is_table() && contains(family_names(), entry.key);
}

// A recipe without its family tables. Other tables that do not belong there are errors, at their location.
TomlValue without_families(TomlValue layer, const std::string& recipe) {
  std::erase_if(layer.entries, is_family_table);
  auto known = recipe_keys();
  for (const auto& entry : layer.entries)
    if (entry.value.is_table() && !contains(known, entry.key)) {
      const auto families = family_names();
      known.insert(known.end(), families.begin(), families.end());
      throw Error(entry.where, unknown_name_message("key of [training." + recipe + "]", entry.key, known));
    }
  return layer;
}

// [training.NAME.FAMILY]; nullptr if there is none.
const TomlValue* family_table(const TomlValue& root, const std::string& name, const std::string& family) {
  const TomlValue* own = training_of(root).find(name);
  return own ? own->find(family) : nullptr;
}

// The layers of a recipe, one over the other; no name: [training] alone.
TomlValue merged_recipe(const TomlValue& root, const std::string& name) {
  const auto names = recipe_names(root);
  const TomlValue& training = training_of(root);
  TomlValue own;
  own.where = training.where;
  for (const auto& entry : training.entries)
    if (!contains(names, entry.key)) own.entries.push_back(entry);
  TomlValue merged;
  merged.where = training.where;
  lay_over(merged, own);
  if (contains(names, name)) {
    merged.where = training.find(name)->where;
    lay_over(merged, without_families(*training.find(name), name));
  } else if (name != "quick" && !name.empty()) {
    throw Error(training.where, unknown_name_message("recipe", name, names));
  }
  if (!find_entry(merged, "optimizer"))
    merged.entries.push_back(
        {"optimizer", merged.where, toml_from_json({{"name", "ss-esoap"}}, merged.where)});
  expand(*find_entry(merged, "optimizer"));
  return merged;
}

std::string optimizer_name(TomlValue& merged) {
  const TomlValue* name = find_entry(merged, "optimizer")->value.find("name");
  return name && name->is_text() ? name->text.text : "";
}

void erase_key(TomlValue& table, std::string_view key) {
  std::erase_if(table.entries, [&](const TomlEntry& e) { return e.key == key; });
}

// A recipe for fixed features is of no use to methods that train the whole network, except for the parameters
// of its problem: they use [training.NAME.least-squares].
bool leave_fixed_features(TomlValue& merged, const TomlValue& root, const std::string& recipe) {
  const TomlValue* table = family_table(root, recipe, "least-squares");
  if (!table) return false;
  const TomlEntry* parameters = find_entry(merged, "parameters");
  const TomlValue kept = parameters ? make_table({*parameters}) : TomlValue{};
  merged = merged_recipe(root, "");
  lay_over(merged, kept);
  lay_over(merged, *table);
  if (!table->find("optimizer"))
    find_entry(merged, "optimizer")->value = toml_from_json({{"name", "lm"}}, {});
  return true;
}

// Switches to another optimizer than the recipe's. Settings for the one are not meant for the other, except
// the learning rate and the wrappers within a family.
std::string adapt(TomlValue& merged, const TomlValue& root, const std::string& recipe,
                  const std::string& optimizer) {
  const auto& entry = optim::find_optimizer(optimizer);
  const bool left = entry.family != optim::Family::output_layer &&
                    optim::find_optimizer(optimizer_name(merged)).family == optim::Family::output_layer &&
                    leave_fixed_features(merged, root, recipe);
  const std::string before = optimizer_name(merged);
  std::string unchanged = left ? fmt::format("settings of [training.{}.least-squares]", recipe) : "";
  if (before == optimizer) return unchanged;
  const optim::Family family = entry.family, own = optim::find_optimizer(before).family;
  TomlValue chosen = toml_from_json({{"name", optimizer}}, {});
  if (family == own) {
    const auto options = entry.describe();
    for (const auto& e : find_entry(merged, "optimizer")->value.entries)
      if (e.key == "schedule" || e.key == "clip" || e.key == "schedule_free" ||
          (e.key == "learning_rate" && std::any_of(options.begin(), options.end(),
                                                   [](const auto& o) { return o.name == "learning_rate"; })))
        chosen.entries.push_back(e);
  } else {
    merge_toml(chosen, optimizer_of_family(optimizer));
  }
  find_entry(merged, "optimizer")->value = chosen;
  if (family == own) {
    lay_over(merged, network_for(optimizer));
    return unchanged;
  }

  const std::string name(name_of(family));
  if (!alike(family, own)) {
    TomlValue of_family = recipe_for(optimizer);
    // Equations on parts of a shape have point sets with their own names, and keep them.
    const TomlEntry* points = find_entry(merged, "points");
    const bool named = points && points->value.is_table() && !points->value.find("interior");
    erase_key(named ? of_family : merged, "points");
    erase_key(merged, "steps");
    if (TomlEntry* sampling = find_entry(merged, "sampling"))
      if (sampling->value.is_table()) erase_key(sampling->value, "every");
    if (TomlEntry* network = find_entry(merged, "network"); network && own == optim::Family::output_layer)
      for (const char* key : {"activation", "initialization", "feature_scale", "input_scales", "train"})
        erase_key(network->value, key);
    lay_over(merged, of_family);
  }
  const TomlValue* table = family_table(root, recipe, name);
  if (table) lay_over(merged, *table);
  const std::string what = alike(family, own) ? "learning rate and schedule" : "settings";
  return table ? fmt::format("{} of [training.{}.{}]", what, recipe, name)
               : fmt::format("{} of {} methods instead of those for {}", what, name, before);
}

}  // namespace

std::vector<std::string> recipe_names(const TomlValue& root) {
  const auto keys = recipe_keys();
  auto known = keys;
  known.insert(known.end(), kStandardRecipes.begin(), kStandardRecipes.end());
  std::vector<std::string> names;
  for (const auto& entry : training_of(root).entries) {
    if (!entry.value.is_table() || contains(keys, entry.key)) continue;
    if (!contains(kStandardRecipes, entry.key) && !nearest_name(entry.key, known).empty())
      throw Error(entry.where, unknown_name_message("key of [training]", entry.key, known));
    names.push_back(entry.key);
  }
  return names;
}

std::string default_recipe(const TomlValue& root, Device device) {
  return device == Device::cuda && contains(recipe_names(root), "best") ? "best" : "quick";
}

Recipe read_recipe(const TomlValue& root, const std::string& name, const TomlValue& settings,
                   const std::string& optimizer) {
  Recipe recipe;
  recipe.name = name;
  TomlValue merged = merged_recipe(root, name);
  if (!optimizer.empty()) recipe.adapted = adapt(merged, root, name, optimizer);
  lay_over(merged, settings);
  recipe.tree = merged;
  recipe.network = take_table(merged, "network");
  recipe.parameters = take_table(merged, "parameters");
  recipe.ansatz = take_table(merged, "ansatz");
  if (const TomlEntry* conditions = find_entry(merged, "condition")) {
    if (!conditions->value.is_array())
      throw Error(conditions->where, "condition: expected a list of tables, [[training.NAME.condition]]");
    recipe.conditions = {*conditions};
    erase_key(merged, "condition");
  }
  expand(*find_entry(merged, "optimizer"));
  recipe.optimizer = find_entry(merged, "optimizer")->value;
  erase_key(merged, "optimizer");
  RecipeKeys read;
  options::read(read, "training", merged);
  recipe.training = std::move(read.training);
  recipe.record = read.record;
  return recipe;
}

TomlValue with_recipe(TomlValue root, const Recipe& recipe) {
  const TomlValue* parameters = root.find("parameters");
  std::vector<std::string> known;
  if (parameters)
    for (const auto& entry : parameters->as_table("[parameters]").entries) known.push_back(entry.key);
  make_table(recipe.parameters).only_keys("[parameters]", known);
  const auto lay = [&](const char* key, const std::vector<TomlEntry>& entries) {
    if (!entries.empty()) merge_toml(root, make_table({{key, entries[0].where, make_table(entries)}}));
  };
  lay("network", recipe.network);
  lay("parameters", recipe.parameters);
  lay("ansatz", recipe.ansatz);
  for (const auto& conditions : recipe.conditions) {
    erase_key(root, "condition");
    root.entries.push_back(conditions);
  }
  return root;
}

// Rejects hidden-layer settings that nothing would read.
static void check_hidden_layers(const Recipe& recipe, const net::NetworkOptions& network) {
  const bool features = network.initialization == net::Initialization::features;
  const TomlValue* name = recipe.optimizer.find("name");
  const bool drawn = std::ranges::any_of(optim::catalogue(), [&](const auto& entry) {
    return name && entry.name == name->text.text && entry.hidden_layers == optim::HiddenLayers::drawn;
  });
  if (drawn && (features || network.train != net::TrainedLayers::all))
    throw Error(fmt::format(
        "training: {} draws the hidden weights itself, at the scales of its own options: leave out "
        "network.train, network.initialization and network.input_scales, or take gauss-newton",
        name->text.text));
  if (!features && recipe.training.corrections.count == 0 &&
      network.feature_scale != net::NetworkOptions{}.feature_scale)
    throw Error(
        drawn
            ? fmt::format("network: {} draws the hidden weights at the scales of its own options: leave out "
                          "network.feature_scale, or take gauss-newton",
                          name->text.text)
            : "network: feature_scale belongs to features and would be ignored: add "
              "network.initialization=features, or leave it out");
}

void check_recipe(const TomlValue& root, const Recipe& recipe, const pde::Problem& problem) try {
  const TrainingOptions& training = recipe.training;
  check_points(recipe.tree, problem);
  pde::sampling_settings(training.points, problem);
  make_weighting(training.weighting, training.causal, problem);
  const TimeWindows windows(problem, training.time_windows);
  const CorrectionOptions& corrections = training.corrections;
  check_hidden_layers(recipe, problem.network);
  if (corrections.count == 0 &&
      (corrections.width > 0 || corrections.depth > 0 || corrections.feature_scale > 0))
    throw Error("training: corrections need a count: {count = 1, width = 40}");
  if (corrections.count > 0) {
    if (training.stages.unsolved == Unsolved::halve)
      throw Error(
          "training: stages.unsolved = \"halve\" cuts time windows and steps of continuation; corrections "
          "can be prolonged");
    if (windows.count() > 1 || training.continuation)
      throw Error("training: corrections cannot be combined with time_windows or continuation");
    const int networks = static_cast<int>(corrections.count) + 1;  // all of them precede a further one
    net::build_sum(corrected(problem, corrections, networks).earlier_networks,
                   static_cast<int>(problem.network_inputs.size()), problem.outputs());
  }
  if (training.stages.target >= 1 && corrections.count == 0 && windows.count() == 1 && !training.continuation)
    throw Error(fmt::format(
        "training: stages = {0:g} is the residual at which a stage is done, and there is only one stage; "
        "for further networks on what the first one leaves: corrections = {1:g}",
        training.stages.target, std::max(1.0, training.stages.target - 1)));
  if (!training.continuation) return;
  training.continuation->validate();
  if (windows.count() > 1) throw Error("training: time_windows and continuation cannot be combined");
  std::vector<std::string> names;
  if (const TomlValue* table = root.find("parameters"))
    for (const auto& entry : table->entries) names.push_back(entry.key);
  if (!contains(names, training.continuation->parameter))
    throw Error("continuation: " +
                unknown_name_message("parameter", training.continuation->parameter, names));
} catch (const Error& error) {
  // Errors that no single key is to blame for are reported at the recipe.
  if (!error.where().str().empty()) throw;
  throw Error(recipe.tree.where, error.message());
}

void check_all_recipes(const TomlValue& root, const std::filesystem::path& folder) {
  auto names = recipe_names(root);
  if (!contains(names, "quick")) names.push_back("quick");
  for (const auto& name : names) {
    std::vector<std::string> optimizers{""};  // the recipe's, and one of each family that has a table
    std::vector<std::string> seen;
    for (const auto& entry : optim::catalogue())
      if (const std::string family(name_of(entry.family)); !contains(seen, family)) {
        seen.push_back(family);
        if (family_table(root, name, family)) optimizers.push_back(entry.name);
      }
    for (const auto& optimizer : optimizers) {
      const Recipe recipe = read_recipe(root, name, {}, optimizer);
      if (optimizer.empty()) optim::read_optimizer(recipe.optimizer);
      const pde::Problem problem = pde::read_problem(with_recipe(root, recipe), folder);
      check_recipe(root, recipe, problem);
    }
  }
}

}  // namespace lather::train
