// What Svg writes is a list of rect, path, circle and text elements, one per line, coordinates from the
// top; paths hold M, L with absolute, l with relative coordinates, and z. PDF counts from the bottom: y ->
// height - y.

#include "lather/report/draw/pdf.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "lather/core/error.hpp"
#include "lather/report/draw/glyphs.hpp"
#include "lather/report/draw/svg.hpp"

namespace lather::report {

namespace {

std::string attribute(const std::string& element, const std::string& name,
                      const std::string& otherwise = "") {
  const std::string key = " " + name + "=\"";
  const auto begin = element.find(key);
  if (begin == element.npos) return otherwise;
  const auto from = begin + key.size();
  return element.substr(from, element.find('"', from) - from);
}

double number(const std::string& element, const char* name, double otherwise = 0) {
  const std::string text = attribute(element, name);
  return text.empty() ? otherwise : std::strtod(text.c_str(), nullptr);
}

// "#2c5f8a" -> "0.173 0.373 0.541"; "#fff" likewise.
std::string rgb(const std::string& colour) {
  std::string digits = colour.substr(1);
  if (digits.size() == 3) digits = {digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]};
  const auto part = [&](std::size_t at) {
    return static_cast<double>(std::strtol(digits.substr(at, 2).c_str(), nullptr, 16)) / 255;
  };
  return fmt::format("{:.3f} {:.3f} {:.3f}", part(0), part(2), part(4));
}

std::string unescaped(std::string text) {
  for (const auto& [entity, character] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&amp;", "&"}})  // the last one last
    for (std::size_t at = 0; (at = text.find(entity, at)) != text.npos; ++at)
      text.replace(at, std::char_traits<char>::length(entity), character);
  return text;
}

class PdfPage {
 public:
  PdfPage(double width, double height) : width_(width), height_(height) {}

  void rectangle(const std::string& e) {
    if (e.find(" x=\"") == e.npos) return;  // the background
    const double x = number(e, "x"), y = number(e, "y"), w = number(e, "width"), h = number(e, "height");
    begin(e);
    out_ += fmt::format("{:.2f} {:.2f} {:.2f} {:.2f} re ", x, height_ - y - h, w, h);
    paint(e);
  }
  void circle(const std::string& e) {  // four arcs
    const double x = number(e, "cx"), y = height_ - number(e, "cy"), r = number(e, "r"), k = 0.5523 * r;
    begin(e);
    out_ += fmt::format("{:.2f} {:.2f} m ", x + r, y);
    const double arcs[4][6] = {
        {r, k, k, r, 0, r}, {-k, r, -r, k, -r, 0}, {-r, -k, -k, -r, 0, -r}, {k, -r, r, -k, r, 0}};
    for (const auto& a : arcs)
      out_ += fmt::format("{:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} c ", x + a[0], y + a[1], x + a[2],
                          y + a[3], x + a[4], y + a[5]);
    paint(e);
  }
  void path(const std::string& e) {
    begin(e);
    const std::string d = attribute(e, "d");
    double x = 0, y = 0;
    bool relative = false, move = false;
    for (const char* at = d.c_str(); *at;) {
      if (*at == 'M' || *at == 'L' || *at == 'l') {
        move = *at == 'M', relative = *at == 'l';
        ++at;
      } else if (*at == 'z') {
        out_ += "h ";
        ++at;
      } else if (*at == ' ') {
        ++at;
      } else {
        char* end = nullptr;
        const double a = std::strtod(at, &end), b = std::strtod(end, &end);
        if (end == at) throw Error("a path of an SVG that is not ours");
        at = end;
        x = relative ? x + a : a, y = relative ? y + b : b;
        out_ += fmt::format("{:.2f} {:.2f} {} ", x, height_ - y, move ? "m" : "l");
        move = false;
      }
    }
    paint(e);
  }
  void text(const std::string& e) {
    const auto begin_of_words = e.find('>') + 1;
    const auto glyphs = glyphs_of(unescaped(e.substr(begin_of_words, e.rfind("</text>") - begin_of_words)));
    const double size = number(e, "font-size", kTextSize);
    const bool bold = !attribute(e, "font-weight").empty();
    double length = 0;
    for (const auto& g : glyphs) length += width_of(g, bold) * size;
    const std::string anchor = attribute(e, "text-anchor", "start");
    const double x = number(e, "x") - (anchor == "end" ? length : anchor == "middle" ? length / 2 : 0);
    const std::string fill = attribute(e, "fill", "#23262b");
    out_ += fmt::format("BT {} rg {:.2f} {:.2f} Td ", rgb(fill), x, height_ - number(e, "y"));
    for (std::size_t i = 0; i < glyphs.size();) {  // runs of glyphs of one font on one baseline
      const Glyph first = glyphs[i];
      std::string words;
      for (; i < glyphs.size() && glyphs[i].symbol == first.symbol && glyphs[i].place == first.place; ++i) {
        if (std::string("()\\").find(static_cast<char>(glyphs[i].code)) != std::string::npos) words += '\\';
        words += static_cast<char>(glyphs[i].code);
      }
      const double rise = first.place == Glyph::Place::raised    ? 0.4
                          : first.place == Glyph::Place::lowered ? -0.15
                                                                 : 0;
      out_ += fmt::format("{} {:.2f} Tf {:.2f} Ts ({}) Tj ",
                          first.symbol ? "/F3"
                          : bold       ? "/F2"
                                       : "/F1",
                          first.place == Glyph::Place::line ? size : kSmallGlyph * size, rise * size, words);
    }
    out_ += "ET\n";
  }

  std::string finish() const {
    std::vector<std::string> objects = {
        "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        fmt::format(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {:g} {:g}] /Contents 4 0 R /Resources << /Font << "
            "/F1 5 0 R /F2 6 0 R /F3 7 0 R >> /ExtGState << /G1 << /ca 1 >> /G2 << /ca 0.18 >> >> >> >>",
            width_, height_),
        fmt::format("<< /Length {} >>\nstream\n{}endstream", out_.size(), out_)};
    for (const char* name : {"Helvetica", "Helvetica-Bold"})
      objects.push_back(
          fmt::format("<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>", name));
    objects.emplace_back("<< /Type /Font /Subtype /Type1 /BaseFont /Symbol >>");  // in its own encoding
    std::string file = "%PDF-1.4\n", table;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      table += fmt::format("{:010} 00000 n \n", file.size());
      file += fmt::format("{} 0 obj\n{}\nendobj\n", i + 1, objects[i]);
    }
    const std::size_t start = file.size();
    return file + fmt::format(
                      "xref\n0 {0}\n0000000000 65535 f \n{1}trailer\n<< /Size {0} /Root 1 0 R "
                      ">>\nstartxref\n{2}\n%%EOF\n",
                      objects.size() + 1, table, start);
  }

