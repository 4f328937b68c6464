#pragma once
// Where the values of a JSON text stand: parsers of JSON do not say.

#include <string>
#include <string_view>

#include "lather/core/formats/toml.hpp"

namespace lather {

// Gives every value of a tree that toml_from_json made its place in the text it came from, which is valid JSON.
// Keys of the text that the tree does not have are passed over.
void place_values(TomlValue& tree, std::string_view json, const std::string& file);

}  // namespace lather
