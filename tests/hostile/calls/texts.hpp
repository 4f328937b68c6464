#pragma once
// Texts for calls: valid ones, small enough to train in no time, and what a hostile or careless
// caller makes of them.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "chance.hpp"

namespace lather::hostile::texts {

using Json = nlohmann::json;

// A problem that trains in no time.
inline constexpr const char* kDecay = R"toml(name = "decay"
coordinates = ["t"]
fields = ["u"]
[domain]
t = [0, 1]
[network]
width = 4
depth = 1
[[equation]]
name = "decay"
residual = "u_t + u"
[[condition]]
name = "start"
where = "t = 0"
residual = "u - 1"
[reference]
u = "exp(-t)"
[training]
optimizer = "lm"
steps = 4
points = {interior = 8, start = 1}
)toml";

std::string blocks(Chance& chance);
std::size_t total(const std::string& blocks);  // numbers in all blocks
Json optimizer_json(Chance& chance);
inline std::string optimizer(Chance& chance) { return optimizer_json(chance).dump(); }
std::string settings(Chance& chance);  // of objectives and trainers
std::string limits(Chance& chance);
std::string contestants(Chance& chance);
std::string groups(Chance& chance);
std::string sweep(Chance& chance);
std::string sweep_options(Chance& chance);
std::string compare_options(Chance& chance);
std::string quantities(Chance& chance);
// A problem file; the data, tables and bodies it names are written to the folder, now and then
// damaged.
std::string problem(Chance& chance, const std::filesystem::path& folder);

// A text that is no longer what it was. Digits neither come nor grow: a caller who asks for much
// work is not hostile.
std::string spoilt(Chance& chance, std::string text);
// Bytes of a binary file: flipped, cut off, doubled, replaced.
std::string damaged(Chance& chance, std::string bytes);

std::string content(const std::filesystem::path& file);

}  // namespace lather::hostile::texts
