#pragma once
// Real fields on the periodic square [-1,1)^d, d = 1 or 2, as half spectra: coefficients c_k of e^{iπ k·x}
// with the last wave number >= 0, so that u(x) = sum over all k with c_{-k} = conj(c_k). Layout: [k] for d =
// 1, [ky][kx] with kx in FFT order for d = 2. Nyquist modes are left out (zero), so derivatives of any order
// are those of the trigonometric polynomial.

#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lather/core/threads.hpp"

namespace lather::reference {

using Complex = std::complex<double>;

class RealTransform {
 public:
  RealTransform(int dimensions, int N, ThreadTeam& team);
  ~RealTransform();

  int dimensions() const { return d_; }
  int modes() const { return N_; }
  std::size_t half_size() const { return half_; }
  std::size_t point_count() const { return points_; }
  struct WaveNumber {
    int x = 0, y = 0;
  };
  WaveNumber wave_number(std::size_t half_index) const;
  std::size_t half_index(WaveNumber k) const;

  // Two fields at once, u as the real part and v as the imaginary part of the samples: one complex transform
  // serves both. v may be empty. Sample (a, b) is at x = 2a/N, y = 2b/N.
  void to_samples(std::span<const Complex> u, std::span<const Complex> v, std::span<Complex> samples);
  void to_spectra(std::span<const Complex> samples, std::span<Complex> u, std::span<Complex> v);

 private:
  struct Lines;
  // Transforms all lines of the square: `from(line, place)` supplies their elements, `to(place, line, value)`
  // receives the results.
  template <class From, class To>
  void each_line(bool inverse, const From& from, const To& to);

  int d_, N_;
  std::size_t half_, points_;
  ThreadTeam& team_;
  std::unique_ptr<Lines> lines_;
  std::vector<Complex> spectrum_, work_;
};

// The derivative of the given orders at a point, by the plain sum over all modes.
double direct_sum(const RealTransform& shape, std::span<const Complex> half, std::span<const int> orders,
                  std::span<const double> point);

// The same for many points: sums on a fine grid by FFT, then a short kernel sum per point (type-2 non-uniform
// FFT with the "exponential of semicircle" kernel of Barnett, Magland & af Klinteberg 2019). Agrees with the
// plain sum to 1e-12 of the largest coefficient sum.
class GriddedSum {
 public:
  // `correction` is gridding_correction(shape.modes()) and must outlive the sum.
  GriddedSum(const RealTransform& shape, const std::vector<double>& correction, std::vector<int> orders,
             ThreadTeam& team);
  GriddedSum(const RealTransform& shape, std::vector<double>&& correction, std::vector<int> orders,
             ThreadTeam& team) = delete;
  std::size_t grid_size() const { return fine_.point_count(); }
  // Grid values of two spectra (the second may be empty) as real and imaginary parts.
  void prepare(std::span<const Complex> first, std::span<const Complex> second, std::span<Complex> grid);

  static constexpr int kWidth = 14;
  struct Stencil {
    int start[2];
    double weight[2][kWidth];
  };
  Stencil stencil(std::span<const double> point) const;
  Complex sum(std::span<const Complex> grid, const Stencil& stencil) const;

 private:
  const RealTransform& shape_;
  RealTransform fine_;
  std::vector<int> orders_;
  const std::vector<double>& correction_;
  std::vector<Complex> padded_first_, padded_second_;
};

// 1 / transform of the kernel that spreads grid values to points, by |k|.
std::vector<double> gridding_correction(int modes);

}  // namespace lather::reference
