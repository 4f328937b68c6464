#pragma once
// Files that survive a crash: whole files replaced in one go, and logs that only grow. Every failure is an
// Error that names the file and the system's reason.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lather {

std::string read_file(const std::filesystem::path& path);

// Writes to a temporary file next to the final one, flushes to disk, renames, flushes the folder: a reader
// sees the old content or the new, never a mixture, even after a crash.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

// FNV-1a, 64 bits: detects damage, not malice.
std::uint64_t checksum(std::string_view bytes);

// A file that is only appended to.
class AppendFile {
 public:
  AppendFile() = default;
  explicit AppendFile(const std::filesystem::path& path);  // creates it if it is not there
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;

  void append(std::string_view bytes);
  void sync();  // to the disk
  std::uint64_t size() const;
  void truncate(std::uint64_t size);  // to at most `size` bytes

 private:
  [[noreturn]] void fail(const char* what) const;
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace lather
