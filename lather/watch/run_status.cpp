#include "lather/watch/run_status.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/report/run_data.hpp"
#include "lather/watch/run_files.hpp"

namespace lather::watch {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kHistoryTail = 1 << 18, kTimingTail = 1 << 12;
constexpr double kPaceSeconds = 60;  // over which the current pace is measured

// The whole lines among the last bytes of a file; empty if there is none. `note`: why it cannot be read.
std::vector<std::string> last_lines(const fs::path& file, std::uint64_t bytes, std::string& note) {
  if (!is_there(file)) return {};
  std::string text;
  bool whole = false;
  try {
    const Descriptor log = open_found_file(file, O_RDONLY);
    const std::uint64_t size = size_of(log, file), from = size - std::min(size, bytes);
    text = read_bytes(log, file, from, size - from);
    whole = from == 0;
  } catch (const Error& error) {
    if (note.empty()) note = error.what();
  }
  std::size_t begin = whole ? 0 : text.find('\n') + 1;
  std::vector<std::string> lines;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

const Json& part_of(const Json& json, const char* key) {
  static const Json nothing = Json::object();
  return json.is_object() && json.contains(key) ? json[key] : nothing;
}

double number_of(const Json& json, const char* key) {
  const Json& value = part_of(json, key);
  return value.is_number() ? value.get<double>() : RunStatus::kUnknown;
}

std::string string_of(const Json& json, const char* key) {
  const Json& value = part_of(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

// Counts, of files in which there may be any number.
std::int64_t whole(double number) {
  constexpr double kMost = 9e18;
  return static_cast<std::int64_t>(std::clamp(number, -kMost, kMost));
}

// The worst over all fields, if at least one is known.
double worst_of(double a, double b) { return std::isnan(a) || b > a ? b : a; }

void take_history(const fs::path& folder, RunStatus& status, std::string& note) {
  const auto lines = last_lines(folder / "history.jsonl", kHistoryTail, note);
  bool last = true;
  for (std::size_t i = lines.size(); i-- > 0;) {
    const Json row = Json::parse(lines[i], nullptr, false);
    if (!row.is_object() || !part_of(row, "step").is_number()) continue;
    if (last) {
      status.step = whole(number_of(row, "step"));
      status.loss = number_of(row, "loss");
      if (const double stage = number_of(row, "stage"); stage >= 1) status.stage = whole(stage);
    }
    last = false;
    if (!row.contains("residual")) continue;
    status.residual = number_of(row, "residual");
    for (const auto& [name, value] : row.items())
      if (name.starts_with("l2.") && value.is_number()) status.l2 = worst_of(status.l2, value.get<double>());
    return;
  }
}

std::vector<Moment> last_moments(const fs::path& folder, std::string& note) {
  std::vector<Moment> moments;
  for (const auto& line : last_lines(folder / "timing.csv", kTimingTail, note))
    if (const auto moment = moment_of(line)) moments.push_back(*moment);
  return moments;
}

void take_pace(const fs::path& folder, double time_limit, RunStatus& status, std::string& note) {
  const auto moments = last_moments(folder, note);
  if (moments.empty()) return;
  const Moment last = moments.back();
  status.seconds = last.seconds;
  Moment first = moments.size() > 1 ? moments.front() : Moment{};
  for (const auto& m : moments)
    if (last.seconds - m.seconds > kPaceSeconds) first = m;
  if (last.seconds <= first.seconds || last.step <= first.step) return;
  status.steps_per_second = (last.step - first.step) / (last.seconds - first.seconds);
  if (status.state != RunState::running) return;
  status.seconds_left =
      std::max(0.0, (static_cast<double>(status.steps) - last.step) / status.steps_per_second);
  if (time_limit > 0) status.seconds_left = std::clamp(time_limit - last.seconds, 0.0, status.seconds_left);
}

// At the best step, which is the result.
void take_summary(const Json& summary, RunStatus& status) {
  status.message = string_of(summary, "message");
  if (const double seconds = number_of(summary, "seconds"); !std::isnan(seconds)) status.seconds = seconds;
  // An interruption need not fall on a recorded step.
  if (const double step = number_of(summary, "step"); step > static_cast<double>(status.step))
    status.step = whole(step);
  const Json& best = part_of(summary, summary.contains("best") ? "best" : "final");
  if (const double residual = number_of(best, "residual"); !std::isnan(residual)) status.residual = residual;
  double l2 = RunStatus::kUnknown;
  for (const auto& [field, value] : part_of(best, "l2").items())
    if (value.is_number()) l2 = worst_of(l2, value.get<double>());
  if (!std::isnan(l2)) status.l2 = l2;
}

// Computed from the files that a status is made of: it changes when the status does.
std::string signature_of(const fs::path& folder, bool locked) {
  std::string signature = locked ? "locked" : "";
  for (const char* name : {"config.json", "history.jsonl", "timing.csv", "summary.json"})
    signature += " " + stamp_of(folder / name);
  return signature;
}

// When a run was last written or, if running, when it was started: the order is stable while runs continue.
double time_of(const fs::path& folder, bool running) {
  double time = 0;
  for (const char* name : {"config.json", "history.jsonl", "summary.json"}) {
    struct stat info {};
    if (::lstat((folder / name).c_str(), &info) == 0)
      time = std::max(
          time, static_cast<double>(info.st_mtim.tv_sec) + 1e-9 * static_cast<double>(info.st_mtim.tv_nsec));
    if (running) break;
  }
  return time;
}

// What a lock says about the process that holds it.
std::string owner_in(const fs::path& lock) {
  try {
    return read_found_file(lock, 64);
  } catch (const Error&) {
    return "";
  }
}

bool is_inside(const fs::path& path, const fs::path& root) {
  const auto [end, at] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return end == root.end();
}

void collect_runs(const fs::path& folder, const fs::path& root, int depth, std::vector<fs::path>& found) {
  if (report::is_run(folder)) {
    found.push_back(folder);
    return;
  }
  if (depth == 0) return;
  std::error_code status;
  for (fs::directory_iterator it(folder, status), end; !status && it != end; it.increment(status)) {
    std::error_code broken;
    if (!it->is_directory(broken)) continue;
    if (it->is_symlink(broken)) {  // a link that leads outside is not followed
      const fs::path real = fs::canonical(it->path(), broken);
      if (broken || !is_inside(real, root)) continue;
    }
    collect_runs(it->path(), root, depth - 1, found);
  }
}

}  // namespace

std::string_view name_of(RunState state) {
  switch (state) {
    case RunState::running: return "running";
    case RunState::ended: return "ended";
    case RunState::interrupted: return "interrupted";
    case RunState::stopped: return "stopped";
  }
  return "";
}

Json to_json(const RunStatus& s) {
  const auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); };
  return {{"id", s.id},
          {"name", s.name},
          {"folder", s.folder.string()},
          {"problem", s.problem},
          {"optimizer", s.optimizer},
          {"seed", s.seed},
          {"state", name_of(s.state)},
          {"message", s.message},
          {"step", s.step},
          {"steps", s.steps},
          {"stage", s.stage},
          {"loss", number(s.loss)},
          {"residual", number(s.residual)},
          {"l2", number(s.l2)},
          {"seconds", number(s.seconds)},
          {"steps_per_second", number(s.steps_per_second)},
          {"seconds_left", number(s.seconds_left)}};
}

HeldLocks::HeldLocks() {
  std::ifstream stream("/proc/locks");
  known_ = static_cast<bool>(stream);
  for (std::string line; std::getline(stream, line);) {  // 1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
    std::istringstream words(line);
    std::string number, kind, advisory, access, process, place;
    words >> number >> kind >> advisory >> access >> process >> place;
    if (kind == "FLOCK" && access == "WRITE") places_.insert(place);
  }
}

bool HeldLocks::holds(const fs::path& file) const {
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (known_)
    return places_.contains(
        fmt::format("{:02x}:{:02x}:{}", major(info.st_dev), minor(info.st_dev), info.st_ino));
  const long process = std::strtol(owner_in(file).c_str(), nullptr, 10);
  return process > 0 && (::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM);
}

RunStatus read_status(const fs::path& folder, const HeldLocks& locks) {
  RunStatus status;
  status.folder = folder;
  const fs::path full = fs::absolute(folder).lexically_normal();
  status.id = fmt::format("{:016x}", checksum(full.string()));
  status.name = (full.has_filename() ? full : full.parent_path()).filename().string();
  std::string note;  // the first file that is there and cannot be read
  const Json config = json_or_null(folder / "config.json", note),
             summary = json_or_null(folder / "summary.json", note);
  const Json& problem = part_of(config, "problem");
  status.problem = problem.is_object() ? string_of(problem, "name") : string_of(config, "task");
  if (status.problem.empty()) status.problem = string_of(summary, "problem");
  status.optimizer = string_of(part_of(config, "optimizer"), "name");
  if (status.optimizer.empty()) status.optimizer = string_of(summary, "optimizer");
  if (const double seed = number_of(config, "seed"); !std::isnan(seed)) status.seed = whole(seed);
  const Json& stop = part_of(config, "stop");
  const double steps =
      std::isnan(number_of(stop, "steps")) ? number_of(config, "steps") : number_of(stop, "steps");
  if (!std::isnan(steps)) status.steps = whole(steps);
  status.state = locks.holds(folder / "lock")                    ? RunState::running
                 : summary.is_null()                             ? RunState::stopped
                 : string_of(summary, "reason") == "interrupted" ? RunState::interrupted
                                                                 : RunState::ended;
  take_history(folder, status, note);
  take_pace(folder, number_of(stop, "seconds"), status, note);
  if (status.state == RunState::ended || status.state == RunState::interrupted) take_summary(summary, status);
  if (status.state == RunState::stopped) status.message = "killed, or copied while it ran";
  if (!note.empty()) status.message += (status.message.empty() ? "" : "; ") + note;
  return status;
}

RunBoard::RunBoard(std::vector<fs::path> roots) : roots_(std::move(roots)) {}

const RunBoard::Entry* RunBoard::find(const std::string& id) const {
  for (const auto& entry : entries_)
    if (entry.status.id == id) return &entry;
  return nullptr;
}

std::vector<fs::path> RunBoard::find_folders() const {
  std::vector<fs::path> found;
  for (const auto& root : roots_) {
    std::error_code status;
    const fs::path real = fs::canonical(root, status);
    if (!status && fs::is_directory(real, status)) collect_runs(root, real, kDepth, found);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void RunBoard::update() {
  const HeldLocks locks;
  std::vector<std::string> before;
  for (const auto& entry : entries_) before.push_back(entry.status.id);
  std::map<fs::path, Entry> known;
  for (auto& entry : entries_) known.emplace(fs::path(entry.status.folder), std::move(entry));
  std::vector<std::pair<double, Entry>> now;
  for (const auto& folder : find_folders()) {
    const std::string signature = signature_of(folder, locks.holds(folder / "lock"));
    Entry entry;
    if (const auto old = known.find(folder); old != known.end()) entry = std::move(old->second);
    if (entry.signature != signature) {
      entry = {read_status(folder, locks), ++version_, signature};
      for (const auto& root : roots_)  // as much of the path as it takes to tell runs apart
        if (is_inside(folder, root) && folder != root)
          entry.status.name = folder.lexically_relative(root).string();
    }
    const double time = time_of(folder, entry.status.state == RunState::running);
    now.emplace_back(time, std::move(entry));
  }
  std::stable_sort(now.begin(), now.end(), [](const auto& a, const auto& b) {
    const bool first = a.second.status.state == RunState::running,
               second = b.second.status.state == RunState::running;
    return first != second ? first : a.first > b.first;
  });
  if (now.size() > kMostRuns) now.resize(kMostRuns);
  std::set<std::string> names, doubled;
  std::vector<std::string> after;
  entries_.clear();
  for (auto& [time, entry] : now) {
    if (!names.insert(entry.status.name).second) doubled.insert(entry.status.name);
    entries_.push_back(std::move(entry));
  }
  for (auto& entry : entries_) {
    if (doubled.contains(entry.status.name)) entry.status.name = entry.status.folder.string();
    after.push_back(entry.status.id);
  }
  if (after != before) members_version_ = ++version_;
}

}  // namespace lather::watch
