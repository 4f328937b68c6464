#include "lather/report/quantity.hpp"

#include <array>
#include <utility>

namespace lather::report {

namespace {

constexpr std::array<std::pair<std::string_view, Quantity>, 6> kQuantities{{
    {"residual", Quantity::residual},
    {"mean_square", Quantity::mean_square},
    {"loss", Quantity::loss},
    {"training_loss", Quantity::training_loss},
    {"l2", Quantity::l2},
    {"h1", Quantity::h1},
}};

}  // namespace

std::string_view name_of(Quantity quantity) {
  for (const auto& [name, value] : kQuantities)
    if (value == quantity) return name;
  return "";
}

std::optional<Quantity> find_quantity(std::string_view wanted) {
  for (const auto& [name, quantity] : kQuantities)
    if (name == wanted) return quantity;
  return {};
}

std::vector<std::string> quantity_names() {
  std::vector<std::string> names;
  for (const auto& [name, quantity] : kQuantities) names.emplace_back(name);
  return names;
}

std::string axis_name(Quantity quantity) {
  switch (quantity) {
    case Quantity::residual: return "root mean square residual at held-out points";
    case Quantity::mean_square: return "mean square residual at held-out points";
    case Quantity::loss: return "loss at held-out points";
    case Quantity::training_loss: return "loss at training points";
    case Quantity::l2: return "relative L² error";
    case Quantity::h1: return "relative H¹ error";
  }
  return std::string(name_of(quantity));
}

bool is_recorded_in(Quantity quantity, std::string_view column) {
  switch (quantity) {
    case Quantity::residual:
    case Quantity::mean_square: return column == "residual";
    case Quantity::loss: return column == "validation_loss";
    case Quantity::training_loss: return column == "loss";
    case Quantity::l2: return column.starts_with("l2.");
    case Quantity::h1: return column.starts_with("h1.");
  }
  return false;
}

double value_from(Quantity quantity, double largest) {
  return quantity == Quantity::mean_square ? largest * largest : largest;
}

}  // namespace lather::report
