#include "lather/net/jet_tape.hpp"

#include <algorithm>

namespace lather::net {

using symbolic::Expr;
using symbolic::Kind;
using What = ArrayRef::What;

namespace {

// Functions more expensive than reading their value back from memory.
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

// Programs of one pointwise operation. Every symbol has an
// array it is read from; only those that occur become inputs.
class PointwiseCompiler {
 public:
  PointwiseCompiler(const Pointwise& op, const symbolic::JetSet& jets)
      : op_(op),
        rule_(symbolic::derive_jets(jets, op.value, op.arguments, op.scalar_arguments, op.activation)),
        graph_(op.value.graph()),
        inputs_(static_cast<int>(op.in.size())),
        components_(jets.size()),
        forward_(rule_.outputs) {
    for (int i = 0; i < inputs_; ++i)
      for (int c = 0; c < components_; ++c) sources_.push_back({rule_.inputs[i][c], {What::in, i, c}});
    for (std::size_t s = 0; s < op.scalars.size(); ++s)
      sources_.push_back({op.scalar_arguments[s], {What::scalar, static_cast<int>(s)}});
  }

  PointwiseProgram compile(const std::vector<char>& needs_bar, const std::vector<char>& accumulates) {
    derive_adjoint(needs_bar, accumulates);
    keep_expensive_functions();
    for (int c = 0; c < components_; ++c) program_.forward_outputs.push_back({What::out, 0, c});
    for (int k = 0; k < program_.stashes; ++k) program_.forward_outputs.push_back({What::stash, k});
    program_.forward = compile_reading(forward_, program_.forward_inputs);
    if (!bars_.empty()) program_.adjoint = compile_reading(bars_, program_.adjoint_inputs);
    return std::move(program_);
  }

 private:
  struct Source {
    Expr symbol;
    ArrayRef array;
  };

  void derive_adjoint(const std::vector<char>& needs_bar, const std::vector<char>& accumulates) {
    for (int i = 0; i < inputs_; ++i) {
      if (!needs_bar[op_.in[i].buffer]) continue;
      for (int c = 0; c < components_; ++c) {
        Expr bar = rule_.input_bars[i][c];
        if (accumulates[i]) {
          const Expr old = graph_.symbol("old:" + std::to_string(i) + ":" + std::to_string(c));
          sources_.push_back({old, {What::in_bar, i, c}});
          bar = bar + old;
        }
        bars_.push_back(bar);
        program_.adjoint_outputs.push_back({What::in_bar, i, c});
      }
    }
    for (std::size_t s = 0; s < op_.scalars.size(); ++s) {
      bars_.push_back(rule_.parameter_bars[s]);
      program_.adjoint_outputs.push_back({What::scalar_bar, static_cast<int>(s)});
    }
    for (int c = 0; c < components_; ++c) sources_.push_back({rule_.output_bars[c], {What::out_bar, 0, c}});
  }

  // Expensive functions are not computed twice: they are read back if they are an output, otherwise stashed.
  void keep_expensive_functions() {
    symbolic::ExprMap<Expr> known;
    for (Expr e : symbolic::topological_order(bars_)) {
      if (!is_expensive(e.kind())) continue;
      const auto at = std::find(rule_.outputs.begin(), rule_.outputs.end(), e);
      if (at != rule_.outputs.end()) {
        const int c = static_cast<int>(at - rule_.outputs.begin());
        known[e] = graph_.symbol("out:" + std::to_string(c));
        sources_.push_back({known[e], {What::out, 0, c}});
      } else {
        known[e] = graph_.symbol("stash:" + std::to_string(program_.stashes));
        sources_.push_back({known[e], {What::stash, program_.stashes++}});
        forward_.push_back(e);
      }
    }
    bars_ = symbolic::substitute(bars_, known);
  }

  symbolic::Program compile_reading(const std::vector<Expr>& outputs, std::vector<ArrayRef>& arrays) const {
    const auto symbols = symbolic::symbols_of(outputs);
    std::vector<Expr> used;
    for (const auto& source : sources_)
      if (std::find(symbols.begin(), symbols.end(), source.symbol) != symbols.end()) {
        used.push_back(source.symbol);
        arrays.push_back(source.array);
      }
    return symbolic::compile(outputs, used);
  }

  const Pointwise& op_;
  const symbolic::JetRule rule_;
  symbolic::Graph& graph_;
  int inputs_, components_;
  std::vector<Source> sources_;
  std::vector<Expr> forward_, bars_;
  PointwiseProgram program_;
};

}  // namespace

JetTape compile_tape(const Tape& tape, const symbolic::JetSet& jets) {
  JetTape result{jets, {}, buffers_that_need_bars(tape), {}};
  result.accumulates = who_accumulates(tape, result.needs_bar);
  for (std::size_t i = 0; i < tape.operations().size(); ++i) {
    const auto& operation = tape.operations()[i];
    result.programs.push_back(
        operation.pointwise
            ? PointwiseCompiler(*operation.pointwise, jets).compile(result.needs_bar, result.accumulates[i])
            : PointwiseProgram{});
  }
  return result;
}

}  // namespace lather::net
