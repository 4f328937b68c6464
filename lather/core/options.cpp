#include "lather/core/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"

namespace lather {

bool Range::contains(double value) const {
  if (std::isnan(value)) return false;
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string Range::str() const {
  if (std::isinf(low) && std::isinf(high)) return "";
  return fmt::format("{}{}, {}{}", low_open || std::isinf(low) ? '(' : '[',
                     std::isinf(low) ? "-inf" : fmt::format("{:g}", low),
                     std::isinf(high) ? "inf" : fmt::format("{:g}", high),
                     high_open || std::isinf(high) ? ')' : ']');
}

namespace options::detail {
namespace {

using Json = nlohmann::json;

class Writer final : public FieldVisitor {
 public:
  Json object = Json::object();
  void real(std::string_view name, double& value, std::string_view, Range) override {
    // JSON has no infinity; the reader accepts the word.
    if (std::isfinite(value))
      object[std::string(name)] = value;
    else
      object[std::string(name)] = value > 0 ? "inf" : "-inf";
  }
  void integer(std::string_view name, std::int64_t& value, std::string_view, Range) override {
    object[std::string(name)] = value;
  }
  void boolean(std::string_view name, bool& value, std::string_view) override {
    object[std::string(name)] = value;
  }
  void text(std::string_view name, std::string& value, std::string_view) override {
    object[std::string(name)] = value;
  }
  void reals(std::string_view name, std::vector<double>& value, std::string_view) override {
    object[std::string(name)] = value;
  }

 protected:
  void word_of(std::string_view name, std::string& value, std::string_view,
               const std::vector<std::string>&) override {
    object[std::string(name)] = value;
  }
};

class Describer final : public FieldVisitor {
 public:
  std::vector<FieldDescription> list;
  void real(std::string_view name, double& value, std::string_view help, Range range) override {
    add(name, "real", fmt::format("{:g}", value), range.str(), help);
  }
  void integer(std::string_view name, std::int64_t& value, std::string_view help, Range range) override {
    add(name, "integer", fmt::format("{}", value), range.str(), help);
  }
  void boolean(std::string_view name, bool& value, std::string_view help) override {
    add(name, "true/false", value ? "true" : "false", "", help);
  }
  void text(std::string_view name, std::string& value, std::string_view help) override {
    add(name, "text", value, "", help);
  }
  void reals(std::string_view name, std::vector<double>& value, std::string_view help) override {
    add(name, "list of reals", fmt::format("[{:g}]", fmt::join(value, ", ")), "", help);
  }

 protected:
  void word_of(std::string_view name, std::string& value, std::string_view help,
               const std::vector<std::string>& known) override {
    add(name, "word", value, fmt::format("{}", fmt::join(known, " | ")), help);
  }

 private:
  void add(std::string_view name, std::string type, std::string value, std::string range,
           std::string_view help) {
    list.push_back(
        {std::string(name), std::move(type), std::move(value), std::move(range), std::string(help)});
  }
};

// Writes the one field called `key`; remembers all names for the error message.
class Setter final : public FieldVisitor {
 public:
  Setter(const std::string& owner, const std::string& key, const Json& value)
      : owner_(owner), key_(key), value_(value) {}

  void real(std::string_view name, double& value, std::string_view, Range range) override {
    if (!matches(name)) return;
    value = checked(number("a number"), range);
  }
  void integer(std::string_view name, std::int64_t& value, std::string_view, Range range) override {
    if (!matches(name)) return;
    const double number_value = number("a whole number");
    if (number_value != std::floor(number_value) || std::abs(number_value) > 9e15) fail("a whole number");
    value = static_cast<std::int64_t>(checked(number_value, range));
  }
  void boolean(std::string_view name, bool& value, std::string_view) override {
    if (!matches(name)) return;
    if (value_.is_boolean())
      value = value_.get<bool>();
    else if (value_ == "true")
      value = true;
    else if (value_ == "false")
      value = false;
    else
      fail("true or false");
  }
  void text(std::string_view name, std::string& value, std::string_view) override {
    if (!matches(name)) return;
    if (!value_.is_string()) fail("a text");
    value = value_.get<std::string>();
  }
  void reals(std::string_view name, std::vector<double>& value, std::string_view) override {
    if (!matches(name)) return;
    Json list = value_.is_string() ? Json::parse(value_.get<std::string>(), nullptr, false) : value_;
    if (!list.is_array()) fail("a list of numbers such as [1, 2, 3]");
    std::vector<double> read;
    for (const auto& item : list) {
      if (!item.is_number()) fail("a list of numbers such as [1, 2, 3]");
      read.push_back(item.get<double>());
    }
    value = std::move(read);
  }

  void require_found() const {
    if (!found_) throw Error(unknown_name_message("option of " + owner_, key_, names_));
  }

 protected:
  void word_of(std::string_view name, std::string& value, std::string_view,
               const std::vector<std::string>& known) override {
    if (!matches(name)) return;
    if (!value_.is_string()) fail(fmt::format("one of: {}", fmt::join(known, ", ")));
    const auto word = value_.get<std::string>();
    for (const auto& candidate : known)
      if (candidate == word) {
        value = word;
        return;
      }
    throw Error(owner_ + "." + key_ + ": " + unknown_name_message("value", word, known));
  }

 private:
  bool matches(std::string_view name) {
    names_.emplace_back(name);
    const bool hit = name == key_;
    found_ = found_ || hit;
    return hit;
  }
  double number(const char* expected) const {
    if (value_.is_number()) return value_.get<double>();
    if (value_.is_string()) {
      const auto text = value_.get<std::string>();
      double parsed = 0;
      const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), parsed);
      if (status == std::errc() && end == text.data() + text.size()) return parsed;
    }
    fail(expected);
  }
  double checked(double number, const Range& range) const {
    if (!range.contains(number)) {
      const auto interval = range.str();
      fail(interval.empty() ? "a number" : "a value in " + interval);
    }
    return number;
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(fmt::format("{}.{}: expected {}, got {}", owner_, key_, expected, value_.dump()));
  }

  std::string owner_, key_;
  Json value_;
  std::vector<std::string> names_;
  bool found_ = false;
};

}  // namespace

nlohmann::json to_json(void* self, Fields fields) {
  Writer writer;
  fields(self, writer);
  return writer.object;
}

void set(void* self, Fields fields, const std::string& owner, const std::string& key,
         const nlohmann::json& value) {
  Setter setter(owner, key, value);
  fields(self, setter);
  setter.require_found();
}

std::vector<FieldDescription> describe(void* self, Fields fields) {
  Describer describer;
  fields(self, describer);
  return describer.list;
}

}  // namespace options::detail
}  // namespace lather
