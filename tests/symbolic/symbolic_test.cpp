#include <gtest/gtest.h>
#include <quadmath.h>

#include <random>

#include "lather/symbolic/differentiate.hpp"
#include "lather/symbolic/emit.hpp"
#include "lather/symbolic/evaluate.hpp"
#include "lather/symbolic/jets.hpp"
#include "lather/symbolic/machine/machine.hpp"
#include "lather/symbolic/parser.hpp"
#include "quad.hpp"

namespace lather::symbolic {
namespace {

using lather::test::Quad;

// x, y, z are free symbols; derivatives are partial.
class FreeScope final : public Scope {
 public:
  explicit FreeScope(Graph& g) : graph(g) {}
  Expr name(std::string_view name, const SourceLocation& where) override {
    if (name == "x" || name == "y" || name == "z") return graph.symbol(name);
    throw Error(where, unknown_name_message("name", name, std::vector<std::string>{"x", "y", "z"}));
  }
  Expr derivative(Expr e, std::string_view direction, const SourceLocation&) override {
    return differentiate(e, graph.symbol(direction));
  }
  Graph& graph;
};

struct Workbench {
  Graph g;
  FreeScope scope{g};
  Expr x = g.symbol("x"), y = g.symbol("y"), z = g.symbol("z");
  Expr operator()(std::string_view text) { return parse(text, g, scope); }
};

TEST(Expressions, EqualOnesAreTheSameNode) {
  Workbench w;
  EXPECT_EQ(w("x + y + x"), w("2*x + y"));
  EXPECT_EQ(w("x*y*x/y"), w("x^2"));
  EXPECT_EQ(w("(2*x)^3"), w("8*x**3"));
  EXPECT_EQ(w("x - x"), w("0"));
  EXPECT_EQ(w("2*(x + y) - 2*y"), w("2*x"));
  EXPECT_EQ(w("sqrt(x)*sqrt(x)"), w("x"));
  EXPECT_NE(w("sqrt(x^2)"), w("x"));
  EXPECT_EQ(w("-x^2"), w("-(x^2)"));
  EXPECT_EQ(w("2^3^2"), w("512"));
  EXPECT_EQ(w("cos(0)"), w("1"));
}

TEST(Expressions, PrintTextThatParsesBackToThemselves) {
  Workbench w;
  for (const char* text : {"x + 2*y - 3", "x*y^2/(z + 1)", "sin(x)^2*exp(-x)", "-x", "1/x", "sqrt(x + y)",
                           "max(x, -y) + pow(x, y)", "x^(-1.5)*y", "-2*tanh(3*x - 1)*(1 - y^2)"})
    EXPECT_EQ(w(w(text).str()), w(text)) << text << " printed as " << w(text).str();
}

struct FunctionCase {
  const char* text;
  double low, high;  // where the function is smooth
};

// Every function, and compositions that use every rule: value by the plain
// evaluator in quad precision; derivatives up to the order that the adjoint of
// the highest jets needs against central differences in quad precision; the
// compiled program in double against quad.
class EveryFunction : public testing::TestWithParam<FunctionCase> {};

TEST_P(EveryFunction, HasExactDerivativesAndACompiledProgramThatAgrees) {
  Workbench w;
  const Expr f = w(GetParam().text);
  const auto value = [&](Expr e, Quad x) {
    return evaluate<Quad>(e, {{w.x, x}, {w.y, Quad(0.7)}, {w.z, Quad(-0.3)}});
  };
  constexpr int kHighest = kMaxOrder + 1;
  std::vector<Expr> derivatives{f};
  for (int k = 1; k <= kHighest + 1; ++k) derivatives.push_back(differentiate(derivatives.back(), w.x));
  const Program program = compile(std::span(derivatives).first(kHighest + 1), std::vector{w.x, w.y, w.z});
  Machine<double> machine(program);

  for (int i = 0; i < 25; ++i) {
    const double x = GetParam().low + (GetParam().high - GetParam().low) * (i + 0.37) / 25;
    const double y = 0.7, z = -0.3;
    const double* in[] = {&x, &y, &z};
    std::vector<double> out(kHighest + 1);
    std::vector<double*> outputs;
    for (double& number : out) outputs.push_back(&number);
    machine.run(1, in, outputs);

    const Quad h = 1e-5;
    double exact = double(value(f, x)), previous = 0;
    for (int k = 0; k <= kHighest; ++k) {
      // Terms cancel near a zero of a derivative; the neighbouring derivatives are as large as those terms.
      const double next = double(value(derivatives[k + 1], x));
      const double size = 1 + std::abs(previous) + std::abs(exact) + std::abs(next);
      EXPECT_NEAR(out[k], exact, 2e-13 * size) << GetParam().text << " order " << k << " at " << x;
      if (k > 0) {
        const auto at = [&](double steps) { return value(derivatives[k - 1], Quad(x) + Quad(steps) * h); };
        const Quad fd = (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * h);
        EXPECT_NEAR(double(fd - value(derivatives[k], x)), 0, 1e-15 * size)
            << GetParam().text << " order " << k << " at " << x;
      }
      previous = exact;
      exact = next;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryFunction,
    testing::Values(
        FunctionCase{"exp(x)", -2, 2}, FunctionCase{"log(x)", 0.5, 3}, FunctionCase{"sqrt(x)", 0.5, 3},
        FunctionCase{"sin(2*x)", -3, 3}, FunctionCase{"cos(x*y)", -3, 3}, FunctionCase{"tan(x)", -1, 1},
        FunctionCase{"sinh(x)", -2, 2}, FunctionCase{"cosh(x)", -2, 2}, FunctionCase{"tanh(x)", -3, 3},
        FunctionCase{"asinh(x)", -3, 3}, FunctionCase{"atan(x)", -3, 3}, FunctionCase{"erf(x)", -2, 2},
        FunctionCase{"abs(x)", 0.1, 2}, FunctionCase{"abs(x)", -2, -0.1}, FunctionCase{"sign(x)*x^3", 0.1, 2},
        FunctionCase{"step(x)*sin(x)", 0.1, 2}, FunctionCase{"sigmoid(x)", -4, 4},
        FunctionCase{"softplus(x)", -4, 4}, FunctionCase{"min(x^2, x^3)", 0.2, 0.9},
        FunctionCase{"min(x^2, x^3)", 1.1, 2}, FunctionCase{"max(sin(x), y)", -1, 0.7},
        FunctionCase{"x^5 - x^(-2)", 0.5, 2}, FunctionCase{"x^2.5", 0.5, 2}, FunctionCase{"x^0.3*y", 0.5, 2},
        FunctionCase{"pow(x, y*x)", 0.5, 2}, FunctionCase{"x^(sin(x))", 0.5, 2}, FunctionCase{"2^x", -1, 2},
        FunctionCase{"exp(-x^2)/(1 + x^2)", -2, 2},
        FunctionCase{"sin(x)*cos(x)*tanh(x)/(2 + sin(x*z))", -2, 2},
        FunctionCase{"-x*y + z*(x - y)^2 - 3", -2, 2}, FunctionCase{"1/(x*y)", 0.5, 2},
        FunctionCase{"x*0.5*(1 + erf(x/sqrt(2)))", -3, 3}, FunctionCase{"asin(x)", -0.8, 0.8},
        FunctionCase{"acos(x)", -0.8, 0.8}, FunctionCase{"atan2(x, y)", -2, 2},
        FunctionCase{"atan2(1 + y, x)", -2, 2}, FunctionCase{"acosh(x)", 1.3, 3},
        FunctionCase{"atanh(x)", -0.8, 0.8}, FunctionCase{"log10(x)", 0.5, 3}, FunctionCase{"sech(x)", -2, 2},
        FunctionCase{"if(x < 0, sin(x), x^2*y)", 0.1, 2}, FunctionCase{"if(x < 0, sin(x), x^2*y)", -2, -0.1},
        FunctionCase{"if(x >= 3, log(x - 3), x)", -2, 2}));

TEST(Parser, ReadsChoicesBothSidesOfTheSwitch) {
  Workbench w;
  const auto at = [&](const std::string& text, double x) { return evaluate<double>(w(text), {{w("x"), x}}); };
  for (const double x : {-1.0, 0.0, 1.0}) {
    EXPECT_EQ(at("if(x < 0, 1, 2)", x), x < 0 ? 1 : 2);
    EXPECT_EQ(at("if(x <= 0, 1, 2)", x), x <= 0 ? 1 : 2);
    EXPECT_EQ(at("if(x > 0, 1, 2)", x), x > 0 ? 1 : 2);
    EXPECT_EQ(at("if(x >= 0, 1, 2)", x), x >= 0 ? 1 : 2);
  }
  EXPECT_EQ(at("if(x > 0, log(x), 7)", -1), 7);  // the branch not chosen does not spoil the value
  EXPECT_DOUBLE_EQ(at("atan2(x, -1)", 1e-9), std::atan2(1e-9, -1.0));
  EXPECT_DOUBLE_EQ(at("asin(x)", 1), std::asin(1.0));
  EXPECT_DOUBLE_EQ(at("acos(x)", -1), std::acos(-1.0));
}

TEST(Parser, DIsTheTotalDerivativeOfAnyExpression) {
  Workbench w;
  EXPECT_EQ(w("D(x^2*y, x, y)"), w("2*x"));
  EXPECT_EQ(w("D(sin(x), x, x)"), w("-sin(x)"));
}

TEST(Parser, ErrorsNameThePlaceAndTheNearestName) {
  Workbench w;
  const auto message = [&](std::string_view text) -> std::string {
    try {
      w(text);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_NE(message("x + sni(y)").find("did you mean 'sin'"), std::string::npos) << message("x + sni(y)");
  EXPECT_NE(message("x + q").find("unknown name 'q'"), std::string::npos);
  EXPECT_NE(message("(x + y").find("close the '(' at column 1"), std::string::npos) << message("(x + y");
  EXPECT_NE(message("x + ").find("ends where a value"), std::string::npos);
  EXPECT_NE(message("x $ y").find("'$'"), std::string::npos);
  EXPECT_NE(message("2x").find("after the number"), std::string::npos);
  EXPECT_NE(message("1e999").find("out of range"), std::string::npos);
  EXPECT_NE(message("sin(x, y)").find("takes 1 argument"), std::string::npos);
  EXPECT_NE(message("x/0").find("not finite"), std::string::npos);
  EXPECT_NE(message(std::string(5000, '(')).find("nested"), std::string::npos);
  EXPECT_NE(message(std::string(5000, '-')).find("nested"), std::string::npos);
  EXPECT_DOUBLE_EQ(parse_number("0.01/pi"), 0.01 / M_PI);
}

// Random expressions against the plain evaluator, in chunks and tails of all lengths, with scalars and sums.
TEST(Machine, RunsRandomProgramsOfAnyLengthWithScalarsAndSums) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 60; ++trial) {
    Graph g;
    std::vector<Expr> inputs{g.symbol("a"), g.symbol("b"), g.symbol("c"), g.symbol("k")};
    std::vector<Expr> pool = inputs;
    const auto pick = [&] { return pool[random() % pool.size()]; };
    for (int i = 0; i < 25; ++i) {
      switch (random() % 8) {
        case 0: pool.push_back(pick() + pick()); break;
        case 1: pool.push_back(pick() - 0.5 * pick()); break;
        case 2:
        case 3: pool.push_back(pick() * pick()); break;
        case 4: pool.push_back(tanh(pick())); break;
        case 5: pool.push_back(pick() / (2.0 + pow(sin(pick()), 2))); break;
        case 6: pool.push_back(-pick()); break;
        case 7: pool.push_back(1.5 - pick() * tanh(pick()) - pick()); break;
      }
    }
    std::vector<Expr> outputs{pool[pool.size() - 1], pool[pool.size() - 2], pool[5], inputs[1],
                              pool[pool.size() - 1]};
    for (Expr& e : outputs) e = sin(e);  // keeps values in range
    outputs[3] = inputs[1];              // a bare input
    const Program program = compile(outputs, inputs);
    Machine<double> machine(program, {.scalar_inputs = {3}, .summed_outputs = {1}});
    const std::size_t n = 1 + random() % 300;
    std::vector<std::vector<double>> in(4, std::vector<double>(n)), out(5, std::vector<double>(n, NAN));
    for (auto& array : in)
      for (double& v : array) v = std::uniform_real_distribution<double>(-1, 1)(random);
    out[1][0] = 0;
    machine.run(
        n, std::vector<const double*>{in[0].data(), in[1].data(), in[2].data(), in[3].data()},
        std::vector<double*>{out[0].data(), out[1].data(), out[2].data(), out[3].data(), out[4].data()});
    Quad sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto exact = evaluate<Quad>(
          outputs,
          {{inputs[0], in[0][i]}, {inputs[1], in[1][i]}, {inputs[2], in[2][i]}, {inputs[3], in[3][0]}});
      sum += exact[1];
      for (int j : {0, 2, 3, 4}) ASSERT_NEAR(out[j][i], double(exact[j]), 1e-11) << program.str();
    }
    EXPECT_NEAR(out[1][0], double(sum), 1e-9);
  }
}

TEST(Emitting, PutsNumbersBesideTheText) {
  std::string first = emit_number(0.3, Numbers::beside_text) + " + " + emit_number(2, Numbers::beside_text),
              second = emit_number(-1e-7, Numbers::beside_text) + " + " + emit_number(2), third = first;
  EXPECT_EQ(take_numbers(first, "numbers", 10), std::vector<double>{0.3});
  EXPECT_EQ(take_numbers(second, "numbers", 10), std::vector<double>{-1e-7});
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, "numbers[0] + " + emit_number(2));
  EXPECT_TRUE(take_numbers(third, "numbers", 0).empty());
  EXPECT_EQ(third, emit_number(0.3) + " + " + emit_number(2));
}

// The known rules for tanh and the set {value, x, t, xx}.
TEST(Jets, OfAnActivationAreFaaDiBrunoByHand) {
  Graph g;
  MultiIndex xx, t;
  xx.order[0] = 2;
  t.order[1] = 1;
  const auto set = JetSet::closure(2, std::vector{xx, t});
  ASSERT_EQ(set.size(), 4);
  const std::vector<std::string> names{"x", "t"};
  EXPECT_EQ(set.component_name(1, names), "x");
  EXPECT_EQ(set.component_name(3, names), "xx");
  const Expr z = g.symbol("z"), s = g.symbol("s");
  const auto rule = derive_jets(set, s, std::vector{z}, {}, OpaqueFunction{s, z, tanh(z)});
  const auto& in = rule.inputs[0];
  const auto& bar = rule.output_bars;
  const Expr p = 1.0 - pow(tanh(z), 2), s2 = -2.0 * tanh(z) * p, s3 = differentiate(s2, z);
  EXPECT_EQ(rule.outputs[0], tanh(z));
  EXPECT_EQ(rule.outputs[1], p * in[1]);
  EXPECT_EQ(rule.outputs[3], s2 * pow(in[1], 2) + p * in[3]);
  EXPECT_EQ(rule.input_bars[0][3], p * bar[3]);
  EXPECT_EQ(rule.input_bars[0][1], p * bar[1] + 2.0 * s2 * in[1] * bar[3]);
  EXPECT_EQ(rule.input_bars[0][0], p * bar[0] + s2 * in[1] * bar[1] + s2 * in[2] * bar[2] +
                                       (s3 * pow(in[1], 2) + s2 * in[3]) * bar[3]);
}

TEST(Jets, CollapsedLaplacianIsTheSumOfThePureSecondDerivatives) {
  Graph g;
  MultiIndex xx, yy;
  xx.order[0] = 2;
  yy.order[1] = 2;
  const auto full = JetSet::closure(2, std::vector{xx, yy});
  const auto collapsed = JetSet::closure(2, {}, {2.0, 3.0});
  EXPECT_EQ(full.size(), 5);
  EXPECT_EQ(collapsed.size(), 4);
  const Expr f = g.symbol("f"), d = g.symbol("d");
  const Expr gate = f * d + sin(f);
  const auto a = derive_jets(full, gate, std::vector{f, d});
  const auto b = derive_jets(collapsed, gate, std::vector{f, d});
  // Give the collapsed component of each input the sum it stands for; the names differ, so compare numbers.
  ExprMap<Quad> values_full, values_collapsed;
  for (int i = 0; i < 2; ++i) {
    for (int c = 0; c < 5; ++c) values_full[a.inputs[i][c]] = Quad(0.3 * c + 0.2 * i - 0.4);
    for (int c = 0; c < 3; ++c) values_collapsed[b.inputs[i][c]] = values_full[a.inputs[i][c]];
    values_collapsed[b.inputs[i][3]] = 2 * values_full[a.inputs[i][3]] + 3 * values_full[a.inputs[i][4]];
  }
  const Quad expected =
      2 * evaluate<Quad>(a.outputs[3], values_full) + 3 * evaluate<Quad>(a.outputs[4], values_full);
  EXPECT_NEAR(double(evaluate<Quad>(b.outputs[3], values_collapsed) - expected), 0, 1e-15);
}

}  // namespace
}  // namespace lather::symbolic
