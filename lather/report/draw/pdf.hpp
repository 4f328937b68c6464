#pragma once
// Our own pictures as PDF, for LaTeX: a page of the picture's size with lines, areas and text in Helvetica
// and Symbol.

#include <string>

namespace lather::report {

// `svg`: as report/draw/svg.hpp writes it. Elements it does not write are an Error.
std::string pdf_of(const std::string& svg);

}  // namespace lather::report
