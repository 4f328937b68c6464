#include "lather/pde/sampling/sampling.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "lather/core/interrupt.hpp"
#include "lather/pde/formulas/sampling.hpp"
#include "lather/pde/sampling/region.hpp"
#include "lather/pde/sampling/sobol.hpp"

namespace lather::pde {

std::uint64_t stream_of(std::initializer_list<std::uint64_t> labels) {
  std::uint64_t key = 0;
  for (const std::uint64_t label : labels) key = with_label(key, label);
  return key;
}

namespace {

using Coordinates = std::vector<std::vector<double>>;

void fill_uniform(Coordinates& u, const Random& random) {
  const std::size_t d = u.size();
  for (std::size_t k = 0; k < d; ++k)
    for (std::size_t i = 0; i < u[k].size(); ++i) u[k][i] = random.uniform(i * d + k);
}

// Strata in the order of random keys, and a uniform place inside each.
void fill_latin(Coordinates& u, const Random& random) {
  const std::size_t d = u.size();
  for (std::size_t k = 0; k < d; ++k) {
    const std::size_t n = u[k].size();
    std::vector<std::pair<std::uint64_t, std::size_t>> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = {random.bits((n + i) * d + k), i};
    std::sort(order.begin(), order.end());
    for (std::size_t stratum = 0; stratum < n; ++stratum) {
      const std::size_t i = order[stratum].second;
      u[k][i] = (static_cast<double>(stratum) + random.uniform(i * d + k)) / static_cast<double>(n);
    }
  }
}

void fill_sobol_plain(Coordinates& u, std::uint64_t first) {
  for (std::size_t k = 0; k < u.size(); ++k)
    for (std::size_t i = 0; i < u[k].size(); ++i)
      u[k][i] = sobol_unit(sobol_bits(static_cast<std::uint32_t>(first + i), static_cast<int>(k)));
}

void fill_sobol_shifted(Coordinates& u, const Random& random) {
  for (std::size_t k = 0; k < u.size(); ++k) {
    const std::uint64_t shift = random.bits(k) >> 12;
    for (std::size_t i = 0; i < u[k].size(); ++i)
      u[k][i] = shifted_sobol_unit(sobol_bits(static_cast<std::uint32_t>(i), static_cast<int>(k)), shift);
  }
}

void fill_grid(Coordinates& u, std::size_t count) {
  const std::size_t d = u.size();
  std::vector<std::size_t> cells(d, 1);
  const auto total = [&] {
    return std::accumulate(cells.begin(), cells.end(), std::size_t{1}, std::multiplies<>());
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t k = 0; k < d; ++k)
      if (total() / cells[k] * (cells[k] + 1) <= count) {
        ++cells[k];
        grown = true;
      }
  }
  const std::size_t n = total();
  for (std::size_t k = 0, stride = n; k < d; ++k) {
    stride /= cells[k];
    u[k].resize(n);
    for (std::size_t i = 0; i < n; ++i)
      u[k][i] = (static_cast<double>(i / stride % cells[k]) + 0.5) / static_cast<double>(cells[k]);
  }
}

}  // namespace

std::vector<std::vector<double>> unit_points(SamplingMethod method, std::size_t count, int dimensions,
                                             std::uint64_t seed, std::uint64_t stream, std::uint64_t first) {
  assert(dimensions <= kSobolDimensions);
  poll_stop();
  Coordinates u(dimensions, std::vector<double>(count));
  const Random random(seed, stream);
  switch (method) {
    case SamplingMethod::uniform: fill_uniform(u, random); break;
    case SamplingMethod::latin_hypercube: fill_latin(u, random); break;
    case SamplingMethod::adaptive:
    case SamplingMethod::sobol: fill_sobol_shifted(u, random); break;
    case SamplingMethod::sobol_plain: fill_sobol_plain(u, first); break;
    case SamplingMethod::grid: fill_grid(u, count); break;
  }
  return u;
}

Points points_in(std::span<const Interval> box, const Piece& piece, SamplingMethod method, std::size_t count,
                 std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                 std::span<const std::string> columns) {
  if (piece.region) return piece.region->draw(box, piece, method, count, seed, stream, first, columns);
  const auto is_free = [&](std::size_t k) { return piece.empty() || std::isnan(piece[k]); };
  int free = 0;
  for (std::size_t k = 0; k < box.size(); ++k) free += is_free(k);
  auto u = unit_points(method, count, free, seed, stream, first);
  const std::size_t n = free > 0 ? u[0].size() : count;
  Points points;
  for (std::size_t k = 0, next = 0; k < box.size(); ++k) {
    if (!is_free(k)) {
      points.coordinates.emplace_back(n, piece[k]);
      continue;
    }
    auto& c = points.coordinates.emplace_back(std::move(u[next++]));
    // fma: the same bits whatever the compiler contracts, and on a GPU
    for (double& v : c) v = std::fma(box[k].high - box[k].low, v, box[k].low);
  }
  return points;
}

void append(Points& points, const Points& more) {
  points.coordinates.resize(more.coordinates.size());
  points.columns.resize(more.columns.size());
  for (std::size_t k = 0; k < more.coordinates.size(); ++k)
    points.coordinates[k].insert(points.coordinates[k].end(), more.coordinates[k].begin(),
                                 more.coordinates[k].end());
  for (std::size_t k = 0; k < more.columns.size(); ++k)
    points.columns[k].insert(points.columns[k].end(), more.columns[k].begin(), more.columns[k].end());
}

std::vector<std::size_t> adaptive_choice(std::span<const double> residuals, double k, double c,
                                         std::size_t count, const Random& random) {
  std::vector<double> p(residuals.size());
  for (std::size_t i = 0; i < p.size(); ++i)
    p[i] = std::isfinite(residuals[i]) ? std::pow(std::abs(residuals[i]), k) : 0;
  const double mean = std::accumulate(p.begin(), p.end(), 0.0) / static_cast<double>(p.size());
  const bool usable = mean > 0 && std::isfinite(mean);
  double sum = 0;
  for (double& v : p) v = sum += usable ? v / mean + c : 1;
  std::vector<std::size_t> chosen(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = std::upper_bound(p.begin(), p.end(), random.uniform(i) * sum);
    chosen[i] = std::min<std::size_t>(at - p.begin(), p.size() - 1);
  }
  return chosen;
}

}  // namespace lather::pde
