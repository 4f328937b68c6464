#pragma once
// Which runs are meant by the folders that a user gives.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lather::report {

struct FoundRuns {
  std::vector<std::filesystem::path> folders;
  std::vector<std::string> notes;  // which runs are left out, and why
};

// The runs among `paths`: run folders, folders of runs as `lather compare` makes them, or folders with such a folder named
// `runs`, as `lather sweep` makes them. Left out are runs that are not trainings, runs that keep no history where others do,
// and, of a folder named `runs`, those that did not end. Throws Error naming what is neither, and where nothing is left.
FoundRuns find_runs(std::span<const std::filesystem::path> paths);

}  // namespace lather::report
