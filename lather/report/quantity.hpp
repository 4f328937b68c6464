#pragma once
// What reports draw and sweeps rank by.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lather::report {

enum class Quantity {
  residual,       // root of the sum over equations of mean squares, at held-out points
  mean_square,    // its square
  loss,           // at held-out points, with the problem's weights
  training_loss,  // at the training points of that step, likewise
  l2,             // relative, of the worst field
  h1,             // likewise
};
std::string_view name_of(Quantity quantity);

std::optional<Quantity> find_quantity(std::string_view name);
std::vector<std::string> quantity_names();

// What a figure calls it: "relative L² error".
std::string axis_name(Quantity quantity);

// Its value in a line of the history is computed from the largest number in its columns. The training loss there has
// the weights of its step.
bool is_recorded_in(Quantity quantity, std::string_view column);
double value_from(Quantity quantity, double largest);

}  // namespace lather::report
