#pragma once
// Processes that play sequences, and what becomes of them.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "sequence.hpp"

namespace lather::hostile {

enum class End { whole, crash, hang, defect, leak };
const char* name_of(End end);

struct Worker {
  pid_t process = -1;
  Watched* watched = nullptr;
};
// In memory that this process and those it forks share.
Watched* shared_watched();
// Does the work in this process, which does nothing else. What it says goes to the file `words`, if
// that has a name, and its files into the folder of that file.
void be_a_worker(const std::filesystem::path& words, const std::function<void()>& work);
// Until it has ended, or a call has taken longer than `limit` seconds: then it is killed.
End wait_for(const Worker& worker, double limit, int* signal);
// The calls up to `last`, without those that can be left out so that it still ends the same way.
std::vector<std::size_t> shortened(std::uint64_t sequence, End end, std::size_t last, double limit,
                                   const std::filesystem::path& work);

}  // namespace lather::hostile
