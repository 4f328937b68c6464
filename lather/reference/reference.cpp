#include "lather/reference/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <mutex>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/core/process_mutex.hpp"
#include "lather/reference/registry.hpp"

namespace lather::reference {
namespace {

std::vector<Maker> all_makers() {
  return {wave_maker(),
          burgers_maker(),
          allen_cahn_maker(),
          kdv_maker(),
          kuramoto_sivashinsky_maker(),
          gray_scott_maker(),
          ginzburg_landau_maker(),
          cavity_maker(),
          burgers_selfsimilar_maker(),
          boussinesq_maker()};
}

Maker find_maker(const std::string& name) {
  for (auto& maker : all_makers())
    if (maker.name == name) return maker;
  throw Error(unknown_name_message("reference", name, reference_names()));
}

}  // namespace

void ReferenceSolution::evaluate(std::span<const double> points, std::size_t count, int field,
                                 std::span<const int> orders, std::span<double> out) const {
  const auto names = coordinates();
  const auto limits = domain();
  const std::size_t d = names.size();
  if (field < 0 || field >= static_cast<int>(fields().size()))
    throw Error(fmt::format("reference: field {} of {} (known: {})", field, fields().size(),
                            fmt::join(fields(), ", ")));
  if (orders.size() != d)
    throw Error(fmt::format("reference: {} derivative orders for {} coordinates ({})", orders.size(), d,
                            fmt::join(names, ", ")));
  for (const int order : orders)
    if (order < 0) throw Error("reference: a derivative order is negative");
  const int total = std::accumulate(orders.begin(), orders.end(), 0);
  if (total > highest_order())
    throw Error(
        fmt::format("reference: derivative of order {}, at most {} is available", total, highest_order()));
  if (points.size() != count * d || out.size() != count)
    throw Error(
        fmt::format("reference: {} points of {} coordinates need {} numbers and {} results, got {} and {}",
                    count, d, count * d, count, points.size(), out.size()));
  constexpr double kSlack = 1e-12;  // a point computed as low + n·h may miss the end by rounding
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < d; ++k) {
      const double x = points[i * d + k], slack = kSlack * (1 + std::abs(x));
      if (!(x >= limits[k].low - slack && x <= limits[k].high + slack))
        throw Error(fmt::format("reference: {} = {} lies outside [{}, {}]", names[k], x, limits[k].low,
                                limits[k].high));
    }
  evaluate_checked(points, count, field, orders, out);
}

double ReferenceSolution::derivative(int field, std::span<const int> orders,
                                     std::span<const double> point) const {
  double result = 0;
  evaluate(point, 1, field, orders, {&result, 1});
  return result;
}
double ReferenceSolution::derivative(int field, std::initializer_list<int> orders,
                                     std::initializer_list<double> point) const {
  return derivative(field, std::span(orders.begin(), orders.size()), std::span(point.begin(), point.size()));
}
double ReferenceSolution::value(int field, std::span<const double> point) const {
  const std::vector<int> none(point.size(), 0);
  return derivative(field, none, point);
}
double ReferenceSolution::value(int field, std::initializer_list<double> point) const {
  return value(field, std::span(point.begin(), point.size()));
}

int ReferenceSolution::field_index(const std::string& name) const {
  const auto names = fields();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<int>(i);
  throw Error(unknown_name_message("field of the reference", name, names));
}

std::vector<std::string> reference_names() {
  std::vector<std::string> names;
  for (const auto& maker : all_makers()) names.push_back(maker.name);
  return names;
}

std::vector<FieldDescription> reference_options(const std::string& name) { return find_maker(name).options; }

std::unique_ptr<ReferenceSolution> make_reference(const std::string& name, const TomlValue& settings,
                                                  const std::filesystem::path& cache_directory) {
  // Concurrent trainings want the same reference at the same time: one computes it, the others find it in the
  // cache.
  static ProcessMutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  return find_maker(name).make(settings.as_table("settings of a reference"), cache_directory);
}

}  // namespace lather::reference
