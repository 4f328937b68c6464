#pragma once
// Residuals as rows of a linear system: for every residual of a set of points, the factor of each derivative
// of each output of the problem, from the expression itself.
//
//   R(x, u, u_x, …)  ~  R_k + sum_a dR/dD^a u (D^a u - D^a u_k)      at the iterate u_k
//
// A residual is linear if no factor contains what is solved for; then the iterate does not matter.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lather/local/basis.hpp"
#include "lather/pde/problem.hpp"
#include "lather/symbolic/program.hpp"

namespace lather::local {

// A derivative of an output, as it occurs in expressions.
struct Jet {
  int output = 0;
  MultiIndex orders;
  friend auto operator<=>(const Jet&, const Jet&) = default;
};

// A known state: the values of a jet at points. An empty function: zero everywhere.
using State = std::function<std::vector<double>(const Jet&, const pde::Points&)>;

class Linearization {
 public:
  // `columns`: values that belong to each point, by the names of the point set.
  Linearization(const pde::Problem& problem, std::vector<symbolic::Expr> residuals,
                const std::vector<std::string>& columns);

  // residual's derivative by a jet
  struct Factor {
    int residual = 0;
    Jet jet;
    symbolic::Expr expression;
  };
  std::size_t residuals() const { return residuals_.size(); }
  const std::vector<Factor>& factors() const { return factors_; }
  bool linear() const { return linear_; }
  int highest_order(int residual) const;

  struct Values {
    std::vector<std::vector<double>> residuals;  // [residual][point], at the iterate
    std::vector<std::vector<double>> factors;    // [factor][point]
    std::vector<std::vector<double>> jets;       // [factor][point]: its jet of the iterate; empty if zero
  };
  Values at(const pde::Points& points, const State& iterate) const;
  // R at a state that need not be an iterate.
  std::vector<std::vector<double>> residuals_at(const pde::Points& points, const State& state) const;

 private:
  struct Input {
    enum class What { coordinate, column, jet } what;
    int index;
  };
  std::vector<std::vector<double>> run(const symbolic::Program& program, const pde::Points& points,
                                       const std::vector<std::vector<double>>& jets) const;
  std::vector<std::vector<double>> jets_of(const pde::Points& points, const State& state) const;
  pde::Points with_tables(const pde::Points& points) const;

  const pde::Problem* problem_;
  std::vector<symbolic::Expr> residuals_;
  std::size_t own_columns_;
  std::vector<std::pair<symbolic::Expr, pde::OutputSymbols::TableDerivative>> tables_;
  std::vector<Jet> jets_;  // that occur
  std::vector<Factor> factors_;
  std::vector<int> jet_of_factor_;
  std::vector<Input> inputs_;
  symbolic::Program values_, all_;  // residuals; residuals and factors
  bool linear_ = true;
};

}  // namespace lather::local
