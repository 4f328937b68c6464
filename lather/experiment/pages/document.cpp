#include "lather/experiment/pages/document.hpp"

#include <fmt/format.h>

#include <utility>

#include "lather/core/files.hpp"
#include "lather/core/text.hpp"

namespace lather::experiment {

namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; }
body { font: 16px/1.5 Inter, 'Source Sans 3', system-ui, sans-serif; max-width: 74rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.7rem; text-align: left; border-bottom: 1px solid #8884; white-space: nowrap; }
td.words { white-space: normal; min-width: 18rem; }
th { border-bottom: 2px solid #8888; }
div.wide { overflow-x: auto; }
pre { background: #8882; padding: 0.6rem 0.9rem; border-radius: 6px; overflow-x: auto; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; } figcaption { font-size: 0.88rem; opacity: 0.8; }
)";

// **bold** and `code`, as in Markdown.
std::string html_words(const std::string& text) {
  std::string out = markup(text);
  for (const auto& [mark, tag] : {std::pair<std::string, std::string>{"**", "b"}, {"`", "code"}})
    for (std::size_t at = out.find(mark); at != std::string::npos; at = out.find(mark)) {
      const std::size_t end = out.find(mark, at + mark.size());
      if (end == std::string::npos) break;
      out.replace(end, mark.size(), "</" + tag + ">");
      out.replace(at, mark.size(), "<" + tag + ">");
    }
  return out;
}

// Sentences are wrapped, numbers are not.
constexpr std::size_t kLongCell = 40;

std::string html_table(const report::Table& table) {
  std::string out = "<div class=\"wide\"><table>\n<tr>";
  for (const auto& name : table.header) out += fmt::format("<th>{}</th>", markup(name));
  out += "</tr>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const auto& cell : row) {
      const std::string text = report::to_text(cell);
      out += fmt::format("<td{}>{}</td>", text.size() > kLongCell ? " class=\"words\"" : "", markup(text));
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

}  // namespace

void Document::heading(const std::string& text) { blocks_.push_back({Kind::heading, text, "", "", {}}); }
void Document::subheading(const std::string& text) {
  blocks_.push_back({Kind::subheading, text, "", "", {}});
}
void Document::paragraph(const std::string& text) {
  if (!text.empty()) blocks_.push_back({Kind::paragraph, text, "", "", {}});
}
void Document::command(const std::string& text) { blocks_.push_back({Kind::command, text, "", "", {}}); }
void Document::table(const report::Table& table) { blocks_.push_back({Kind::table, "", "", "", table}); }
void Document::figure(const std::string& name, const std::string& svg, const std::string& caption) {
  blocks_.push_back({Kind::figure, caption, name, svg, {}});
}

std::string Document::markdown(const std::string& figures) const {
  std::string out = fmt::format("# {}\n", title_);
  for (const auto& block : blocks_) switch (block.kind) {
      case Kind::heading: out += fmt::format("\n## {}\n", block.text); break;
      case Kind::subheading: out += fmt::format("\n### {}\n", block.text); break;
      case Kind::paragraph: out += fmt::format("\n{}\n", block.text); break;
      case Kind::command: out += fmt::format("\n    {}\n", block.text); break;
      case Kind::table: out += "\n" + report::to_markdown(block.table); break;
      case Kind::figure: out += fmt::format("\n![{}]({}/{}.svg)\n", block.text, figures, block.name); break;
    }
  return out;
}

std::string Document::html() const {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{0}</title><link rel=\"icon\" "
      "href=\"data:,\"><style>{1}</style></head>\n<body>\n<h1>{0}</h1>\n",
      markup(title_), kStyle);
  for (const auto& block : blocks_) switch (block.kind) {
      case Kind::heading: out += fmt::format("<h2>{}</h2>\n", markup(block.text)); break;
      case Kind::subheading: out += fmt::format("<h3>{}</h3>\n", markup(block.text)); break;
      case Kind::paragraph: out += fmt::format("<p>{}</p>\n", html_words(block.text)); break;
      case Kind::command: out += fmt::format("<pre>{}</pre>\n", markup(block.text)); break;
      case Kind::table: out += html_table(block.table); break;
      case Kind::figure:
        out += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", block.svg, markup(block.text));
        break;
    }
  return out + "</body>\n</html>\n";
}

void Document::write_figures(const std::filesystem::path& folder) const {
  for (const auto& block : blocks_)
    if (block.kind == Kind::figure) {
      std::filesystem::create_directories(folder);
      write_file_atomically(folder / (block.name + ".svg"), block.svg);
    }
}

}  // namespace lather::experiment
