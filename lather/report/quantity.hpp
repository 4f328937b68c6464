#pragma once
// What reports draw and experiments measure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lather::report {

enum class Quantity {
  residual,           // root of the sum over equations of mean squares, at held-out points
  mean_square,        // its square
  loss,               // at held-out points, with the problem's weights
  training_loss,      // at the training points of that step, likewise
  l2,                 // relative, of the worst field
  h1,                 // likewise
  seconds,            // of training
  seconds_to_target,  // until the mean-square residual was first at or below `target`
  seconds_per_1000_steps,
  memory,        // peak, GB: of the GPU if one is used
  basis_share,   // of layer-steps in which a basis was replaced
  tau_at_one,    // share of layer-steps with a secant in which tau = 1
  tau_at_least,  // … in which tau = tau_min
  storage,       // numbers the method keeps per parameter, scratch included
  task_metric,   // "task.loss", "task.gap", …: what a matrix problem measures
};
std::string_view name_of(Quantity quantity);
bool is_timed(Quantity quantity);            // concurrent runs would change it
bool is_residual(Quantity quantity);         // or a loss
bool is_of_the_solution(Quantity quantity);  // a residual, a loss or an error
bool is_share(Quantity quantity);            // between 0 and 1, best given in percent

// Those of trainings; a task metric has the name of the task's.
std::optional<Quantity> find_quantity(std::string_view name);
std::vector<std::string> quantity_names();

// What a figure calls it: "relative L² error".
std::string axis_name(Quantity quantity);

// Its value in a line of the history is computed from the largest number in its columns. The training loss there has
// the weights of its step.
bool is_recorded_in(Quantity quantity, std::string_view column);
double value_from(Quantity quantity, double largest);

}  // namespace lather::report
