#pragma once
// What `lather watch` serves: one page, a list of runs, events of one run, and files of runs for download.
//
//   /                  the page
//   /runs              all runs and where they stand, as JSON
//   /events            the same as server-sent events; with ?run=ID also the rows, settings and fields of one run
//   /run/ID/FILE       a file of a run folder, those in kFiles only
//
// An ID names a folder that was found under the given ones: there is no way to pass a path.

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lather/core/clock.hpp"
#include "lather/watch/http_server.hpp"
#include "lather/watch/live_fields.hpp"
#include "lather/watch/run_feed.hpp"
#include "lather/watch/run_status.hpp"

namespace lather::watch {

inline constexpr const char* kFiles[] = {"config.json",       "summary.json",  "environment.json",
                                         "history.csv",       "history.jsonl", "timing.csv",
                                         "diagnostics.jsonl", "events.jsonl",  "fields.json"};

class WatchService {
 public:
  WatchService(std::vector<std::filesystem::path> roots, int port);
  ~WatchService();

  int port() const { return server_.port(); }
  // Serves for about this long; files are checked twice a second while somebody is watching.
  void serve(double seconds);
  // Sends viewers the last state, for at most `seconds`.
  void finish(double seconds);

 private:
  class Viewer;
  HttpResponse respond(const HttpRequest& request);
  HttpResponse file_of(const RunBoard::Entry& run, const std::string& name, const HttpRequest& request) const;
  std::shared_ptr<RunFeed> feed_of(const RunBoard::Entry& run);
  void update();

  RunBoard board_;
  LiveFields live_;
  std::map<std::string, std::weak_ptr<RunFeed>> feeds_;  // by ID, of runs that somebody watches
  Stopwatch since_update_;
  bool updated_ = false;
  HttpServer server_;
};

}  // namespace lather::watch
