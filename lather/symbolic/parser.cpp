#include "lather/symbolic/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>

#include "lather/symbolic/functions.hpp"

namespace lather::symbolic {

namespace {

constexpr int kMaxDepth = 200;

enum class TokenKind { number, name, symbol, end };

struct Token {
  TokenKind kind;
  std::string_view text;
  double number = 0;
  std::size_t position = 0;
};

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string printable(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 32 && byte < 127 ? fmt::format("'{}'", c) : fmt::format("byte 0x{:02x}", byte);
}

// expression := term (('+'|'-') term)*        term := unary (('*'|'/') unary)*
// unary := ('-'|'+') unary | power            power := primary ('^' unary)?
// primary := number | name | name '(' expression (',' expression)* ')' | '(' expression ')'
//          | 'if' '(' expression ('<'|'>'|'<='|'>=') expression ',' expression ',' expression ')'
class Parser {
 public:
  Parser(std::string_view text, Graph& graph, Scope& scope, const SourceLocation& where)
      : text_(text), graph_(graph), scope_(scope), where_(where) {
    advance();
  }

  Expr whole() {
    if (token_.kind == TokenKind::end) fail(token_.position, "expected an expression, found nothing");
    const Expr e = expression();
    if (token_.kind != TokenKind::end)
      fail(token_.position,
           fmt::format("expected an operator or the end of the expression, found '{}'", token_.text));
    return e;
  }

