#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/core/files.hpp"
#include "lather/core/process_mutex.hpp"
#include "lather/symbolic/machine/machine.hpp"
#include "lather/train/accuracy/accuracy.hpp"
#include "lather/train/accuracy/known_values.hpp"

namespace lather::train {

using symbolic::Expr;

namespace {

int field_index(const pde::Problem& problem, const std::string& name) {
  for (std::size_t f = 0; f < problem.fields.size(); ++f)
    if (problem.fields[f].name == name) return static_cast<int>(f);
  return -1;
}

class ClosedForm final : public TrueSolution {
 public:
  explicit ClosedForm(const pde::Problem& problem) : problem_(problem), values_(problem.fields.size()) {
    for (const auto& exact : problem.exact) {
      const int f = field_index(problem, exact.name);
      fields_.push_back(f);
      values_[f] = exact.value;
    }
  }
  const std::vector<int>& fields() const override { return fields_; }
  std::string provenance() const override { return "closed form"; }

  std::vector<double> evaluate(int field, std::span<const int> orders,
                               const pde::Points& points) const override {
    std::vector<Expr> inputs;
    Expr e = values_.at(field);
    for (std::size_t k = 0; k < orders.size(); ++k) {
      inputs.push_back(problem_.symbols->coordinate(static_cast<int>(k)));
      for (int i = 0; i < orders[k]; ++i) e = problem_.symbols->total_derivative(e, static_cast<int>(k));
    }
    const auto program = symbolic::compile(std::span(&e, 1), inputs);
    symbolic::Machine<double> machine(program);
    std::vector<double> values(points.count());
    std::vector<const double*> in;
    for (const auto& c : points.coordinates) in.push_back(c.data());
    double* out = values.data();
    machine.run(values.size(), in, std::span(&out, 1));
    return values;
  }

 private:
  pde::Problem problem_;
  std::vector<int> fields_;
  std::vector<Expr> values_;  // by field
};

class FromReference final : public TrueSolution {
 public:
  // `identity` stands for everything its values depend on; empty: values are not kept.
  FromReference(const pde::Problem& problem, std::shared_ptr<const reference::ReferenceSolution> reference,
                std::string identity = "")
      : reference_(std::move(reference)), identity_(std::move(identity)) {
    const auto& names = problem.symbols->coordinate_names();
    if (reference_->coordinates() != names)
      throw Error(fmt::format("the reference has the coordinates {}, the problem {}",
                              fmt::join(reference_->coordinates(), ", "), fmt::join(names, ", ")));
    const auto domain = reference_->domain();
    for (std::size_t k = 0; k < names.size(); ++k)
      if (problem.domain[k].low < domain[k].low || problem.domain[k].high > domain[k].high)
        throw Error(fmt::format("the reference knows {} in [{}, {}], the problem has [{}, {}]", names[k],
                                domain[k].low, domain[k].high, problem.domain[k].low,
                                problem.domain[k].high));
    const auto known = reference_->fields();
    for (std::size_t f = 0; f < problem.fields.size(); ++f) {
      const auto at = std::find(known.begin(), known.end(), problem.fields[f].name);
      place_.push_back(at == known.end() ? -1 : static_cast<int>(at - known.begin()));
      if (place_.back() >= 0) fields_.push_back(static_cast<int>(f));
    }
    if (fields_.empty())
      throw Error(fmt::format("the reference knows the fields {}, none of which the problem has",
                              fmt::join(known, ", ")));
  }
  const std::vector<int>& fields() const override { return fields_; }
  std::string provenance() const override { return reference_->provenance; }

  std::vector<double> evaluate(int field, std::span<const int> orders,
                               const pde::Points& points) const override {
    const std::size_t d = points.coordinates.size();
    std::vector<double> rows(points.count() * d);
    for (std::size_t i = 0; i < points.count(); ++i)
      for (std::size_t k = 0; k < d; ++k) rows[i * d + k] = points.coordinates[k][i];
    const auto compute = [&] {
      std::vector<double> values(points.count());
      reference_->evaluate(rows, values.size(), place_.at(field), orders, values);
      return values;
    };
    if (identity_.empty()) return compute();
    const std::string_view bytes(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(double));
    return known_values().get(fmt::format("{} {} {} {} {:016x}", identity_, place_.at(field),
                                          fmt::join(orders, ","), rows.size(), checksum(bytes)),
                              compute);
  }

 private:
  std::shared_ptr<const reference::ReferenceSolution> reference_;
  std::string identity_;
  std::vector<int> fields_, place_;  // place_: field of the problem -> field of the reference
};

// Parallel trainings need the same reference at the same time: one computes it, the others wait and find it
// in the cache.
std::shared_ptr<const reference::ReferenceSolution> made_once(const pde::ReferenceRequest& request,
                                                              const std::filesystem::path& cache_directory) {
  static ProcessMutex mutex;
  static std::map<std::string, std::shared_ptr<ProcessMutex>> making;
  std::shared_ptr<ProcessMutex> mine;
  {
    const std::lock_guard lock(mutex);
    auto& known = making[request.solver + " " + request.options.to_json().dump()];
    if (!known) known = std::make_shared<ProcessMutex>();
    mine = known;
  }
  const std::lock_guard lock(*mine);
  return reference::make_reference(request.solver, request.options, cache_directory);
}

}  // namespace

std::unique_ptr<TrueSolution> closed_form(const pde::Problem& problem) {
  return std::make_unique<ClosedForm>(problem);
}

std::unique_ptr<TrueSolution> from_reference(const pde::Problem& problem,
                                             std::shared_ptr<const reference::ReferenceSolution> reference) {
  return std::make_unique<FromReference>(problem, std::move(reference));
}

std::unique_ptr<TrueSolution> true_solution(const pde::Problem& problem,
                                            const std::filesystem::path& cache_directory) {
  if (!problem.exact.empty()) return closed_form(problem);
  if (problem.reference.solver.empty()) return nullptr;
  const auto reference = made_once(problem.reference, cache_directory);
  const std::string identity = problem.reference.solver + " " + reference->settings().dump();
  return std::make_unique<FromReference>(problem, reference, identity);
}

}  // namespace lather::train
