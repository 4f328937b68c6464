#pragma once
// The loop that all gradient methods without a line search share: evaluate, check that everything is finite,
// let the method write its change of the parameters, apply it, report. `MatrixMethod` adds the rule "matrices
// get the method, the rest Adam".

#include <span>
#include <vector>

#include "lather/core/aligned.hpp"
#include "lather/optim/first_order/adam_rule.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

class GradientMethod : public Optimizer {
 public:
  void set_learning_rate_factor(double factor) final { factor_ = factor; }
  std::span<const Diagnostic> diagnostics() const final { return diagnostics_; }
  std::size_t memory_bytes() const override { return bytes_of(gradient_, change_); }
  void state(StateVisitor& visitor) override;  // methods with state of their own call this first

 protected:
  StepReport take_step(Objective& objective, std::span<double> parameters) final;
  explicit GradientMethod(const ParameterLayout& layout, Fits fits = Fits::size);

  // Fills gradient_ and returns the loss.
  virtual double evaluate(Objective& objective, std::span<const double> x);
  // Fills change_ from gradient_; t_ counts this step (1 for the first).
  virtual void update(std::span<const double> x) = 0;

  AlignedVector gradient_, change_;
  std::vector<Diagnostic> diagnostics_;
  std::string note_;       // a message from update(); cleared before every step
  int basis_updates_ = 0;  // layers whose bases update() replaced; likewise
  std::int64_t t_ = 0;
  double factor_ = 1;
};

struct AdamConstants {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
};

// One block of the flat arrays.
struct BlockStep {
  std::size_t rows, cols;
  std::span<const double> W, G;
  std::span<double> change;
  std::span<double> M, V;  // first and second moments, in whatever coordinates the method keeps them
};

class MatrixMethod : public GradientMethod {
 public:
  std::size_t memory_bytes() const override { return GradientMethod::memory_bytes() + bytes_of(m_, v_); }
  void state(StateVisitor& visitor) override;

 protected:
  // Blocks treated as matrices: those that are, and if `vectors_too` also the others, as n × 1 matrices.
  MatrixMethod(const ParameterLayout& layout, const AdamConstants& adam, bool vectors_too = false);

  void update(std::span<const double> x) override;
  virtual void update_matrix(std::size_t block, const BlockStep& step) = 0;
  virtual void update_vector(const BlockStep& step);  // Adam

  BlockStep block_step(std::size_t block, std::span<const double> x);

  AdamConstants adam_;
  std::vector<char> is_matrix_;  // by block
  AlignedVector m_, v_;
};

// Summed in the order of the elements.
double plain_norm(std::span<const double> x);

}  // namespace lather::optim
