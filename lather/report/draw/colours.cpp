#include "lather/report/draw/colours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace lather::report {

std::string colour(double L, double C, double hue) {
  const double angle = hue * std::numbers::pi / 180;
  for (;; C -= 0.004) {
    const double a = C * std::cos(angle), b = C * std::sin(angle);
    const double l = std::pow(L + 0.3963377774 * a + 0.2158037573 * b, 3),
                 m = std::pow(L - 0.1055613458 * a - 0.0638541728 * b, 3),
                 s = std::pow(L - 0.0894841775 * a - 1.2914855480 * b, 3);
    const std::array<double, 3> linear = {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
                                          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                                          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
    if (C > 0.004 &&
        std::any_of(linear.begin(), linear.end(), [](double v) { return v < -1e-4 || v > 1.0001; }))
      continue;
    const auto byte = [](double v) {
      const double gamma = v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
      return static_cast<int>(std::lround(255 * std::clamp(gamma, 0.0, 1.0)));
    };
    return fmt::format("#{:02x}{:02x}{:02x}", byte(linear[0]), byte(linear[1]), byte(linear[2]));
  }
}

std::string sequential_colour(double t) {
  return colour(0.22 + 0.72 * t, 0.09 + 0.155 * (t - 0.42) * (t - 0.42), 300 - 195 * t);
}

std::string diverging_colour(double t) {
  const double far = std::abs(2 * t - 1);
  return colour(0.97 - 0.6 * far, (t < 0.5 ? 0.135 : 0.14) * std::pow(far, 0.9), t < 0.5 ? 258 : 30);
}

std::string categorical_colour(int index) {
  constexpr std::array<double, 8> kHues = {255, 35, 150, 325, 80, 195, 290, 115};
  return colour(0.56, index < 8 ? 0.135 : 0.07, kHues[static_cast<std::size_t>(index) % kHues.size()]);
}

}  // namespace lather::report
