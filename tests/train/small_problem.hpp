#pragma once
// A problem file that trains in a moment, and a folder that goes away with the test. Built in C++:
// heat_training.hpp.

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace lather::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lather-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code status;
    std::filesystem::remove_all(path_, status);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline constexpr const char* kSmallProblem = R"toml(
name = "small"
title = "Heat in a rod, small"
coordinates = ["x", "t"]
fields = ["u"]
[domain]
x = [-1, 1]
t = [0, 1]
[parameters]
nu = 0.05
[[equation]]
name = "heat"
residual = "u_t - nu*u_xx"
[[condition]]
name = "initial"
where = "t = 0"
residual = "u - sin(pi*x)"
[[condition]]
name = "walls"
where = ["x = -1", "x = 1"]
residual = "u"
[network]
width = 10
depth = 2
[training]
optimizer = "ss-esoap"
[training.quick]
steps = 200
points = {interior = 64, initial = 16, walls = 16}
[reference]
u = "exp(-nu*pi^2*t)*sin(pi*x)"
)toml";

inline std::filesystem::path write_small_problem(const std::filesystem::path& folder) {
  const auto path = folder / "small.toml";
  std::ofstream(path) << kSmallProblem;
  return path;
}

inline std::string content(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace lather::testing
