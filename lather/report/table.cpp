#include "lather/report/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string_view>
#include <utility>

#include "lather/core/text.hpp"

namespace lather::report {

Spread spread_of(std::span<const double> values) {
  Spread s;
  for (const double v : values)
    if (std::isfinite(v)) {
      s.mean += v;
      ++s.count;
    }
  if (s.count == 0) return s;
  s.mean /= s.count;
  for (const double v : values)
    if (std::isfinite(v)) s.deviation += (v - s.mean) * (v - s.mean);
  s.deviation = s.count > 1 ? std::sqrt(s.deviation / (s.count - 1)) : 0;
  return s;
}

std::string to_text(const Cell& cell) {
  if (!cell.spread) return cell.text;
  if (cell.spread->count == 0) return "-";
  return fmt::format("{:.2e} ± {:.1e}", cell.spread->mean, cell.spread->deviation);
}

std::string markdown_cell(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return shown(text);
}

namespace {

// "1.23e-04" -> "1.23 \cdot 10^{-4}", "1.23e+00" -> "1.23"
std::string latex_number(const std::string& text) {
  const auto e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  return text.substr(0, e) + (exponent == 0 ? "" : fmt::format(" \\cdot 10^{{{}}}", exponent));
}

std::string latex_number(double value, int digits) {
  return value == 0 ? "0" : latex_number(fmt::format("{:.{}e}", value, digits));
}

// Characters that mean something to LaTeX, print as another one in its default encoding of fonts, or are known to it only
// in formulas.
using LatexWord = std::pair<std::string_view, std::string_view>;
// clang-format off
constexpr LatexWord kLatexWords[] = {
    {"&", "\\&"}, {"%", "\\%"}, {"$", "\\$"}, {"#", "\\#"}, {"_", "\\_"}, {"{", "\\{"}, {"}", "\\}"},
    {"^", "\\char94{}"}, {"~", "\\char126{}"}, {"\\", "\\char92{}"}, {"<", "\\textless{}"},
    {">", "\\textgreater{}"}, {"|", "\\textbar{}"}, {"\n", " "}, {"α", "$\\alpha$"}, {"β", "$\\beta$"},
    {"γ", "$\\gamma$"}, {"δ", "$\\delta$"}, {"ε", "$\\varepsilon$"}, {"ζ", "$\\zeta$"}, {"η", "$\\eta$"},
    {"θ", "$\\theta$"}, {"ι", "$\\iota$"}, {"κ", "$\\kappa$"}, {"λ", "$\\lambda$"}, {"μ", "$\\mu$"},
    {"ν", "$\\nu$"}, {"ξ", "$\\xi$"}, {"π", "$\\pi$"}, {"ρ", "$\\rho$"}, {"σ", "$\\sigma$"},
    {"τ", "$\\tau$"}, {"υ", "$\\upsilon$"}, {"φ", "$\\phi$"}, {"χ", "$\\chi$"}, {"ψ", "$\\psi$"},
    {"ω", "$\\omega$"}, {"Γ", "$\\Gamma$"}, {"Δ", "$\\Delta$"}, {"Θ", "$\\Theta$"}, {"Λ", "$\\Lambda$"},
    {"Ξ", "$\\Xi$"}, {"Π", "$\\Pi$"}, {"Σ", "$\\Sigma$"}, {"Υ", "$\\Upsilon$"}, {"Φ", "$\\Phi$"},
    {"Ψ", "$\\Psi$"}, {"Ω", "$\\Omega$"}, {"µ", "$\\mu$"}, {"−", "$-$"}, {"≤", "$\\le$"}, {"≥", "$\\ge$"},
    {"≈", "$\\approx$"}, {"≠", "$\\ne$"}, {"∞", "$\\infty$"}, {"→", "$\\to$"}, {"∂", "$\\partial$"},
    {"∇", "$\\nabla$"},
};
// clang-format on

std::string latex_words(const std::string& words) {
  std::string out;
  const std::string text = shown(words);
  for (std::string_view rest = text; !rest.empty();) {
    const auto found = std::find_if(std::begin(kLatexWords), std::end(kLatexWords),
                                    [&](const auto& entry) { return rest.starts_with(entry.first); });
    const bool known = found != std::end(kLatexWords);
    out += known ? found->second : rest.substr(0, 1);
    rest.remove_prefix(known ? found->first.size() : 1);
  }
  return out;
}

// Numbers with a power of ten, and their deviations, are formulas.
std::string latex_text(const std::string& text) {
  static const std::regex formula(R"(\b(\d+(?:\.\d+)?e[+-]\d+)(?: ± (\d+(?:\.\d+)?e[+-]\d+))?)");
  std::string out;
  auto rest = text.begin();
  for (std::sregex_iterator found(text.begin(), text.end(), formula), end; found != end; ++found) {
    out += latex_words({rest, (*found)[0].first}) + "$" + latex_number((*found)[1]);
    if ((*found)[2].matched) out += " \\pm " + latex_number((*found)[2]);
    out += "$";
    rest = (*found)[0].second;
  }
  return out + latex_words({rest, text.end()});
}

std::string latex(const Cell& cell) {
  if (!cell.spread) return latex_text(cell.text);
  if (cell.spread->count == 0) return "--";
  return fmt::format("${} \\pm {}$", latex_number(cell.spread->mean, 2),
                     latex_number(cell.spread->deviation, 1));
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

// Characters, not bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Longer cells are sentences: others are not padded to their length.
constexpr std::size_t kWidestColumn = 60;

}  // namespace

std::string to_markdown(const Table& table) {
  std::vector<std::vector<std::string>> lines(1);
  for (const auto& name : table.header) lines[0].push_back(markdown_cell(name));
  for (const auto& row : table.rows) {
    lines.emplace_back();
    for (const auto& cell : row) lines.back().push_back(markdown_cell(to_text(cell)));
  }
  std::vector<std::size_t> widths(table.header.size(), 3);
  for (const auto& line : lines)
    for (std::size_t k = 0; k < line.size(); ++k)
      widths[k] = std::max(widths[k], std::min(width(line[k]), kWidestColumn));
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t k = 0; k < lines[i].size(); ++k)
      out += "| " + lines[i][k] + std::string(widths[k] - std::min(widths[k], width(lines[i][k])) + 1, ' ');
    out += "|\n";
    if (i > 0) continue;
    for (const auto w : widths) out += "|" + std::string(w + 2, '-');
    out += "|\n";
  }
  return out;
}

