#pragma once
// Programs as source text: the body of a generated kernel. The text is valid CUDA and valid C++, so the same
// lines can be compiled by NVRTC for the GPU and by a C++ compiler in a test.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lather/symbolic/program.hpp"

namespace lather::symbolic {

// Functions that the emitted lines call and CUDA does not provide. Needs `Real` (the number type) and
// LATHER_FUNCTION (qualifiers).
std::string_view emit_functions();

// Where numbers are kept. Compiling takes a second; programs that differ only in numbers (time windows,
// values of a parameter) share their code if the numbers are kept outside it. Integers up to 2 are always in
// the text.
enum class Numbers { in_text, beside_text };

// A number as a literal of type Real, or as a mark for take_numbers.
std::string emit_number(double value, Numbers numbers = Numbers::in_text);

// Replaces the marks with `array`[0], `array`[1], …, and with literals from the `most`th on; returns what the
// array must hold.
std::vector<double> take_numbers(std::string& text, std::string_view array, std::size_t most);

// Statements that compute `outputs` (variables of type Real, declared before) from `inputs` (expressions
// without side effects, usually variables). Scratch variables are named `scratch` plus a number and declared
// inside.
std::string emit(const Program& program, std::span<const std::string> inputs,
                 std::span<const std::string> outputs, std::string_view scratch, std::string_view indent,
                 Numbers numbers = Numbers::in_text);

}  // namespace lather::symbolic
