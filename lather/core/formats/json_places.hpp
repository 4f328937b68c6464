#pragma once
// Where the values of a JSON text are: JSON parsers do not say.

#include <string>
#include <string_view>

#include "lather/core/formats/toml.hpp"

namespace lather {

// Gives every value of a tree made by toml_from_json its place in the text it came from, which is valid JSON.
// Keys in the text that the tree does not have are skipped.
void place_values(TomlValue& tree, std::string_view json, const std::string& file);

}  // namespace lather
