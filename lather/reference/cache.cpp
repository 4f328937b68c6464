#include "lather/reference/cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
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

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

void write_all(int fd, std::string_view bytes, const std::filesystem::path& file) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw Error(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::filesystem::path cache_file(const std::filesystem::path& directory, const CacheKey& key) {
  return directory / fmt::format("{}-{:016x}.reference", key.name, checksum(header_text(key)));
}

std::optional<std::string> read_cache(const std::filesystem::path& file, const CacheKey& key,
                                      std::string& why) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) {
    why = "no file";
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(in.tellg());
  char preamble[kPreamble];
  in.seekg(0);
  if (size < kPreamble || !in.read(preamble, kPreamble) || std::memcmp(preamble, kMagic, 8) != 0) {
    why = "not a reference file";
    return std::nullopt;
  }
  std::uint64_t header_size, payload_size, expected;
  std::memcpy(&header_size, preamble + 8, 8);
  std::memcpy(&payload_size, preamble + 16, 8);
  std::memcpy(&expected, preamble + 24, 8);
  if (header_size > size || payload_size > size || kPreamble + header_size + payload_size != size) {
    why = "wrong length";
    return std::nullopt;
  }
  std::string header(header_size, '\0'), payload(payload_size, '\0');
  in.read(header.data(), static_cast<std::streamsize>(header_size));
  in.read(payload.data(), static_cast<std::streamsize>(payload_size));
  if (!in || checksum(payload, checksum(header)) != expected) {
    why = "damaged (checksum)";
    return std::nullopt;
  }
  if (header != header_text(key)) {
    why = "made with other settings";
    return std::nullopt;
  }
  return payload;
}

void write_cache(const std::filesystem::path& file, const CacheKey& key, const std::string& payload) {
  std::error_code failure;
  std::filesystem::create_directories(file.parent_path(), failure);
  if (failure)
    throw Error(fmt::format("cannot create {}: {}", file.parent_path().string(), failure.message()));
  const std::string header = header_text(key);
  std::string preamble(kMagic, 8);
  for (const std::uint64_t word :
       {std::uint64_t{header.size()}, std::uint64_t{payload.size()}, checksum(payload, checksum(header))})
    preamble.append(reinterpret_cast<const char*>(&word), 8);

  static std::atomic<int> written = 0;  // threads of one process must not share the file
  const std::filesystem::path temporary = fmt::format("{}.{}-{}.tmp", file.string(), ::getpid(), ++written);
  try {
    const Descriptor out(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (out.get() < 0)
      throw Error(fmt::format("cannot create {}: {}", temporary.string(), std::strerror(errno)));
    write_all(out.get(), preamble, temporary);
    write_all(out.get(), header, temporary);
    write_all(out.get(), payload, temporary);
    if (::fsync(out.get()) != 0)
      throw Error(fmt::format("cannot flush {}: {}", temporary.string(), std::strerror(errno)));
    std::filesystem::rename(temporary, file);
  } catch (const std::filesystem::filesystem_error& e) {
    std::filesystem::remove(temporary, failure);
    throw Error(fmt::format("cannot rename {}: {}", temporary.string(), e.what()));
  } catch (...) {
    std::filesystem::remove(temporary, failure);
    throw;
  }
  const Descriptor folder(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) ::fsync(folder.get());  // so that the new name survives too
}

std::string load_or_compute(const std::filesystem::path& directory, const CacheKey& key,
                            const std::function<void(StateVisitor&)>& visit,
                            const std::function<void()>& compute) {
  const auto file = directory.empty() ? std::filesystem::path() : cache_file(directory, key);
  std::string why = "no cache folder";
  if (!file.empty()) {
    if (const auto payload = read_cache(file, key, why)) try {
        StateReader reader(*payload);
        visit(reader);
        if (reader.at_end()) return "read from " + file.string();
        why = "holds more than this version knows";
      } catch (const Error& e) {
        why = e.what();
      }
  }
  const Stopwatch clock;
  compute();
  std::string provenance = fmt::format("computed in {:.1f} s", clock.seconds());
  if (file.empty()) return provenance;
  if (why != "no file") provenance += fmt::format(" ({} was rejected: {})", file.string(), why);
  try {
    StateWriter writer;
    visit(writer);
    write_cache(file, key, writer.bytes());
    return provenance + ", saved as " + file.string();
  } catch (const Error& e) {
    return fmt::format("{}, not saved: {}", provenance, e.what());
  }
}

}  // namespace lather::reference
