#pragma once
// ANaGRAM (Schwencke & Furtlehner, ICLR 2025): the natural gradient as the minimum-norm least-squares
// solution of Phi d = rho by a singular value decomposition whose small values are cut off.
//
//   Phi   Jacobian of the bare residuals rho (no weights, no 1/sqrt(N)), residuals × parameters
//   U, Lambda, V   its thin SVD        d   V Lambda^+ U^T rho        eta   the best of 2^0, …, 2^-halvings

#include "lather/core/options.hpp"
#include "lather/optim/optimizer.hpp"

namespace lather::optim {

struct AnagramOptions {
  enum class Rows { bare, weighted };
  Rows rows = Rows::bare;
  // Departs from the paper: its default is sqrt(machine epsilon times parameters), its scripts set their own.
  // Measured: Poisson, 65 parameters, 60 steps, three seeds: 0.16 to 0.31 of the loss is left with that,
  // 4e-10 to 9e-9 with 3e-5 (1e-5: 3e-3 with one seed; 1e-4: 2e-6 with one).
  double cutoff = 3e-5;
  double absolute_cutoff = 0;
  std::int64_t halvings = 30;
  double max_memory = 4;
  void fields(FieldVisitor& v);
};

class Anagram final : public Optimizer {
 public:
  Anagram(const ParameterLayout& layout, const AnagramOptions& options)
      : Optimizer(layout), size_(layout.size()), options_(options) {}
  void set_learning_rate_factor(double) override {}
  std::span<const Diagnostic> diagnostics() const override { return diagnostics_; }
  void state(StateVisitor&) override {}  // nothing is carried from one step to the next

 private:
  StepReport take_step(Objective& objective, std::span<double> x) override;
  std::size_t size_;
  AnagramOptions options_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lather::optim
