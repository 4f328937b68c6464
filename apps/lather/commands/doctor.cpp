// lather doctor: what this machine has, what this build uses of it, what it does not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "lather/core/cache_folder.hpp"
#include "lather/core/error.hpp"
#include "lather/parallel/mpi_ranks.hpp"
#include "lather/parallel/nccl_report.hpp"
#include "lather/pde/file/find_problem.hpp"
#include "lather/train/run_folder/environment.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

std::string cache_report() {
  const auto folder = default_cache_folder();
  if (folder.empty()) return "none: there is no home folder; LATHER_CACHE names one";
  try {
    CacheFolder{folder};
    return folder.string() + " (reference solutions, compiled kernels)";
  } catch (const Error& error) {
    return error.what();
  }
}

void print_environment(const train::Environment& e) {
  const auto line = [](std::string_view what, const std::string& text) { say("{:<12} {}\n", what, text); };
  line("lather", fmt::format("{} ({}), {}", e.version, e.commit, e.build));
  line("compiler", e.compiler);
  line("system", fmt::format("{}, {}", e.host, e.system));
  line("processor", e.cpu);
  line("instructions", fmt::format("{}", fmt::join(e.instruction_sets, " ")));
  line("vectors", fmt::format("{} doubles used, {} available{}", e.vector_doubles, e.widest_doubles,
                              e.vector_doubles < e.widest_doubles
                                  ? ": rebuild with the release preset on this machine to use them all"
                                  : ""));
  line("threads", fmt::format("{} (all cores this process may use; change with --threads)", e.cores));
  line("memory", fmt::format("{:.1f} GiB", e.memory_gib));
  line("GPU", e.gpus.empty() ? "none found" : fmt::format("{}", fmt::join(e.gpus, ", ")));
  line("GPU driver", e.gpu_driver.empty() ? "none found" : e.gpu_driver);
  line("CUDA", e.cuda);
  line("MPI", parallel::mpi_report() + " (mpirun, srun; --ranks needs none)");
  line("NCCL", parallel::nccl_report() + " (only for --reduction nccl)");
  line("problems", fmt::format("{} found", pde::list_problems().size()));
  line("cache", cache_report());
}

}  // namespace

void add_doctor(CLI::App& app, int&) {
  auto* doctor = app.add_subcommand("doctor", "Show what this machine has and what this build uses");
  doctor->footer("Example:\n  lather doctor");
  auto json = std::make_shared<bool>(false);
  doctor->add_flag("--json", *json, "print JSON");
  doctor->callback([json] {
    const auto environment = train::find_environment();
    if (*json) {
      auto all = train::to_json(environment);
      all["mpi"] = parallel::mpi_report();
      all["nccl"] = parallel::nccl_report();
      say("{}\n", all.dump(2));
    } else
      print_environment(environment);
  });
}

}  // namespace lather::command
