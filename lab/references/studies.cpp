#include "references/studies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lather/core/error.hpp"
#include "lather/core/rng.hpp"

namespace lather::lab {

using namespace reference;

namespace {

using Json = nlohmann::json;

struct Study {
  std::string name, title, note = {};
  std::vector<std::string> columns;  // the settings that change
  std::vector<Json> rows;            // coarse to fine; the others are compared with the last
  Json common = Json::object();      // settings of every row
  std::vector<Interval> box;
  bool logarithmic = false;
  double tolerance = 0;  // for the values, the row before the last against the last; 0: not checked
};

const std::vector<Json> kBoussinesqRows = {
    {{"q_points", 24}, {"eta_points", 16}}, {{"q_points", 32}, {"eta_points", 22}},
    {{"q_points", 40}, {"eta_points", 28}}, {{"q_points", 48}, {"eta_points", 32}},
    {{"q_points", 56}, {"eta_points", 36}}, {{"q_points", 72}, {"eta_points", 40}},
    {{"q_points", 88}, {"eta_points", 44}}};

const std::vector<Json> kKuramotoSivashinskyRows = {{{"modes", 256}, {"steps", 3200}},
                                                    {{"modes", 384}, {"steps", 3200}},
                                                    {{"modes", 512}, {"steps", 1600}},
                                                    {{"modes", 512}, {"steps", 3200}},
                                                    {{"modes", 768}, {"steps", 6400}}};

std::vector<Study> studies() {
  return {
      {.name = "burgers",
       .title = "Viscous Burgers: Cole–Hopf integral by trapezoidal sums",
       .note = "Spectrally accurate in the density of points; time derivatives follow from the equation.",
       .columns = {"density"},
       .rows = {{{"density", 0.5}},
                {{"density", 0.75}},
                {{"density", 1}},
                {{"density", 1.5}},
                {{"density", 2.5}},
                {{"density", 6}}},
       .box = {{-0.2, 0.2}, {0, 1}},
       .tolerance = 1e-12},
      {.name = "kdv",
       .title = "Korteweg–de Vries: Fourier, ETDRK4",
       .note = "Two-thirds rule; `steps` are time steps per segment of the Chebyshev expansion in time.",
       .columns = {"modes", "steps"},
       .rows = {{{"modes", 256}, {"steps", 12800}},
                {{"modes", 384}, {"steps", 12800}},
                {{"modes", 512}, {"steps", 12800}},
                {{"modes", 768}, {"steps", 3200}},
                {{"modes", 768}, {"steps", 6400}},
                {{"modes", 768}, {"steps", 12800}},
                {{"modes", 1024}, {"steps", 25600}}},
       .box = {{-1, 1}, {0, 1}},
       .tolerance = 2e-13},
      {.name = "kuramoto-sivashinsky",
       .title = "Kuramoto–Sivashinsky: Fourier, ETDRK4 (t ≤ 0.5)",
       .note = "Two-thirds rule. Small scales grow like exp(25 t) until they saturate.",
       .columns = {"modes", "steps"},
       .rows = kKuramotoSivashinskyRows,
       .box = {{0, 2 * std::numbers::pi}, {0, 0.5}},
       .tolerance = 1e-11},
      {.name = "kuramoto-sivashinsky",
       .title = "Kuramoto–Sivashinsky, chaotic (0.5 ≤ t ≤ 1)",
       .columns = {"modes", "steps"},
       .rows = kKuramotoSivashinskyRows,
       .box = {{0, 2 * std::numbers::pi}, {0.5, 1}}},
      {.name = "allen-cahn",
       .title = "Allen–Cahn: Fourier, ETDRK4 (t ≥ 0.002)",
       .note = "The initial data x² cos πx have a kink at x = ±1 (u_x jumps by 4). Its Fourier coefficients "
               "are exact, and the modes "
               "beyond the kept ones are added until diffusion has smoothed them; the next table shows the "
               "first instants.",
       .columns = {"modes", "steps"},
       .rows = {{{"modes", 1024}, {"steps", 256}},
                {{"modes", 2048}, {"steps", 256}},
                {{"modes", 4096}, {"steps", 256}},
                {{"modes", 8192}, {"steps", 128}},
                {{"modes", 8192}, {"steps", 256}},
                {{"modes", 16384}, {"steps", 256}}},
       .box = {{-1, 1}, {0.002, 1}},
       .tolerance = 1e-9},
      {.name = "allen-cahn",
       .title = "Allen–Cahn at the kink in the first instants (|x| > 0.99, t < 0.002)",
       .note = "What the kept modes lack is added in closed form, from the equation linearized about u = -1.",
       .columns = {"modes"},
       .rows = {{{"modes", 4096}}, {{"modes", 8192}}, {{"modes", 16384}}},
       .box = {{0.99, 1}, {0, 0.002}}},
      {.name = "ginzburg-landau",
       .title = "Ginzburg–Landau: Fourier, ETDRK4",
       .columns = {"modes", "steps"},
       .rows = {{{"modes", 128}, {"steps", 320}},
                {{"modes", 160}, {"steps", 320}},
                {{"modes", 192}, {"steps", 320}},
                {{"modes", 256}, {"steps", 160}},
                {{"modes", 256}, {"steps", 320}},
                {{"modes", 320}, {"steps", 320}}},
       .box = {{-1, 1}, {-1, 1}, {0, 1}},
       .tolerance = 1e-8},
      {.name = "gray-scott",
       .title = "Gray–Scott: Fourier, ETDRK4 (t ≥ 0.01)",
       .note = "The periodic continuation of the initial Gaussians jumps by 1e-4 at the edge; coefficients "
               "are exact, the jump is smooth "
               "after t = 0.001.",
       .columns = {"modes"},
       .rows = {{{"modes", 128}}, {{"modes", 160}}, {{"modes", 192}}},
       .box = {{-1, 1}, {-1, 1}, {0.01, 2}},
       .tolerance = 1e-8},
      {.name = "lid-driven-cavity",
       .title = "Lid-driven cavity, Re = 5000, smoothed lid: Chebyshev stream function, Newton",
       .note = "Points within 0.02 of the walls left out. In the upper corners psi_xy jumps from 50 to 0, "
               "which limits the convergence.",
       .columns = {"points"},
       .rows = {{{"points", 48}}, {{"points", 64}}, {{"points", 80}}, {{"points", 96}}},
       .box = {{0.02, 0.98}, {0.02, 0.98}},
       .tolerance = 1e-4},
      {.name = "lid-driven-cavity",
       .title = "Lid-driven cavity, Re = 1000, unit lid",
       .note = "The lid speed jumps at the upper corners, where pressure and vorticity are infinite: p "
               "dominates the differences here.",
       .columns = {"points"},
       .rows = {{{"points", 32}}, {{"points", 48}}, {{"points", 64}}},
       .common = {{"lid", "unit"}, {"reynolds", 1000}},
       .box = {{0.1, 0.9}, {0.1, 0.9}}},
      {.name = "boussinesq",
       .title = "Self-similar Boussinesq profile: Chebyshev collocation in q and a stretched eta, Newton",
       .note = "Physical fields in 0 < y1, y2 < 50, uniform in log(1 + 10y). Convergence in q is algebraic: "
               "the equations contain q^5.84.",
       .columns = {"q_points", "eta_points"},
       .rows = kBoussinesqRows,
       .common = {{"chart", "physical"}},
       .box = {{0.01, 50}, {0.01, 50}},
       .logarithmic = true,
       .tolerance = 5e-8},
      {.name = "boussinesq",
       .title = "Self-similar Boussinesq profile: w, h, c up to |y| = 2e12",
       .note = "Even chart, 0 < z < 0.9999, with the layer beside the axis.",
       .columns = {"q_points", "eta_points"},
       .rows = kBoussinesqRows,
       .common = {{"chart", "even"}},
       .box = {{0, 0.9999}, {0, std::acos(0.0)}},
       .tolerance = 1e-8},
  };
}

std::unique_ptr<ReferenceSolution> solve_row(const Study& study, const Json& row,
                                             const std::filesystem::path& cache) {
  Json settings = study.common;
  settings.update(row);
  return make_reference(study.name, toml_from_json(settings, {}), cache);
}

constexpr std::size_t kPoints = 300;

std::string heading(const Study& study) {
  std::string text = fmt::format("\n## {}\n\n", study.title);
  if (!study.note.empty()) text += study.note + "\n\n";
  for (const auto& column : study.columns) text += "| " + column + " ";
  return text + "| largest error of a field | of a first derivative, relative |";
}

std::string row_start(const Study& study, const Json& row) {
  std::string text;
  for (const auto& column : study.columns) text += "| " + row.at(column).dump() + " ";
  return text;
}

std::string study_table(const Study& study, const std::filesystem::path& cache,
                        const std::function<void(const std::string&)>& progress) {
  progress(fmt::format("{} {}", study.name, study.rows.back().dump()));
  const auto finest = solve_row(study, study.rows.back(), cache);
  const bool has_lambda = finest->unknowns().contains("lambda");
  std::string text = heading(study) + (has_lambda ? " lambda |\n" : "\n");
  for (std::size_t i = 0; i < study.columns.size() + 2 + (has_lambda ? 1 : 0); ++i) text += "|---";
  text += "|\n";
  for (const auto& row : study.rows) {
    const bool last = &row == &study.rows.back();
    if (!last) progress(fmt::format("{} {}", study.name, row.dump()));
    const auto solution = last ? nullptr : solve_row(study, row, cache);
    text += row_start(study, row);
    if (last)
      text += "| (compared with) | |";
    else {
      const auto [value, derivative] = compare(*solution, *finest, study.box, study.logarithmic, kPoints);
      text += fmt::format("| {:.1e} | {:.1e} |", value, derivative);
    }
    if (has_lambda) text += fmt::format(" {:.12f} |", (last ? *finest : *solution).unknowns().at("lambda"));
    text += "\n";
  }
  return text;
}

constexpr const char* kIntroduction =
    "# Reference solutions\n\n"
    "Generated by `build/release/bin/lab_references > docs/references.md`. Every table compares a reference "
    "with "
    "itself at its finest\n"
    "resolution, at 300 random points; the default resolution is the last row or the one before. "
    "`lab_references --check NAME`\n"
    "repeats the last comparison, `lather reference NAME --at 0.5,0.25` prints values.\n\n"
    "| name | fields | coordinates | accuracy |\n|---|---|---|---|\n";

constexpr const char* kMethods =
    "\nTime-dependent periodic problems are kept as Chebyshev polynomials in time on segments whose length "
    "adapts until the last\n"
    "coefficients fall below a tolerance; in space as Fourier coefficients. Derivatives are those of the "
    "two expansions, not of the\n"
    "equation. Wave is a closed form; the self-similar Burgers profile solves y = -U - C "
    "sgn(U)|U|^(1+1/lambda) by Newton's method.\n"
    "The derivation behind the Boussinesq solver is in [boussinesq.md](boussinesq.md).\n";

}  // namespace

Comparison compare(const ReferenceSolution& a, const ReferenceSolution& b, const std::vector<Interval>& box,
                   bool logarithmic, std::size_t count) {
  const std::size_t d = box.size();
  std::vector<double> points(count * d);
  for (std::size_t k = 0; k < d; ++k)
    for (std::size_t i = 0; i < count; ++i) {
      const double s = Random(20260101, k).uniform(i);
      const auto [low, high] = box[k];
      if (logarithmic) {
        const double from = std::log1p(10 * low), to = std::log1p(10 * high);
        points[i * d + k] = std::expm1(from + s * (to - from)) / 10;
      } else {
        points[i * d + k] = low + s * (high - low);
      }
    }
  Comparison result;
  double largest_slope = 0, largest_slope_difference = 0;
  std::vector<double> of_a(count), of_b(count);
  for (int field = 0; field < static_cast<int>(a.fields().size()); ++field)
    for (std::size_t k = 0; k <= d; ++k) {  // k = d: the value itself
      std::vector<int> orders(d, 0);
      if (k < d) orders[k] = 1;
      a.evaluate(points, count, field, orders, of_a);
      b.evaluate(points, count, field, orders, of_b);
      for (std::size_t i = 0; i < count; ++i) {
        const double difference = std::abs(of_a[i] - of_b[i]);
        if (k == d) {
          result.value = std::max(result.value, difference);
        } else {
          largest_slope = std::max(largest_slope, std::abs(of_b[i]));
          largest_slope_difference = std::max(largest_slope_difference, difference);
        }
      }
    }
  result.derivative = largest_slope_difference / largest_slope;
  return result;
}

CheckReport check_reference(const std::string& name, const std::filesystem::path& cache_directory) {
  CheckReport report{true, ""};
  for (const auto& study : studies()) {
    if (study.name != name || study.tolerance <= 0) continue;
    const Json &coarse = study.rows[study.rows.size() - 2],
               &fine = study.rows.back();  // one of them is the default
    const auto [value, derivative] =
        compare(*solve_row(study, coarse, cache_directory), *solve_row(study, fine, cache_directory),
                study.box, study.logarithmic, kPoints);
    const bool passed = value <= study.tolerance;
    report.passed &= passed;
    report.text += fmt::format(
        "{}{}: between {} and {} the fields differ by {:.1e} (allowed {:.0e}), their first derivatives by "
        "{:.1e} relative: {}",
        report.text.empty() ? "" : "\n", name, coarse.dump(), fine.dump(), value, study.tolerance, derivative,
        passed ? "passed" : "FAILED");
  }
  if (!report.text.empty()) return report;
  make_reference(name, {}, cache_directory);  // throws for an unknown name
  return {true, name + ": closed form, nothing to converge"};
}

std::string summary_row(const std::string& name, const ReferenceSolution& solution) {
  return fmt::format("| {} | {} | {} | {} |\n", name, fmt::join(solution.fields(), ", "),
                     fmt::join(solution.coordinates(), ", "), solution.accuracy());
}

std::string convergence_page(const std::filesystem::path& cache_directory,
                             const std::function<void(const std::string&)>& progress) {
  std::string text = kIntroduction;
  for (const auto& name : reference_names()) {
    progress(name);
    text += summary_row(name, *make_reference(name, {}, cache_directory));
  }
  text += kMethods;
  for (const auto& study : studies()) text += study_table(study, cache_directory, progress);
  return text;
}

std::string convergence_tables(const std::string& name, const std::filesystem::path& cache_directory,
                               const std::function<void(const std::string&)>& progress) {
  std::string text;
  for (const auto& study : studies())
    if (study.name == name) text += study_table(study, cache_directory, progress);
  if (text.empty()) text = check_reference(name, cache_directory).text + "\n";
  return text;
}

std::vector<std::string> page_parts_without_figures() {
  std::vector<std::string> parts = {kIntroduction, kMethods};
  for (const auto& study : studies()) {
    parts.push_back(heading(study));
    for (const auto& row : study.rows) parts.push_back("\n" + row_start(study, row) + "|");
  }
  return parts;
}

}  // namespace lather::lab
