#include "lather/report/export/network_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cassert>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"

namespace lather::report {

using symbolic::Expr;
using symbolic::Kind;
using Json = nlohmann::json;

namespace {

// One node, its arguments given as names. Only +, *, **, and functions by name.
std::string node_text(const symbolic::Node& node, const std::vector<std::string>& arguments) {
  std::string out;
  switch (node.kind) {
    case Kind::sum:
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (i) out += " + ";
        out += node.coefficients[i] == 1 ? arguments[i]
                                         : fmt::format("({})*{}", node.coefficients[i], arguments[i]);
      }
      return node.constant == 0 ? out : fmt::format("({}) + {}", node.constant, out);
    case Kind::product:
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (i) out += "*";
        out += node.coefficients[i] == 1 ? arguments[i]
                                         : fmt::format("{}**({})", arguments[i], node.coefficients[i]);
      }
      return out;
    case Kind::power: return fmt::format("{}**{}", arguments[0], arguments[1]);
    default: return fmt::format("{}({})", symbolic::function_name(node.kind), fmt::join(arguments, ", "));
  }
}

Json columns(const net::Value& value) {
  return {{"buffer", value.buffer}, {"offset", value.offset}, {"width", value.width}};
}

Json tensor(const net::Tape& tape, net::WeightRef ref) {
  if (!ref) return nullptr;
  return (ref.frozen ? "frozen." : "") + tape.block(ref).name;
}

Json operation(const net::Tape& tape, const net::Dense& dense) {
  return {{"dense",
           {{"in", columns(dense.in)},
            {"out", columns(dense.out)},
            {"weight", tensor(tape, dense.weight)},
            {"bias", tensor(tape, dense.bias)},
            {"scale", tensor(tape, dense.scale)}}}};
}

Json operation(const net::Tape& tape, const net::Pointwise& pointwise) {
  symbolic::ExprMap<std::string> names;
  Json in = Json::array(), scalars = Json::array();
  for (std::size_t i = 0; i < pointwise.in.size(); ++i) {
    names[pointwise.arguments[i]] = fmt::format("a{}", i);
    in.push_back(columns(pointwise.in[i]));
  }
  for (std::size_t i = 0; i < pointwise.scalars.size(); ++i) {
    names[pointwise.scalar_arguments[i]] = fmt::format("s{}", i);
    scalars.push_back(tape.parameters().blocks()[pointwise.scalars[i]].name);
  }
  Expr value = pointwise.value;
  if (const auto& f = pointwise.activation)
    value = symbolic::substitute(value, symbolic::ExprMap<Expr>{{f->name, f->value}});
  const Json text = assignments(std::span(&value, 1), names);
  return {{"pointwise",
           {{"in", in},
            {"out", columns(pointwise.out)},
            {"scalars", scalars},
            {"let", text["let"]},
            {"value", text["values"][0]}}}};
}

}  // namespace

Json assignments(std::span<const Expr> expressions, const symbolic::ExprMap<std::string>& names) {
  symbolic::ExprMap<std::string> known = names;
  Json list = Json::array();
  for (const Expr e : symbolic::topological_order(expressions)) {
    if (known.contains(e)) continue;
    if (e.is_constant()) {
      known[e] = fmt::format("({})", e.node().constant);
    } else {
      assert(!e.is_symbol());
      std::vector<std::string> arguments;
      for (const Expr a : e.arguments()) arguments.push_back(known.at(a));
      std::string name = fmt::format("v{}", list.size());
      list.push_back({name, node_text(e.node(), arguments)});
      known[e] = std::move(name);
    }
  }
  Json values = Json::array();
  for (const Expr e : expressions) values.push_back(known.at(e));
  return {{"let", list}, {"values", values}};
}

Json describe_network(const pde::PinnObjective& objective) {
  const pde::Problem& problem = objective.problem();
  const net::Tape& tape = objective.tape();
  Json description;
  description["coordinates"] = problem.symbols->coordinate_names();
  symbolic::ExprMap<std::string> names;  // c0, c1, …: coordinates; n0, …: network outputs; u0, …: unknowns
  for (int i = 0; i < problem.dimensions(); ++i)
    names[problem.symbols->coordinate(i)] = fmt::format("c{}", i);
  for (int k = 0; k < problem.outputs(); ++k) names[problem.symbols->output(k)] = fmt::format("n{}", k);
  for (std::size_t k = 0; k < problem.unknowns.size(); ++k)
    names[problem.graph->symbol(problem.unknowns[k].name)] = fmt::format("u{}", k);
  description["inputs"] = assignments(problem.network_inputs, names);
  description["buffers"] = tape.buffer_widths();
  Json operations = Json::array();
  for (const auto& op : tape.operations())
    operations.push_back(op.dense ? operation(tape, *op.dense) : operation(tape, *op.pointwise));
  description["operations"] = operations;
  description["output"] = columns(tape.output());

  std::vector<Expr> values;
  Json field_names = Json::array(), unknowns = Json::array();
  for (const auto& field : problem.fields) {
    for (const Expr symbol : symbolic::symbols_of(std::span(&field.value, 1)))
      if (!names.contains(symbol))
        throw Error(fmt::format(
            "the field '{}' contains {} ({}), which this form cannot express; export npz or vtk", field.name,
            problem.symbols->find_table(symbol) ? "a table" : "a derivative of the network",
            symbol.node().name));
    values.push_back(field.value);
    field_names.push_back(field.name);
  }
  for (const auto& unknown : problem.unknowns) unknowns.push_back(unknown.name);
  description["fields"] = assignments(values, names);
  description["fields"]["names"] = field_names;
  description["unknowns"] = unknowns;
  return description;
}

}  // namespace lather::report
