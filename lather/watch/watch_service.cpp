#include "lather/watch/watch_service.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/version.hpp"
#include "lather/report/html_report.hpp"

namespace lather::watch {

namespace {

using Json = nlohmann::json;

constexpr double kUpdateSeconds = 0.5;
constexpr std::size_t kRunsPerEvent = 500;

std::string compact(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

HttpResponse not_found(const std::string& what) {
  HttpResponse response;
  response.status = 404;
  response.body = what + "\n";
  return response;
}

}  // namespace

// What one viewer has been sent, and what is next.
class WatchService::Viewer : public EventStream {
 public:
  Viewer(const RunBoard& board, std::shared_ptr<RunFeed> feed) : board_(board), feed_(std::move(feed)) {}

  std::string next() override {
    std::string out = list();
    if (feed_) out += feed_->next(cursor_);
    return out;
  }

 private:
  // The whole list if runs were added or removed, otherwise those that have changed, the oldest change first.
  std::string list() {
    if (seen_ == board_.version()) return "";
    const bool all = first_ || members_ != board_.members_version();
    std::vector<const RunBoard::Entry*> changed;
    for (const auto& entry : board_.entries())
      if (all || entry.version > seen_) changed.push_back(&entry);
    if (!all) {
      std::sort(changed.begin(), changed.end(),
                [](const auto* a, const auto* b) { return a->version < b->version; });
      if (changed.size() > kRunsPerEvent) changed.resize(kRunsPerEvent);
    }
    Json runs = Json::array();
    for (const auto* entry : changed) runs.push_back(to_json(entry->status));
    seen_ = all || changed.empty() ? board_.version() : changed.back()->version;
    if (!all && changed.size() < kRunsPerEvent) seen_ = board_.version();
    first_ = false;
    members_ = board_.members_version();
    return fmt::format("event: runs\ndata: {}\n\n", compact({{"all", all}, {"runs", runs}}));
  }

  const RunBoard& board_;
  std::shared_ptr<RunFeed> feed_;
  RunFeed::Cursor cursor_;
  std::uint64_t seen_ = ~std::uint64_t{0}, members_ = 0;
  bool first_ = true;
};

WatchService::WatchService(std::vector<std::filesystem::path> roots, int port)
    : board_(std::move(roots)),
      server_(port, [this](const HttpRequest& request) { return respond(request); }) {}

WatchService::~WatchService() = default;

std::shared_ptr<RunFeed> WatchService::feed_of(const RunBoard::Entry& run) {
  auto& known = feeds_[run.status.id];
  auto feed = known.lock();
  if (!feed) {
    feed = std::make_shared<RunFeed>(run.status.folder);
    known = feed;
    feed->update(run.status.state == RunState::running, live_);  // from now on `update` does
  }
  return feed;
}

HttpResponse WatchService::file_of(const RunBoard::Entry& run, const std::string& name,
                                   const HttpRequest& request) const {
  if (std::find(std::begin(kFiles), std::end(kFiles), name) == std::end(kFiles))
    return not_found("there is no such file");
  const std::filesystem::path path = run.status.folder / name;
  Descriptor file;
  try {
    file = open_found_file(path, O_RDONLY);
  } catch (const Error&) {
    return not_found("there is no such file");
  }
  HttpResponse response;
  response.type = name.ends_with(".csv") ? "text/csv; charset=utf-8" : "application/json";
  const std::uint64_t size = size_of(file, path);
  response.range = parse_range(request.range, size);
  response.headers.push_back("Accept-Ranges: bytes");
  if (!response.range.satisfiable) {
    response.status = 416;
    response.headers.push_back(fmt::format("Content-Range: bytes */{}", size));
    return response;
  }
  if (!response.range.whole) {
    response.status = 206;
    response.headers.push_back(fmt::format("Content-Range: bytes {}-{}/{}", response.range.first,
                                           response.range.first + response.range.length - 1, size));
  }
  response.file = std::move(file);
  return response;
}

HttpResponse WatchService::respond(const HttpRequest& request) {
  if (since_update_.seconds() > kUpdateSeconds || !updated_) update();
  HttpResponse response;
  const auto& path = request.path;
  if (path.empty()) {
    response.type = "text/html; charset=utf-8";
    response.body = report::live_page();
    return response;
  }
  if (path.size() == 1 && path[0] == "runs") {
    Json runs = Json::array();
    for (const auto& entry : board_.entries()) runs.push_back(to_json(entry.status));
    response.type = "application/json";
    response.body = compact({{"lather", version()}, {"runs", runs}}) + "\n";
    return response;
  }
  if (path.size() == 1 && path[0] == "events") {
    const auto* run = request.run.empty() ? nullptr : board_.find(request.run);
    if (!request.run.empty() && !run) return not_found("there is no such run");
    response.type = "text/event-stream; charset=utf-8";
    if (request.method == "HEAD") return response;
    response.stream = std::make_unique<Viewer>(board_, run ? feed_of(*run) : nullptr);
    response.body = "retry: 2000\n\n" + response.stream->next();
    return response;
  }
  if (path.size() == 3 && path[0] == "run") {
    const auto* run = board_.find(path[1]);
    return run ? file_of(*run, path[2], request) : not_found("there is no such run");
  }
  return not_found("there is nothing here; the page is at /");
}

void WatchService::update() {
  board_.update();
  std::erase_if(feeds_, [](const auto& known) { return known.second.expired(); });
  for (const auto& [id, known] : feeds_)
    if (const auto feed = known.lock())
      if (const auto* run = board_.find(id)) feed->update(run->status.state == RunState::running, live_);
  since_update_.restart();
  updated_ = true;
}

void WatchService::serve(double seconds) {
  const Stopwatch watch;
  do {
    server_.serve(std::clamp(seconds - watch.seconds(), 0.0, 0.25));
    if (server_.streams() == 0) continue;
    if (since_update_.seconds() > kUpdateSeconds) update();
    server_.feed_streams();
  } while (watch.seconds() < seconds);
}

void WatchService::finish(double seconds) {
  const Stopwatch watch;
  update();
  server_.feed_streams();
  while (!server_.drained() && watch.seconds() < seconds) {
    server_.serve(0.05);
    server_.feed_streams();
  }
}

}  // namespace lather::watch
