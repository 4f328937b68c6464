#pragma once
// Options are plain structs with defaults and one member, `void fields(FieldVisitor&)`, that names every
// field once. That single list serves parsing, saving, --help and the generated documentation:
//
//   struct AdamOptions {
//     double learning_rate = 1e-3;
//     Decay decay = Decay::decoupled;
//     void fields(FieldVisitor& v) {
//       v.real("learning_rate", learning_rate, "step size", positive());
//       v.choice("decay", decay, "how weight decay enters",
//                {{"coupled", Decay::coupled}, {"decoupled", Decay::decoupled}});
//     }
//   };
//
// Options may hold further ones (`table`), lists of them (`tables`), and numbers by free names (`by_name`).

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lather/core/formats/toml.hpp"

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

class FieldVisitor;

template <class Options>
concept HasFields = requires(Options& o, FieldVisitor& v) {
  o.fields(v);
};

// Fields are visited in the order in which they are named, even when they are read: a field may decide which
// others follow (the method of a weighting, the name of an optimizer).
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void real(std::string_view name, double& value, std::string_view help, Range range = {}) = 0;
  virtual void integer(std::string_view name, std::int64_t& value, std::string_view help,
                       Range range = {}) = 0;
  virtual void natural(std::string_view name, std::uint64_t& value, std::string_view help) = 0;
  virtual void boolean(std::string_view name, bool& value, std::string_view help) = 0;
  virtual void text(std::string_view name, std::string& value, std::string_view help) = 0;
  virtual void reals(std::string_view name, std::vector<double>& value, std::string_view help) = 0;
  // All keys that were not named before, with a list of numbers each.
  virtual void other_reals(std::map<std::string, std::vector<double>>& values, std::string_view help) = 0;

  template <class Enum>
  void choice(std::string_view name, Enum& value, std::string_view help,
              std::initializer_list<std::pair<std::string_view, Enum>> names) {
    std::optional<Enum> chosen = value;
    choice(name, chosen, help, names);
    value = *chosen;
  }
  template <class Enum>
  void choice(std::string_view name, std::optional<Enum>& value, std::string_view help,
              std::initializer_list<std::pair<std::string_view, Enum>> names) {
    std::vector<std::string> known;
    std::string current;
    for (const auto& [word, option] : names) {
      known.emplace_back(word);
      if (value && option == *value) current = word;
    }
    word_of(name, current, help, known);
    for (const auto& [word, option] : names)
      if (word == current) value = option;
  }
  // One word out of `known`.
  void word(std::string_view name, std::string& value, std::string_view help,
            const std::vector<std::string>& known) {
    word_of(name, value, help, known);
  }

  // A table of options inside this one. A bare value in place of the table is the value of `shorthand`.
  template <HasFields Options>
  void table(std::string_view name, Options& value, std::string_view help, std::string_view shorthand = "") {
    table_of(name, help, {true, shorthand, [](const auto&) {}, [&](FieldVisitor& v) { value.fields(v); }});
  }
  // One that may be missing.
  template <HasFields Options>
  void table(std::string_view name, std::optional<Options>& value, std::string_view help,
             std::string_view shorthand = "") {
    table_of(name, help,
             {value.has_value(), shorthand, [&](const auto&) { value.emplace(); },
              [&](FieldVisitor& v) {
                if (value)
                  value->fields(v);
                else
                  Options().fields(v);  // to describe it
              }});
  }
  // One whose keys are free.
  void by_name(std::string_view name, std::map<std::string, std::int64_t>& values, std::string_view help,
               Range range = {}) {
    map_of(name, values, help, [range](FieldVisitor& v, const std::string& key, std::int64_t& value) {
      v.integer(key, value, "", range);
    });
  }
  void by_name(std::string_view name, std::map<std::string, double>& values, std::string_view help) {
    map_of(name, values, help,
           [](FieldVisitor& v, const std::string& key, double& value) { v.real(key, value, ""); });
  }
  template <HasFields Options>
  void by_name(std::string_view name, std::map<std::string, Options>& values, std::string_view help) {
    map_of(name, values, help,
           [](FieldVisitor& v, const std::string& key, Options& value) { v.table(key, value, ""); });
  }
  // A list of tables.
  template <HasFields Options>
  void tables(std::string_view name, std::vector<Options>& values, std::string_view help) {
    list_of(name, help,
            {values.size(), [&](std::size_t size) { values.assign(size, Options()); },
             [&](std::size_t i, FieldVisitor& v) { values[i].fields(v); }});
  }

 protected:
  struct Table {
    bool present = true;
    std::string_view shorthand;
    std::function<void(const std::vector<std::string>& keys)> create;  // before it is read
    std::function<void(FieldVisitor&)> fields;
  };
  struct List {
    std::size_t size = 0;
    std::function<void(std::size_t)> resize;
    std::function<void(std::size_t, FieldVisitor&)> fields;
  };
  // One word out of `known`, or none; implementations that write must leave `value` inside `known`.
  virtual void word_of(std::string_view name, std::string& value, std::string_view help,
                       const std::vector<std::string>& known) = 0;
  virtual void table_of(std::string_view name, std::string_view help, const Table& table) = 0;
  virtual void list_of(std::string_view name, std::string_view help, const List& list) = 0;

 private:
  template <class Value, class Visit>
  void map_of(std::string_view name, std::map<std::string, Value>& values, std::string_view help,
              Visit visit) {
    const auto create = [&](const std::vector<std::string>& keys) {
      values.clear();
      for (const auto& key : keys) values[key];
    };
    table_of(name, help, {!values.empty(), "", create, [&](FieldVisitor& v) {
                            for (auto& [key, value] : values) visit(v, key, value);
                          }});
  }
};

