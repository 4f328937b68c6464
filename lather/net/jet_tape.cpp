#include "lather/net/jet_tape.hpp"

#include <algorithm>

namespace lather::net {

using symbolic::Expr;
using symbolic::Kind;
using What = ArrayRef::What;

namespace {

// Functions dearer than reading their value back from memory.
bool is_expensive(Kind kind) {
  return symbolic::is_unary(kind) && kind != Kind::abs && kind != Kind::sign && kind != Kind::step;
}

std::vector<char> buffers_that_need_bars(const Tape& tape) {
  std::vector<char> needs(tape.buffer_widths().size(), false);
  for (const auto& operation : tape.operations()) {
    if (const auto& d = operation.dense) {
      if (!d->weight.frozen || needs[d->in.buffer]) needs[d->out.buffer] = true;
    } else {
      const auto& p = *operation.pointwise;
      for (const Value& in : p.in) needs[p.out.buffer] = needs[p.out.buffer] || needs[in.buffer];
      if (!p.scalars.empty()) needs[p.out.buffer] = true;
    }
  }
  return needs;
}

// Walking backwards, the first operation to reach a buffer writes its bar, later ones add.
std::vector<std::vector<char>> who_accumulates(const Tape& tape, const std::vector<char>& needs_bar) {
  std::vector<std::vector<char>> result(tape.operations().size());
  std::vector<char> written(needs_bar.size(), false);
  for (std::size_t i = tape.operations().size(); i-- > 0;) {
    const auto& operation = tape.operations()[i];
    const std::vector<Value> inputs =
        operation.dense ? std::vector{operation.dense->in} : operation.pointwise->in;
    for (const Value& in : inputs) {
      result[i].push_back(written[in.buffer]);
      if (needs_bar[in.buffer]) written[in.buffer] = true;
    }
  }
  return result;
}

PointwiseProgram compile_pointwise(const Pointwise& op, const symbolic::JetSet& jets,
                                   const std::vector<char>& needs_bar, const std::vector<char>& accumulates) {
  const auto rule = symbolic::derive_jets(jets, op.value, op.arguments, op.scalar_arguments, op.activation);
  symbolic::Graph& graph = op.value.graph();
  PointwiseProgram program;
  const int inputs = static_cast<int>(op.in.size()), components = jets.size();

  // Every symbol and the array it is read from; only those that occur become inputs.
  struct Source {
    Expr symbol;
    ArrayRef array;
  };
  std::vector<Source> sources;
  for (int i = 0; i < inputs; ++i)
    for (int c = 0; c < components; ++c) sources.push_back({rule.inputs[i][c], {What::in, i, c}});
  for (std::size_t s = 0; s < op.scalars.size(); ++s)
    sources.push_back({op.scalar_arguments[s], {What::scalar, static_cast<int>(s)}});
  const auto read = [](const std::vector<Expr>& list, const std::vector<Source>& from,
                       std::vector<ArrayRef>& arrays) {
    const auto symbols = symbolic::symbols_of(list);
    std::vector<Expr> used;
    for (const auto& source : from)
      if (std::find(symbols.begin(), symbols.end(), source.symbol) != symbols.end()) {
        used.push_back(source.symbol);
        arrays.push_back(source.array);
      }
    return used;
  };

  // The adjoint, as expressions.
  std::vector<Expr> bars;
  for (int i = 0; i < inputs; ++i) {
    if (!needs_bar[op.in[i].buffer]) continue;
    for (int c = 0; c < components; ++c) {
      Expr bar = rule.input_bars[i][c];
      if (accumulates[i]) {
        const Expr old = graph.symbol("old:" + std::to_string(i) + ":" + std::to_string(c));
        sources.push_back({old, {What::in_bar, i, c}});
        bar = bar + old;
      }
      bars.push_back(bar);
      program.adjoint_outputs.push_back({What::in_bar, i, c});
    }
  }
  for (std::size_t s = 0; s < op.scalars.size(); ++s) {
    bars.push_back(rule.parameter_bars[s]);
    program.adjoint_outputs.push_back({What::scalar_bar, static_cast<int>(s)});
  }
  for (int c = 0; c < components; ++c) sources.push_back({rule.output_bars[c], {What::out_bar, 0, c}});

  // Expensive functions are not computed twice: read back from the output where they are one, else stashed.
  std::vector<Expr> forward = rule.outputs;
  symbolic::ExprMap<Expr> known;
  for (Expr e : symbolic::topological_order(bars)) {
    if (!is_expensive(e.kind())) continue;
    const auto at = std::find(rule.outputs.begin(), rule.outputs.end(), e);
    if (at != rule.outputs.end()) {
      const int c = static_cast<int>(at - rule.outputs.begin());
      const Expr symbol = graph.symbol("out:" + std::to_string(c));
      known[e] = symbol;
      sources.push_back({symbol, {What::out, 0, c}});
    } else {
      const Expr symbol = graph.symbol("stash:" + std::to_string(program.stashes));
      known[e] = symbol;
      sources.push_back({symbol, {What::stash, program.stashes++}});
      forward.push_back(e);
    }
  }
  bars = symbolic::substitute(bars, known);

  for (int c = 0; c < components; ++c) program.forward_outputs.push_back({What::out, 0, c});
  for (int k = 0; k < program.stashes; ++k) program.forward_outputs.push_back({What::stash, k});
  const auto forward_symbols = read(forward, sources, program.forward_inputs);
  program.forward = symbolic::compile(forward, forward_symbols);
  if (!bars.empty()) {
    const auto adjoint_symbols = read(bars, sources, program.adjoint_inputs);
    program.adjoint = symbolic::compile(bars, adjoint_symbols);
  }
  return program;
}

}  // namespace

JetTape compile_tape(const Tape& tape, const symbolic::JetSet& jets) {
  JetTape result{jets, {}, buffers_that_need_bars(tape), {}};
  result.accumulates = who_accumulates(tape, result.needs_bar);
  for (std::size_t i = 0; i < tape.operations().size(); ++i) {
    const auto& operation = tape.operations()[i];
    result.programs.push_back(operation.pointwise ? compile_pointwise(*operation.pointwise, jets,
                                                                      result.needs_bar, result.accumulates[i])
                                                  : PointwiseProgram{});
  }
  return result;
}

}  // namespace lather::net
