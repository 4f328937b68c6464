#include "lather/pde/fit_output.hpp"

#include <algorithm>

#include "lather/linalg/factorizations.hpp"

namespace lather::pde {

namespace {

// Rows of the Jacobian, restricted to the output layer: (inputs × outputs) weights, then the bias.
class OutputRows final : public PinnObjective::SignalVisitor {
 public:
  OutputRows(const PinnObjective& objective, const net::Dense& layer, linalg::MatrixView rows,
             std::size_t first_row)
      : layer_(layer), rows_(rows), first_row_(first_row), tiles_(objective.visitors()) {}

  void begin_tile(int thread, std::size_t first_point, std::size_t points) override {
    tiles_[thread] = {first_point, points};
  }
  void layer(int thread, const PinnObjective::LayerSignals& s) override {
    if (static_cast<int>(s.block) != layer_.weight.block) return;
    const auto [first, points] = tiles_[thread];
    for (std::size_t p = 0; p < points; ++p) {
      double* row = &rows_(first_row_ + first + p, 0);
      for (int c = 0; c < s.components; ++c)
        for (int i = 0; i < layer_.in.width; ++i)
          for (int j = 0; j < layer_.out.width; ++j)
            row[i * layer_.out.width + j] +=
                s.in[(c * points + p) * s.in_stride + i] * s.out_bar[(c * points + p) * s.out_stride + j];
      for (int j = 0; j < layer_.out.width; ++j)
        for (int c = 0; c < s.values; ++c)
          row[layer_.in.width * layer_.out.width + j] += s.out_bar[(c * points + p) * s.out_stride + j];
    }
  }
  void scalar(int, std::size_t, std::span<const double>) override {}
  void end_tile(int) override {}

 private:
  struct Tile {
    std::size_t first, points;
  };
  const net::Dense& layer_;
  linalg::MatrixView rows_;
  std::size_t first_row_;
  std::vector<Tile> tiles_;
};

}  // namespace

bool fit_output_layer(PinnObjective& objective, std::span<double> x, net::OutputFit which) {
  using net::OutputFit;
  if (which == OutputFit::none) return false;
  const Problem& problem = objective.problem();
  std::vector<int> terms;
  std::size_t residuals = 0;
  for (std::size_t k = 0; k < problem.terms.size(); ++k) {
    const int set = problem.terms[k].point_set;
    if (which == OutputFit::conditions && problem.point_sets[set].kind == PointSet::Kind::interior) continue;
    terms.push_back(static_cast<int>(k));
    residuals += objective.residuals_of(set);
  }
  if (terms.empty()) return false;

  const auto& operations = objective.tape().operations();
  const net::Dense& layer =  // a network ends with its output layer; in a sum the last one is trained
      *std::find_if(operations.rbegin(), operations.rend(), [](const net::Operation& o) {
         return o.dense && !o.dense->weight.frozen;
       })->dense;
  const auto& blocks = objective.layout().blocks();
  const auto& weight = blocks[layer.weight.block];
  const auto& bias = blocks[layer.bias.block];
  const double* scale = layer.scale ? x.data() + blocks[layer.scale.block].offset : nullptr;

  const std::size_t columns = weight.size() + bias.size();
  std::vector<double> jacobian(residuals * columns), r(residuals), step(columns);
  const linalg::MatrixView J{jacobian.data(), residuals, columns};
  std::vector<double> all(objective.residual_count()), scales(all.size());
  objective.residuals(x, all);
  objective.residual_scales(scales);
  const auto chosen_loss = [&](std::span<const double> at) {
    objective.value(at);
    double sum = 0;
    for (int k : terms) sum += objective.term_losses()[k];
    return sum;
  };
  std::size_t row = 0, offset = 0;  // among the chosen residuals, and among all
  auto chosen = terms.begin();
  for (int k = 0; chosen != terms.end(); ++k) {
    const std::size_t count = objective.residuals_of(problem.terms[k].point_set);
    if (k == *chosen) {
      std::copy_n(all.data() + offset, count, r.data() + row);
      OutputRows rows(objective, layer, J, row);
      objective.visit_signals(x, k, 0, count, std::span(scales).subspan(offset, count), rows);
      row += count;
      ++chosen;
    }
    offset += count;
  }
  // Minimum-norm solution: directions the terms do not determine stay as they are.
  linalg::solve_least_squares(J, {r.data(), residuals, 1}, {step.data(), columns, 1}, 1e-10);

  std::vector<double> fitted(x.begin(), x.end());
  for (std::size_t i = 0; i < weight.size(); ++i)
    fitted[weight.offset + i] -= step[i] / (scale ? scale[i % weight.cols] : 1.0);
  for (std::size_t j = 0; j < bias.size(); ++j) fitted[bias.offset + j] -= step[weight.size() + j];
  if (!(chosen_loss(fitted) < chosen_loss(x))) return false;
  std::copy(fitted.begin(), fitted.end(), x.begin());
  return true;
}

}  // namespace lather::pde
