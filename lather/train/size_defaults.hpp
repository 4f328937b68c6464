#pragma once
// Settings for a problem file that brings no recipe, by the size of its problem:
// method, network, points, redraws, windows and steps; for a method that is not of least squares by its family.
// What the file says itself in [training] or [network] is not touched; --optimizer and --set come later and win.

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
  std::string family;  // whose settings these are, in words; empty: they go by the size of the problem
};

// `root` and `problem`: the file with what `--set` changes in it. `asked`:
// what options say about training, for which no reason is given; of these `optimizer` decides what is chosen.
// Without it and with `single_precision`, in which there are no least squares, the method is ss-esoap. Empty for a
// file that has the recipe `quick`, or names a method of its own of another kind than least squares.
SizeDefaults size_defaults(const TomlValue& root, const pde::Problem& problem, Device device,
                           const TomlValue& asked = {}, bool single_precision = false);

// Whether every residual is linear in the network's outputs, for given values of the unknowns.
bool is_linear(const pde::Problem& problem);

// A least-squares method on fewer than two residuals per parameter it solves for fits
// the points and not the equation between them: what to do about it, or nothing.
std::string warn_of_few_residuals(const pde::Problem& problem, const TrainingOptions& training,
                                  const optim::OptimizerSpec& optimizer,
                                  const optim::ParameterLayout& layout);

// Time windows that get no step at all: what to do about it, or nothing.
std::string warn_of_few_steps(const TrainingOptions& training);

}  // namespace lather::train
