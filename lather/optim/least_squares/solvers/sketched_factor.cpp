#include "lather/optim/least_squares/solvers/sketched_factor.hpp"

#include <algorithm>

#include "lather/core/buffer.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/solvers/on_team.hpp"

namespace lather::optim {

namespace {

constexpr std::size_t kSketchedRows = 256;  // rows of J at a time

// Residuals whose Jacobian is the sketch R J C.
class SketchedResiduals final : public Residuals {
 public:
  SketchedResiduals(Residuals& residuals, const Sketch& sketch)
      : residuals_(residuals), sketch_(sketch), B_(sketch.size().rows * sketch.size().columns) {}

  std::size_t bytes() const { return (rows_.size() + folded_.size() + B_.size()) * sizeof(double); }
  std::size_t size() const override { return sketch_.size().columns; }
  std::size_t residual_count() const override {
    return sketch_.size().rows > 0 ? sketch_.size().rows : sketch_.size().residuals;
  }
  ThreadTeam* team() override { return residuals_.team(); }

  // Called once, before the rows are requested.
  void residuals(std::span<const double> x, std::span<double> r) override {
    if (sketch_.size().rows == 0) return residuals_.residuals(x, r);
    std::vector<double> all(sketch_.size().residuals);
    residuals_.residuals(x, all);
    sketch_.hash(all, r);
    add_all_rows(x);
  }

  void jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count, double* rows) override {
    const std::size_t s = size();
    if (sketch_.size().rows > 0) {
      std::copy_n(B_.data() + first * s, count * s, rows);
      return;
    }
    for (std::size_t done = 0; done < count; done += kSketchedRows)
      fold_rows(x, first + done, std::min(kSketchedRows, count - done), rows + done * s);
  }

 private:
  void fold_rows(std::span<const double> x, std::size_t first, std::size_t count, double* to) {
    const std::size_t n = sketch_.size().parameters, s = size();
    if (rows_.size() < kSketchedRows * n) rows_ = Buffer<double>(kSketchedRows * n);
    residuals_.jacobian_rows(x, first, count, rows_.data());
    on_team(team(), count, [&](std::size_t k) { sketch_.fold({rows_.data() + k * n, n}, {to + k * s, s}); });
  }

  // B = R J C; threads take pieces of its columns.
  void add_all_rows(std::span<const double> x) {
    constexpr std::size_t kPiece = 256;
    const std::size_t s = size(), m = sketch_.size().residuals;
    if (folded_.size() == 0) folded_ = Buffer<double>(kSketchedRows * s);
    std::fill_n(B_.data(), B_.size(), 0.0);
    for (std::size_t first = 0; first < m; first += kSketchedRows) {
      const std::size_t count = std::min(kSketchedRows, m - first);
      fold_rows(x, first, count, folded_.data());
      on_team(team(), (s + kPiece - 1) / kPiece, [&](std::size_t piece) {
        const std::size_t begin = piece * kPiece, length = std::min(kPiece, s - begin);
        for (std::size_t q = Sketch::kHashes * first; q < Sketch::kHashes * (first + count); ++q)
          add_scaled({B_.data() + sketch_.row_bins()[q] * s + begin, length}, sketch_.row_entries()[q],
                     {folded_.data() + (q / Sketch::kHashes - first) * s + begin, length});
      });
    }
  }

  Residuals& residuals_;
  const Sketch& sketch_;
  Buffer<double> rows_, folded_, B_;
};

}  // namespace

std::unique_ptr<OrthogonalFactor> make_host_sketched_factor(Residuals& residuals, const Sketch& sketch) {
  return std::make_unique<SketchedFactor<SketchedResiduals>>(
      std::make_unique<SketchedResiduals>(residuals, sketch),
      [](SketchedResiduals& source) { return make_host_orthogonal_factor(source); });
}

double host_sketched_factor_bytes(std::size_t parameters, std::size_t columns, std::size_t rows) {
  const auto s = static_cast<double>(columns);
  return sizeof(double) * (2 * s * s + static_cast<double>(rows) * s +
                           static_cast<double>(kSketchedRows) * (static_cast<double>(parameters) + 5 * s));
}

}  // namespace lather::optim
