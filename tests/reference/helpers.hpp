#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>

#include "lather/core/error.hpp"
#include "lather/core/rng.hpp"
#include "lather/reference/reference.hpp"

namespace lather::reference {

inline constexpr double kPi = std::numbers::pi;

// Without settings ({}): the defaults.
inline std::unique_ptr<ReferenceSolution> solved(const std::string& name, const nlohmann::json& settings = {},
                                                 const std::filesystem::path& cache = {}) {
  return make_reference(name, toml_from_json(settings.is_null() ? nlohmann::json::object() : settings, {}),
                        cache);
}

// Tests run one by one in separate processes; they share what they solved, in a folder that belongs to this
// build.
inline std::filesystem::path shared_cache() {
  const auto built = std::filesystem::last_write_time("/proc/self/exe").time_since_epoch().count();
  return std::filesystem::temp_directory_path() / ("lather-reference-tests-" + std::to_string(built));
}

inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Every first derivative, and every second one as the derivative of a first, against central differences of
// fourth order with step h. The tolerance is relative to the size of the derivative.
inline void expect_derivatives_match_differences(const ReferenceSolution& reference,
                                                 const std::vector<double>& point, double h,
                                                 double relative_tolerance) {
  const std::size_t d = point.size();
  for (int field = 0; field < static_cast<int>(reference.fields().size()); ++field)
    for (std::size_t k = 0; k < d; ++k)
      for (int base = -1; base < static_cast<int>(d);
           ++base) {  // differentiate the value, or the derivative along `base`
        std::vector<int> orders(d, 0);
        if (base >= 0) ++orders[base];
        const auto shifted = [&](double shift) {
          auto p = point;
          p[k] += shift;
          return reference.derivative(field, orders, p);
        };
        const double difference =
            (8 * (shifted(h) - shifted(-h)) - (shifted(2 * h) - shifted(-2 * h))) / (12 * h);
        ++orders[k];
        const double exact = reference.derivative(field, orders, point);
        EXPECT_NEAR(difference, exact, relative_tolerance * (1 + std::abs(exact)))
            << "field " << field << " orders " << orders[0] << (d > 1 ? orders[1] : 0)
            << (d > 2 ? orders[2] : 0);
      }
}

}  // namespace lather::reference
