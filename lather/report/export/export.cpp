#include "lather/report/export/export.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/pde/geometry.hpp"
#include "lather/report/export/network_text.hpp"
#include "lather/report/export/safetensors.hpp"
#include "lather/report/export/vtk.hpp"
#include "lather/report/export/vtu.hpp"
#include "lather/train/accuracy/accuracy.hpp"

namespace lather::report {

namespace {

std::vector<NamedArray> field_arrays(const train::Solution& solution, const train::Grid& grid,
                                     std::span<const train::FieldDerivative> quantities) {
  std::vector<std::size_t> shape;
  for (const auto& axis : grid.axes) shape.push_back(axis.size());
  auto values = solution.evaluate(quantities, grid.points());
  std::vector<NamedArray> arrays;
  for (std::size_t q = 0; q < quantities.size(); ++q)
    arrays.push_back({quantities[q].name, shape, std::move(values[q])});
  return arrays;
}

void add_blocks(std::vector<NamedArray>& tensors, const std::string& prefix,
                const optim::ParameterLayout& layout, std::span<const double> values) {
  for (const auto& block : layout.blocks()) {
    std::vector<std::size_t> shape{block.rows};
    if (block.matrix) shape.push_back(block.cols);
    const auto piece = values.subspan(block.offset, block.size());
    tensors.push_back({prefix + block.name, shape, {piece.begin(), piece.end()}});
  }
}

}  // namespace

std::vector<NamedArray> grid_arrays(const train::Solution& solution, const train::Grid& grid,
                                    std::span<const train::FieldDerivative> quantities) {
  std::vector<NamedArray> arrays;
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    arrays.push_back(
        {solution.problem().symbols->coordinate_names()[i], {grid.axes[i].size()}, grid.axes[i]});
  for (auto& array : field_arrays(solution, grid, quantities)) arrays.push_back(std::move(array));
  return arrays;
}

std::vector<NamedArray> error_arrays(const train::Solution& solution, const train::Grid& grid,
                                     std::span<const std::vector<double>> truth) {
  const pde::Problem& problem = solution.problem();
  std::vector<std::size_t> shape;
  for (const auto& axis : grid.axes) shape.push_back(axis.size());
  const pde::Points points = grid.points();
  std::vector<NamedArray> arrays;
  const auto values = truth.empty() ? std::vector<std::vector<double>>()
                                    : solution.evaluate(train::field_values(problem), points);
  const auto inside = pde::in_closed_domain(problem.geometry.get(), points);
  for (std::size_t f = 0; f < truth.size(); ++f) {
    if (truth[f].empty()) continue;
    const std::string& name = problem.fields[f].name;
    auto known = values[f];  // outside a shape there is no error
    for (std::size_t i = 0; i < known.size(); ++i)
      if (!inside[i]) known[i] = std::numeric_limits<double>::quiet_NaN();
    arrays.push_back({name + ".reference", shape, truth[f]});
    arrays.push_back({name + ".error", shape, train::pointwise_error(problem, f, known, truth[f])});
  }
  for (auto& [name, values] : solution.residuals(points))
    arrays.push_back({"residual." + name, shape, std::move(values)});
  return arrays;
}

std::string export_npz(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities, std::vector<NamedArray> more) {
  auto arrays = grid_arrays(solution, grid, quantities);
  std::move(more.begin(), more.end(), std::back_inserter(arrays));
  if (const auto& geometry = solution.problem().geometry) {
    const auto inside = pde::in_closed_domain(geometry.get(), grid.points());
    arrays.push_back({"inside", arrays.back().shape, {inside.begin(), inside.end()}});
  }
  return encode_npz(arrays);
}

std::string export_vtu(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities, std::vector<NamedArray> more) {
  std::vector<std::size_t> used;
  const auto cells =
      cells_inside(grid.axes, pde::in_closed_domain(solution.problem().geometry.get(), grid.points()), used);
  auto arrays = field_arrays(solution, grid, quantities);
  std::move(more.begin(), more.end(), std::back_inserter(arrays));
  for (auto& array : arrays) {
    std::vector<double> kept;
    for (const std::size_t i : used) kept.push_back(array.values[i]);
    array.values = std::move(kept);
  }
  return encode_vtu(cells, arrays);
}

std::string export_vti(const train::Solution& solution, const train::Grid& grid,
                       std::span<const train::FieldDerivative> quantities) {
  if (grid.axes.size() > 3)
    throw Error(fmt::format("VTK has three coordinates, the problem {}; export npz", grid.axes.size()));
  ImageGrid image;
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    const auto& axis = grid.axes[i];
    image.points[i] = axis.size();
    image.origin[i] = axis.front();
    if (axis.size() > 1)
      image.spacing[i] = (axis.back() - axis.front()) / static_cast<double>(axis.size() - 1);
  }
  return encode_vti(image, field_arrays(solution, grid, quantities));
}

std::string export_safetensors(const train::Solution& solution, std::size_t piece) {
  if (piece >= solution.pieces().size())
    throw Error(fmt::format("there are {} windows", solution.pieces().size()));
  const auto& [objective, parameters, end] = solution.pieces()[piece];
  std::vector<NamedArray> tensors;
  add_blocks(tensors, "", objective->layout(), parameters);
  add_blocks(tensors, "frozen.", objective->tape().frozen(), objective->frozen());
  return encode_safetensors(
      tensors, {{"lather", describe_network(*objective).dump()}, {"problem", solution.problem().name}});
}

}  // namespace lather::report
