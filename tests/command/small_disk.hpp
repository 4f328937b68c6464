#pragma once
// A disk of a few kilobytes that can be filled and sealed, visible to this process and its children only.

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace lather::testing {

class SmallDisk {
 public:
  SmallDisk(std::filesystem::path folder, const std::string& size) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    mount_it(size);
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Why there is none; empty if there is one.
  const std::string& refusal() const { return refusal_; }

  void make_read_only() { ::mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr); }
  void make_writable() { ::mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT, nullptr); }

  // Leaves `bytes` free.
  void fill_up_to(std::uintmax_t bytes) {
    const auto free = std::filesystem::space(folder_).available;
    std::ofstream(folder_ / "filler", std::ios::binary) << std::string(free > bytes ? free - bytes : 0, 'x');
  }
  void empty_out() { std::filesystem::remove(folder_ / "filler"); }

 private:
  void mount_it(const std::string& size) {
    const auto user = ::geteuid(), group = ::getegid();
    if (::unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return fail("unshare");
    if (user != 0) {
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
      std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
    }
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return fail("make mounts private");
    if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) != 0) return fail("mount");
    mounted_ = true;
  }
  void fail(const char* what) { refusal_ = std::string("cannot ") + what + ": " + std::strerror(errno); }
  std::filesystem::path folder_;
  std::string refusal_;
  bool mounted_ = false;
};

}  // namespace lather::testing
