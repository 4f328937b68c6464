#include "lather/core/formats/json_places.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lather {
namespace {

std::string place(const TomlValue& value) {
  return std::to_string(value.where.line) + ":" + std::to_string(value.where.column);
}

TEST(JsonPlaces, AreThoseOfTheText) {
  const std::string text =
      "{\n  \"left out\": {\"a\": [\"}\\\"]\"]},\n  \"b\" : [1, {\"c\": \"x, y\"},\n "
      "true],\"d\":-1e3,\n\"e\":{}, \"f\":[]}";
  auto json = nlohmann::json::parse(text);
  json.erase("left out");
  TomlValue tree = toml_from_json(json, {"f.json", 0, 0});
  place_values(tree, text, "f.json");
  EXPECT_EQ(place(tree), "1:1");
  const TomlValue& b = *tree.find("b");
  EXPECT_EQ(place(b), "3:9");
  EXPECT_EQ(place(b.items[0]), "3:10");
  EXPECT_EQ(place(*b.items[1].find("c")), "3:19");
  EXPECT_EQ(place(b.items[2]), "4:2");
  EXPECT_EQ(place(*tree.find("d")), "4:12");
  EXPECT_EQ(place(*tree.find("e")), "5:5");
  EXPECT_EQ(place(*tree.find("f")), "5:13");
  for (const auto& entry : tree.entries)
    if (entry.key == "d") {
      EXPECT_EQ(entry.where.column, 8);
      EXPECT_EQ(entry.where.file, "f.json");
    }
}

TEST(JsonPlaces, OfWhatTheTreeDoesNotHaveMayLieAsDeepAsItLikes) {
  const std::string deep(100000, '[');
  const std::string text = "{\"x\":" + deep + std::string(100000, ']') + ",\"y\":2}";
  TomlValue tree = toml_from_json({{"y", 2}}, {"f.json", 0, 0});
  place_values(tree, text, "f.json");
  EXPECT_EQ(tree.find("y")->where.column, 200011);
}

}  // namespace
}  // namespace lather
