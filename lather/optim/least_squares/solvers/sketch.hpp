#pragma once
// A random two-sided sketch R J C of a Jacobian that is too large, drawn anew for every step.
//
//   C   parameters × columns: the parameters are dealt at random to as many groups of equal size (to
//       within one), and a column of C is the sum of its group with random signs, scaled to length 1. The
//       columns are orthonormal, so d = C y is as long as y. J C costs one addition per entry of J; a cosine
//       transform instead of groups would cost a factor log(parameters) more, and is worth that only for
//       steps that live on few parameters.
//   R   rows × residuals: every residual is added to kHashes rows with random signs (CountSketch). It is left
//       out if J has no more than `rows` residuals.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lather::optim {

struct SketchSize {
  std::size_t parameters, residuals;
  std::size_t columns;
  std::size_t rows = 0;  // 0: R is left out
};

class Sketch {
 public:
  static constexpr std::size_t kHashes = 4;

  explicit Sketch(const SketchSize& size) : size_(size) {}
  void draw(std::uint64_t stream);
  const SketchSize& size() const { return size_; }
  std::int64_t draws() const { return draws_; }  // number of draws so far

  // to = C^T from, for a row of J, J^T r, …, and d = C y.
  void fold(std::span<const double> from, std::span<double> to) const;
  void lift(std::span<const double> y, std::span<double> d) const;
  void hash(std::span<const double> r, std::span<double> to) const;    // to = R r
  std::vector<double> fold_diagonal(std::span<const double> D) const;  // C^T diag(D) C, which is diagonal

  // Members of group j are members()[starts()[j] … starts()[j + 1] - 1], with their entries in C.
  std::span<const std::uint32_t> starts() const { return starts_; }
  std::span<const std::uint32_t> members() const { return members_; }
  std::span<const double> entries() const { return entries_; }
  // Residual k goes to rows row_bins()[kHashes k + h], times row_entries() there.
  std::span<const std::uint32_t> row_bins() const { return row_bins_; }
  std::span<const double> row_entries() const { return row_entries_; }

 private:
  SketchSize size_;
  std::int64_t draws_ = 0;
  std::vector<std::uint32_t> starts_, members_, row_bins_;
  std::vector<double> entries_, row_entries_;
};

}  // namespace lather::optim
