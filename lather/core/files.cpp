#include "lather/core/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lather/core/error.hpp"

namespace lather {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_at(const char* what, const fs::path& path, int code) {
  throw Error(fmt::format("cannot {} '{}': {}", what, path.string(), std::strerror(code)));
}

// Closes the file on every way out.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

// Returns 0, or the error number.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

std::string read_file(const fs::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) fail_at("open", path, errno);
  std::string bytes;
  char block[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.number, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_at("read", path, errno);
    if (count == 0) return bytes;
    bytes.append(block, static_cast<std::size_t>(count));
  }
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  static std::atomic<unsigned> written = 0;  // two writers of one file must not share it
  fs::path temporary = path;
  temporary += fmt::format(".{}-{}.tmp", ::getpid(), ++written);
  {
    const Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (file.number < 0) fail_at("create", temporary, errno);
    int code = write_all(file.number, bytes);
    if (code == 0 && ::fsync(file.number) != 0) code = errno;
    if (code != 0) {
      ::unlink(temporary.c_str());
      fail_at("write", path, code);
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int code = errno;
    ::unlink(temporary.c_str());
    fail_at("replace", path, code);
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const Descriptor directory{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (directory.number < 0) fail_at("open", folder, errno);
  if (::fsync(directory.number) != 0) fail_at("flush", folder, errno);
}

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

AppendFile::AppendFile(const fs::path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail("open");
}
AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void AppendFile::fail(const char* what) const { fail_at(what, path_, errno); }

void AppendFile::append(std::string_view bytes) {
  errno = write_all(descriptor_, bytes);
  if (errno != 0) fail("write");
}

void AppendFile::sync() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL)
    fail("flush");  // EINVAL: a special file such as /dev/full
}

std::uint64_t AppendFile::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail("inspect");
  return static_cast<std::uint64_t>(status.st_size);
}

void AppendFile::truncate(std::uint64_t size) {
  if (size < this->size() && ::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("shorten");
}

}  // namespace lather
