#pragma once
// Muon (Jordan et al. 2024), as KellerJordan/Muon @ 857d1ad defines it, Newton–Schulz in double precision;
// Adam for the rest.

#include "lather/core/options.hpp"
#include "lather/optim/first_order/gradient_method.hpp"

namespace lather::optim {

enum class MuonMatrices { hidden, all };
enum class MatrixRows { inputs, outputs };

struct MuonOptions {
  double learning_rate = 1e-3;  // as in torch.optim.Muon; the authors use 0.02
  double momentum = 0.95;
  bool nesterov = true;
  std::int64_t newton_schulz_steps = 5;
  std::int64_t orthogonalization_frequency = 1;
  double weight_decay = 0;
  MuonMatrices matrices = MuonMatrices::hidden;
  MatrixRows rows = MatrixRows::inputs;
  double adam_learning_rate_ratio = 1;  // the authors use 0.015
  double beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-10;
  void fields(FieldVisitor& v) {
    v.real("learning_rate", learning_rate, "step size of the orthogonalized matrices", positive());
    v.real("momentum", momentum, "decay rate of the momentum", unit_open_right());
    v.boolean("nesterov", nesterov, "look ahead along the momentum");
    v.integer("newton_schulz_steps", newton_schulz_steps, "iterations of the orthogonalization",
              between(1, 99));
    v.integer(
        "orthogonalization_frequency", orthogonalization_frequency,
        "orthogonalize every k-th step; in between the plain momentum, scaled to the last orthogonal length",
        at_least(1));
    v.real("weight_decay", weight_decay, "decoupled weight decay", non_negative());
    v.choice("matrices", matrices,
             "which matrices are orthogonalized; the first and the last layer are not hidden",
             {{"hidden", MuonMatrices::hidden}, {"all", MuonMatrices::all}});
    v.choice("rows", rows,
             "what a row of a matrix belongs to; decides the scale sqrt(max(1, outputs / inputs))",
             {{"inputs", MatrixRows::inputs}, {"outputs", MatrixRows::outputs}});
    v.real("adam_learning_rate_ratio", adam_learning_rate_ratio,
           "learning rate of Adam for the rest, over learning_rate", positive());
    v.real("beta1", beta1, "Adam for the rest: decay rate of the first moment", unit_open_right());
    v.real("beta2", beta2, "Adam for the rest: decay rate of the second moment", unit_open_right());
    v.real("epsilon", epsilon, "Adam for the rest: added to the root of the second moment", non_negative());
  }
};

// Newton–Schulz: X <- a X + b A X + c A^2 X with A = X X^T, started at U / (|U| + guard).
inline constexpr struct { double a = 3.4445, b = -4.7750, c = 2.0315, norm_guard = 1e-7; } kNewtonSchulz;

bool orthogonalizes(const MuonOptions& options, const ParameterBlock& block);
double muon_gain(const MuonOptions& options, std::size_t rows, std::size_t cols);

class Muon final : public MatrixMethod {
 public:
  Muon(const ParameterLayout& layout, const MuonOptions& options);
  std::size_t memory_bytes() const override {
    return MatrixMethod::memory_bytes() + bytes_of(direction_, X_, next_, A_, AA_, length_);
  }
  void state(StateVisitor& visitor) override;

 protected:
  void update_matrix(std::size_t block, const BlockStep& step) override;

 private:
  MuonOptions options_;
  AlignedVector direction_, X_, next_, A_, AA_;  // scratch
  AlignedVector length_;                         // of the last orthogonalized direction, by block
};

}  // namespace lather::optim
