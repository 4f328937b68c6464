#include "lather/reference/numerics/fourier.hpp"

#include <algorithm>
#include <cmath>
#include <kissfft.hh>
#include <numbers>

#include "lather/core/aligned.hpp"
#include "lather/reference/numerics/line_transforms.hpp"

namespace lather::reference {

namespace {
constexpr double kPi = std::numbers::pi;
constexpr Complex kI{0, 1};

// (iπk)^m
Complex differentiation_factor(int k, int m) {
  Complex factor = 1;
  for (int i = 0; i < m; ++i) factor *= kI * (kPi * k);
  return factor;
}
}  // namespace

struct RealTransform::Lines {
  Lines(std::size_t n, int threads)
      : one{{n, true}, {n, false}}, many{{n, true}, {n, false}}, buffers(threads) {
    for (auto& buffer : buffers) buffer.resize(2 * many[0].buffer_size());
  }
  // [0]: from coefficients to samples, [1]: back.
  kissfft<double> one[2];
  LineTransforms many[2];
  std::vector<AlignedVector> buffers;  // by thread
};

RealTransform::RealTransform(int dimensions, int N, ThreadTeam& team)
    : d_(dimensions),
      N_(N),
      half_(dimensions == 1 ? N / 2 + 1 : static_cast<std::size_t>(N / 2 + 1) * N),
      points_(dimensions == 1 ? N : static_cast<std::size_t>(N) * N),
      team_(team),
      lines_(std::make_unique<Lines>(static_cast<std::size_t>(N), team.size())),
      spectrum_(points_),
      work_(dimensions == 1 ? 0 : points_) {}

template <class From, class To>
void RealTransform::each_line(bool inverse, const From& from, const To& to) {
  constexpr std::size_t kLines = LineTransforms::kLines;
  const auto n = static_cast<std::size_t>(N_);
  const LineTransforms& transform = lines_->many[inverse ? 0 : 1];
  team_.run([&](int thread) {
    double* buffer = lines_->buffers[thread].data();
    const auto [begin, end] = share_of((n + kLines - 1) / kLines, thread, team_.size());
    for (std::size_t first = begin * kLines; first < std::min(end * kLines, n); first += kLines) {
      const std::size_t lines = std::min(kLines, n - first);  // the rest of the buffer may hold anything
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; l < lines; ++l) {
          const Complex z = from(first + l, j);
          buffer[j * kLines + l] = z.real(), buffer[(n + j) * kLines + l] = z.imag();
        }
      const double* result = transform.transform(buffer, buffer + transform.buffer_size());
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; l < lines; ++l)
          to(j, first + l, Complex(result[j * kLines + l], result[(n + j) * kLines + l]));
    }
  });
}

RealTransform::~RealTransform() = default;

RealTransform::WaveNumber RealTransform::wave_number(std::size_t i) const {
  if (d_ == 1) return {static_cast<int>(i), 0};
  const int a = static_cast<int>(i % N_);
  return {a <= N_ / 2 ? a : a - N_, static_cast<int>(i / N_)};
}

std::size_t RealTransform::half_index(WaveNumber k) const {
  if (d_ == 1) return k.x;
  return static_cast<std::size_t>(k.y) * N_ + (k.x >= 0 ? k.x : k.x + N_);
}

void RealTransform::to_samples(std::span<const Complex> u, std::span<const Complex> v,
                               std::span<Complex> samples) {
  const auto n = static_cast<std::size_t>(N_);
  const auto both = [&](std::size_t i) { return v.empty() ? u[i] : u[i] + kI * v[i]; };
  const auto mirrored = [&](std::size_t i) {
    return v.empty() ? std::conj(u[i]) : std::conj(u[i]) + kI * std::conj(v[i]);
  };
  if (d_ == 1) {
    for (std::size_t k = 0; k <= n / 2; ++k) spectrum_[k] = both(k);
    for (std::size_t k = 1; k < n / 2; ++k) spectrum_[n - k] = mirrored(k);
    lines_->one[0].transform(spectrum_.data(), samples.data());
    return;
  }
  each_line(
      true,
      [&](std::size_t b, std::size_t a) {
        return b <= n / 2 ? both(b * n + a) : mirrored((n - b) * n + (a == 0 ? 0 : n - a));
      },
      [&](std::size_t x, std::size_t b, Complex z) { work_[x * n + b] = z; });
  each_line(
      true, [&](std::size_t x, std::size_t b) { return work_[x * n + b]; },
      [&](std::size_t y, std::size_t x, Complex z) { samples[x * n + y] = z; });
}

void RealTransform::to_spectra(std::span<const Complex> samples, std::span<Complex> u, std::span<Complex> v) {
  const auto n = static_cast<std::size_t>(N_);
  const double scale = 0.5 / static_cast<double>(points_);
  const auto separate = [&](std::size_t i, Complex z, Complex mirror) {
    u[i] = scale * (z + std::conj(mirror));
    if (!v.empty()) v[i] = scale * -kI * (z - std::conj(mirror));
  };
  if (d_ == 1) {
    lines_->one[1].transform(samples.data(), spectrum_.data());
    for (std::size_t k = 0; k < n / 2; ++k) separate(k, spectrum_[k], spectrum_[(n - k) % n]);
    u[n / 2] = 0;
    if (!v.empty()) v[n / 2] = 0;
    return;
  }
  each_line(
      false, [&](std::size_t x, std::size_t y) { return samples[x * n + y]; },
      [&](std::size_t b, std::size_t x, Complex z) { work_[b * n + x] = z; });
  each_line(
      false, [&](std::size_t b, std::size_t x) { return work_[b * n + x]; },
      [&](std::size_t a, std::size_t b, Complex z) { spectrum_[b * n + a] = z; });
  for (std::size_t b = 0; b <= n / 2; ++b)
    for (std::size_t a = 0; a < n; ++a) {
      const std::size_t i = b * n + a;
      if (a == n / 2 || b == n / 2) {
        u[i] = 0;
        if (!v.empty()) v[i] = 0;
      } else {
        separate(i, spectrum_[i], spectrum_[((n - b) % n) * n + (n - a) % n]);
      }
    }
}