std::string to_csv(const Table& table) {
  std::vector<bool> spreads(table.header.size(), false);
  for (const auto& row : table.rows)
    for (std::size_t k = 0; k < row.size(); ++k) spreads[k] = spreads[k] || row[k].spread.has_value();
  std::vector<std::string> names;
  for (std::size_t k = 0; k < table.header.size(); ++k) {
    names.push_back(csv_text(table.header[k]));
    if (spreads[k]) names.push_back(csv_text(table.header[k] + ".deviation"));
  }
  std::string out = fmt::format("{}\n", fmt::join(names, ","));
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const bool known = row[k].spread && row[k].spread->count > 0;
      if (!spreads[k])
        cells.push_back(csv_text(row[k].text));
      else {
        cells.push_back(known ? fmt::format("{}", row[k].spread->mean) : "");
        cells.push_back(known ? fmt::format("{}", row[k].spread->deviation) : "");
      }
    }
    out += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return out;
}

std::string to_latex(const Table& table) {
  std::string out =
      fmt::format("\\begin{{tabular}}{{l{}}}\n\\toprule\n", std::string(table.header.size() - 1, 'c'));
  std::vector<std::string> cells;
  for (const auto& name : table.header) cells.push_back(latex_text(name));
  out += fmt::format("{} \\\\\n\\midrule\n", fmt::join(cells, " & "));
  for (const auto& row : table.rows) {
    cells.clear();
    for (const auto& cell : row) cells.push_back(latex(cell));
    out += fmt::format("{} \\\\\n", fmt::join(cells, " & "));
  }
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace lather::report
