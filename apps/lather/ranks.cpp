#include "ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "arguments.hpp"
#include "lather/core/error.hpp"
#include "lather/core/gpu_choice.hpp"
#include "lather/core/text.hpp"
#include "lather/parallel/local_ranks.hpp"
#include "lather/parallel/mpi_ranks.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace lather::command {

namespace {

std::unique_ptr<parallel::Communicator> joined;
int stderr_of_other_rank = -1;  // kept for what goes wrong on this rank alone

void say_nothing_from_now_on() {
  std::fflush(nullptr);
  stderr_of_other_rank = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

}  // namespace

void add_ranks_option(CLI::App& command, int& ranks, const char* help) {
  command.add_option("--ranks", ranks, help)->transform(whole_number(1, 1024));
}

parallel::Communicator* join_ranks(int requested) {
  const auto launch = parallel::find_launch();
  if (launch.by_mpi && requested > 0)
    throw Error("--ranks cannot be combined with mpirun or srun, which have started the ranks already");
  if (launch.by_mpi)
    joined = parallel::join_mpi();
  else if (requested > 0)
    joined = parallel::fork_ranks(requested);
  if (!joined) return nullptr;
  joined->set_stop_signal(CatchInterrupts::caught);
  use_gpu(joined->local_rank());
  if (joined->rank() != 0) say_nothing_from_now_on();
  return joined.get();
}

bool speaks() { return joined ? joined->rank() == 0 : parallel::find_launch().rank == 0; }

int give_up() {
  joined->end(true, 2);
  joined.reset();
  return 2;
}

int end_ranks(const std::string& failure, int exit_status) {
  if (!failure.empty() && speaks()) say_aside("lather: {}\n", failure);
  if (!joined) return exit_status;
  if (!failure.empty() && !speaks() && !joined->first_rank_ends_within(1))
    ::dprintf(stderr_of_other_rank, "lather: rank %d: %s\n", joined->rank(), shown(failure).c_str());
  joined->end(!failure.empty(), exit_status);
  joined.reset();
  return exit_status;
}

}  // namespace lather::command
