#pragma once
// Arrays of numbers from a NumPy archive, as numpy.savez writes it: a ZIP file of .npy files, not compressed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lather {

struct NpzArray {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<double> values;  // the last index runs fastest
};

// Throws Error, naming the file, for archives that are damaged or compressed and for arrays that do not hold
// real numbers.
std::vector<NpzArray> parse_npz(std::string_view bytes, const std::string& file);

std::uint32_t crc32(std::string_view bytes);  // of ZIP files

}  // namespace lather
