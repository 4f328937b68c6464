#pragma once
// Settings for a problem file without a recipe, by the size of its problem: method, network, points, redraws,
// windows and steps; for methods other than least squares, by family. What the file itself says in [training]
// or [network] is not touched; --optimizer and --set come later and win.

#include <string>
#include <vector>

#include "lather/core/device.hpp"
#include "lather/core/formats/toml.hpp"
#include "lather/optim/optimizer_spec.hpp"
#include "lather/pde/problem.hpp"
#include "lather/train/training_options.hpp"

namespace lather::train {

struct SizeDefaults {
  TomlValue layer;                   // to be merged into the file: [training.quick]
  std::vector<std::string> reasons;  // one line for each choice
  std::string family;  // whose settings these are, in words; empty: chosen by the size of the problem
};

// `root` and `problem`: the file with the changes of `--set`. `asked`: what options say about training, for
// which no reasons are given; its `optimizer` decides what is chosen. Without one, `single_precision`, which
// rules out least squares, selects ss-esoap; so does a network whose matrix this machine cannot hold, or cannot
// factor within a minute or within `seconds`, the limit of the run (0: none). Empty for a file that has the recipe `quick`, or that names a
// method other than least squares.
SizeDefaults size_defaults(const TomlValue& root, const pde::Problem& problem, Device device,
                           const TomlValue& asked = {}, bool single_precision = false, double seconds = 0);

// Whether every residual is linear in the network's outputs, for given values of the unknowns.
bool is_linear(const pde::Problem& problem);

// A least-squares method with fewer than two residuals per parameter it solves for fits the points and not
// the equation between them: what to do about it, or nothing.
std::string warn_of_few_residuals(const pde::Problem& problem, const TrainingOptions& training,
                                  const optim::OptimizerSpec& optimizer,
                                  const optim::ParameterLayout& layout);

// Time windows that get no step at all: what to do about it, or nothing.
std::string warn_of_few_steps(const TrainingOptions& training);

}  // namespace lather::train
