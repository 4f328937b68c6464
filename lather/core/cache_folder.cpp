#include "lather/core/cache_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lather/core/error.hpp"

namespace lather {

namespace fs = std::filesystem;

namespace {

fs::path folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? fs::path(value) : fs::path();
}

// Of the account, for processes without $HOME.
fs::path home_of_account() {
  std::vector<char> text(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found) != 0 || !found) return {};
  return found->pw_dir;
}

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw Error(fmt::format("the cache folder '{}' is not used: {}", path.string(), why));
}

}  // namespace

fs::path default_cache_folder() {
  if (fs::path given = folder_in("LATHER_CACHE"); !given.empty()) return given;
  if (const fs::path caches = folder_in("XDG_CACHE_HOME"); caches.is_absolute()) return caches / "lather";
  for (const fs::path& home : {folder_in("HOME"), home_of_account()})
    if (home.is_absolute()) return home / ".cache" / "lather";
  return {};
}

CacheFolder::CacheFolder(const fs::path& path) : path_(path) {
  // A path may end in a slash, which would follow a link.
  if (!path_.has_filename()) path_ = path_.parent_path();
  std::error_code status;
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), status);
  if (status) fail(path_, "its parent folder cannot be created: " + status.message());
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST)
    fail(path_, fmt::format("it cannot be created: {}", std::strerror(errno)));
  folder_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder_)
    fail(path_, fs::is_symlink(path_, status) ? "it is a link; name the folder itself with LATHER_CACHE"
                                              : fmt::format("it cannot be opened: {}", std::strerror(errno)));
  struct stat info {};
  if (::fstat(folder_.get(), &info) != 0) fail(path_, std::strerror(errno));
  if (info.st_uid != ::geteuid() && info.st_uid != 0) fail(path_, "it belongs to another user");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    fail(path_, "others can write into it; `chmod go-w` on it makes it safe");
}

bool CacheFolder::holds(const std::string& name) const {
  struct stat info {};
  return ::fstatat(folder_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string CacheFolder::read(const std::string& name) const {
  return read_found_file_in(folder_, path_ / name);
}

void CacheFolder::write(const std::string& name, std::string_view bytes) const {
  write_file_in(folder_, path_ / name, bytes);
}

}  // namespace lather
