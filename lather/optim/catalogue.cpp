#include "lather/optim/catalogue.hpp"

#include "lather/core/error.hpp"

namespace lather::optim {

const std::vector<OptimizerEntry>& catalogue() {
  static const std::vector<OptimizerEntry> entries = {};
  return entries;
}

const OptimizerEntry& find_optimizer(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& e : catalogue()) {
    if (e.name == name) return e;
    names.push_back(e.name);
  }
  throw Error(unknown_name_message("optimizer", name, names));
}

}  // namespace lather::optim
