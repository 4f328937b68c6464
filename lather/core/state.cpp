#include "lather/core/state.hpp"

#include <cstring>

#include "lather/core/error.hpp"

// One record: kind (1 byte), length of the name (8), name, count
// (8), count × 8 bytes of data. Little endian, like the machine.
namespace lather {

namespace {
constexpr char kReal = 'r', kInteger = 'i', kArray = 'a';
constexpr std::size_t kWord = 8;
}  // namespace

void StateWriter::put(char kind, std::string_view name, const void* data, std::uint64_t count) {
  const auto append = [this](const void* source, std::size_t size) {
    bytes_.append(static_cast<const char*>(source), size);
  };
  const std::uint64_t length = name.size();
  append(&kind, 1);
  append(&length, kWord);
  append(name.data(), name.size());
  append(&count, kWord);
  if (count > 0) append(data, count * kWord);
}

void StateWriter::real(std::string_view name, double& value) { put(kReal, name, &value, 1); }
void StateWriter::integer(std::string_view name, std::int64_t& value) { put(kInteger, name, &value, 1); }
void StateWriter::array(std::string_view name, std::span<double> values) {
  put(kArray, name, values.data(), values.size());
}
void StateWriter::array(std::string_view name, std::vector<double>& values) {
  put(kArray, name, values.data(), values.size());
}

void StateReader::take(void* data, std::uint64_t size) {
  if (bytes_.size() - position_ < size) throw Error("saved state ends too early");
  if (size > 0) std::memcpy(data, bytes_.data() + position_, size);
  position_ += size;
}

std::uint64_t StateReader::header(char kind, std::string_view name) {
  char found_kind = 0;
  std::uint64_t length = 0, count = 0;
  take(&found_kind, 1);
  take(&length, kWord);
  if (length > bytes_.size() - position_) throw Error("saved state ends too early");
  const std::string_view found = bytes_.substr(position_, length);
  position_ += length;
  take(&count, kWord);
  if (found != name || found_kind != kind)
    throw Error("saved state holds '" + std::string(found) + "' where '" + std::string(name) +
                "' was expected");
  if (count > (bytes_.size() - position_) / kWord) throw Error("saved state ends too early");
  return count;
}

void StateReader::real(std::string_view name, double& value) {
  header(kReal, name);
  take(&value, kWord);
}
void StateReader::integer(std::string_view name, std::int64_t& value) {
  header(kInteger, name);
  take(&value, kWord);
}
void StateReader::array(std::string_view name, std::span<double> values) {
  const auto count = header(kArray, name);
  if (count != values.size())
    throw Error("saved state: '" + std::string(name) + "' has " + std::to_string(count) +
                " numbers, expected " + std::to_string(values.size()));
  take(values.data(), count * kWord);
}
void StateReader::array(std::string_view name, std::vector<double>& values) {
  values.resize(header(kArray, name));
  take(values.data(), values.size() * kWord);
}

}  // namespace lather
