#include "lather/report/export/npz.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <limits>

#include "lather/core/error.hpp"
#include "lather/core/formats/npz_file.hpp"

namespace lather::report {

namespace {

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);  // little-endian
  out.append(bytes, sizeof value);
}
void put16(std::string& out, std::uint16_t value) { put(out, value); }
void put32(std::string& out, std::uint32_t value) { put(out, value); }

// The fields that a local header and a central directory entry share: version, flags, method, time, date,
// crc, sizes, lengths.
void put_common(std::string& out, const std::string& name, std::string_view content) {
  constexpr std::uint16_t kFirstOfJanuary1980 = (1 << 5) | 1;
  put16(out, 20);
  put16(out, 0);
  put16(out, 0);  // stored
  put16(out, 0);
  put16(out, kFirstOfJanuary1980);  // a fixed date: the same arrays give the same bytes
  put32(out, crc32(content));
  put32(out, static_cast<std::uint32_t>(content.size()));
  put32(out, static_cast<std::uint32_t>(content.size()));
  put16(out, static_cast<std::uint16_t>(name.size()));
  put16(out, 0);
}

}  // namespace

std::string encode_npy(const NamedArray& array) {
  std::string shape;
  std::size_t count = 1;
  for (const std::size_t n : array.shape) {
    shape += fmt::format("{},", n);
    count *= n;
  }
  assert(count == array.values.size());
  std::string header = fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", shape);
  constexpr std::size_t kPrefix = 10, kAlignment = 64;
  header.append(kAlignment - 1 - (kPrefix + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put16(out, static_cast<std::uint16_t>(header.size()));
  out += header;
  out.append(reinterpret_cast<const char*>(array.values.data()), count * sizeof(double));
  return out;
}

std::string encode_npz(std::span<const NamedArray> arrays) {
  std::string out, directory;
  for (const auto& array : arrays) {
    const std::string name = array.name + ".npy", content = encode_npy(array);
    const std::size_t offset = out.size();
    if (offset + content.size() > std::numeric_limits<std::uint32_t>::max())
      throw Error("an .npz file of more than 4 GiB cannot be written: choose a coarser grid");
    put32(out, 0x04034b50);
    put_common(out, name, content);
    out += name;
    out += content;
    put32(directory, 0x02014b50);
    put16(directory, 20);
    put_common(directory, name, content);
    put16(directory, 0);
    put16(directory, 0);
    put16(directory, 0);
    put32(directory, 0);
    put32(directory, static_cast<std::uint32_t>(offset));
    directory += name;
  }
  const auto start = static_cast<std::uint32_t>(out.size());
  out += directory;
  put32(out, 0x06054b50);
  put16(out, 0);
  put16(out, 0);
  put16(out, static_cast<std::uint16_t>(arrays.size()));
  put16(out, static_cast<std::uint16_t>(arrays.size()));
  put32(out, static_cast<std::uint32_t>(directory.size()));
  put32(out, start);
  put16(out, 0);
  return out;
}

}  // namespace lather::report
