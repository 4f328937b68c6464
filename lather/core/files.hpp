#pragma once
// Files, all of which are opened here. There are two kinds. A file that the user names may be a link, a FIFO or a
// device. A file that is found in a run folder or a cache may have been put there by a stranger: only a
// regular file that lies there itself is opened, never what a link leads to. Whole files are replaced in one
// go, and logs only grow, so both survive a crash. Every failure is an Error that names the file and the
// reason.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace lather {

// A file descriptor that is closed along with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// Without a limit of its own, a file may have as many bytes as half of the memory that is free: what never ends is an Error
// too.
inline constexpr std::uint64_t kHalfOfMemory = std::numeric_limits<std::uint64_t>::max();

// A file that the user named.
std::string read_file(const std::filesystem::path& path, std::uint64_t most_bytes = kHalfOfMemory);

// A file in a run folder or a cache.
std::string read_found_file(const std::filesystem::path& path, std::uint64_t most_bytes = kHalfOfMemory);
// The same, without the name of a folder, in the open one `folder`; `path` is for messages.
std::string read_found_file_in(const Descriptor& folder, const std::filesystem::path& path);
// For `flags` of open(2).
Descriptor open_found_file(const std::filesystem::path& path, int flags);
std::uint64_t size_of(const Descriptor& file, const std::filesystem::path& path);
// Bytes of an open file from `begin` on, at most `count`: fewer where it ends.
std::string read_bytes(const Descriptor& file, const std::filesystem::path& path, std::uint64_t begin,
                       std::uint64_t count);

// Whether there is anything of this name, also a link to nowhere.
bool is_there(const std::filesystem::path& path);
// Whether it is a folder itself, not a link to one.
bool is_found_folder(const std::filesystem::path& path);
// Throws Error if there is something else, such as a link.
void require_found_folder(const std::filesystem::path& path);
// What a folder in a run folder holds; nothing if it is not there. Throws Error if something else is.
std::vector<std::filesystem::path> entries_of_found_folder(const std::filesystem::path& path);
// Throws Error for anything but a regular file that lies there itself.
void require_found_file(const std::filesystem::path& path);

// Writes to a temporary file in the same folder, flushes to disk, renames, flushes the folder: a reader sees
// the old content or the new, never a mixture, even after a crash. A link of that name is replaced.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);
// The same, without the name of a folder, in the open one `folder`; `path` is for messages.
void write_file_in(const Descriptor& folder, const std::filesystem::path& path, std::string_view bytes);
// Removes the temporary files of killed processes; no process may be writing there.
void remove_temporary_files(const std::filesystem::path& folder);

// Where the user wants a result: links are followed to their end, FIFOs and devices are written to as they are, and
// a plain file is replaced in one go. Returns whether it is a plain file.
bool write_output(const std::filesystem::path& path, std::string_view bytes);

// FNV-1a, 64 bits: detects damage, not malice.
std::uint64_t checksum(std::string_view bytes);

// A file in a run folder that is only appended to.
class AppendFile {
 public:
  AppendFile() = default;
  explicit AppendFile(const std::filesystem::path& path);  // creates it if it is not there

  void append(std::string_view bytes);
  void sync();  // to the disk
  std::uint64_t size() const;
  void truncate(std::uint64_t size);  // to at most `size` bytes

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace lather
