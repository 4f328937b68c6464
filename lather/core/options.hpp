#pragma once
// Options are plain structs with defaults and one member, `void fields(FieldVisitor&)`, that names every field once.
// That single list serves parsing, saving, --help and the generated documentation:
//
//   struct AdamOptions {
//     double learning_rate = 1e-3;
//     Decay decay = Decay::decoupled;
//     void fields(FieldVisitor& v) {
//       v.real("learning_rate", learning_rate, "step size", positive());
//       v.choice("decay", decay, "how weight decay enters", {{"coupled", Decay::coupled}, {"decoupled", Decay::decoupled}});
//     }
//   };

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lather {

// The closed or open interval a real or integer option must lie in.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;
  bool contains(double value) const;
  std::string str() const;  // "(0, 1]", or "" if unbounded
};
inline Range any_value() { return {}; }
inline Range positive() { return {.low = 0, .low_open = true}; }
inline Range non_negative() { return {.low = 0}; }
inline Range at_least(double low) { return {.low = low}; }
inline Range between(double low, double high) { return {.low = low, .high = high}; }
inline Range unit_open_right() { return {.low = 0, .high = 1, .high_open = true}; }  // [0, 1): decay rates
inline Range unit_open_left() { return {.low = 0, .high = 1, .low_open = true}; }    // (0, 1]

class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void real(std::string_view name, double& value, std::string_view help, Range range = {}) = 0;
  virtual void integer(std::string_view name, std::int64_t& value, std::string_view help,
                       Range range = {}) = 0;
  virtual void boolean(std::string_view name, bool& value, std::string_view help) = 0;
  virtual void text(std::string_view name, std::string& value, std::string_view help) = 0;
  virtual void reals(std::string_view name, std::vector<double>& value, std::string_view help) = 0;

  template <class Enum>
  void choice(std::string_view name, Enum& value, std::string_view help,
              std::initializer_list<std::pair<std::string_view, Enum>> names) {
    std::vector<std::string> known;
    std::string current;
    for (const auto& [word, option] : names) {
      known.emplace_back(word);
      if (option == value) current = word;
    }
    word_of(name, current, help, known);
    for (const auto& [word, option] : names)
      if (word == current) value = option;
  }

 protected:
  // One word out of `known`; implementations that write must leave `value` inside `known`.
  virtual void word_of(std::string_view name, std::string& value, std::string_view help,
                       const std::vector<std::string>& known) = 0;
};

// What --help, `lather list` and the generated docs say about one option.
struct FieldDescription {
  std::string name, type, default_value, range, help;
};

namespace options {

template <class Options>
concept HasFields = requires(Options& o, FieldVisitor& v) {
  o.fields(v);
};

namespace detail {
using Fields = void (*)(void* self, FieldVisitor&);
nlohmann::json to_json(void* self, Fields fields);
void set(void* self, Fields fields, const std::string& owner, const std::string& key,
         const nlohmann::json& value);
std::vector<FieldDescription> describe(void* self, Fields fields);
template <HasFields Options>
void fields_of(void* self, FieldVisitor& v) {
  static_cast<Options*>(self)->fields(v);
}
}  // namespace detail

// All fields with their current values.
template <HasFields Options>
auto to_json(Options options) {
  return detail::to_json(&options, &detail::fields_of<Options>);
}

// Sets one field. `value` may be of the field's own type or a string to be parsed ("1e-3", "true", "paper").
// Throws Error naming `owner`, the key, the nearest valid key, or the range that was missed.
template <HasFields Options>
void set(Options& options, const std::string& owner, const std::string& key, const nlohmann::json& value) {
  detail::set(&options, &detail::fields_of<Options>, owner, key, value);
}

// Sets several fields from a JSON object {"learning_rate": 1e-3, …}.
template <HasFields Options, class Json>
void set_all(Options& options, const std::string& owner, const Json& object) {
  for (const auto& [key, value] : object.items()) set(options, owner, key, value);
}

template <HasFields Options>
std::vector<FieldDescription> describe(Options options) {
  return detail::describe(&options, &detail::fields_of<Options>);
}

}  // namespace options
}  // namespace lather
