#include "lather/watch/run_feed.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/report/run_data.hpp"
#include "lather/train/run_folder/run_folder.hpp"
#include "lather/watch/live_fields.hpp"

namespace lather::watch {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr std::uint64_t kMostBytesAtOnce = 64 << 20;

std::string event_of(const char* name, const std::string& json) {
  return fmt::format("event: {}\ndata: {}\n\n", name, json);
}

std::string text_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// Numbers with six digits, everything else null.
OrderedJson short_number(const OrderedJson& value) {
  if (value.is_number_integer()) return value;
  if (!value.is_number()) return nullptr;
  const double number = value.get<double>();
  return std::isfinite(number) ? OrderedJson(report::six_digits(number)) : OrderedJson(nullptr);
}

}  // namespace

bool RunFeed::Log::read(const fs::path& file, std::vector<std::string>& lines) {
  std::string text;
  try {
    const Descriptor log = open_found_file(file, O_RDONLY);
    const std::uint64_t size = size_of(log, file);
    if (size < place) return false;
    text = read_bytes(log, file, place, std::min(size - place, kMostBytesAtOnce));
  } catch (const Error&) {  // missing, or not a log
    return place == 0;
  }
  place += text.size();
  rest += text;
  std::size_t begin = 0;
  for (std::size_t end; (end = rest.find('\n', begin)) != rest.npos; begin = end + 1)
    lines.push_back(rest.substr(begin, end - begin));
  rest.erase(0, begin);
  return true;
}

void RunFeed::start_over() {
  ++generation_;
  history_ = timing_ = diagnostics_ = {};
  rows_.clear();
  diagnostic_rows_.clear();
  seconds_.clear();
  changes_.clear();
}

void RunFeed::thin_out(std::vector<Row>& rows) {
  std::vector<bool> looked;
  for (const auto& row : rows) looked.push_back(row.looked);
  std::vector<Row> kept;
  for (const std::size_t i : report::evenly_kept(looked, kMostRows)) kept.push_back(std::move(rows[i]));
  rows = std::move(kept);
  ++generation_;
}

void RunFeed::read_logs() {
  std::vector<std::string> timing, history, diagnostics;
  const bool grown[] = {history_.read(folder_ / "history.jsonl", history),
                        timing_.read(folder_ / "timing.csv", timing),
                        diagnostics_.read(folder_ / "diagnostics.jsonl", diagnostics)};
  if (!grown[0] || !grown[1] || !grown[2]) return start_over();  // next time everything is read again
  for (const auto& line : timing)
    if (const auto moment = moment_of(line)) seconds_.push_back(*moment);
  // The history is written first: the newest row may not have its time yet.
  std::size_t at = 0;
  for (const auto& line : history) {
    const auto row = OrderedJson::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("step") || !row["step"].is_number()) continue;
    const double step = row["step"].get<double>();
    OrderedJson sent = {{"step", row["step"]}, {"seconds", nullptr}};
    while (at < seconds_.size() && seconds_[at].step < step) ++at;
    if (at < seconds_.size() && seconds_[at].step == step) sent["seconds"] = seconds_[at].seconds;
    for (const auto& [name, value] : row.items())
      if (name != "step" && name != "message") sent[name] = short_number(value);
    rows_.push_back({row.contains("residual"), step, text_of(sent)});
  }
  seconds_.erase(seconds_.begin(), seconds_.begin() + static_cast<std::ptrdiff_t>(at));
  for (const auto& line : diagnostics) {
    auto row = OrderedJson::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("step") || !row["step"].is_number() || !row.contains("blocks") ||
        !row["blocks"].is_object())
      continue;
    OrderedJson sent = {{"step", row["step"]}, {"blocks", OrderedJson::object()}};
    for (const auto& [block, quantities] : row["blocks"].items()) {
      if (!quantities.is_object()) continue;
      for (const auto& [quantity, value] : quantities.items())
        sent["blocks"][block][quantity] = short_number(value);
      if (!quantities.contains("basis_changed")) continue;
      double& count = changes_[block];
      const auto& changed = quantities["basis_changed"];
      if (changed.is_number() && changed.get<double>() > 0) ++count;
      sent["blocks"][block]["basis_changed"] = count;
    }
    diagnostic_rows_.push_back({false, row["step"].get<double>(), text_of(sent)});
  }
  if (rows_.size() > 4 * kMostRows) thin_out(rows_);
  if (diagnostic_rows_.size() > 2 * kMostRows) thin_out(diagnostic_rows_);
}

void RunFeed::read_details() {
  std::string signature;
  for (const char* name : {"config.json", "summary.json", "environment.json"})
    signature += stamp_of(folder_ / name);
  if (signature == details_signature_) return;
  details_signature_ = signature;
  ++details_version_;
  std::string note;  // the list of runs has it
  const Json details = {{"config", json_or_null(folder_ / "config.json", note)},
                        {"summary", json_or_null(folder_ / "summary.json", note)},
                        {"environment", json_or_null(folder_ / "environment.json", note)},
                        {"data", report::read_data_points(folder_)}};
  details_ = details.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void RunFeed::update(bool running, LiveFields& live) {
  const auto generation = generation_;
  read_logs();
  if (rows_.empty() && generation_ != generation) read_logs();
  read_details();
  read_fields(running, live);
}

// While the run is in progress, fields.json is from an earlier interruption.
void RunFeed::read_fields(bool running, LiveFields& live) {
  LiveFields::Result found{stamp_of(folder_ / "fields.json"), ""};
  if (running) {
    const std::string newest = newest_checkpoint(folder_);
    if (newest.empty()) return;
    found = live.fields_of(folder_, newest);
  }
  if (found.mark.empty() || found.mark == "-" || found.mark == fields_signature_) return;
  fields_signature_ = found.mark;
  try {
    if (!running) found.text = read_found_file(folder_ / "fields.json", train::kMostJsonBytes);
    if (found.text.empty()) return;
    const Json fields = report::checked_fields(train::parse_json(found.text, "fields.json"));
    fields_ = fields.dump(-1, ' ', false, Json::error_handler_t::replace);
    ++fields_version_;
  } catch (const Error&) {  // damaged: the page keeps what it has
  }
}

std::string RunFeed::next(Cursor& cursor) const {
  std::string out;
  if (cursor.generation != generation_) {
    out += event_of("reset", fmt::format("{{\"generation\":{}}}", generation_));
    cursor = {generation_, cursor.details, cursor.fields, 0, 0};
  }
  if (cursor.details != details_version_) {
    out += event_of("details", details_);
    cursor.details = details_version_;
  }
  const auto send = [&](const char* name, const std::vector<Row>& rows, std::size_t& place) {
    if (place >= rows.size()) return;
    const std::size_t end = std::min(rows.size(), place + kRowsPerEvent);
    std::string list;
    for (; place < end; ++place) list += (list.empty() ? "" : ",") + rows[place].json;
    out += event_of(name, "[" + list + "]");
  };
  send("diagnostics", diagnostic_rows_, cursor.diagnostics);
  send("history", rows_, cursor.history);
  if (cursor.fields != fields_version_) {
    out += event_of("fields", fields_);
    cursor.fields = fields_version_;
  }
  return out;
}

}  // namespace lather::watch
