#pragma once
// What an optimizer may ask of the function it minimizes. PINN losses are Objectives, and so
// are functions of your own. value and gradient are required; the rest is optional (asking an objective that does
// not offer it throws Error). A sum of squares offers its residuals: value = sum_i r_i(x)^2, all weights and
// means folded into r.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lather/optim/parameters.hpp"
#include "lather/optim/residuals.hpp"

namespace lather::optim {

// Kronecker factors of the Gauss–Newton matrix J^T J, for K-FAC. A dense layer z = a W + b at one point has
// one row per derivative component c: inputs a_c (with a 1 appended for the bias in the value, a 0 in
// derivatives) and signals z_c = d r / d z_c. Then, for a group of terms, the layer's block of
// J^T J is approximately A (x) B.
struct KroneckerFactors {
  enum class Sharing {
    expand,  // A = mean over points and components of a_c a_c^T,  B = sum over both of z_c z_c^T
    reduce,  // the same after averaging a_c and summing z_c over the components of each point
  };
  struct Pair {
    std::vector<double> A, B;  // square, row-major, symmetric
  };
  struct Layer {
    std::size_t weight = 0;    // block in layout(): inputs × outputs
    std::ptrdiff_t bias = -1;  // block, or -1: none, and nothing is appended to the inputs
    std::vector<Pair> groups;  // equations, then conditions and data; a group without terms is left out
  };
  std::vector<Layer> layers;
  std::vector<double> diagonal;  // of J^T J, for parameters outside the layers; 0 for the others
};

class CudaObjective;

class Objective : public Residuals {
 public:
  virtual const ParameterLayout& layout() const = 0;
  std::size_t size() const final { return layout().size(); }

  virtual double value(std::span<const double> x) = 0;
  // At several x, stored one after another. Must equal one-by-one evaluation, bit for bit.
  virtual void values(std::span<const double> xs, std::span<double> values);
  // Writes the gradient (overwriting) and returns the value.
  virtual double value_and_gradient(std::span<const double> x, std::span<double> gradient) = 0;

  // A sum of terms, value = sum_k weight_k * term_k. A plain function is one term.
  virtual std::vector<std::string> term_names() const { return {"loss"}; }
  // In the same order; the others are conditions and data.
  virtual std::vector<bool> term_is_equation() const { return std::vector<bool>(term_names().size(), true); }
  // losses[k] and gradients[k] (each of size()) of weight_k * term_k.
  virtual void term_gradients(std::span<const double> x, std::span<double> losses,
                              std::vector<std::vector<double>>& gradients);

  virtual KroneckerFactors kronecker_factors(std::span<const double> x, KroneckerFactors::Sharing sharing);

  // For optimizers that live on the GPU; null if the objective does not.
  virtual CudaObjective* cuda_objective() { return nullptr; }
  // Whether the parameters of a step stay on the GPU, with the objective: those given are an empty array.
  virtual bool holds_parameters() const { return false; }
};

}  // namespace lather::optim
