#pragma once
// Time-dependent problems on a periodic interval or square: integrated once by ETDRK4 on half spectra, kept
// as Chebyshev polynomials in time on segments whose length adapts until the last Chebyshev coefficients fall
// below a tolerance. Any derivative at any point then follows from the two expansions, without the equation.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lather/reference/numerics/etdrk4.hpp"
#include "lather/reference/numerics/fourier.hpp"
#include "lather/reference/reference.hpp"

namespace lather::reference {

struct SpectralOptions {
  std::int64_t modes = 256, steps = 400, degree = 16;
  double tolerance = 1e-12;
  void fields(FieldVisitor& v) {
    v.integer("modes", modes, "Fourier modes per direction (even)", between(8, 65536));
    v.integer("steps", steps, "time steps per segment, at least", between(1, 100000));
    v.integer("degree", degree, "degree in time on a segment", between(4, 32));
    v.real("tolerance", tolerance, "root-mean-square of the last Chebyshev coefficients in time", positive());
  }
};

// The same for a problem that may be solved over a shorter time than [0, latest].
struct ShorterOptions : SpectralOptions {
  double latest, end_time = latest;
  ShorterOptions(std::int64_t modes, std::int64_t steps, double tolerance, double latest)
      : SpectralOptions{.modes = modes, .steps = steps, .tolerance = tolerance}, latest(latest) {}
  void fields(FieldVisitor& v) {
    SpectralOptions::fields(v);
    v.real("end_time", end_time, "last time", Range{.low = 0, .high = latest, .low_open = true});
  }
};

struct PeriodicProblem {
  std::string name;
  std::vector<std::string> fields, coordinates;  // one or two fields; (x, t) or (x, y, t)
  std::string accuracy;
  double end_time = 1;
  Interval space = {-1, 1};  // of every coordinate but time; wave number k is exp(iπks), s = -1 … 1 across it

  // v' = L v + factor · transform of pointwise(samples): given per wave number (kx, ky) and field.
  std::function<Complex(int kx, int ky, int field)> linear = {}, initial = {};
  std::function<double(int kx, int ky)> mask =
      {};  // 0 removes a mode of the nonlinear term (aliasing); may be empty
  std::function<Complex(int kx, int ky)> factor = {};              // may be empty: 1
  std::function<void(std::span<Complex> samples)> pointwise = {};  // u + iv -> N_u + i N_v, in place
};

// Node j of segment s is snapshot s·degree + j; adjacent segments share their end nodes. Every snapshot holds
// the half spectra of all fields, one after another, as (real, imaginary) pairs.
struct TimeHistory {
  std::vector<double> breaks;
  std::vector<double> snapshots;
};

TimeHistory integrate(const PeriodicProblem& problem, const SpectralOptions& options);

std::unique_ptr<ReferenceSolution> make_periodic(const PeriodicProblem& problem,
                                                 const SpectralOptions& options, nlohmann::json all_settings,
                                                 const std::filesystem::path& cache_directory);

// How evaluation sums a batch; for tests. `automatic` uses the gridded sum if a segment holds many points.
enum class Summation { automatic, direct, gridded };
void evaluate_periodic(const ReferenceSolution& periodic, Summation summation, std::span<const double> points,
                       std::size_t count, int field, std::span<const int> orders, std::span<double> out);

}  // namespace lather::reference
