#pragma once
// The colours of report/page/base.js, for pictures that are drawn here.

#include <string>

namespace lather::report {

// "#2c5f8a" from lightness, chroma and hue in Oklch; chroma is reduced until the colour exists.
std::string colour(double lightness, double chroma, double hue);

std::string sequential_colour(double t);  // t in [0, 1], dark to light
std::string diverging_colour(double t);   // blue, white at 0.5, red
std::string categorical_colour(int index);

}  // namespace lather::report
