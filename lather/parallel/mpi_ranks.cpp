#include "lather/parallel/mpi_ranks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "lather/core/clock.hpp"
#include "lather/core/error.hpp"
#include "lather/parallel/mpi/module.h"

namespace lather::parallel {

namespace fs = std::filesystem;

namespace {

// Launchers by their variables: Open MPI; MPICH, Intel MPI and srun --mpi=pmi2; PMIx (srun --mpi=pmix) names
// no size.
struct LauncherVariables {
  const char *rank, *size;
};
constexpr LauncherVariables kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                            {"PMI_RANK", "PMI_SIZE"},
                                            {"PMIX_RANK", "SLURM_NTASKS"}};

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (!text) return otherwise;
  int value = otherwise;
  std::from_chars(text, text + std::string_view(text).size(), value);
  return value;
}

// Where the module may be, best first.
std::vector<fs::path> places_of_module() {
  constexpr const char* kName = "lather_mpi.so";
  std::vector<fs::path> places;
  if (const char* given = std::getenv("LATHER_MPI")) return {given};
  std::error_code status;
  const fs::path program = fs::read_symlink("/proc/self/exe", status).parent_path();
  places.push_back(program.parent_path() / "lib" / kName);  // build folder
  places.push_back(fs::path(LATHER_MODULE_DIR) / kName);    // installed
  return places;
}

const LatherMpi* load_module(std::string& why_not) {
  std::error_code status;
  for (const auto& place : places_of_module()) {
    if (!fs::exists(place, status)) continue;
    // Open MPI loads its own modules, which look for its symbols among the global ones.
    void* library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    const void* symbol = library ? ::dlsym(library, "lather_mpi") : nullptr;
    if (!symbol) {
      const char* message = ::dlerror();
      why_not = fmt::format("'{}' does not load: {}", place.string(), message ? message : "unknown reason");
      return nullptr;
    }
    const auto* mpi = static_cast<const LatherMpi*>(symbol);
    if (mpi->version == LATHER_MPI_VERSION) return mpi;
    why_not = fmt::format("'{}' belongs to another version of Lather", place.string());
    return nullptr;
  }
  why_not = "not built: no MPI was found when Lather was configured";
  return nullptr;
}

class MpiRanks final : public Communicator {
 public:
  explicit MpiRanks(const LatherMpi& mpi) : MpiRanks(mpi, mpi.start()) {}

  std::string transport() const override {
    char text[256] = {};
    mpi_.describe(text, sizeof text);
    return text;
  }

  void end(bool failed, int exit_status) override {
    std::fflush(nullptr);
    if (failed && rank() == 0) mpi_.abort(exit_status);
    // The launcher sees it and tells the others; rank 0 then saves the run.
    if (failed || left_) ::_exit(exit_status);
    mpi_.finish();
  }

  // As in do_exchange.
  int ended_rank() override {
    if (!stop_signal()) return -1;
    if (!ended_rank_signal_) ended_rank_signal_.emplace();
    return ended_rank_signal_->seconds() > kGrace ? kUnknownRank : -1;
  }

 protected:
  void do_exchange(std::span<const ConstBytes> send, std::span<const Bytes> receive) override {
    std::vector<const void*> from;
    std::vector<void*> to;
    std::vector<std::size_t> send_sizes, receive_sizes;
    for (int p = 0; p < size(); ++p) {
      from.push_back(send[p].data());
      send_sizes.push_back(send[p].size());
      to.push_back(receive[p].data());
      receive_sizes.push_back(receive[p].size());
    }
    void* exchange = mpi_.begin(from.data(), send_sizes.data(), to.data(), receive_sizes.data());
    Stopwatch since_signal;
    bool signalled = false;
    for (long turn = 0; !mpi_.done(exchange); ++turn) {
      if (turn > kSpins)
        ::usleep(20);
      else
        ::sched_yield();
      if (turn % 64 != 0 || !stop_signal()) continue;
      if (!signalled) since_signal.restart();
      signalled = true;
      // If all ranks were asked to stop, this exchange ends. If it does not, one of them is gone, and the
      // launcher will end this one too before long.
      if (since_signal.seconds() > kGrace) throw RankLost(-1);
    }
  }
  void leave() override { left_ = true; }

 private:
  MpiRanks(const LatherMpi& mpi, const LatherMpiPlace& place)
      : Communicator(place.rank, place.size), mpi_(mpi) {
    set_place(place.local_rank, place.local_size);
  }
  static constexpr long kSpins = 20000;
  static constexpr double kGrace = 0.15;  // seconds; mpirun kills a second after its first signal
  const LatherMpi& mpi_;
  bool left_ = false;
  std::optional<Stopwatch> ended_rank_signal_;  // since ended_rank() saw the signal
};

}  // namespace

Launch find_launch() {
  for (const auto& [rank, size] : kLaunchers)
    if (std::getenv(rank)) return {true, number_in(rank, 0), number_in(size, 1)};
  return {};
}

std::unique_ptr<Communicator> join_mpi() {
  std::string why_not;
  const LatherMpi* mpi = load_module(why_not);
  if (!mpi)
    throw Error(
        fmt::format("started as one of {} ranks, but there is no MPI: {}. Install it "
                    "(scripts/install-dependencies.sh) and build again, or use --ranks on one machine",
                    find_launch().size, why_not));
  return std::make_unique<MpiRanks>(*mpi);
}

std::string mpi_report() {
  std::string why_not;
  const LatherMpi* mpi = load_module(why_not);
  if (!mpi) return why_not;
  char text[256] = {};
  mpi->describe(text, sizeof text);
  return text;
}

}  // namespace lather::parallel
