#include "lather/core/formats/npz_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "lather/core/error.hpp"

namespace lather {

namespace {

constexpr std::uint32_t kEndOfDirectory = 0x06054b50, kDirectoryEntry = 0x02014b50, kLocalHeader = 0x04034b50;
constexpr std::size_t kMostNumbers = std::size_t{1} << 31;

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0xEDB88320u : 0u);
    table[i] = c;
  }
  return table;
}

// Reads within bounds; a read past the end means that the file is damaged.
class NpzBytes {
 public:
  NpzBytes(std::string_view bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

  [[noreturn]] void fail(const std::string& message) const { throw Error({file_, 0, 0}, message); }
  std::string_view part(std::size_t at, std::size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) fail("the NPZ file is damaged: it ends too early");
    return bytes_.substr(at, count);
  }
  template <class T>
  T number(std::size_t at) const {  // little-endian
    T value;
    std::memcpy(&value, part(at, sizeof value).data(), sizeof value);
    return value;
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  std::string file_;
};

// The text after a key in the header of a .npy file, a Python dictionary.
std::string_view header_value(std::string_view header, std::string_view key, const NpzBytes& archive) {
  const auto at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) archive.fail(fmt::format("an array has no '{}' in its header", key));
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.size(), header.find_first_not_of(' ')));
  return header;
}

std::vector<std::size_t> shape_of(std::string_view text, const NpzBytes& archive) {
  std::vector<std::size_t> shape;
  if (!text.starts_with('(')) archive.fail("an array has no shape");
  text.remove_prefix(1);
  for (;;) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" ,")));
    if (text.starts_with(')')) return shape;
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc()) archive.fail("the shape of an array cannot be read");
    shape.push_back(n);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

template <class T>
void append_numbers(std::string_view data, std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
    values[i] = static_cast<double>(value);
  }
}

std::optional<std::size_t> bytes_of(std::string_view type) {
  for (const std::string_view known : {"<f8", "<i8", "<f4", "<i4"})
    if (type == known) return static_cast<std::size_t>(known.back() - '0');
  return {};
}

// The first index runs fastest in Fortran order.
std::vector<double> transposed(const std::vector<double>& values, const std::vector<std::size_t>& shape) {
  std::vector<double> result(values.size());
  std::vector<std::size_t> index(shape.size());
  for (const double value : values) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) at = at * shape[k] + index[k];
    result[at] = value;
    for (std::size_t k = 0; k < shape.size() && ++index[k] == shape[k]; ++k) index[k] = 0;
  }
  return result;
}

NpzArray parse_npy(std::string name, std::string_view bytes, const std::string& file) {
  const NpzBytes array(bytes, file);
  if (array.part(0, 6) != "\x93NUMPY") array.fail(fmt::format("'{}' is not a NumPy array", name));
  const bool is_long = array.number<std::uint8_t>(6) > 1;
  const std::size_t start = is_long ? 12 : 10;
  const std::size_t length = is_long ? array.number<std::uint32_t>(8) : array.number<std::uint16_t>(8);
  const std::string_view header = array.part(start, length);
  const std::string_view type = header_value(header, "descr", array).substr(0, 5);
  const auto width = type.size() == 5 ? bytes_of(type.substr(1, 3)) : std::nullopt;
  if (!width)
    array.fail(fmt::format("'{}' does not hold real numbers of 4 or 8 bytes (its type is {})", name,
                           one_line(type)));
  NpzArray result{std::move(name), shape_of(header_value(header, "shape", array), array), {}};
  std::size_t count = 1;
  for (const std::size_t n : result.shape) {
    if (n != 0 && count > kMostNumbers / n) array.fail(fmt::format("'{}' is too large", result.name));
    count *= n;
  }
  const std::string_view data = array.part(start + length, count * *width);
  result.values.resize(count);
  if (type.starts_with("'<f8")) append_numbers<double>(data, result.values);
  if (type.starts_with("'<f4")) append_numbers<float>(data, result.values);
  if (type.starts_with("'<i8")) append_numbers<std::int64_t>(data, result.values);
  if (type.starts_with("'<i4")) append_numbers<std::int32_t>(data, result.values);
  if (header_value(header, "fortran_order", array).starts_with("True"))
    result.values = transposed(result.values, result.shape);
  return result;
}

// Where the list of files begins, and how many there are.
struct NpzDirectory {
  std::size_t at = 0, files = 0;
};
NpzDirectory find_directory(const NpzBytes& archive) {
  constexpr std::size_t kEndBytes = 22, kMostComment = 1 << 16;
  for (std::size_t back = kEndBytes; back <= std::min(archive.size(), kEndBytes + kMostComment); ++back) {
    const std::size_t at = archive.size() - back;
    if (archive.number<std::uint32_t>(at) == kEndOfDirectory)
      return {archive.number<std::uint32_t>(at + 16), archive.number<std::uint16_t>(at + 10)};
  }
  archive.fail("not an NPZ file (numpy.savez), or cut short");
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  static constexpr auto table = crc_table();
  std::uint32_t c = 0xFFFFFFFFu;
  for (const char byte : bytes) c = table[(c ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (c >> 8);
  return ~c;
}

std::vector<NpzArray> parse_npz(std::string_view bytes, const std::string& file) {
  const NpzBytes archive(bytes, file);
  const NpzDirectory directory = find_directory(archive);
  std::vector<NpzArray> arrays;
  std::size_t at = directory.at, left = bytes.size();
  for (std::size_t i = 0; i < directory.files; ++i) {
    if (archive.number<std::uint32_t>(at) != kDirectoryEntry) archive.fail("the NPZ file is damaged");
    const auto method = archive.number<std::uint16_t>(at + 10);
    const std::size_t size = archive.number<std::uint32_t>(at + 20);
    const std::size_t name_bytes = archive.number<std::uint16_t>(at + 28);
    std::string name(archive.part(at + 46, name_bytes));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (method != 0)
      archive.fail(
          fmt::format("'{}' is compressed: write it with numpy.savez, not savez_compressed", one_line(name)));
    const std::size_t local = archive.number<std::uint32_t>(at + 42);
    if (archive.number<std::uint32_t>(local) != kLocalHeader) archive.fail("the NPZ file is damaged");
    const std::size_t content =
        local + 30 + archive.number<std::uint16_t>(local + 26) + archive.number<std::uint16_t>(local + 28);
    const std::string_view array = archive.part(content, size);
    if (size > left) archive.fail("the NPZ file is damaged: its arrays overlap");
    left -= size;
    if (crc32(array) != archive.number<std::uint32_t>(at + 16))
      archive.fail(fmt::format("the NPZ file is damaged: '{}' has another checksum", one_line(name)));
    arrays.push_back(parse_npy(one_line(name), array, file));
    at += 46 + name_bytes + archive.number<std::uint16_t>(at + 30) + archive.number<std::uint16_t>(at + 32);
  }
  return arrays;
}

}  // namespace lather
