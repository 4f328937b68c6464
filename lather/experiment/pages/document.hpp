#pragma once
// A page of headings, words, tables and pictures, as Markdown and as HTML.

#include <filesystem>
#include <string>
#include <vector>

#include "lather/report/table.hpp"

namespace lather::experiment {

class Document {
 public:
  explicit Document(std::string title) : title_(std::move(title)) {}

  void heading(const std::string& text);
  void subheading(const std::string& text);
  void paragraph(const std::string& text);
  void command(const std::string& text);  // a line for the shell
  void table(const report::Table& table);
  void figure(const std::string& name, const std::string& svg, const std::string& caption);

  // Pictures are files in `figures`, referred to from a page next to that folder.
  std::string markdown(const std::string& figures) const;
  std::string html() const;  // self-contained
  void write_figures(const std::filesystem::path& folder) const;

 private:
  enum class Kind { heading, subheading, paragraph, command, table, figure };
  struct Block {
    Kind kind;
    std::string text, name, svg;
    report::Table table;
  };
  std::string title_;
  std::vector<Block> blocks_;
};

}  // namespace lather::experiment
