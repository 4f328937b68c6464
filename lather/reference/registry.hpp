#pragma once
// What reference.cpp needs to know about each reference. Internal to lather/reference.

#include <nlohmann/json.hpp>

#include "lather/reference/reference.hpp"

namespace lather::reference {

struct Maker {
  std::string name;
  std::vector<FieldDescription> options;
  std::unique_ptr<ReferenceSolution> (*make)(const TomlValue& settings,
                                             const std::filesystem::path& cache_directory);
};

Maker wave_maker();
Maker burgers_maker();
Maker allen_cahn_maker();
Maker kdv_maker();
Maker kuramoto_sivashinsky_maker();
Maker gray_scott_maker();
Maker ginzburg_landau_maker();
Maker cavity_maker();
Maker burgers_selfsimilar_maker();
Maker boussinesq_maker();

template <class Options>
Options options_from(const std::string& name, const TomlValue& settings) {
  Options options;
  options::read(options, "reference " + name, settings);
  return options;
}

// For a reference that is a closed form: nothing is precomputed or cached.
template <class Solution, class Options>
std::unique_ptr<ReferenceSolution> make_closed_form(const std::string& name, const TomlValue& settings) {
  return std::make_unique<Solution>(options_from<Options>(name, settings));
}

}  // namespace lather::reference