 private:
  void begin(const std::string& e) {
    const std::string fill = attribute(e, "fill", "none"), stroke = attribute(e, "stroke", "none");
    out_ += attribute(e, "fill-opacity").empty() ? "/G1 gs " : "/G2 gs ";
    if (fill != "none") out_ += rgb(fill) + " rg ";
    if (stroke != "none")
      out_ += fmt::format("{} RG {:g} w 1 j 1 J ", rgb(stroke), number(e, "stroke-width", 1));
    out_ += attribute(e, "stroke-dasharray").empty() ? "[] 0 d " : "[5 4] 0 d ";
  }
  void paint(const std::string& e) {
    const bool fill = attribute(e, "fill", "none") != "none",
               stroke = attribute(e, "stroke", "none") != "none";
    const char* rule = attribute(e, "fill-rule") == "evenodd" ? "*" : "";
    out_ += fill && stroke ? fmt::format("B{}\n", rule)
            : fill         ? fmt::format("f{}\n", rule)
            : stroke       ? "S\n"
                           : "n\n";
  }

  double width_, height_;
  std::string out_;
};

}  // namespace

std::string pdf_of(const std::string& svg) {
  PdfPage page(number(svg, "width"), number(svg, "height"));
  for (std::size_t at = 0; (at = svg.find('<', at)) != svg.npos;) {
    const bool is_text = svg.compare(at, 6, "<text ") == 0, is_title = svg.compare(at, 7, "<title>") == 0;
    const auto end = is_text    ? svg.find("</text>", at) + 7
                     : is_title ? svg.find("</title>", at) + 8
                                : svg.find('>', at) + 1;
    const std::string element = svg.substr(at, end - at);
    const auto is = [&](const char* name) {
      return element.compare(1, std::char_traits<char>::length(name), name) == 0;
    };
    if (is_text)
      page.text(element);
    else if (is("rect"))
      page.rectangle(element);
    else if (is("path"))
      page.path(element);
    else if (is("circle"))
      page.circle(element);
    else if (!is_title && !is("svg") && !is("/svg"))
      throw Error("an element of an SVG that is not ours: " + element.substr(0, 40));
    at = end;
  }
  return page.finish();
}

}  // namespace lather::report
