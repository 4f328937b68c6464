#include "lather/reference/cache.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lather/core/clock.hpp"
#include "lather/core/error.hpp"

namespace lather::reference {
namespace {

constexpr char kMagic[8] = {'L', 'A', 'T', 'H', 'R', 'E', 'F', '1'};
constexpr std::size_t kPreamble = 32;

// FNV-1a over 8-byte words (the tail padded with zeros), mixed with the length. Guards against damage, not
// against malice.
std::uint64_t checksum(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  constexpr std::uint64_t kPrime = 0x100000001b3ULL;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    hash = std::rotl((hash ^ word) * kPrime, 29);
  }
  return (hash ^ bytes.size()) * kPrime;
}

std::string header_text(const CacheKey& key) {
  return nlohmann::json{
      {"name", key.name}, {"version", key.version}, {"settings", nlohmann::json::parse(key.settings)}}
      .dump();
}

}  // namespace

std::string cache_file(const CacheKey& key) {
  return fmt::format("{}-{:016x}.reference", key.name, checksum(header_text(key)));
}

namespace {

std::optional<std::string> payload_of(std::string_view bytes, const CacheKey& key, std::string& why) {
  if (bytes.size() < kPreamble || std::memcmp(bytes.data(), kMagic, 8) != 0) {
    why = "not a reference file";
    return std::nullopt;
  }
  std::uint64_t header_size, payload_size, expected;
  std::memcpy(&header_size, bytes.data() + 8, 8);
  std::memcpy(&payload_size, bytes.data() + 16, 8);
  std::memcpy(&expected, bytes.data() + 24, 8);
  const std::size_t size = bytes.size();
  if (header_size > size || payload_size > size || kPreamble + header_size + payload_size != size) {
    why = "wrong length";
    return std::nullopt;
  }
  const std::string_view header = bytes.substr(kPreamble, header_size);
  const std::string_view payload = bytes.substr(kPreamble + header_size);
  if (checksum(payload, checksum(header)) != expected) {
    why = "damaged (checksum)";
    return std::nullopt;
  }
  if (header != header_text(key)) {
    why = "made with other settings";
    return std::nullopt;
  }
  return std::string(payload);
}

}  // namespace

std::optional<std::string> read_cache(const CacheFolder& folder, const CacheKey& key, std::string& why) {
  const std::string file = cache_file(key);
  if (!folder.holds(file)) {
    why = "no file";
    return std::nullopt;
  }
  try {
    return payload_of(folder.read(file), key, why);
  } catch (const Error& error) {
    why = error.what();
    return std::nullopt;
  }
}

void write_cache(const CacheFolder& folder, const CacheKey& key, const std::string& payload) {
  const std::string header = header_text(key);
  std::string bytes(kMagic, 8);
  for (const std::uint64_t word :
       {std::uint64_t{header.size()}, std::uint64_t{payload.size()}, checksum(payload, checksum(header))})
    bytes.append(reinterpret_cast<const char*>(&word), 8);
  folder.write(cache_file(key), bytes + header + payload);
}

std::string load_or_compute(const std::filesystem::path& directory, const CacheKey& key,
                            const std::function<void(StateVisitor&)>& visit,
                            const std::function<void()>& compute) {
  std::optional<CacheFolder> folder;
  std::string why, unusable;
  if (!directory.empty()) try {
      folder.emplace(directory);
    } catch (const Error& error) {
      unusable = error.what();
    }
  const std::string file = (directory / cache_file(key)).string();
  if (folder) {
    if (const auto payload = read_cache(*folder, key, why)) try {
        StateReader reader(*payload);
        visit(reader);
        if (reader.at_end()) return "read from " + file;
        why = "holds more than this version knows";
      } catch (const Error& e) {
        why = e.what();
      }
  }
  const Stopwatch clock;
  compute();
  std::string provenance = fmt::format("computed in {:.1f} s", clock.seconds());
  if (!unusable.empty()) return fmt::format("{}, not saved: {}", provenance, unusable);
  if (!folder) return provenance;
  if (why != "no file") provenance += fmt::format(" ({} was rejected: {})", file, why);
  try {
    StateWriter writer;
    visit(writer);
    write_cache(*folder, key, writer.bytes());
    return provenance + ", saved as " + file;
  } catch (const Error& e) {
    return fmt::format("{}, not saved: {}", provenance, e.what());
  }
}

}  // namespace lather::reference
