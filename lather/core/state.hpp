#pragma once
// State that survives a checkpoint. A class names its state once, in `void state(StateVisitor&)`; a writer
// and a reader walk the same list, so what was saved is what is restored, bit for bit.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lather/core/error.hpp"

namespace lather {

class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void real(std::string_view name, double& value) = 0;
  virtual void integer(std::string_view name, std::int64_t& value) = 0;
  virtual void array(std::string_view name, std::span<double> values) = 0;     // of fixed size
  virtual void array(std::string_view name, std::vector<double>& values) = 0;  // resized on reading
  virtual bool reading() const = 0;
  void boolean(std::string_view name, bool& value) {
    std::int64_t number = value;
    integer(name, number);
    value = number != 0;
  }
};

// Appends named values to a byte string.
class StateWriter final : public StateVisitor {
 public:
  StateWriter() = default;
  explicit StateWriter(std::string memory) : bytes_(std::move(memory)) { bytes_.clear(); }
  void real(std::string_view name, double& value) override;
  void integer(std::string_view name, std::int64_t& value) override;
  void array(std::string_view name, std::span<double> values) override;
  void array(std::string_view name, std::vector<double>& values) override;
  bool reading() const override { return false; }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  void put(char kind, std::string_view name, const void* data, std::uint64_t count);
  std::string bytes_;
};

// Reads them back in the same order; throws Error if name, kind or size differ from what is asked for.
class StateReader final : public StateVisitor {
 public:
  explicit StateReader(std::string_view bytes) : bytes_(bytes) {}
  void real(std::string_view name, double& value) override;
  void integer(std::string_view name, std::int64_t& value) override;
  void array(std::string_view name, std::span<double> values) override;
  void array(std::string_view name, std::vector<double>& values) override;
  bool reading() const override { return true; }
  bool at_end() const { return position_ == bytes_.size(); }

 private:
  std::uint64_t header(char kind, std::string_view name);
  void take(void* data, std::uint64_t size);
  std::string_view bytes_;
  std::size_t position_ = 0;
};

// Gives the object the state in `bytes`. On an error it keeps the state it had.
template <class Object>
void restore_state(Object& object, std::string_view bytes) {
  StateWriter before;
  object.state(before);
  try {
    StateReader reader(bytes);
    object.state(reader);
    if (!reader.at_end()) throw Error("the saved state holds more than is asked for");
  } catch (...) {
    StateReader back(before.bytes());
    object.state(back);
    throw;
  }
}

}  // namespace lather
