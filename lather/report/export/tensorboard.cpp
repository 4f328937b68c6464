#include "lather/report/export/tensorboard.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/report/export/csv.hpp"

namespace lather::report {

namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr std::array<std::uint32_t, 256> castagnoli_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82F63B78u : 0u);
    table[i] = c;
  }
  return table;
}

template <class T>
void put_raw(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);  // little-endian
  out.append(bytes, sizeof value);
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(128 | (value & 127));
  out += static_cast<char>(value);
}

// A field of a message: its number and its kind, then its content.
enum Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
void put_key(std::string& out, int field, Wire wire) {
  put_varint(out, static_cast<std::uint64_t>(field << 3 | wire));
}
void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

// length, its checksum, the message, its checksum
void put_record(std::string& out, const std::string& message) {
  std::string length;
  put_raw(length, static_cast<std::uint64_t>(message.size()));
  out += length;
  put_raw(out, masked_crc(length));
  out += message;
  put_raw(out, masked_crc(message));
}

// Event {1: wall_time (double), 2: step (int64), 3: file_version, 5: summary}; Summary {1: values};
// Value {1: tag, 2: simple_value (float)}
class EventWriter {
 public:
  explicit EventWriter(double start) : start_(start) {
    std::string event;
    put_time(event, 0);
    put_bytes(event, 3, "brain.Event:2");
    put_record(out_, event);
  }
  void begin(std::int64_t step, double seconds) {
    event_.clear();
    summary_.clear();
    put_time(event_, seconds);
    put_key(event_, 2, kVarint);
    put_varint(event_, static_cast<std::uint64_t>(step));
  }
  void scalar(const std::string& tag, double number) {
    std::string value;
    put_bytes(value, 1, tag);
    put_key(value, 2, kFixed32);
    put_raw(value, static_cast<float>(number));
    put_bytes(summary_, 1, value);
  }
  void end() {
    if (summary_.empty()) return;
    put_bytes(event_, 5, summary_);
    put_record(out_, event_);
  }
  std::string finish() { return std::move(out_); }

 private:
  void put_time(std::string& event, double seconds) const {
    put_key(event, 1, kFixed64);
    put_raw(event, start_ + seconds);
  }
  double start_;
  std::string out_, event_, summary_;
};

std::string tag_of(const std::string& column) {
  if (column == "loss") return "loss/total";
  if (column == "residual") return "residual/all";
  const auto dot = column.find('.');
  return dot == column.npos ? "training/" + column : column.substr(0, dot) + "/" + column.substr(dot + 1);
}

// Numbers, including those that JSON cannot represent.
bool read_value(const OrderedJson& json, double& value) {
  if (json.is_number()) {
    value = json.get<double>();
    return true;
  }
  if (!json.is_string()) return false;
  const auto text = json.get<std::string>();
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0';
}

std::map<double, double> seconds_by_step(const fs::path& file) {
  std::map<double, double> seconds;
  if (!is_there(file)) return seconds;
  const auto table = parse_csv(read_found_file(file), file.filename().string());
  if (table.names == std::vector<std::string>{"step", "seconds"})
    for (std::size_t i = 0; i < table.rows(); ++i) seconds[table.columns[0][i]] = table.columns[1][i];
  return seconds;
}

// Calls take(row, step) for every whole line.
template <class Take>
void for_each_row(const fs::path& file, Take&& take) {
  if (!is_there(file)) return;
  std::istringstream stream(read_found_file(file));
  for (std::string line; std::getline(stream, line);) {
    const auto row = OrderedJson::parse(line, nullptr, false);
    if (row.is_object() && row.contains("step") && row["step"].is_number())
      take(row, row["step"].template get<std::int64_t>());
  }
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = castagnoli_table();
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 255] ^ (crc >> 8);
  return ~crc;
}

std::string tensorboard_events(const fs::path& run) {
  const fs::path history = run / "history.jsonl";
  struct stat info {};
  if (::lstat(history.c_str(), &info) != 0)
    throw Error(
        fmt::format("'{}' has no history.jsonl: it is not a run folder, or was pruned", run.string()));
  const auto seconds = seconds_by_step(run / "timing.csv");
  const double took = seconds.empty() ? 0 : seconds.rbegin()->second;
  EventWriter writer(static_cast<double>(info.st_mtim.tv_sec) - took);
  const auto time_at = [&](std::int64_t step) {
    const auto at = seconds.upper_bound(static_cast<double>(step));
    return at == seconds.begin() ? 0 : std::prev(at)->second;
  };
  double value = 0;
  for_each_row(history, [&](const OrderedJson& row, std::int64_t step) {
    writer.begin(step, time_at(step));
    for (const auto& [column, json] : row.items())
      if (column != "step" && read_value(json, value)) writer.scalar(tag_of(column), value);
    writer.end();
  });
  for_each_row(run / "diagnostics.jsonl", [&](const OrderedJson& row, std::int64_t step) {
    if (!row.contains("blocks") || !row["blocks"].is_object()) return;
    writer.begin(step, time_at(step));
    for (const auto& [block, quantities] : row["blocks"].items())
      for (const auto& [quantity, json] : quantities.items())
        if (read_value(json, value))
          writer.scalar(fmt::format("optimizer/{}/{}", quantity, block.empty() ? "all" : block), value);
    writer.end();
  });
  return writer.finish();
}

}  // namespace lather::report
