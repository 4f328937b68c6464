#pragma once
// A run folder as a stream of events for viewers: what was added to its files since the last time. Rows are kept
// once for all viewers; each viewer has a cursor. When the run is resumed (its logs become shorter) or the rows
// are thinned out, a new generation begins and viewers start over.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lather/watch/run_files.hpp"

namespace lather::watch {

class LiveFields;

class RunFeed {
 public:
  explicit RunFeed(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Reads what is new. Fields come from fields.json or, during a run, from its newest checkpoint.
  void update(bool running, LiveFields& live);

  struct Cursor {
    std::uint64_t generation = 0, details = 0, fields = 0;
    std::size_t history = 0, diagnostics = 0;
  };
  // Server-sent events that move the viewer forward, a bounded number of rows at a time; empty: it has all.
  std::string next(Cursor& cursor) const;

  static constexpr std::size_t kMostRows = 4000;  // of each kind, after thinning
  static constexpr std::size_t kRowsPerEvent = 1000;

 private:
  // A log that grows, is truncated or is replaced; yields each whole line once.
  struct Log {
    std::uint64_t place = 0;
    std::string rest;
    bool read(const std::filesystem::path& file, std::vector<std::string>& lines);  // false: it was truncated
  };
  struct Row {
    bool looked = false;
    double step = 0;
    std::string json;
  };
  void start_over();
  void read_logs();
  void read_details();
  void read_fields(bool running, LiveFields& live);
  void thin_out(std::vector<Row>& rows);

  std::filesystem::path folder_;
  std::uint64_t generation_ = 1, details_version_ = 0, fields_version_ = 0;
  Log history_, timing_, diagnostics_;
  std::vector<Row> rows_, diagnostic_rows_;
  std::vector<Moment> seconds_;            // for rows that have not arrived yet
  std::map<std::string, double> changes_;  // number of basis changes, by block
  std::string details_, details_signature_, fields_, fields_signature_;
};

}  // namespace lather::watch
