#include "lather/experiment/pages/method_colours.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace lather::experiment {

namespace {

// Two that share a colour are in no figure of the paper together.
const std::map<std::string_view, int> kUsualColours = {
    {"adam", 0}, {"muon", 1}, {"soap", 2},    {"purifying-shampoo", 4}, {"ss-esoap", 3},  {"lbfgs", 5},
    {"kfac", 5}, {"ntk", 6},  {"ss-bfgs", 6}, {"multiadam", 7},         {"ss-broyden", 7}};

// The hues from this one on lie between those before it.
constexpr int kFirstBetween = 6;

bool draws(const FigureEntry& figure, const std::string& variant) {
  return figure.variants.empty() ||
         std::find(figure.variants.begin(), figure.variants.end(), variant) != figure.variants.end();
}

// Colours of the variants that this one is drawn with, so far.
std::set<int> colours_beside(const Experiment& experiment, const std::string& variant,
                             const std::map<std::string, int>& colours) {
  std::set<int> taken;
  for (const auto& figure : experiment.figures)
    for (const auto& [other, colour] : colours)
      if (draws(figure, variant) && draws(figure, other)) taken.insert(colour);
  return taken;
}

int spare_colour(const std::set<int>& taken) {
  for (const int colour : {0, 1, 2, 3, 4, 5, 7, 6})  // 6 is close to that of SS-eSOAP
    if (!taken.contains(colour)) return colour;
  return std::max(kFirstBetween + 2, *taken.rbegin() + 1);
}

bool is_usual(const std::string& method, int colour) {
  const auto usual = kUsualColours.find(method);
  return usual != kUsualColours.end() && usual->second == colour;
}

}  // namespace

std::map<std::string, int> method_colours(const Experiment& experiment) {
  std::map<std::string, int> colours;
  const auto claim_usual = [&](const std::string& variant, const std::string& method) {
    const auto usual = kUsualColours.find(method);
    if (usual != kUsualColours.end() && !colours_beside(experiment, variant, colours).contains(usual->second))
      colours[variant] = usual->second;
  };
  for (const auto& variant : experiment.variants) claim_usual(variant.name, variant.name);
  for (const auto& variant : experiment.variants)
    if (!kUsualColours.contains(variant.name)) claim_usual(variant.name, variant.optimizer);
  for (const auto& variant : experiment.variants)
    if (!colours.contains(variant.name))
      colours[variant.name] = spare_colour(colours_beside(experiment, variant.name, colours));
  return colours;
}

bool is_dashed(const VariantEntry& variant, int colour) {
  return colour >= kFirstBetween && !is_usual(variant.name, colour) && !is_usual(variant.optimizer, colour);
}

}  // namespace lather::experiment
