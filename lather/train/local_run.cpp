#include "lather/train/local_run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lather/core/cache_folder.hpp"
#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/memory.hpp"
#include "lather/core/version.hpp"
#include "lather/local/equations.hpp"
#include "lather/pde/sampling/region.hpp"
#include "lather/train/run_folder/checkpoint.hpp"
#include "lather/train/run_folder/environment.hpp"
#include "lather/train/saved_run.hpp"

namespace lather::train {

namespace fs = std::filesystem;

namespace {

constexpr int kLocalFormat = 1;
constexpr const char* kSolutionFile = "solution.local";

std::string_view name_of(local::Verdict verdict) {
  switch (verdict) {
    case local::Verdict::solved: return "solved";
    case local::Verdict::doubtful: return "doubtful";
    case local::Verdict::not_solved: return "not solved";
  }
  return "";
}

void require_local_request(const ConfigRequest& request) {
  const auto refuse = [](bool given, const std::string& what) {
    if (given) throw Error(fmt::format("--optimizer local: {}", what));
  };
  refuse(request.steps.has_value(), "--steps has no meaning; `--set optimizer.rounds=N` limits its rounds");
  refuse(request.patience > 0, "--patience has no meaning");
  refuse(request.target.has_value(),
         "--target has no meaning; `--set optimizer.accuracy=X` says how far to go, `--set "
         "optimizer.tolerance=X` what counts as solved");
  refuse(request.seed != 0, "--seed has no meaning: there are no random numbers");
  refuse(request.ranks != nullptr, "it runs in one process, without --ranks");
  refuse(request.shards > 0, "--shards has no meaning: results do not depend on threads");
  refuse(request.device != Device::cpu, "it runs on the CPU, without --device cuda");
  refuse(request.precision != pde::Precision::float64, "it needs --precision float64");
}

}  // namespace

void LocalConfig::fields(FieldVisitor& v) {
  v.table("problem", problem, "");
  v.table("optimizer", options, "of the local solver");
}

LocalConfig resolve_local(const ConfigRequest& request) {
  require_local_request(request);
  ConfigRequest of_problem = request;
  of_problem.optimizer.clear();
  of_problem.settings.clear();
  of_problem.seconds.reset();
  TomlValue options;
  for (const auto& setting : request.settings) {
    if (setting.path.starts_with("training.") || setting.path.starts_with("network."))
      throw Error(setting.place(),
                  fmt::format("'{}' is about networks, and --optimizer local has none", setting.path));
    if (setting.path.starts_with("optimizer."))
      set_toml(options, setting.path, setting.value, setting.where);
    else
      of_problem.settings.push_back(setting);
  }
  const Config as_for_networks = resolve(of_problem);
  LocalConfig config;
  config.problem = as_for_networks.problem;
  if (const TomlValue* own = options.find("optimizer"))
    options::read(config.options, "optimizer local", *own);
  config.options.threads = static_cast<int>(as_for_networks.threads);
  if (request.seconds) config.options.seconds = *request.seconds;
  return config;
}

LocalRun::LocalRun(LocalConfig config)
    : config_(std::move(config)), problem_(std::make_shared<pde::Problem>(config_.problem.read())) {
  local::require_representable(*problem_);
}

bool LocalRun::is_in(const fs::path& folder) { return is_there(folder / kLocalConfigFile); }

Summary LocalRun::solve(const fs::path& folder, const local::Watcher& watcher) {
  create_folder(folder);
  for (const auto& entry : fs::directory_iterator(folder))
    if (const auto name = entry.path().filename(); name != "lock")
      throw Error(fmt::format("the folder '{}' is not empty (it holds '{}'); give another --out",
                              folder.string(), name.string()));
  const FolderLock lock(folder);
  const auto write_json = [&](const char* name, const nlohmann::json& json) {
    write_file_atomically(folder / name, json.dump(2) + "\n");
  };
  auto json = options::to_json(config_);
  json["format"] = kLocalFormat;
  json["lather"] = version();
  write_json(kLocalConfigFile, json);
  write_json("environment.json", to_json(find_environment()));
  keep_inputs(*problem_, folder);

  std::string rounds = "round,patches,unknowns,left_over,change,seconds\n";
  local::Watcher recorder = watcher;
  recorder.round = [&](const local::Round& r) {
    rounds += fmt::format("{},{},{},{:.6e},{:.6e},{:.3f}\n", r.number, r.patches, r.unknowns, r.left_over,
                          r.change, r.seconds);
    if (watcher.round) watcher.round(r);
  };
  result_ = local::solve(*problem_, config_.options, recorder);
  solution_ = result_.solution;
  write_file_atomically(folder / "rounds.csv", rounds);
  StateWriter writer;
  solution_->write(writer);
  const auto steps = static_cast<std::int64_t>(result_.rounds.size());
  write_file_atomically(folder / kSolutionFile,
                        encode_checkpoint({steps, checksum(config_.problem.text), writer.bytes()}));
  at_end_.step = steps;
  at_end_.reason = result_.stopped == "interrupted" ? "interrupted" : name_of(result_.verdict);
  at_end_.message = result_.message;
  at_end_.seconds = result_.seconds;
  at_end_.steps_per_second = static_cast<double>(steps) / std::max(result_.seconds, 1e-9);
  at_end_.peak_host_bytes = static_cast<std::int64_t>(peak_host_memory_bytes());
  Summary summary = summarize();
  auto written = options::to_json(summary);
  written["verdict"] = name_of(result_.verdict);
  for (std::size_t f = 0; f < result_.estimated.size(); ++f)
    written["estimated_l2"][problem_->fields[f].name] =
        std::isfinite(result_.estimated[f]) ? nlohmann::json(result_.estimated[f]) : nlohmann::json();
  write_json("summary.json", written);  // last: it says that the run has ended
  return summary;
}

LocalRun LocalRun::read(const fs::path& folder) {
  const auto file = folder / kLocalConfigFile;
  auto json = read_json(file);
  if (!json.is_object() || json.value("format", nlohmann::json()) != kLocalFormat)
    throw Error(fmt::format("'{}': this version of Lather reads local solutions of format {}", file.string(),
                            kLocalFormat));
  json.erase("format");
  json.erase("lather");
  LocalConfig config;
  options::read(config, "local", toml_from_json(json, {file.string(), 0, 0}));
  if (is_found_folder(folder / "data")) config.problem.data_folder = (folder / "data").string();
  LocalRun run(std::move(config));
  const auto checkpoint = decode_checkpoint(read_found_file(folder / kSolutionFile));
  if (checkpoint.identity != checksum(run.config_.problem.text))
    throw Error(fmt::format("'{}' belongs to another problem", (folder / kSolutionFile).string()));
  StateReader reader(checkpoint.state);
  run.solution_ = std::make_shared<local::Solution>(local::Solution::read(reader));
  if (run.solution_->outputs() != run.problem_->outputs() ||
      run.solution_->tree().dimensions() != run.problem_->dimensions())
    throw Error(fmt::format("'{}' belongs to another problem", (folder / kSolutionFile).string()));
  run.at_end_.step = checkpoint.step;
  if (is_there(folder / "summary.json")) {
    const auto summary = read_json(folder / "summary.json");
    const auto at = [&](const char* key) {
      return summary.is_object() ? summary.value(key, nlohmann::json()) : nlohmann::json();
    };
    const auto text = [&](const char* key) { return at(key).is_string() ? at(key).get<std::string>() : ""; };
    const auto real = [&](const char* key) { return at(key).is_number() ? at(key).get<double>() : 0; };
    run.at_end_.reason = text("reason");
    run.at_end_.message = text("message");
    run.at_end_.seconds = real("seconds");
    run.at_end_.steps_per_second = real("steps_per_second");
    run.at_end_.peak_host_bytes = static_cast<std::int64_t>(real("peak_host_bytes"));
  }
  return run;
}

std::vector<std::vector<double>> LocalRun::values(const std::vector<symbolic::Expr>& expressions,
                                                  const std::vector<std::string>& columns,
                                                  const pde::Points& points) const {
  return local::Linearization(*problem_, expressions, columns)
      .residuals_at(points, [this](const local::Jet& jet, const pde::Points& at) {
        return solution_->evaluate(jet, at);
      });
}

std::vector<std::vector<double>> LocalRun::evaluate(std::span<const FieldDerivative> quantities,
                                                    const pde::Points& points) const {
  std::vector<symbolic::Expr> list;
  for (const auto& quantity : quantities) list.push_back(expression_of(*problem_, quantity));
  pde::Points filled = points;
  const auto columns = pde::fill_columns(*problem_, list, filled);
  return values(list, columns, filled);
}

NamedMetrics LocalRun::measure(std::string& reference) const {
  NamedMetrics metrics;
  metrics.step = at_end_.step;
  metrics.validation_loss = metrics.training_loss = std::numeric_limits<double>::quiet_NaN();
  const pde::PointSource source(*problem_, pde::sampling_settings({}, *problem_), 0);
  for (const auto& term : problem_->terms) {
    const auto& set = problem_->point_sets[static_cast<std::size_t>(term.point_set)];
    const auto points = source.validation(term.point_set);
    const auto left = values({term.residual}, set.columns, points)[0];
    double mean = 0;
    for (const double r : left) mean += r * r / static_cast<double>(left.size());
    metrics.residuals[term.name] = std::sqrt(mean);
    if (set.kind == pde::PointSet::Kind::interior) metrics.mean_square_residual += mean;
  }
  metrics.residual = std::sqrt(metrics.mean_square_residual);
  try {
    const auto truth = true_solution(*problem_, default_cache_folder());
    if (!truth) return metrics;
    reference = truth->provenance();
    metrics.error_grid = default_grid(problem_->dimensions());
    const ErrorMeter meter(*problem_, *truth, {metrics.error_grid, problem_->reference.up_to_constant});
    for (const auto& error : meter.measure([this](const pde::Points& at) { return values_and_slopes(at); })) {
      metrics.l2[error.field] = error.relative_l2;
      metrics.h1[error.field] = error.relative_h1;
    }
  } catch (const Error& error) {  // no reason not to solve
    reference = std::string("not available: ") + error.what();
  }
  return metrics;
}

Summary LocalRun::summarize() const {
  Summary s = at_end_;
  s.problem = config_.problem.name;
  s.optimizer = kLocalName;
  s.family = "local polynomials";
  s.parameters = static_cast<std::int64_t>(solution_->coefficients());
  s.loss = s.starting_loss = std::numeric_limits<double>::quiet_NaN();
  s.final = s.best = measure(s.reference);
  return s;
}

std::unique_ptr<Fields> read_fields(const fs::path& run, bool best, std::vector<std::string>& messages) {
  if (LocalRun::is_in(run)) return std::make_unique<LocalRun>(LocalRun::read(run));
  return std::make_unique<Solution>(read_run(run, messages)->solution(best));
}

}  // namespace lather::train
