#pragma once
// `lather watch` in a process of its own: it only reads, so training does not wait for it.

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace lather::command {

// Ends with this object, and with this process however that ends.
class WatchProcess {
 public:
  explicit WatchProcess(const std::filesystem::path& run);  // throws Error if it cannot be started
  ~WatchProcess();
  WatchProcess(const WatchProcess&) = delete;
  WatchProcess& operator=(const WatchProcess&) = delete;

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
};

// Opens it in the user's browser, if there is a screen.
void open_in_browser(const std::string& address);

}  // namespace lather::command