double direct_sum(const RealTransform& shape, std::span<const Complex> half, std::span<const int> orders,
                  std::span<const double> point) {
  const int K = shape.modes() / 2;
  if (shape.dimensions() == 1) {
    double sum = orders[0] == 0 ? half[0].real() : 0;
    for (int k = 1; k < K; ++k)
      sum +=
          2 * (half[k] * differentiation_factor(k, orders[0]) * std::polar(1.0, kPi * k * point[0])).real();
    return sum;
  }
  std::vector<Complex> phase(shape.modes());  // of x, in FFT order
  for (int a = 0; a < shape.modes(); ++a) {
    const int k = shape.wave_number(a).x;
    phase[a] = differentiation_factor(k, orders[0]) * std::polar(1.0, kPi * k * point[0]);
  }
  double sum = 0;
  for (int b = 0; b < K; ++b) {
    Complex row = 0;
    for (int a = 0; a < shape.modes(); ++a)
      row += half[static_cast<std::size_t>(b) * shape.modes() + a] * phase[a];
    sum += (b == 0 ? 1 : 2) *
           (row * differentiation_factor(b, orders[1]) * std::polar(1.0, kPi * b * point[1])).real();
  }
  return sum;
}

namespace {
constexpr double kBeta = 2.3 * GriddedSum::kWidth;
double kernel(double s) {
  const double inside = 1 - s * s;
  return inside <= 0 ? 0 : std::exp(kBeta * (std::sqrt(inside) - 1));
}
}  // namespace

std::vector<double> gridding_correction(int modes) {
  constexpr int kQuadrature = 400;  // in theta with s = sin(theta); the ends are below rounding
  double place[kQuadrature], weight[kQuadrature];
  for (int i = 0; i < kQuadrature; ++i) {
    const double theta = kPi * ((i + 0.5) / kQuadrature - 0.5);
    place[i] = std::sin(theta);
    weight[i] = kernel(place[i]) * std::cos(theta) * kPi / kQuadrature * GriddedSum::kWidth / 2;
  }
  std::vector<double> correction(modes / 2 + 1);
  for (std::size_t k = 0; k < correction.size(); ++k) {
    const double frequency = kPi * static_cast<double>(k) * GriddedSum::kWidth / (2 * modes);
    double transform = 0;
    for (int i = 0; i < kQuadrature; ++i) transform += weight[i] * std::cos(frequency * place[i]);
    correction[k] = 1 / transform;
  }
  return correction;
}

GriddedSum::GriddedSum(const RealTransform& shape, const std::vector<double>& correction,
                       std::vector<int> orders, ThreadTeam& team)
    : shape_(shape),
      fine_(shape.dimensions(), 2 * shape.modes(), team),
      orders_(std::move(orders)),
      correction_(correction),
      padded_first_(fine_.half_size()),
      padded_second_(fine_.half_size()) {}

void GriddedSum::prepare(std::span<const Complex> first, std::span<const Complex> second,
                         std::span<Complex> grid) {
  const bool two_dimensional = shape_.dimensions() == 2;
  const auto pad = [&](std::span<const Complex> half, std::vector<Complex>& padded) {
    for (std::size_t i = 0; i < half.size(); ++i) {
      const auto k = shape_.wave_number(i);
      if (std::abs(k.x) == shape_.modes() / 2 || k.y == shape_.modes() / 2) continue;
      Complex c = half[i] * differentiation_factor(k.x, orders_[0]) * correction_[std::abs(k.x)];
      if (two_dimensional) c *= differentiation_factor(k.y, orders_[1]) * correction_[k.y];
      padded[fine_.half_index(k)] = c;
    }
  };
  pad(first, padded_first_);
  if (!second.empty()) pad(second, padded_second_);
  fine_.to_samples(padded_first_, second.empty() ? std::span<const Complex>() : padded_second_, grid);
}

GriddedSum::Stencil GriddedSum::stencil(std::span<const double> point) const {
  Stencil result{};
  for (int axis = 0; axis < shape_.dimensions(); ++axis) {
    const double position = point[axis] * fine_.modes() / 2;
    const int start = static_cast<int>(std::ceil(position - 0.5 * kWidth));
    result.start[axis] = ((start % fine_.modes()) + fine_.modes()) % fine_.modes();
    for (int l = 0; l < kWidth; ++l) result.weight[axis][l] = kernel((position - (start + l)) * 2 / kWidth);
  }
  return result;
}

Complex GriddedSum::sum(std::span<const Complex> grid, const Stencil& stencil) const {
  const int n = fine_.modes();
  Complex total = 0;
  if (shape_.dimensions() == 1) {
    for (int l = 0, j = stencil.start[0]; l < kWidth; ++l, j = j + 1 == n ? 0 : j + 1)
      total += stencil.weight[0][l] * grid[j];
    return total;
  }
  for (int m = 0, i = stencil.start[0]; m < kWidth; ++m, i = i + 1 == n ? 0 : i + 1) {
    const Complex* row = &grid[static_cast<std::size_t>(i) * n];
    Complex line = 0;
    for (int l = 0, j = stencil.start[1]; l < kWidth; ++l, j = j + 1 == n ? 0 : j + 1)
      line += stencil.weight[1][l] * row[j];
    total += stencil.weight[0][m] * line;
  }
  return total;
}

}  // namespace lather::reference
