#include "watch_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lather/core/error.hpp"

extern char** environ;

namespace lather::command {

namespace {

// In its own process group, so that Ctrl-C in the terminal does not reach it.
int spawn(std::vector<std::string> words, const posix_spawn_file_actions_t& files, pid_t& process) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int status = ::posix_spawnp(&process, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  return status;
}

}  // namespace

WatchProcess::WatchProcess(const std::filesystem::path& run) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(fmt::format("--watch: {}", std::strerror(errno)));
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  const int status =
      spawn({"/proc/self/exe", "watch", run.string(), "--open", "--with-parent"}, files, process_);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[0]);
  pipe_ = ends[1];
  if (status == 0) return;
  ::close(pipe_);
  throw Error(fmt::format("--watch: cannot start `lather watch`: {}", std::strerror(status)));
}

WatchProcess::~WatchProcess() {
  ::close(pipe_);  // it sends its viewers the end of the run and exits
  ::waitpid(process_, nullptr, 0);
}

void open_in_browser(const std::string& address) {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value && *value;
  };
  if (!set("DISPLAY") && !set("WAYLAND_DISPLAY") && !set("BROWSER")) return;
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&files, number, "/dev/null", O_RDWR, 0);
  pid_t process = -1;
  spawn({"xdg-open", address}, files, process);  // if there is none, the address is on the screen
  ::posix_spawn_file_actions_destroy(&files);
}

}  // namespace lather::command
