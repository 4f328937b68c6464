// docs/references.md is what lab_references prints: all but the figures is compared here.
#include <sstream>

#include "paths.hpp"
#include "reference/helpers.hpp"
#include "references/studies.hpp"

namespace lather::reference {
namespace {

using namespace lab;

std::string committed_page() {
  std::stringstream text;
  text << std::ifstream(lather::test::source_path("docs/references.md")).rdbuf();
  return text.str();
}

TEST(ReferencePage, HasTheStudiesOfTheCommandThatPrintsIt) {
  const std::string page = committed_page();
  std::size_t from = 0;
  for (const auto& part : page_parts_without_figures()) {
    const auto at = page.find(part, from);
    ASSERT_NE(at, std::string::npos)
        << "run: build/release/bin/lab_references > docs/references.md; missing:\n"
        << part;
    from = at + part.size() - 1;  // a row starts with the line end of the part before it
  }
}

TEST(ReferencePage, StatesTheAccuracyThatReferencesState) {
  const std::string page = committed_page();
  const nlohmann::json rough = {{"modes", 16}, {"steps", 20}, {"tolerance", 1e-2}};
  const std::map<std::string, nlohmann::json> quick = {
      {"allen-cahn", rough},
      {"kdv", rough},
      {"kuramoto-sivashinsky", rough},
      {"gray-scott", {{"modes", 16}, {"steps", 20}, {"tolerance", 1e-2}, {"end_time", 0.001}}},
      {"ginzburg-landau", {{"modes", 16}, {"steps", 20}, {"tolerance", 1e-2}, {"end_time", 0.001}}},
      {"lid-driven-cavity", {{"reynolds", 10}, {"points", 16}}},
      {"boussinesq", {{"q_points", 24}, {"eta_points", 22}}}};
  for (const auto& name : reference_names()) {
    const auto settings = quick.contains(name) ? quick.at(name) : nlohmann::json::object();
    EXPECT_NE(page.find("\n" + summary_row(name, *solved(name, settings, shared_cache()))), std::string::npos)
        << name;
  }
}

}  // namespace
}  // namespace lather::reference