// What --help, `lather list` and the generated docs say about one option.
struct FieldDescription {
  std::string name, type, default_value, range, help;
};

namespace options {

namespace detail {
using Fields = void (*)(void* self, FieldVisitor&);
nlohmann::json to_json(void* self, Fields fields);
void read(void* self, Fields fields, const std::string& owner, const TomlValue& table);
std::vector<FieldDescription> describe(void* self, Fields fields);
TomlValue tree_of(const nlohmann::json& object);
TomlValue tree_of(const std::string& key, const nlohmann::json& value);
template <HasFields Options>
void fields_of(void* self, FieldVisitor& v) {
  static_cast<Options*>(self)->fields(v);
}
}  // namespace detail

// All fields with their current values. NaN is written as null, infinity as a text.
template <HasFields Options>
auto to_json(Options options) {
  return detail::to_json(&options, &detail::fields_of<Options>);
}

// Sets the fields that `table` names. Values may be of the field's own type or a text
// to be parsed ("1e-3", "true", "paper"). Throws Error at the place of the fault,
// naming `owner`, the key, the nearest valid key, or the range that was missed.
template <HasFields Options>
void read(Options& options, const std::string& owner, const TomlValue& table) {
  detail::read(&options, &detail::fields_of<Options>, owner, table);
}

// The same for one field.
template <HasFields Options>
void set(Options& options, const std::string& owner, const std::string& key, const nlohmann::json& value) {
  read(options, owner, detail::tree_of(key, value));
}

// Sets several fields from a JSON object {"learning_rate": 1e-3, …}.
template <HasFields Options, class Json>
void set_all(Options& options, const std::string& owner, const Json& object) {
  read(options, owner, detail::tree_of(object));
}

template <HasFields Options, class Json>
Options from_json(const std::string& owner, const Json& object) {
  Options options;
  set_all(options, owner, object);
  return options;
}

template <HasFields Options>
std::vector<FieldDescription> describe(Options options) {
  return detail::describe(&options, &detail::fields_of<Options>);
}

}  // namespace options

// Options of a type that is known only at run time, such as those of an optimizer chosen by name.
class AnyOptions {
 public:
  AnyOptions() = default;  // none
  template <HasFields Options>
  requires(!std::same_as<Options, AnyOptions>) AnyOptions(Options options)
      : self_(std::make_unique<Model<Options>>(std::move(options))) {}
  AnyOptions(const AnyOptions& other) : self_(other.self_ ? other.self_->clone() : nullptr) {}
  AnyOptions(AnyOptions&&) noexcept = default;
  AnyOptions& operator=(AnyOptions other) noexcept {
    self_ = std::move(other.self_);
    return *this;
  }
  void fields(FieldVisitor& v) {
    if (self_) self_->fields(v);
  }
  // Precondition: they are of this type.
  template <class Options>
  const Options& as() const {
    return dynamic_cast<const Model<Options>&>(*self_).options;
  }

 private:
  struct Concept {
    virtual ~Concept() = default;
    virtual std::unique_ptr<Concept> clone() const = 0;
    virtual void fields(FieldVisitor& v) = 0;
  };
  template <class Options>
  struct Model final : Concept {
    explicit Model(Options o) : options(std::move(o)) {}
    std::unique_ptr<Concept> clone() const override { return std::make_unique<Model>(options); }
    void fields(FieldVisitor& v) override { options.fields(v); }
    Options options;
  };
  std::unique_ptr<Concept> self_;
};

}  // namespace lather
