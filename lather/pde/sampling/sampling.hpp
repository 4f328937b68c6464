#pragma once
// Points in a box, by a plan. Every number is a pure function of (stream, index), so the same seed gives the
// same points on any device and thread count.

#include <cstdint>
#include <initializer_list>
#include <span>

#include "lather/core/rng.hpp"
#include "lather/pde/points.hpp"
#include "lather/pde/problem.hpp"

namespace lather::pde {

// How points are chosen.
enum class SamplingMethod {
  uniform,          // independent
  latin_hypercube,  // along every coordinate, one point in each of `count` equal strata
  sobol,            // Sobol' sequence with a random digital shift
  sobol_plain,      // without a shift: begins at the low corner of the box
  grid,      // midpoints of the cells of the largest grid of equal division with no more than `count` cells
  adaptive,  // by residuals (PointSource); while there are none yet, like sobol
};

// A stream of random numbers for one purpose: different labels give independent streams.
std::uint64_t stream_of(std::initializer_list<std::uint64_t> labels);

// `count` points of the unit cube, [coordinate][point]; `grid` may give fewer. `first` is where the plain
// sequence begins.
std::vector<std::vector<double>> unit_points(SamplingMethod method, std::size_t count, int dimensions,
                                             std::uint64_t seed, std::uint64_t stream,
                                             std::uint64_t first = 0);

// The same in a part of the domain: coordinates that `piece` holds fixed keep their value, the others range
// over `box` and lie in the region of the piece, which then gives the values of `columns` (region.hpp).
Points points_in(std::span<const Interval> box, const Piece& piece, SamplingMethod method, std::size_t count,
                 std::uint64_t seed, std::uint64_t stream, std::uint64_t first = 0,
                 std::span<const std::string> columns = {});

void append(Points& points, const Points& more);

// Residual-based adaptive distribution (RAD; Wu et al. 2023, eq. 2): candidate i is drawn with probability
// proportional to |r_i|^k / mean(|r|^k) + c. `count` indices, with replacement, by inverting the cumulative
// sum at random numbers. A residual that is not finite counts as 0; if all vanish and c = 0, all candidates
// are equally likely.
std::vector<std::size_t> adaptive_choice(std::span<const double> residuals, double k, double c,
                                         std::size_t count, const Random& random);

}  // namespace lather::pde
