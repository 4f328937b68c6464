#pragma once
// What Shampoo, SOAP, Purifying Shampoo and SS-eSOAP share: for a matrix block W (m × n) with gradient G,
//   factors L ≈ E[G G^T] (m × m), R ≈ E[G^T G] (n × n), and orthonormal bases Q_L, Q_R
//   that (nearly) diagonalize them.
// A side longer than `max_dimension` has no factor; its basis is the identity.

#include <string_view>
#include <vector>

#include "lather/core/aligned.hpp"
#include "lather/core/state.hpp"
#include "lather/linalg/matrix.hpp"
#include "lather/optim/parameters.hpp"

namespace lather::optim {

struct KroneckerSide {
  std::size_t d = 0;     // 0: no factor on this side
  AlignedVector factor;  // d × d
  AlignedVector basis;   // d × d, columns are the directions; starts as the identity

  std::size_t bytes() const { return (factor.size() + basis.size()) * sizeof(double); }
  KroneckerSide(std::size_t dimension, std::size_t max_dimension, double initial_diagonal);
  bool active() const { return d > 0; }
  linalg::MatrixView factor_view() { return linalg::view(std::span(factor), d, d); }
  linalg::MatrixView basis_view() { return linalg::view(std::span(basis), d, d); }
  void state(StateVisitor& visitor, std::string_view name);
};

struct KroneckerPair {
  std::size_t rows, cols;
  KroneckerSide left, right;
  AlignedVector scratch;  // rows × cols

  KroneckerPair(std::size_t rows, std::size_t cols, std::size_t max_dimension, double initial_diagonal);

  std::size_t bytes() const { return left.bytes() + right.bytes() + scratch.size() * sizeof(double); }
  void rotate_in(std::span<const double> x, std::span<double> out);   // out = Q_L^T X Q_R
  void rotate_out(std::span<const double> x, std::span<double> out);  // out = Q_L X Q_R^T
  void accumulate(double keep, double weight,
                  std::span<const double> g);  // L = keep L + weight G G^T, R likewise
  void state(StateVisitor& visitor);

 private:
  using Product = void (*)(linalg::MatrixView out, linalg::ConstMatrixView a, linalg::ConstMatrixView b);
  void rotate(std::span<const double> x, std::span<double> out, Product by_left, Product by_right);
};

// One pair per block of a layout; blocks that are not matrices have no factors unless `vectors_too`.
class KroneckerBlocks {
 public:
  KroneckerBlocks(const ParameterLayout& layout, std::int64_t max_dimension, bool vectors_too);
  KroneckerPair& operator[](std::size_t block) { return pairs_[block]; }
  std::size_t bytes() const;
  std::size_t largest_block() const { return largest_block_; }
  std::size_t largest_square() const { return largest_side_ * largest_side_; }  // d^2 of the longest side
  void state(StateVisitor& visitor);

 private:
  std::vector<KroneckerPair> pairs_;
  std::size_t largest_block_ = 0, largest_side_ = 0;
};

// ||A - diag A||_F and ||A||_F, by summing squares (no cancellation).
struct OffDiagonal {
  double off, norm;
};
OffDiagonal off_diagonal(linalg::ConstMatrixView a);

}  // namespace lather::optim
