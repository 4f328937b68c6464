// Files that are not what their names promise: links, FIFOs, devices, folders, without end.
#include "lather/core/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "lather/core/cache_folder.hpp"
#include "lather/core/error.hpp"
#include "temporary_folder.hpp"

namespace lather {
namespace {

namespace fs = std::filesystem;

template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

class FoundFiles : public ::testing::Test {
 protected:
  FoundFiles() {
    std::ofstream(folder_ / "plain") << "words";
    fs::create_symlink(folder_ / "plain", folder_ / "link");
    fs::create_symlink(folder_ / "nowhere", folder_ / "broken");
    ::mkfifo((folder_ / "fifo").c_str(), 0600);
    fs::create_directory(folder_ / "folder");
  }
  test::TemporaryFolder folder_;
};

TEST_F(FoundFiles, AreOpenedOnlyIfTheyAreRegularFilesThemselves) {
  EXPECT_EQ(read_found_file(folder_ / "plain"), "words");
  for (const int flags : {O_RDONLY, O_WRONLY | O_APPEND, O_RDWR | O_CREAT}) {
    const auto refusal = [&](const char* name) {
      return error_of([&] { open_found_file(folder_ / name, flags); });
    };
    expect_contains(refusal("link"), "is a link");
    expect_contains(refusal("broken"), "is a link");
    expect_contains(refusal("fifo"), "is a FIFO, not a regular file");
    expect_contains(refusal("folder"), "is a folder, not a regular file");
  }
  expect_contains(error_of([] { read_found_file("/dev/zero"); }), "is a device");
  expect_contains(error_of([&] { read_found_file(folder_ / "none"); }), "No such file");
  EXPECT_FALSE(is_there(folder_ / "none"));
  EXPECT_TRUE(is_there(folder_ / "broken"));
  fs::create_directory_symlink(folder_ / "folder", folder_ / "linked");
  EXPECT_FALSE(is_found_folder(folder_ / "linked"));
  expect_contains(error_of([&] { entries_of_found_folder(folder_ / "linked"); }), "is a link");
  expect_contains(error_of([&] { entries_of_found_folder(folder_ / "plain"); }), "is not a folder");
}

TEST_F(FoundFiles, ThatTheUserNamesMayBeLinksAndHaveAnEndAllTheSame) {
  EXPECT_EQ(read_file(folder_ / "link"), "words");
  expect_contains(error_of([] { read_file("/dev/zero", 100000); }), "more than 100000 bytes");
  ASSERT_EQ(::truncate((folder_ / "plain").c_str(), off_t{1} << 42), 0);  // takes no space
  expect_contains(error_of([&] { read_found_file(folder_ / "plain"); }), "the most that is read of it");
}

TEST_F(FoundFiles, AreReplacedThemselvesAndNotWhatTheyLinkTo) {
  write_file_atomically(folder_ / "link", "new");
  EXPECT_EQ(read_found_file(folder_ / "link"), "new");
  EXPECT_EQ(read_file(folder_ / "plain"), "words");
}

TEST_F(FoundFiles, OfKilledWritersAreRemovedAndNothingElse) {
  const std::string left = ".lather-0123456789abcdef.tmp";
  for (const std::string& name : {left, std::string("own.tmp"), std::string(".lather-x.tmp")})
    std::ofstream(folder_ / name) << "x";
  remove_temporary_files(folder_.path());
  EXPECT_FALSE(is_there(folder_ / left));
  EXPECT_TRUE(is_there(folder_ / "own.tmp") && is_there(folder_ / ".lather-x.tmp"));
}

TEST_F(FoundFiles, OutputsGoWhereTheUserSays) {
  EXPECT_TRUE(write_output(folder_ / "link", "through"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(folder_ / "plain"), "through");
  EXPECT_TRUE(write_output(folder_ / "broken", "made"));
  EXPECT_EQ(read_file(folder_ / "nowhere"), "made");
  expect_contains(error_of([&] { write_output(folder_ / "folder", "x"); }), "it is a folder");

  const Descriptor reader(::open((folder_ / "fifo").c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_FALSE(write_output(folder_ / "fifo", "flows"));
  char bytes[16] = {};
  EXPECT_EQ(::read(reader.get(), bytes, sizeof bytes), 5);
  EXPECT_TRUE(fs::is_fifo(folder_ / "fifo"));

  EXPECT_FALSE(write_output("/dev/null", "gone"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  if (fs::exists("/dev/full")) {
    expect_contains(error_of([] { write_output("/dev/full", "x"); }), "No space left");
  }
}

TEST(CacheFolder, IsUsedOnlyIfNobodyElseCanWriteIntoIt) {
  const test::TemporaryFolder made;
  const fs::path path = made / "a/b/lather";
  CacheFolder(path).write("x", "kept");
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  EXPECT_EQ(CacheFolder(path).read("x"), "kept");

  ::chmod(path.c_str(), 0777);
  expect_contains(error_of([&] { CacheFolder{path}; }), "others can write into it");
  ::chmod(path.c_str(), 0755);
  fs::create_directory_symlink(path, made / "link");
  for (const char* name : {"link", "link/"})
    expect_contains(error_of([&] { CacheFolder{made / name}; }), "is a link");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  expect_contains(error_of([&] { CacheFolder{path}; }), "belongs to another user");
}

TEST(CacheFolder, ReadsNoLinksAndFifos) {
  const test::TemporaryFolder made;
  const CacheFolder cache(made / "cache");
  std::ofstream(made / "secret") << "words";
  fs::create_symlink(made / "secret", made / "cache/link");
  ::mkfifo((made / "cache/fifo").c_str(), 0600);
  EXPECT_TRUE(cache.holds("link"));
  EXPECT_THROW(cache.read("link"), Error);
  EXPECT_THROW(cache.read("fifo"), Error);
  cache.write("link", "own");
  EXPECT_EQ(cache.read("link"), "own");
  EXPECT_EQ(read_file(made / "secret"), "words");
}

// Sets or removes a variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(CacheFolder, IsNeverInASharedPlace) {
  const Variable cache("LATHER_CACHE", nullptr), caches("XDG_CACHE_HOME", "/caches"), home("HOME", "/home/x");
  EXPECT_EQ(default_cache_folder(), "/caches/lather");
  const Variable relative("XDG_CACHE_HOME", "caches");  // to be ignored, says the standard
  EXPECT_EQ(default_cache_folder(), "/home/x/.cache/lather");
  const Variable homeless("HOME", nullptr);
  EXPECT_EQ(default_cache_folder().string().find("/tmp"), std::string::npos);
  const Variable given("LATHER_CACHE", "/elsewhere");
  EXPECT_EQ(default_cache_folder(), "/elsewhere");
}

}  // namespace
}  // namespace lather
