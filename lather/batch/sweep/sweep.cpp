#include "lather/batch/sweep/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lather/batch/sweep/table_reader.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/rng.hpp"
#include "lather/train/session.hpp"

namespace lather::batch {

namespace {

constexpr std::array<std::pair<std::string_view, Search>, 3> kSearches{
    {{"grid", Search::grid}, {"random", Search::random}, {"halving", Search::halving}}};
constexpr std::int64_t kGridValues = 5;      // for a range that does not say how many
constexpr std::size_t kMostPoints = 100000;  // beyond this: a mistake rather than intent

std::string text_of_number(double value, bool whole) {
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

// The value at a share of the range.
double at_share(const SweepAxis& axis, double share) {
  const double value = axis.logarithmic ? axis.low * std::pow(axis.high / axis.low, share)
                                        : axis.low + (axis.high - axis.low) * share;
  return axis.whole ? std::round(value) : value;
}

SweepAxis read_range(const TomlValue& table, const std::string& path) {
  TableReader r(table, path);
  SweepAxis axis;
  axis.path = path;
  axis.range = true;
  const auto number = [&](const char* key) {
    const TomlValue& value = r.required(key);
    if (!value.is_number()) throw Error(value.where, fmt::format("{} must be a number", r.name_of(key)));
    return value.real;
  };
  axis.low = number("low");
  axis.high = number("high");
  const std::string scale = r.text("scale", "linear");
  if (scale != "linear" && scale != "log")
    throw Error(r.where(), unknown_name_message("scale", scale, std::vector<std::string>{"linear", "log"}));
  axis.logarithmic = scale == "log";
  axis.whole = r.boolean("whole", false);
  const std::int64_t count = r.integer("count", kGridValues, 2);
  r.done();
  if (!(axis.low < axis.high)) throw Error(r.where(), fmt::format("{}: low must be less than high", path));
  if (axis.logarithmic && !(axis.low > 0))
    throw Error(r.where(), fmt::format("{}: a logarithmic range must be positive", path));
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    auto text = text_of_number(at_share(axis, share), axis.whole);
    if (axis.values.empty() || axis.values.back() != text) axis.values.push_back(std::move(text));
  }
  return axis;
}

void read_sweep_axes(const TomlValue& table, const std::string& path, std::vector<SweepAxis>& axes) {
  for (const auto& entry : table.entries) {
    const std::string here = path.empty() ? entry.key : path + "." + entry.key;
    if (entry.value.is_table()) {
      if (entry.value.find("low") || entry.value.find("high"))
        axes.push_back(read_range(entry.value, here));
      else
        read_sweep_axes(entry.value, here, axes);
      continue;
    }
    if (!entry.value.is_array() || entry.value.items.empty())
      throw Error(entry.value.where,
                  fmt::format("axes.{} must be a list of values, or {{low = …, high = …}}", here));
    auto& axis = axes.emplace_back();
    axis.path = here;
    for (const auto& item : entry.value.items) axis.values.push_back(item.to_json().dump());
  }
}

SweepOptimizer read_sweep_optimizer(TableReader& r) {
  SweepOptimizer optimizer;
  optimizer.name = r.required_text("name");
  optimizer.label = r.text("label", optimizer.name);
  optimizer.settings = r.settings("settings");
  if (const TomlValue* axes = r.find("axes"))
    read_sweep_axes(axes->as_table("axes of [[optimizer]]"), "", optimizer.axes);
  return optimizer;
}

Quantity read_sweep_metric(TableReader& r) {
  const std::string name = r.text("metric", "residual");
  std::vector<std::string> known;
  for (const Quantity q : {Quantity::residual, Quantity::loss, Quantity::l2, Quantity::h1}) {
    if (name == name_of(q)) return q;
    known.emplace_back(name_of(q));
  }
  throw Error(r.where(), unknown_name_message("metric", name, known));
}

Search read_search(TableReader& r) {
  const std::string name = r.text("search", "grid");
  std::vector<std::string> known;
  for (const auto& [word, search] : kSearches) {
    if (name == word) return search;
    known.emplace_back(word);
  }
  throw Error(r.where(), unknown_name_message("search", name, known));
}

std::vector<std::uint64_t> read_seeds(TableReader& r) {
  const TomlValue* value = r.find("seeds");
  std::vector<std::uint64_t> seeds;
  if (!value) return {0};
  if (value->is_array()) {
    for (const auto& item : value->items) {
      const std::int64_t seed = item.as_integer("a seed");
      if (seed < 0) throw Error(item.where, "a seed must be at least 0");
      seeds.push_back(static_cast<std::uint64_t>(seed));
    }
  } else {
    const std::int64_t count = value->as_integer("seeds");
    for (std::int64_t i = 0; i < count; ++i) seeds.push_back(static_cast<std::uint64_t>(i));
  }
  if (seeds.empty()) throw Error(value->where, "seeds: at least one is needed");
  return seeds;
}

std::vector<SweepAxis> axes_of(const Sweep& sweep, std::size_t optimizer) {
  auto axes = sweep.axes;
  const auto& own = sweep.optimizers[optimizer].axes;
  axes.insert(axes.end(), own.begin(), own.end());
  return axes;
}

std::string label_of(const Sweep& sweep, std::size_t optimizer, const Settings& values) {
  std::vector<std::string> words;
  const auto& label = sweep.optimizers[optimizer].label;
  if (!label.empty()) words.push_back(label);
  for (const auto& [path, value, where] : values)
    words.push_back(path.substr(path.rfind('.') + 1) + " " + value);
  return words.empty() ? "as it is" : fmt::format("{}", fmt::join(words, ", "));
}

// One point at random: number `index` in the optimizer's stream.
Settings drawn_point(const Sweep& sweep, const std::vector<SweepAxis>& axes, std::size_t optimizer,
                     std::uint64_t index) {
  const Random random(sweep.draw_seed, optimizer);
  Settings values;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const double share = random.uniform(index * axes.size() + k);
    const auto& axis = axes[k];
    values.push_back(
        {axis.path, axis.range
                        ? text_of_number(at_share(axis, share), axis.whole)
                        : axis.values[std::min(
                              axis.values.size() - 1,
                              static_cast<std::size_t>(share * static_cast<double>(axis.values.size())))]});
  }
  return values;
}

// Every combination of values.
std::vector<Settings> grid_points(const std::vector<SweepAxis>& axes) {
  std::vector<Settings> points{{}};
  for (const auto& axis : axes) {
    std::vector<Settings> longer;
    for (const auto& point : points)
      for (const auto& value : axis.values) {
        longer.push_back(point);
        longer.back().push_back({axis.path, value});
      }
    points = std::move(longer);
  }
  return points;
}

std::vector<Settings> points_of(const Sweep& sweep, std::size_t optimizer) {
  const auto axes = axes_of(sweep, optimizer);
  const bool ranges = std::any_of(axes.begin(), axes.end(), [](const SweepAxis& a) { return a.range; });
  double all = 1;
  for (const auto& axis : axes) all *= static_cast<double>(axis.values.size());
  const bool whole_grid = sweep.search == Search::grid || sweep.samples == 0 ||
                          (!ranges && static_cast<double>(sweep.samples) >= all);
  if (whole_grid) {
    if (all > kMostPoints) throw Error(fmt::format("the grid has {:.0f} points: search at random", all));
    return grid_points(axes);
  }
  std::vector<Settings> points;
  std::set<std::string> seen;  // from lists, a point may be drawn twice
  for (std::uint64_t i = 0; points.size() < static_cast<std::size_t>(sweep.samples) && i < kMostPoints; ++i) {
    auto point = drawn_point(sweep, axes, optimizer, i);
    if (seen.insert(label_of(sweep, optimizer, point)).second) points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

std::string_view name_of(Search search) {
  for (const auto& [name, value] : kSearches)
    if (value == search) return name;
  return "";
}

Sweep read_sweep(const TomlValue& root, const std::string& name, const GivenProblem* problem) {
  TableReader r(root, "a sweep file");
  Sweep s;
  s.name = r.text("name", name);
  if (problem) {
    s.problem = problem->file;
    s.problem_text = problem->text;
  } else {
    s.problem = r.required_text("problem");
  }
  s.recipe = r.text("recipe", s.recipe);
  s.metric = read_sweep_metric(r);
  s.search = read_search(r);
  s.seeds = read_seeds(r);
  s.steps = r.integer("steps", 0, 1);
  s.seconds = r.positive("time");
  s.samples = r.integer("samples", 0, 1);
  s.draw_seed = static_cast<std::uint64_t>(r.integer("seed", 0, 0));
  s.factor = r.integer("factor", s.factor, 2);
  s.rounds = r.integer("rounds", s.rounds, 2);
  const std::string keep = r.text("keep", "all");
  if (keep != "all" && keep != "history")
    throw Error(r.where(), unknown_name_message("keep", keep, std::vector<std::string>{"all", "history"}));
  s.keep = keep == "all" ? Keep::all : Keep::history;
  s.settings = r.settings("settings");
  if (const TomlValue* axes = r.find("axes")) read_sweep_axes(axes->as_table("[axes]"), "", s.axes);
  if (const TomlValue* list = r.find("optimizer")) {
    if (!list->is_array()) throw Error(list->where, "expected [[optimizer]], a list of tables");
    for (const auto& item : list->items) {
      TableReader reader(item, "[[optimizer]]");
      s.optimizers.push_back(read_sweep_optimizer(reader));
      reader.done();
    }
  }
  for (const char* key : {"samples", "seed"})
    if (s.search == Search::grid && root.find(key))
      throw Error(root.find(key)->where,
                  fmt::format("{}: a grid is not drawn; set search = \"random\"", key));
  for (const char* key : {"factor", "rounds"})
    if (s.search != Search::halving && root.find(key))
      throw Error(root.find(key)->where, fmt::format("{}: set search = \"halving\"", key));
  if (s.search == Search::random && s.samples == 0) r.required("samples");
  r.done();
  for (std::size_t i = 0; i < s.optimizers.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (s.optimizers[i].label == s.optimizers[j].label)
        throw Error(
            fmt::format("two optimizers are called '{}'; give one another label", s.optimizers[i].label));
  if (s.optimizers.empty()) s.optimizers.emplace_back();
  return s;
}

Sweep read_sweep_file(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) throw Error(fmt::format("there is no file '{}'", file.string()));
  Sweep sweep = read_sweep(parse_toml(read_file(file), file.string()), file.stem().string());
  // A problem file next to it.
  if (const auto beside = file.parent_path() / sweep.problem;
      sweep.problem.ends_with(".toml") && std::filesystem::exists(beside))
    sweep.problem = beside.string();
  return sweep;
}

std::vector<SweepPoint> sweep_points(const Sweep& sweep) {
  std::vector<SweepPoint> points;
  for (std::size_t o = 0; o < sweep.optimizers.size(); ++o)
    for (auto& values : points_of(sweep, o)) {
      std::string label = label_of(sweep, o, values);
      points.push_back({o, std::move(values), std::move(label)});
    }
  return points;
}

train::Config sweep_run(const Sweep& sweep, const SweepPoint& point, std::uint64_t seed, Device device) {
  const auto& optimizer = sweep.optimizers[point.optimizer];
  TrainingRequest request;
  request.problem = sweep.problem;
  request.text = sweep.problem_text;
  request.recipe = sweep.recipe;
  request.optimizer = optimizer.name;
  for (const Settings& some : {sweep.settings, optimizer.settings, point.values})
    request.settings.insert(request.settings.end(), some.begin(), some.end());
  request.seed = seed;
  request.steps = sweep.steps;
  request.seconds = sweep.seconds;
  request.device = device;
  try {
    train::Config config = resolve_training(request);
    if (sweep.seconds > 0 && sweep.steps == 0) train::limit_by_time_only(config);
    return config;
  } catch (const Error& error) {
    throw Error(error.where(), fmt::format("{}: {}: {}", sweep.name, point.label, error.message()));
  }
}

}  // namespace lather::batch
