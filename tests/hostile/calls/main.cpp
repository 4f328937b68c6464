// The fuzzer over lather.h: random sequences of calls, in processes of their own, watched. A
// sequence that crashes, hangs or is answered wrongly is made as short as it gets and printed with
// what repeats it.
//   hostile_calls [--seed N] [--sequences N] [--seconds S] [--jobs N] [--limit S]
//   hostile_calls --repeat SEQUENCE [--only K,K,…]     one sequence, each call printed before it is made
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>

#include "call.hpp"
#include "texts.hpp"
#include "workers.hpp"

namespace lather::hostile {
namespace {

namespace fs = std::filesystem;
using Count = unsigned long long;

struct Options {
  std::uint64_t seed = static_cast<std::uint64_t>(std::time(nullptr)) / 86400;  // a new one every day
  std::uint64_t sequences = 2000, repeat = 0;
  double seconds = 0, limit = 60;  // of a call: far more than any takes
  int jobs = 1;
  bool repeats = false;
  std::vector<std::size_t> only;
  std::string program;
};

// The innermost function of the library in the report of a sanitizer.
std::string place_in(const std::string& words) {
  const auto frame = words.find(" in lather::");
  if (frame == words.npos || frame == words.find(" in lather::hostile")) return "";
  return " at " + words.substr(frame + 4, words.find_first_of("(<\n", frame) - frame - 4);
}

class Campaign {
 public:
  explicit Campaign(Options options)
      : options_(std::move(options)),
        work_(fs::temp_directory_path() / ("lather-hostile-" + std::to_string(::getpid()))),
        totals_(shared_watched()) {
    fs::create_directories(work_);
  }
  ~Campaign() { fs::remove_all(work_); }

