#pragma once
// Reference solutions: what a trained network is compared with. Values and derivatives at any point of the
// domain, from a closed form or from a spectral solution that is computed once and kept in a cache folder.
//
//   auto burgers = reference::make_reference("burgers", {}, default_cache_folder());
//   burgers->value(0, point);                    // u(x, t)
//   burgers->derivative(0, {1, 0}, point);       // u_x(x, t)

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "lather/core/options.hpp"

namespace lather::reference {

struct Interval {
  double low, high;
};

class ReferenceSolution {
 public:
  virtual ~ReferenceSolution() = default;

  virtual std::vector<std::string> fields() const = 0;
  virtual std::vector<std::string> coordinates() const = 0;  // in the problem's order: (x, t), (x, y, t), …
  virtual std::vector<Interval> domain() const = 0;          // one interval per coordinate, huge if unbounded
  virtual int highest_order() const = 0;  // the largest total order of a derivative it can give
  virtual std::map<std::string, double> unknowns() const { return {}; }  // scalars solved for, such as lambda
  virtual std::string accuracy() const = 0;     // in words: how far the values can be trusted, and where
  virtual nlohmann::json settings() const = 0;  // everything the values depend on, for the record

  // One derivative of one field at many points: points[i*d + k] is coordinate k of point i, orders[k] how
  // often to differentiate along coordinate k. Throws Error for a bad field, order or a point outside the
  // domain.
  void evaluate(std::span<const double> points, std::size_t count, int field, std::span<const int> orders,
                std::span<double> out) const;
  double derivative(int field, std::span<const int> orders, std::span<const double> point) const;
  double derivative(int field, std::initializer_list<int> orders, std::initializer_list<double> point) const;
  double value(int field, std::span<const double> point) const;
  double value(int field, std::initializer_list<double> point) const;

  int field_index(const std::string& name) const;  // throws Error naming the nearest field

  // Where the numbers came from: "closed form", "read from …", "computed in 3.1 s, saved as …".
  std::string provenance = "closed form";

 protected:
  // Called with arguments already checked.
  virtual void evaluate_checked(std::span<const double> points, std::size_t count, int field,
                                std::span<const int> orders, std::span<double> out) const = 0;
};

std::vector<std::string> reference_names();

// What can be set for one reference, with defaults.
std::vector<FieldDescription> reference_options(const std::string& name);

// `settings` is a table of options of that reference; unknown keys and bad values are errors. An empty
// `cache_directory` means: compute, and keep nothing on disk.
std::unique_ptr<ReferenceSolution> make_reference(const std::string& name, const TomlValue& settings,
                                                  const std::filesystem::path& cache_directory);

}  // namespace lather::reference
