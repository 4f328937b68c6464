#pragma once
// Training progress on screen: one line that updates itself on a terminal, plain lines elsewhere.

#include <string>
#include <vector>

#include "lather/core/clock.hpp"
#include "lather/train/run.hpp"

namespace lather::command {

std::string duration(double seconds);  // "3:07", "1:02:45"
std::string progress_text(const train::Progress& progress, const std::vector<std::string>& terms);

class ProgressLine {
 public:
  ProgressLine(std::vector<std::string> terms, bool quiet);
  ~ProgressLine() { clear(); }
  void update(const train::Progress& progress);
  void message(const std::string& text);  // on standard error, even when quiet
  void clear();

 private:
  std::vector<std::string> terms_;
  bool quiet_, terminal_, shown_ = false;
  Stopwatch since_;
  std::int64_t last_looked_ = -1;
};

}  // namespace lather::command
