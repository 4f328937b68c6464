#include "lather/core/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"

namespace lather {

namespace fs = std::filesystem;

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}
Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

namespace {

[[noreturn]] void fail_at(const char* what, const fs::path& path, int code) {
  throw Error(fmt::format("cannot {} '{}': {}", what, path.string(), std::strerror(code)));
}

std::optional<mode_t> mode_in(int folder, const char* name) {
  struct stat info {};
  if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return info.st_mode;
}
std::optional<mode_t> mode_of(const fs::path& path) { return mode_in(AT_FDCWD, path.c_str()); }

struct stat info_of(const Descriptor& file, const fs::path& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) fail_at("inspect", path, errno);
  return info;
}

[[noreturn]] void refuse(const fs::path& path, mode_t mode) {
  if (S_ISLNK(mode))
    throw Error(
        fmt::format("'{}' is a link; links in run folders and caches are not followed", path.string()));
  throw Error(fmt::format("'{}' is {}, not a regular file", path.string(),
                          S_ISDIR(mode)    ? "a folder"
                          : S_ISFIFO(mode) ? "a FIFO"
                          : S_ISSOCK(mode) ? "a socket"
                                           : "a device"));
}

// Returns 0, or the error number.
int write_all(const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

[[noreturn]] void refuse_size(const fs::path& path, std::uint64_t most_bytes) {
  throw Error(
      fmt::format("'{}' has more than {} bytes, the most that is read of it", path.string(), most_bytes));
}

std::string read_whole(const Descriptor& file, const fs::path& path, std::uint64_t most_bytes) {
  if (most_bytes == kHalfOfMemory) most_bytes = static_cast<std::uint64_t>(available_memory_bytes() / 2);
  const struct stat info = info_of(file, path);
  std::string bytes;
  if (S_ISREG(info.st_mode)) {
    if (static_cast<std::uint64_t>(info.st_size) > most_bytes) refuse_size(path, most_bytes);
    bytes.reserve(static_cast<std::size_t>(info.st_size));
  }
  char block[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_at("read", path, errno);
    if (count == 0) return bytes;
    bytes.append(block, static_cast<std::size_t>(count));
    if (bytes.size() > most_bytes) refuse_size(path, most_bytes);
  }
}

// Without O_NONBLOCK, opening a FIFO would wait for its other end.
Descriptor open_found(int folder, const char* name, const fs::path& path, int flags) {
  Descriptor file(::openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666));
  if (!file) {
    const int code = errno;
    if (const auto mode = mode_in(folder, name); mode && !S_ISREG(*mode)) refuse(path, *mode);
    fail_at("open", path, code);
  }
  if (const mode_t mode = info_of(file, path).st_mode; !S_ISREG(mode)) refuse(path, mode);
  return file;
}

// Names that nobody can foresee, so nobody can put a link there first.
constexpr std::string_view kTemporaryBegin = ".lather-", kTemporaryEnd = ".tmp";
constexpr std::size_t kTemporarySize = kTemporaryBegin.size() + 16 + kTemporaryEnd.size();

std::string temporary_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    throw Error(fmt::format("cannot draw the name of a temporary file: {}", std::strerror(errno)));
  return fmt::format("{}{:016x}{}", kTemporaryBegin, number, kTemporaryEnd);
}

// The folder of a file to be written.
Descriptor folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) fail_at("create", path, errno);
  return opened;
}

}  // namespace

std::string read_file(const fs::path& path, std::uint64_t most_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) fail_at("open", path, errno);
  return read_whole(file, path, most_bytes);
}

std::string read_found_file(const fs::path& path, std::uint64_t most_bytes) {
  return read_whole(open_found_file(path, O_RDONLY), path, most_bytes);
}

std::string read_found_file_in(const Descriptor& folder, const fs::path& path) {
  const std::string name = path.filename().string();
  return read_whole(open_found(folder.get(), name.c_str(), path, O_RDONLY), path, kHalfOfMemory);
}

Descriptor open_found_file(const fs::path& path, int flags) {
  return open_found(AT_FDCWD, path.c_str(), path, flags);
}

std::uint64_t size_of(const Descriptor& file, const fs::path& path) {
  return static_cast<std::uint64_t>(info_of(file, path).st_size);
}

std::string read_bytes(const Descriptor& file, const fs::path& path, std::uint64_t begin,
                       std::uint64_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t read =
        ::pread(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) fail_at("read", path, errno);
    if (read == 0) break;
    done += static_cast<std::size_t>(read);
  }
  bytes.resize(done);
  return bytes;
}

bool is_there(const fs::path& path) { return mode_of(path).has_value(); }

