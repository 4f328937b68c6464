#include "lather/train/run_folder/checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"

namespace lather::train {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "checkpoints are written as they lie in memory");

namespace {

constexpr char kMagic[8] = {'L', 'A', 'T', 'H', 'E', 'R', 'C', 'K'};
constexpr std::uint32_t kVersion = 7;
constexpr std::string_view kExtension = ".checkpoint";
constexpr std::size_t kKept = 2;

struct Header {
  char magic[8];
  std::uint32_t version, zero;
  std::uint64_t identity;
  std::int64_t step;
  std::uint64_t length, checksum;
};
static_assert(sizeof(Header) == 48);

std::uint64_t checksum_of(Header header, std::string_view state) {
  header.checksum = checksum(state);
  return checksum({reinterpret_cast<const char*>(&header), sizeof header});
}

}  // namespace

std::string encode_checkpoint(const Checkpoint& checkpoint) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.identity = checkpoint.identity;
  header.step = checkpoint.step;
  header.length = checkpoint.state.size();
  header.checksum = checksum_of(header, checkpoint.state);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes += checkpoint.state;
}

Checkpoint decode_checkpoint(std::string_view bytes) {
  Header header{};
  if (bytes.size() < sizeof header) throw Error(fmt::format("it is cut short ({} bytes)", bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) throw Error("it is not a checkpoint");
  const std::string_view state = bytes.substr(sizeof header);
  if (state.size() < header.length)
    throw Error(fmt::format("it is cut short ({} of {} bytes)", bytes.size(), sizeof header + header.length));
  if (state.size() > header.length || checksum_of(header, state) != header.checksum)
    throw Error("its checksum does not match its content");
  if (header.version != kVersion)
    throw Error(
        fmt::format("it has format {}, this version of Lather reads format {}", header.version, kVersion));
  return {header.step, header.identity, std::string(state)};
}

void CheckpointStore::save(const Checkpoint& checkpoint) {
  std::error_code status;
  if (!fs::is_directory(folder_.parent_path(), status))
    throw Error(fmt::format("the run folder '{}' was deleted or moved: step {} cannot be saved",
                            folder_.parent_path().string(), checkpoint.step));
  if (!is_there(folder_)) fs::create_directory(folder_, status);
  if (status) throw Error(fmt::format("cannot create '{}': {}", folder_.string(), status.message()));
  require_found_folder(folder_);
  write_file_atomically(folder_ / fmt::format("step-{:012}{}", checkpoint.step, kExtension),
                        encode_checkpoint(checkpoint));
  const auto list = files();
  for (std::size_t i = kKept; i < list.size(); ++i) fs::remove(list[i], status);
}

std::vector<fs::path> CheckpointStore::files() const {
  std::vector<fs::path> list;
  for (auto& entry : entries_of_found_folder(folder_))
    if (entry.extension() == kExtension) list.push_back(std::move(entry));
  std::sort(list.rbegin(), list.rend());  // steps have a fixed number of digits
  return list;
}

std::optional<Checkpoint> CheckpointStore::load_newest(std::uint64_t identity,
                                                       std::vector<std::string>& messages) const {
  const auto list = files();
  for (const auto& file : list) {
    std::optional<Checkpoint> checkpoint;
    try {
      checkpoint = decode_checkpoint(read_found_file(file));
    } catch (const Error& error) {
      messages.push_back(fmt::format("checkpoint '{}' cannot be used: {}", file.string(), error.what()));
      continue;
    }
    if (checkpoint->identity != identity)
      throw Error(fmt::format(
          "'{}' was made with another configuration than config.json now holds; start a new run with "
          "--config instead of resuming",
          file.string()));
    return checkpoint;
  }
  if (!list.empty())
    throw Error(fmt::format("no usable checkpoint in '{}': {}", folder_.string(), fmt::join(messages, "; ")));
  return std::nullopt;
}

}  // namespace lather::train
