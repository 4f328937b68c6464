#pragma once
// Expressions as a hash-consed graph: equal expressions are the same node, so comparison is pointer
// comparison and common subexpressions are shared from the start. Nodes live as long as their Graph.
//
//   Graph g;
//   Expr x = g.symbol("x"), t = g.symbol("t");
//   Expr r = sin(2.0 * x) + pow(t, 2.0) / x;
//
// Canonical form, kept by every constructor:
//   sum      c0 + c1 t1 + c2 t2 + …   ti neither sum nor constant; like terms joined; "3x" is a sum of one
//   product  b1^e1 b2^e2 …            real exponents, like bases joined; a numeric factor moves into the sum
// Simplification follows the rules of real numbers; 0 * anything is 0.

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lather::symbolic {

enum class Kind : std::uint8_t {
  constant,
  symbol,
  sum,
  product,
  // functions of one argument
  exp,
  log,
  sin,
  cos,
  tan,
  sinh,
  cosh,
  tanh,
  asinh,
  atan,
  erf,
  abs,
  sign,
  step,
  sigmoid,
  softplus,
  // functions of two arguments
  min,
  max,
  atan2,
  gate,
  power,
};
// sign(0) = 0; step(x) = 1 for x >= 0, else 0; gate(c, a) = a where c is not 0, else 0,
// whatever a is; power is a^b with b not a number (numbers become exponents of products).

bool is_unary(Kind kind);
std::string_view function_name(Kind kind);

class Graph;
struct Node;

// A handle to a node; cheap to copy. Default-constructed handles are empty.
class Expr {
 public:
  Expr() = default;
  const Node& node() const { return *node_; }
  const Node* get() const { return node_; }
  Graph& graph() const { return *graph_; }
  Kind kind() const;
  std::uint32_t id() const;
  std::span<const Expr> arguments() const;
  bool is_constant() const { return kind() == Kind::constant; }
  bool is_constant(double value) const;
  bool is_symbol() const { return kind() == Kind::symbol; }
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(Expr a, Expr b) { return a.node_ == b.node_; }
  std::string str() const;  // readable, for messages and tests

 private:
  friend class Graph;
  Expr(Graph* graph, const Node* node) : graph_(graph), node_(node) {}
  Graph* graph_ = nullptr;
  const Node* node_ = nullptr;
};

struct Node {
  explicit Node(Kind k) : kind(k) {}
  Kind kind;
  std::uint32_t id = 0;              // order of creation within the graph
  double constant = 0;               // constant: its value; sum: c0
  std::string name;                  // symbol
  std::vector<Expr> arguments;       // operands
  std::vector<double> coefficients;  // sum: c_i; product: e_i
};

inline Kind Expr::kind() const { return node_->kind; }
inline std::uint32_t Expr::id() const { return node_->id; }
inline std::span<const Expr> Expr::arguments() const { return node_->arguments; }
inline bool Expr::is_constant(double value) const { return is_constant() && node_->constant == value; }

class Graph {
 public:
  // Limit on the operands of all nodes together; beyond it, Error. Derivatives of a few lines of text may
  // grow without bound.
  static constexpr std::size_t kMostOperands = 10'000'000;

  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Expr constant(double value);
  Expr symbol(std::string_view name);  // the same name gives the same symbol
  Expr sum(std::span<const Expr> terms, std::span<const double> coefficients, double offset = 0);
  Expr product(std::span<const Expr> bases, std::span<const double> exponents);
  Expr function(Kind kind, Expr argument);
  Expr function(Kind kind, Expr first, Expr second);
  std::size_t size() const { return nodes_.size(); }

 private:
  Expr intern(Node node);
  std::deque<Node> nodes_;
  std::size_t operands_ = 0;
  std::unordered_multimap<std::size_t, const Node*> index_;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
inline Expr operator+(Expr a, double b) { return a + a.graph().constant(b); }
inline Expr operator+(double a, Expr b) { return b.graph().constant(a) + b; }
inline Expr operator-(Expr a, double b) { return a - a.graph().constant(b); }
inline Expr operator-(double a, Expr b) { return b.graph().constant(a) - b; }
inline Expr operator*(Expr a, double b) { return a * a.graph().constant(b); }
inline Expr operator*(double a, Expr b) { return b.graph().constant(a) * b; }
inline Expr operator/(Expr a, double b) { return a / a.graph().constant(b); }
inline Expr operator/(double a, Expr b) { return b.graph().constant(a) / b; }

Expr pow(Expr base, double exponent);
Expr pow(Expr base, Expr exponent);
inline Expr sqrt(Expr a) { return pow(a, 0.5); }
inline Expr exp(Expr a) { return a.graph().function(Kind::exp, a); }
inline Expr log(Expr a) { return a.graph().function(Kind::log, a); }
inline Expr sin(Expr a) { return a.graph().function(Kind::sin, a); }
inline Expr cos(Expr a) { return a.graph().function(Kind::cos, a); }
inline Expr tan(Expr a) { return a.graph().function(Kind::tan, a); }
inline Expr sinh(Expr a) { return a.graph().function(Kind::sinh, a); }
inline Expr cosh(Expr a) { return a.graph().function(Kind::cosh, a); }
inline Expr tanh(Expr a) { return a.graph().function(Kind::tanh, a); }
inline Expr asinh(Expr a) { return a.graph().function(Kind::asinh, a); }
inline Expr atan(Expr a) { return a.graph().function(Kind::atan, a); }
inline Expr erf(Expr a) { return a.graph().function(Kind::erf, a); }
inline Expr abs(Expr a) { return a.graph().function(Kind::abs, a); }
inline Expr sign(Expr a) { return a.graph().function(Kind::sign, a); }
inline Expr step(Expr a) { return a.graph().function(Kind::step, a); }
inline Expr sigmoid(Expr a) { return a.graph().function(Kind::sigmoid, a); }
inline Expr softplus(Expr a) { return a.graph().function(Kind::softplus, a); }
inline Expr min(Expr a, Expr b) { return a.graph().function(Kind::min, a, b); }
inline Expr max(Expr a, Expr b) { return a.graph().function(Kind::max, a, b); }
inline Expr atan2(Expr y, Expr x) { return y.graph().function(Kind::atan2, y, x); }
inline Expr gate(Expr c, Expr a) { return a.graph().function(Kind::gate, c, a); }

// All nodes below `roots`, every node after its arguments, each once.
std::vector<Expr> topological_order(std::span<const Expr> roots);

// All symbols below `roots`, in order of creation.
std::vector<Expr> symbols_of(std::span<const Expr> roots);

struct ExprHash {
  std::size_t operator()(Expr e) const { return std::hash<const void*>()(e.get()); }
};
template <class T>
using ExprMap = std::unordered_map<Expr, T, ExprHash>;

// Replaces subexpressions, usually symbols, simplifying on the way.
Expr substitute(Expr e, const ExprMap<Expr>& replacements);
// Several expressions at once; shared parts are rewritten once.
std::vector<Expr> substitute(std::span<const Expr> list, const ExprMap<Expr>& replacements);

}  // namespace lather::symbolic
