#pragma once
// Replays recorded trajectories of the reference quasi-Newton codes.
//   kind "objective"               torch.optim.LBFGS on a named function: iterates and losses
//   kind "inverse-hessian-update"  single updates H -> H_next of BFGS, SS-BFGS, SS-Broyden

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lather/optim/objective.hpp"
#include "lather/optim/quasi_newton/inverse_hessian.hpp"

namespace lather::optim {

struct QuasiNewtonReplay {
  std::string name;
  double deviation = 0;      // max |ours - recorded| / max(1, |recorded|) over all numbers compared
  double tolerance = 0;      // as stated in the file
  std::size_t compared = 0;  // how many numbers
};

// Both throw Error for a file that lacks a field, has one of the wrong shape, or names something unknown.
QuasiNewtonReplay replay_objective(const nlohmann::json& record);
QuasiNewtonReplay replay_inverse_hessian_updates(const nlohmann::json& record);

// "sum_{i<8} 100 (x[i+1]-x[i]^2)^2 + (1-x[i])^2", "1/2 sum_i d_i x_i^2, d = 10^(3 i/7), i=0..7", or a name
// ("Rosenbrock …").
std::unique_ptr<Objective> objective_from_text(const std::string& text, std::size_t n);

// The method a recorded update belongs to, from words such as "SSBFGS_AB", "ss_broyden2", "bfgs".
ScalingRule scaling_rule_from_text(const std::string& text);

std::string lower_case(std::string word);

}  // namespace lather::optim