bool is_found_folder(const fs::path& path) {
  const auto mode = mode_of(path);
  return mode && S_ISDIR(*mode);
}

void require_found_folder(const fs::path& path) {
  const auto mode = mode_of(path);
  if (mode && S_ISLNK(*mode)) refuse(path, *mode);
  if (mode && !S_ISDIR(*mode)) throw Error(fmt::format("'{}' is not a folder", path.string()));
}

std::vector<fs::path> entries_of_found_folder(const fs::path& path) {
  require_found_folder(path);
  if (!is_there(path)) return {};
  std::vector<fs::path> entries;
  try {
    for (const auto& entry : fs::directory_iterator(path)) entries.push_back(entry.path());
  } catch (const fs::filesystem_error& error) {
    fail_at("list", path, error.code().value());
  }
  return entries;
}

void require_found_file(const fs::path& path) {
  const auto mode = mode_of(path);
  if (!mode) fail_at("open", path, errno);
  if (!S_ISREG(*mode)) refuse(path, *mode);
}

void write_file_in(const Descriptor& folder, const fs::path& path, std::string_view bytes) {
  const std::string temporary = temporary_name();
  int code = 0;
  {
    const Descriptor file(::openat(folder.get(), temporary.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!file) fail_at("create", path, errno);
    code = write_all(file, bytes);
    if (code == 0 && ::fsync(file.get()) != 0) code = errno;
  }
  const std::string name = path.filename().string();
  const bool written = code == 0;
  if (written && ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0) code = errno;
  if (code != 0) {
    ::unlinkat(folder.get(), temporary.c_str(), 0);
    fail_at(written ? "replace" : "write", path, code);
  }
  if (::fsync(folder.get()) != 0) fail_at("flush the folder of", path, errno);
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  write_file_in(folder_of(path), path, bytes);
}

void remove_temporary_files(const fs::path& folder) {
  for (const fs::path& entry : entries_of_found_folder(folder)) {
    const std::string name = entry.filename().string();
    if (name.size() == kTemporarySize && name.starts_with(kTemporaryBegin) && name.ends_with(kTemporaryEnd))
      ::unlink(entry.c_str());
  }
}

namespace {

// The end of a chain of links. Those of /proc are no names but open files: /dev/stdout, /dev/fd/3.
struct Target {
  fs::path path;
  bool open_file = false;
};

Target target_of(fs::path path) {
  constexpr int kMostLinks = 40;
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code status;
    const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", status);
    if (!status && *std::next(folder.begin()) == "proc") return {folder / path.filename(), true};
    const fs::path next = fs::read_symlink(path, status);
    if (status) return {path};
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  fail_at("write", path, ELOOP);
}

// One of this process's own files is written where it stands, and what is printed follows.
Descriptor open_through(const Target& target) {
  const std::string name = target.path.filename().string();
  if (target.open_file && target.path.parent_path() == fmt::format("/proc/{}/fd", ::getpid()) &&
      name.find_first_not_of("0123456789") == name.npos && name.size() < 9)
    return Descriptor(::fcntl(std::stoi(name), F_DUPFD_CLOEXEC, 3));
  return Descriptor(::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
}

}  // namespace

bool write_output(const fs::path& path, std::string_view bytes) {
  const Target target = target_of(path);
  struct stat info {};
  const bool there = ::stat(target.path.c_str(), &info) == 0;
  if (!target.open_file && (!there || S_ISREG(info.st_mode))) {
    write_file_atomically(target.path, bytes);
    return true;
  }
  if (there && (S_ISDIR(info.st_mode) || S_ISBLK(info.st_mode)))
    throw Error(fmt::format("cannot write '{}': it is a {}", path.string(),
                            S_ISDIR(info.st_mode) ? "folder" : "disk"));
  const Descriptor file = open_through(target);
  if (!file) fail_at("open", path, errno);
  if (const int code = write_all(file, bytes); code != 0) fail_at("write", path, code);
  return false;
}

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

AppendFile::AppendFile(const fs::path& path)
    : path_(path), file_(open_found_file(path, O_WRONLY | O_CREAT | O_APPEND)) {}

void AppendFile::append(std::string_view bytes) {
  if (const int code = write_all(file_, bytes); code != 0) fail_at("write", path_, code);
}

void AppendFile::sync() {
  if (::fsync(file_.get()) != 0) fail_at("flush", path_, errno);
}

std::uint64_t AppendFile::size() const { return size_of(file_, path_); }

void AppendFile::truncate(std::uint64_t size) {
  if (size < this->size() && ::ftruncate(file_.get(), static_cast<off_t>(size)) != 0)
    fail_at("shorten", path_, errno);
}

}  // namespace lather
