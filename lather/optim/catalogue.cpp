#include "lather/optim/catalogue.hpp"

#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/optim/bfgs.hpp"
#include "lather/optim/lbfgs.hpp"
#include "lather/optim/ss_bfgs.hpp"
#include "lather/optim/ss_broyden.hpp"

namespace lather::optim {

const std::vector<OptimizerEntry>& catalogue() {
  static const std::vector<OptimizerEntry> entries = {
      // Quasi-Newton methods.
      entry<Lbfgs>("lbfgs", "limited-memory BFGS, strong Wolfe line search", LbfgsOptions{}),
      entry<Bfgs>("bfgs", "BFGS with a dense inverse Hessian", BfgsOptions{}),
      entry<SsBfgs>("ss-bfgs", "self-scaled BFGS with a dense inverse Hessian (Al-Baali; Oren-Luenberger)",
                    SsBfgsOptions{}),
      entry<SsBroyden>("ss-broyden",
                       "self-scaled Broyden method with a dense inverse Hessian (Urbán et al. 2025)",
                       SsBroydenOptions{}),
  };
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