  int run() {
    std::vector<pid_t> lanes;
    for (int lane = 0; lane < options_.jobs; ++lane) {
      lanes.push_back(::fork());
      if (lanes.back() == 0) {
        run_lane(lane);
        std::exit(0);
      }
    }
    bool whole = true;
    for (const pid_t process : lanes) {
      int status = 0;
      ::waitpid(process, &status, 0);
      whole = whole && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    const auto& found = totals_->found;
    std::printf("calls: %llu cases, %d crashes, %d hangs, %d silent errors, %llu calls of %zu functions, ",
                static_cast<Count>(totals_->done), found[0].load(), found[1].load(), found[2].load(),
                static_cast<Count>(totals_->calls), table().size());
    std::printf("seed %llu, %.0f s\n", static_cast<Count>(options_.seed), passed());
    return whole && found[0] + found[1] + found[2] == 0 ? 0 : 1;
  }

 private:
  double passed() const { return static_cast<double>(now_ms() - begin_) / 1000; }
  bool over(std::uint64_t next) const {
    if (totals_->found[0] + totals_->found[1] + totals_->found[2] >= 200) return true;  // nobody reads more
    return options_.seconds > 0 ? passed() > options_.seconds : next >= options_.sequences;
  }

  // Sequences lane, lane + jobs, …, in worker processes; a finding ends one, and the next goes on
  // behind it.
  void run_lane(int lane) {
    const fs::path work = work_ / std::to_string(lane);
    fs::create_directories(work);
    Watched* watched = shared_watched();
    std::map<std::string, int> known;
    for (auto next = static_cast<std::uint64_t>(lane); !over(next);) {
      watched->call = -1;
      watched->sequence = next;
      const Worker worker{::fork(), watched};
      if (worker.process == 0) {
        be_a_worker(work / "words", [&] { play_some(next, watched); });
        std::exit(0);  // leaks are looked for
      }
      int signal = 0;
      const End end = wait_for(worker, options_.limit, &signal);
      if (end != End::whole) tell(end, signal, *watched, work, known);
      next = watched->sequence + static_cast<std::uint64_t>(options_.jobs);
    }
    for (const auto& [what, count] : known) std::printf("%d times: %s\n", count, what.c_str());
    std::fflush(stdout);
  }

  void play_some(std::uint64_t next, Watched* watched) {
    constexpr int kMost = 5000;  // then memory that was lost is noticed
    for (int k = 0; k < kMost && !over(next); ++k, next += static_cast<std::uint64_t>(options_.jobs)) {
      watched->sequence = next;
      play(mixed(options_.seed, next), {}, false, watched);
      watched->call = -1;  // until here, so that objects that cannot be freed are a hang of the last call
      ++totals_->done;
      totals_->calls += watched->calls.exchange(0);
    }
  }

  void tell(End end, int signal, const Watched& watched, const fs::path& work,
            std::map<std::string, int>& known) {
    ++totals_->done;
    ++totals_->found[end == End::hang ? 1 : end == End::defect ? 2 : 0];
    const auto sequence = mixed(options_.seed, watched.sequence);
    const auto calls = plan(sequence);
    const auto last = watched.call < 0 ? calls.size() - 1 : static_cast<std::size_t>(watched.call);
    const std::string words = texts::content(work / "words");
    std::string what = name_of(end);
    if (signal) what += " (signal " + std::to_string(signal) + ")";
    what += end == End::defect ? words.substr(0, std::min<std::size_t>(words.find('\n'), 120))
                               : std::string(" in ") + table()[calls[last].entry].name + place_in(words);
    if (++known[what] > 1) return;
    std::string only;
    if (end != End::leak)
      for (const auto k : shortened(sequence, end, last, options_.limit, work / "again"))
        only += (only.empty() ? " --only " : ",") + std::to_string(k);
    std::printf("\n%s\n  repeat: %s --repeat %llu%s\n%s\n", what.c_str(), options_.program.c_str(),
                static_cast<Count>(sequence), only.c_str(), words.substr(0, 6000).c_str());
    std::fflush(stdout);
  }

  Options options_;
  fs::path work_;
  Watched* totals_;
  std::int64_t begin_ = now_ms();
};

[[noreturn]] void usage(const std::string& words) {
  std::fprintf(stderr, "%s\nhostile_calls [--seed N] [--sequences N] [--seconds S] [--jobs N] [--limit S]\n",
               words.c_str());
  std::fprintf(stderr, "hostile_calls --repeat SEQUENCE [--only K,K,…]\n");
  std::exit(2);
}

Options read(int count, char** words) {
  Options options;
  options.program = words[0];
  for (int k = 1; k < count; k += 2) {
    const std::string name = words[k];
    if (k + 1 == count) usage(name + ": expected a value");
    const char* value = words[k + 1];
    options.repeats = options.repeats || name == "--repeat";
    if (name == "--seed")
      options.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--sequences")
      options.sequences = std::strtoull(value, nullptr, 10);
    else if (name == "--seconds")
      options.seconds = std::strtod(value, nullptr);
    else if (name == "--jobs")
      options.jobs = std::max(1, std::atoi(value));
    else if (name == "--limit")
      options.limit = std::strtod(value, nullptr);
    else if (name == "--repeat")
      options.repeat = std::strtoull(value, nullptr, 10);
    else if (name == "--only")
      for (const char* at = value; *at; at += *at == ',') {
        char* end = nullptr;
        options.only.push_back(std::strtoul(at, &end, 10));
        if (end == at) usage("--only: expected numbers separated by commas");
        at = end;
      }
    else
      usage("unknown option " + name);
  }
  return options;
}

}  // namespace
}  // namespace lather::hostile

int main(int count, char** words) {
  using namespace lather::hostile;
  const Options options = read(count, words);
  if (!options.repeats) return Campaign(options).run();
  be_a_worker({}, [&] { play(options.repeat, options.only, true, nullptr); });
  std::filesystem::current_path("/");
  std::filesystem::remove_all(home());
  return 0;
}
