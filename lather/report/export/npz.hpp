#pragma once
// NumPy's .npz: a zip archive, stored without compression, of .npy arrays. numpy.load(FILE)["u"] reads it.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lather::report {

struct NamedArray {
  std::string name;
  std::vector<std::size_t> shape;  // last index fastest
  std::vector<double> values;
};

std::string encode_npy(const NamedArray& array);
std::string encode_npz(std::span<const NamedArray> arrays);

}  // namespace lather::report
