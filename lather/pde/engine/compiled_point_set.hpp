#pragma once
// Expressions of a problem made ready for evaluation on points: which derivatives the network must carry, and
// programs for the network's inputs, the expressions, and their adjoint. Independent of the device.

#include "lather/net/jet_tape.hpp"
#include "lather/pde/points.hpp"
#include "lather/pde/problem.hpp"

namespace lather::pde {

// A number that a pointwise program at this level reads or writes.
struct Slot {
  enum class What { coordinate, column, unknown, output, bar, output_bar, unknown_bar } what;
  int index = 0;      // coordinate, data column, unknown, network output, expression
  int component = 0;  // of the jet, for outputs
};

struct CompiledPointSet {
  symbolic::JetSet jets;
  net::JetTape tape;
  std::size_t group = 1;  // this many consecutive points make one residual

  // coordinates -> jets of the network's inputs. Components that
  // do not depend on the point are constants here.
  struct InputComponent {
    int input, component;
  };
  symbolic::Program input;
  std::vector<InputComponent> input_outputs;  // where each output of `input` goes
  std::vector<int> input_coordinates;         // what it reads
  struct Constant {
    InputComponent where;
    double value;
  };
  std::vector<Constant> input_constants;  // zeros are left out

  // coordinates, data, unknowns, network outputs -> values of the expressions
  symbolic::Program values;
  std::vector<Slot> values_inputs;

  // Tabulated coefficients that the expressions use. Their values at the points are columns that follow those
  // of the set.
  std::vector<OutputSymbols::TableDerivative> tables;

  // the same and a bar per expression -> bars of the network outputs and of the unknowns (summed over points)
  symbolic::Program adjoint;
  std::vector<Slot> adjoint_inputs, adjoint_outputs;
};

// `columns`: names of the data columns of the point set, empty
// otherwise. Throws Error for derivatives above kMaxOrder.
CompiledPointSet compile_set(const Problem& problem, const net::Tape& tape,
                             std::span<const symbolic::Expr> expressions,
                             std::span<const std::string> columns = {});

// Equal for the same expressions and columns in the same order.
std::vector<std::uint32_t> evaluation_key(const Problem& problem, std::span<const symbolic::Expr> expressions,
                                          std::span<const std::string> columns);

// Appends the values of the tables at the points to their columns; `own`: how many columns are not of tables.
void fill_tables(const Problem& problem, std::span<const OutputSymbols::TableDerivative> tables,
                 std::size_t own, Points& points);

// The symbol of a data column.
symbolic::Expr column_symbol(symbolic::Graph& graph, const std::string& name);

}  // namespace lather::pde
