#pragma once
// Programs as source text: the body of a generated kernel. The text is valid CUDA and valid C++, so the same
// lines can be compiled by NVRTC for the GPU and by a C++ compiler in a test.

#include <span>
#include <string>
#include <string_view>

#include "lather/symbolic/program.hpp"

namespace lather::symbolic {

// What the emitted lines call and CUDA does not provide. Needs `Real` (the number type) and LATHER_FUNCTION
// (qualifiers).
std::string_view emit_functions();

// A number as a literal of type Real.
std::string emit_number(double value);

// Statements that compute `outputs` (variables of type Real, declared before) from `inputs` (expressions
// without side effects, variables as a rule). Scratch variables are named by `scratch` and a number and
// declared inside.
std::string emit(const Program& program, std::span<const std::string> inputs,
                 std::span<const std::string> outputs, std::string_view scratch, std::string_view indent);

}  // namespace lather::symbolic
