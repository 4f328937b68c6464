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

bool draws(const FigureEntry& figure, const std::string& variant) {
  return figure.variants.empty() ||
         std::find(figure.variants.begin(), figure.variants.end(), variant) != figure.variants.end();
}

// Colours of the variants that this one is drawn with.
std::set<int> colours_beside(const Experiment& experiment, const std::string& variant,
                             const std::map<std::string, int>& colours) {
  std::set<int> taken;
  for (const auto& figure : experiment.figures)
    for (const auto& [other, colour] : colours)
      if (draws(figure, variant) && draws(figure, other)) taken.insert(colour);
  return taken;
}

}  // namespace

std::map<std::string, int> method_colours(const Experiment& experiment) {
  std::map<std::string, int> colours;
  for (const bool usual : {true, false})
    for (const auto& variant : experiment.variants) {
      const auto own = kUsualColours.find(variant.name);
      if ((own != kUsualColours.end()) != usual) continue;
      const auto taken = colours_beside(experiment, variant.name, colours);
      int colour = usual ? own->second : 0;
      if (taken.contains(colour))
        for (colour = 0; taken.contains(colour);) ++colour;
      colours[variant.name] = colour;
    }
  return colours;
}

}  // namespace lather::experiment
