#pragma once
// The symbols a residual is made of: coordinates, the network's outputs and tabulated coefficients with all
// their derivatives.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lather/symbolic/jets.hpp"

namespace lather::pde {

class OutputSymbols {
 public:
  OutputSymbols(symbolic::Graph& graph, std::vector<std::string> coordinates,
                std::vector<std::string> outputs);
  int add_coordinate(std::string name);  // at most symbolic::kMaxDimensions; returns its position
  int add_output(std::string name);      // likewise

  struct Derivative {
    int output;
    symbolic::MultiIndex orders;
  };
  const std::vector<std::string>& coordinate_names() const { return coordinate_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  symbolic::Expr coordinate(int i) const { return coordinates_[i]; }
  symbolic::Expr output(int k, const symbolic::MultiIndex& orders = {});
  std::optional<Derivative> find(symbolic::Expr symbol) const;

  // Coefficients tabulated over some of the coordinates. Their derivatives are symbols too, as far as the
  // interpolation is smooth: at most twice along each coordinate; beyond that, Error.
  static constexpr int kMaxTableOrder = 2;
  struct TableDerivative {
    int table;
    symbolic::MultiIndex orders;
    friend bool operator==(const TableDerivative&, const TableDerivative&) = default;
  };
  int add_table(std::string name, std::vector<int> coordinates);  // returns its position
  const std::string& table_name(int k) const { return tables_[k].name; }
  symbolic::Expr table(int k, const symbolic::MultiIndex& orders = {});
  std::optional<TableDerivative> find_table(symbolic::Expr symbol) const;
  // Those that occur in the expressions, each once, with their symbols.
  std::vector<std::pair<symbolic::Expr, TableDerivative>> tables_in(
      std::span<const symbolic::Expr> expressions) const;

  // d e / d coordinate i, where outputs depend on all coordinates and every other symbol is a constant.
  symbolic::Expr total_derivative(symbolic::Expr e, int coordinate);

  // A derivative taken of step, sign, abs, min or max. The rules hold
  // between its jumps and kinks; what happens at them is lost.
  struct Kink {
    symbolic::Expr function;
    int coordinate;
  };
  // Those found since the last call, each once.
  std::vector<Kink> take_kinks() { return std::exchange(kinks_, {}); }

  // What a derivative by a coordinate was taken of, if it contains outputs and jumps along that coordinate:
  // D(k*u_x, x) with k in layers says that k*u_x does not jump where k does.
  struct Flux {
    symbolic::Expr flux;
    int coordinate;
  };
  const std::vector<Flux>& fluxes() const { return fluxes_; }

 private:
  symbolic::Expr derivative_of_symbol(symbolic::Expr symbol, int coordinate);
  std::string suffix(const symbolic::MultiIndex& orders) const;
  void note_kinks(symbolic::Expr e, int coordinate);
  void note_flux(symbolic::Expr e, int coordinate);

  symbolic::Graph* graph_;
  std::vector<std::string> coordinate_names_, output_names_;
  std::vector<symbolic::Expr> coordinates_;
  symbolic::ExprMap<Derivative> derivatives_;
  struct Table {
    std::string name;
    std::vector<int> coordinates;
  };
  std::vector<Table> tables_;
  symbolic::ExprMap<TableDerivative> table_derivatives_;
  std::vector<Kink> kinks_;
  std::vector<Flux> fluxes_;
};

}  // namespace lather::pde
