#pragma once
// Drives the command as a person would: start, wait, interrupt, kill.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "../train/small_problem.hpp"
#include "paths.hpp"

namespace lather::testing {

struct Finished {
  int status = -1;  // exit status; -signal if killed
  std::string out, err;
};

struct Surroundings {
  std::filesystem::path folder = ".";                            // where it runs
  std::vector<std::pair<std::string, std::string>> environment;  // set in addition
  rlim_t largest_file = RLIM_INFINITY;                           // bytes; more fails as on a full disk
  rlim_t address_space = RLIM_INFINITY;                          // bytes, as ulimit -v sets them
};

class Process {
 public:
  Process(std::vector<std::string> command, const Surroundings& s = {}) {
    pid_ = ::fork();
    if (pid_ == 0) {
      if (::chdir(s.folder.c_str()) != 0) ::_exit(126);
      for (const auto& [name, value] : s.environment) ::setenv(name.c_str(), value.c_str(), 1);
      redirect(files_ / "out", STDOUT_FILENO);
      redirect(files_ / "err", STDERR_FILENO);
      if (s.largest_file != RLIM_INFINITY) {
        const rlimit limit{s.largest_file, s.largest_file};
        ::setrlimit(RLIMIT_FSIZE, &limit);
      }
      if (s.address_space != RLIM_INFINITY) {
        const rlimit limit{s.address_space, s.address_space};
        ::setrlimit(RLIMIT_AS, &limit);
      }
      std::vector<char*> arguments;
      for (auto& word : command) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
  }
  ~Process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
  }
  void send(int signal) { ::kill(pid_, signal); }
  bool running() {
    if (pid_ <= 0) return false;
    if (::waitpid(pid_, &raw_status_, WNOHANG) == 0) return true;
    pid_ = -1;
    return false;
  }
  Finished wait() {
    if (pid_ > 0) ::waitpid(pid_, &raw_status_, 0);
    pid_ = -1;
    return {WIFEXITED(raw_status_) ? WEXITSTATUS(raw_status_) : -WTERMSIG(raw_status_),
            content(files_ / "out"), content(files_ / "err")};
  }
  pid_t pid() const { return pid_; }

 private:
  static void redirect(const std::filesystem::path& file, int to) {
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ::dup2(descriptor, to);
    ::close(descriptor);
  }
  TemporaryFolder files_;
  pid_t pid_ = -1;
  int raw_status_ = 0;
};

inline std::vector<std::string> lather_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), lather::test::command_path());
  return arguments;
}

inline Finished lather(std::vector<std::string> arguments, const Surroundings& s = {}) {
  return Process(lather_command(std::move(arguments)), s).wait();
}

// Waits until `condition` holds; false if it does not within `seconds`.
template <class Condition>
bool wait_until(Condition&& condition, double seconds = 60) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace lather::testing
