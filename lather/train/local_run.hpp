#pragma once
// A run of the local solver: its configuration, its folder, and its result as fields.
//
//   LocalRun run(resolve_local({.problem = "plate.toml"}));
//   run.solve("runs/plate", {});                      // writes the folder
//   const LocalRun again = LocalRun::read("runs/plate");
//   again.evaluate(field_values(again.problem()), points);
//
// The folder holds local.json (all that the run depends on), solution.local, rounds.csv, summary.json,
// environment.json and copies of the problem's inputs. It has no config.json, which belongs to networks.

#include <filesystem>
#include <memory>
#include <optional>

#include "lather/local/solver.hpp"
#include "lather/train/accuracy/solution.hpp"
#include "lather/train/config.hpp"
#include "lather/train/run_folder/summary.hpp"

namespace lather::train {

struct LocalConfig {
  ProblemSource problem;
  local::Options options;
  void fields(FieldVisitor& v);
};

// The name by which the command line asks for it, among those of optimizers.
inline constexpr std::string_view kLocalName = "local";

// The problem as its recipe changes it; settings "optimizer.…" are those of local::Options. Throws Error for
// what has no meaning without a network.
LocalConfig resolve_local(const ConfigRequest& request);

class LocalRun final : public Fields {
 public:
  explicit LocalRun(LocalConfig config);
  // Whether a folder holds one.
  static bool is_in(const std::filesystem::path& folder);
  static LocalRun read(const std::filesystem::path& folder);

  // Solves and writes the folder, which must be new or empty. Returns what summary.json says.
  Summary solve(const std::filesystem::path& folder, const local::Watcher& watcher);

  const LocalConfig& config() const { return config_; }
  const pde::Problem& problem() const override { return *problem_; }
  const local::Solution& solution() const { return *solution_; }  // after solve or read
  const local::Result& result() const { return result_; }         // after solve
  std::vector<std::vector<double>> evaluate(std::span<const FieldDerivative> quantities,
                                            const pde::Points& points) const override;
  // Residuals at held-out points and errors against the reference, like those of networks.
  Summary summarize() const;

 private:
  std::vector<std::vector<double>> values(const std::vector<symbolic::Expr>& expressions,
                                          const std::vector<std::string>& columns,
                                          const pde::Points& points) const;
  NamedMetrics measure(std::string& reference) const;

  LocalConfig config_;
  std::shared_ptr<const pde::Problem> problem_;
  std::shared_ptr<const local::Solution> solution_;
  local::Result result_;
  Summary at_end_;  // what summary.json says of the way to the solution
};

// The fields of a run of either kind; `best`: of the best step of a network rather than the last.
std::unique_ptr<Fields> read_fields(const std::filesystem::path& run, bool best,
                                    std::vector<std::string>& messages);

}  // namespace lather::train
