#pragma once
// Self-convergence: each reference solved at several resolutions and compared with the finest. For the generated page
// docs/references.md.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lather/reference/reference.hpp"

namespace lather::lab {

struct Comparison {
  double value = 0;       // largest difference of any field
  double derivative = 0;  // largest difference of any first derivative, over the largest such derivative
};

// At `count` points drawn from `box`, uniformly, or uniformly in log(1 + 10 y) where the domain is unbounded.
Comparison compare(const reference::ReferenceSolution& a, const reference::ReferenceSolution& b,
                   const std::vector<reference::Interval>& box, bool logarithmic, std::size_t count);

struct CheckReport {
  bool passed = false;
  std::string text;
};

// Compares the two finest resolutions of the study; one of them is the default.
CheckReport check_reference(const std::string& name, const std::filesystem::path& cache_directory);

// Markdown. `progress` is told what is being solved.
std::string convergence_page(const std::filesystem::path& cache_directory,
                             const std::function<void(const std::string&)>& progress);
// Only its tables.
std::string convergence_tables(const std::string& name, const std::filesystem::path& cache_directory,
                               const std::function<void(const std::string&)>& progress);
// The parts of that page that need only one reference solved, and those that need none, in the page's order:
// a test looks for them in the committed page.
std::string summary_row(const std::string& name, const reference::ReferenceSolution& solution);
std::vector<std::string> page_parts_without_figures();

}  // namespace lather::lab