 private:
  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > kMaxDepth)
        parser.fail(parser.token_.position,
                    fmt::format("expression is nested more than {} levels deep", kMaxDepth));
    }
    ~Deeper() { --parser.depth_; }
    Parser& parser;
  };

  Expr expression() {
    const Deeper deeper(*this);
    Expr left = term();
    for (;;) {
      if (accept("+"))
        left = left + term();
      else if (accept("-"))
        left = left - term();
      else
        return left;
    }
  }

  Expr term() {
    Expr left = unary();
    for (;;) {
      if (accept("*"))
        left = left * unary();
      else if (accept("/"))
        left = left / unary();
      else
        return left;
    }
  }

  Expr unary() {
    const Deeper deeper(*this);
    if (accept("-")) return -unary();
    if (accept("+")) return unary();
    return power();
  }

  Expr power() {
    const Expr base = primary();
    if (!accept("^") && !accept("**")) return base;
    return pow(base, unary());  // right-associative; 2^-x is fine
  }

  Expr primary() {
    const Token token = token_;
    if (token.kind == TokenKind::number) {
      advance();
      return graph_.constant(token.number);
    }
    if (token.kind == TokenKind::name) {
      advance();
      return token_.text == "(" && token_.kind == TokenKind::symbol ? call_of(token) : name_of(token);
    }
    if (accept("(")) {
      const Expr inside = expression();
      expect(")", token.position);
      return inside;
    }
    if (token.kind == TokenKind::end) fail(token.position, "the expression ends where a value was expected");
    fail(token.position, fmt::format("expected a number, a name or '(', found '{}'", token.text));
  }

  Expr name_of(const Token& token) {
    if (token.text == "pi") return graph_.constant(std::numbers::pi);
    if (token.text == "e") return graph_.constant(std::numbers::e);
    for (const auto& f : known_functions())
      if (f.name == token.text)
        fail(token.position, fmt::format("'{}' is a function: write {}(…)", f.name, f.name));
    return scope_.name(token.text, place(token.position));
  }

  Expr call_of(const Token& token) {
    const std::size_t opening = token_.position;
    if (token.text == "D") return derivative_call(opening);
    if (token.text == "distance") return distance_call(opening);
    if (token.text == "if") return choice_call(opening);
    const auto functions = known_functions();
    const auto f = std::find_if(functions.begin(), functions.end(),
                                [&](const FunctionName& n) { return n.name == token.text; });
    if (f == functions.end()) {
      std::vector<std::string> names{"D", "if", "distance"};
      for (const auto& known : functions) names.emplace_back(known.name);
      fail(token.position, unknown_name_message("function", token.text, names));
    }
    advance();  // '('
    std::vector<Expr> arguments;
    if (!is_symbol(")")) {
      do arguments.push_back(expression());
      while (accept(","));
    }
    expect(")", opening);
    if (static_cast<int>(arguments.size()) != f->arguments)
      fail(token.position, fmt::format("{} takes {} argument{}, got {}", f->name, f->arguments,
                                       f->arguments == 1 ? "" : "s", arguments.size()));
    return call(f->name, arguments);
  }

  // if(a < b, this, that)
  Expr choice_call(std::size_t opening) {
    advance();  // '('
    const Expr left = expression();
    const Token comparison = token_;
    if (!is_symbol("<") && !is_symbol(">") && !is_symbol("<=") && !is_symbol(">="))
      fail(comparison.position, "if needs a comparison, as in if(x < 0.5, a, b)");
    advance();
    const Expr right = expression();
    const bool strict = comparison.text.size() == 1;
    // step(d) is 1 for d >= 0; a strict comparison is the negation of the opposite one.
    const Expr difference = (comparison.text[0] == '<') == strict ? left - right : right - left;
    const Expr holds = strict ? 1.0 - step(difference) : step(difference);
    if (!accept(",")) fail(token_.position, "if takes a comparison and two values: if(x < 0.5, a, b)");
    const Expr then = expression();
    if (!accept(",")) fail(token_.position, "if takes a comparison and two values: if(x < 0.5, a, b)");
    const Expr otherwise = expression();
    expect(")", opening);
    return gate(holds, then) + gate(1.0 - holds, otherwise);
  }

  Expr distance_call(std::size_t opening) {
    advance();  // '('
    const Token shape = token_;
    if (shape.kind != TokenKind::name) fail(shape.position, "expected the name of a shape: distance(hole)");
    advance();
    expect(")", opening);
    return scope_.distance(shape.text, place(shape.position));
  }

  Expr derivative_call(std::size_t opening) {
    advance();  // '('
    Expr e = expression();
    if (!is_symbol(",")) fail(token_.position, "D needs an expression and at least one coordinate: D(u, x)");
    while (accept(",")) {
      const Token direction = token_;
      if (direction.kind != TokenKind::name) fail(direction.position, "expected the name of a coordinate");
      advance();
      e = scope_.derivative(e, direction.text, place(direction.position));
    }
    expect(")", opening);
    return e;
  }

  bool is_symbol(std::string_view s) const { return token_.kind == TokenKind::symbol && token_.text == s; }

  bool accept(std::string_view s) {
    if (!is_symbol(s)) return false;
    advance();
    return true;
  }

  void expect(std::string_view s, std::size_t opening) {
    if (accept(s)) return;
    const std::string found = token_.kind == TokenKind::end ? "the end" : fmt::format("'{}'", token_.text);
    fail(token_.position, fmt::format("expected '{}' to close the '(' at column {}, found {}", s,
                                      place(opening).column, found));
  }

  void advance() {
    while (position_ < text_.size() && is_space(text_[position_])) ++position_;
    token_ = {TokenKind::end, "", 0, position_};
    if (position_ == text_.size()) return;
    const char c = text_[position_];
    const std::size_t start = position_;
    if (is_digit(c) || (c == '.' && start + 1 < text_.size() && is_digit(text_[start + 1]))) {
      read_number();
    } else if (is_name_start(c)) {
      while (position_ < text_.size() && (is_name_start(text_[position_]) || is_digit(text_[position_])))
        ++position_;
      token_ = {TokenKind::name, text_.substr(start, position_ - start), 0, start};
    } else if (std::string_view("+-*/^(),<>").find(c) != std::string_view::npos) {
      const auto two = text_.substr(start, 2);
      position_ += two == "**" || two == "<=" || two == ">=" ? 2 : 1;
      token_ = {TokenKind::symbol, text_.substr(start, position_ - start), 0, start};
    } else {
      fail(start, "unexpected " + printable(c));
    }
  }

  void read_number() {
    const char* begin = text_.data() + position_;
    double value = 0;
    const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), value);
    const std::string_view digits(begin, static_cast<std::size_t>(end - begin));
    if (status == std::errc::result_out_of_range)
      fail(position_, fmt::format("number '{}' is out of range", digits));
    if (end < text_.data() + text_.size() && (is_name_start(*end) || *end == '.'))
      fail(position_ + digits.size(),
           fmt::format("unexpected {} after the number '{}'", printable(*end), digits));
    token_ = {TokenKind::number, digits, value, position_};
    position_ += digits.size();
  }

  SourceLocation place(std::size_t position) const {
    SourceLocation at = where_;
    if (at.column == 0) at.column = 1;
    at.column += static_cast<int>(position);
    return at;
  }

  [[noreturn]] void fail(std::size_t position, const std::string& message) const {
    throw Error(place(position), message);
  }

  std::string_view text_;
  Graph& graph_;
  Scope& scope_;
  SourceLocation where_;
  std::size_t position_ = 0;
  Token token_{};
  int depth_ = 0;
};

class NumbersOnly final : public Scope {
 public:
  Expr name(std::string_view name, const SourceLocation& where) override {
    throw Error(
        where,
        fmt::format("'{}' is not a number (only pi, e and functions of numbers may stand here)", name));
  }
  Expr derivative(Expr, std::string_view, const SourceLocation& where) override {
    throw Error(where, "a number has no derivative");
  }
};

}  // namespace

Expr parse(std::string_view text, Graph& graph, Scope& scope, const SourceLocation& where) {
  const Expr e = Parser(text, graph, scope, where).whole();
  for (Expr part : topological_order(std::span(&e, 1)))
    if (!std::isfinite(part.node().constant) ||
        std::any_of(part.node().coefficients.begin(), part.node().coefficients.end(),
                    [](double c) { return !std::isfinite(c); }))
      throw Error(
          where,
          fmt::format("the expression '{}' contains a constant that is not finite (a division by zero?)",
                      text));
  return e;
}

double parse_number(std::string_view text, const SourceLocation& where) {
  Graph graph;
  NumbersOnly scope;
  const Expr e = parse(text, graph, scope, where);
  return e.node().constant;
}

}  // namespace lather::symbolic
