#pragma once
// Checkpoints of a run: DIR/step-NNNNNNNNNNNN.checkpoint, the two newest kept. A file is
//
//   8 bytes "LATHERCK", u32 version, u32 zero, u64 identity of the run, i64 step, u64 length, u64 checksum,
//   then the state,
//
// little-endian; the checksum covers everything before and after itself. Written atomically: a crash while
// writing costs the new checkpoint, never an old one.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lather::train {

struct Checkpoint {
  std::int64_t step = 0;
  std::uint64_t identity = 0;  // of the configuration: a checkpoint of another run is rejected
  std::string state;           // see core/state.hpp
};

std::string encode_checkpoint(const Checkpoint& checkpoint);
// Throws Error saying what is wrong: cut short, damaged, of another version, no checkpoint at all.
Checkpoint decode_checkpoint(std::string_view bytes);

class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Creates the folder, but not the run folder that contains it; removes all but the two newest.
  void save(const Checkpoint& checkpoint);

  // The newest intact checkpoint; a sentence in `messages` for each newer one that is not intact. Nothing if
  // there are none at all; throws Error if there are some and all are damaged, or if it belongs to another
  // identity.
  std::optional<Checkpoint> load_newest(std::uint64_t identity, std::vector<std::string>& messages) const;

  std::vector<std::filesystem::path> files() const;  // newest first

 private:
  std::filesystem::path folder_;
};

}  // namespace lather::train
