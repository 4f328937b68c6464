#pragma once
// SS-eSOAP: Adam in an adaptively refreshed Kronecker eigenbasis, with a self-scaling factor tau from the
// last secant ("Self-Scaled Adaptive Preconditioning for Physics-Informed Learning", Algorithm 2). This is
// the fast form; tests/optim/ss_esoap_literal.hpp is the specification it is tested against.

#include "lather/optim/first_order/gradient_method.hpp"
#include "lather/optim/kronecker/basis_log.hpp"
#include "lather/optim/kronecker/factors.hpp"
#include "lather/optim/kronecker/ss_esoap_options.hpp"

namespace lather::optim {

class SsEsoap final : public MatrixMethod, public KeepsBasisLog {
 public:
  SsEsoap(const ParameterLayout& layout, const SsEsoapOptions& options);
  void objective_changed() override { secant_valid_ = false; }
  std::size_t memory_bytes() const override;
  const BasisLog* basis_log() const override { return &log_; }
  void state(StateVisitor& visitor) override;

  // ||Q^T Q - I||, the largest over all bases.
  double orthogonality_error();

 protected:
  void update(std::span<const double> x) override;
  void update_matrix(std::size_t block, const BlockStep& step) override;
  void take_gradient_again(Objective& changed, std::span<const double> parameters) override;

 private:
  struct Layer {
    std::size_t block;
    KroneckerPair K;                  // factors are kept in the basis: L~ = Q_L^T L Q_L, R~ = Q_R^T R Q_R
    AlignedVector G, S;               // rotated gradient; rotated last step, once computed
    std::int64_t variance_steps = 0;  // gradients that entered V since it was last zero
    double c = 0, a = 0, rho = 0, rho_left = 0, rho_right = 0, gamma = 1, tau = 1;
    double largest_entry = 0;  // of M^ / (sqrt V^ + eps)
    double gradient_cosine = kNoCosine;
    bool basis_changed = false;
    // For the transition `permute`: where the directions of a new basis come from; empty: basis unchanged.
    std::vector<std::size_t> left_order{}, right_order{};
  };

  double rate() const { return options_.learning_rate * factor_; }
  AdamRule inner_rule(const Layer& layer, std::span<const double> V) const;
  bool self_scaling_on() const;
  void advance(Layer& layer, const BlockStep& step);      // Alg. 2, steps 1 to 3 and c, a of step 4
  void check_basis(Layer& layer, const BlockStep& step);  // Alg. 2, step 2
  void change_basis(Layer& layer, const BlockStep& step, bool left, bool right);
  bool replace_basis(KroneckerSide& side, std::vector<std::size_t>& order);
  bool diagonalize(KroneckerSide& side);
  void carry_over_variance(Layer& layer, std::span<double> V, const AlignedVector& QL_old,
                           const AlignedVector& QR_old);
  void raise_variance(const BlockStep& step);
  void measure_secant(Layer& layer, const BlockStep& step);  // Alg. 2, step 4
  void keep_log();
  void report(const Layer& layer);

  SsEsoapOptions options_;
  std::vector<Layer> layers_;
  BasisLog log_;
  std::vector<std::size_t> index_;  // block -> layers_
  AlignedVector previous_gradient_;
  bool secant_valid_ = false;        // the last step and the last gradient belong to the current objective
  AlignedVector scratch_, squares_;  // of the largest block; 3 d^2 of the largest side
};

}  // namespace lather::optim
