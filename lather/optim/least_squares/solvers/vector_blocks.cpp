#include "lather/optim/least_squares/solvers/vector_blocks.hpp"

#include <algorithm>
#include <cmath>

#include "lather/core/error.hpp"
#include "lather/core/rng.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/factorizations.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/deterministic_sums.hpp"
#include "lather/optim/least_squares/solvers/on_team.hpp"

namespace lather::optim {

namespace {

constexpr std::size_t kVectorGroup = 32;   // vectors a thread takes at a time
constexpr std::size_t kProductRows = 512;  // of J

class JacobianBlocks final : public HostVectorBlocks {
 public:
  JacobianBlocks(Residuals& residuals, std::size_t count)
      : HostVectorBlocks(count, residuals.size(), residuals.team()), residuals_(residuals) {}

  // Rows of J in chunks, W = A J^T and B += W J for each.
  void multiply_normal(std::span<const double> x, std::span<const double> scale) override {
    const std::size_t m = residuals_.residual_count(), n = size_;
    std::vector<double> rows(std::min(kProductRows, m) * n);
    std::fill_n(data(Block::B), count_ * n, 0.0);
    for (std::size_t first = 0; first < m; first += kProductRows) {
      const std::size_t height = std::min(kProductRows, m - first);
      residuals_.jacobian_rows(x, first, height, rows.data());
      if (!scale.empty())
        for (std::size_t k = 0; k < height; ++k)
          for (std::size_t i = 0; i < n; ++i) rows[k * n + i] *= scale[i];
      const linalg::ConstMatrixView J{rows.data(), height, n};
      over_groups([&](std::size_t begin, std::size_t vectors) {
        std::vector<double> W(vectors * height), sum(vectors * n);
        linalg::multiply_right_transposed({W.data(), vectors, height},
                                          {data(Block::A) + begin * n, vectors, n}, J);
        linalg::multiply({sum.data(), vectors, n}, {W.data(), vectors, height}, J);
        add_scaled({data(Block::B) + begin * n, vectors * n}, 1, sum);
      });
    }
  }

 private:
  Residuals& residuals_;
};

}  // namespace

void draw_normal_numbers(std::span<double> to, std::uint64_t seed, std::uint64_t stream, ThreadTeam* team) {
  constexpr std::size_t kPiece = 1 << 14;
  const Random random(seed, stream);
  on_team(team, (to.size() + kPiece - 1) / kPiece, [&](std::size_t piece) {
    for (std::size_t i = piece * kPiece; i < std::min((piece + 1) * kPiece, to.size()); ++i)
      to[i] = random.normal(i);
  });
}

bool eigenvectors_as_rows(std::span<double> K, std::span<double> values) {
  const std::size_t k = values.size();
  std::vector<double> columns(k * k);
  if (!linalg::eigenvectors({K.data(), k, k}, values, {columns.data(), k, k})) return false;
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < k; ++j) K[i * k + j] = columns[j * k + i];
  return true;
}

HostVectorBlocks::HostVectorBlocks(std::size_t count, std::size_t size, ThreadTeam* team)
    : count_(count), size_(size), team_(team), A_(count * size), B_(count * size) {}

template <class F>
void HostVectorBlocks::over_groups(const F& f) const {
  on_team(team_, (count_ + kVectorGroup - 1) / kVectorGroup, [&](std::size_t group) {
    f(group * kVectorGroup, std::min(kVectorGroup, count_ - group * kVectorGroup));
  });
}

void HostVectorBlocks::draw(std::uint64_t seed, std::uint64_t stream) {
  draw_normal_numbers({A_.data(), A_.size()}, seed, stream, team_);
}

void HostVectorBlocks::multiply_normal(std::span<const double>, std::span<const double>) {
  throw Error("these vectors belong to no Jacobian");
}

void HostVectorBlocks::add_shift(double shift) {
  add_scaled({B_.data(), B_.size()}, shift, {A_.data(), A_.size()});
}

std::vector<double> HostVectorBlocks::inner(Block left, Block right) const {
  std::vector<double> product(count_ * count_);
  over_groups([&](std::size_t begin, std::size_t vectors) {
    linalg::multiply_right_transposed({product.data() + begin * count_, vectors, count_},
                                      {data(left) + begin * size_, vectors, size_},
                                      {data(right), count_, size_});
  });
  return product;
}

void HostVectorBlocks::solve_lower(std::span<const double> C, Block block) {
  linalg::solve_lower({C.data(), count_, count_}, {data(block), count_, size_});
}

void HostVectorBlocks::combine(std::span<const double> W) {
  over_groups([&](std::size_t begin, std::size_t vectors) {
    linalg::multiply({A_.data() + begin * size_, vectors, size_},
                     {W.data() + begin * count_, vectors, count_}, {B_.data(), count_, size_});
  });
}

bool HostVectorBlocks::eigenvectors(std::span<double> K, std::span<double> values) {
  return eigenvectors_as_rows(K, values);
}

std::vector<double> HostVectorBlocks::project(std::span<const double> v) const {
  std::vector<double> c(count_);
  over_groups([&](std::size_t begin, std::size_t vectors) {
    for (std::size_t k = begin; k < begin + vectors; ++k) c[k] = dot({data(Block::A) + k * size_, size_}, v);
  });
  return c;
}

void HostVectorBlocks::add_combination(std::span<const double> c, std::span<double> v) const {
  constexpr std::size_t kPiece = 1 << 12;
  on_team(team_, (size_ + kPiece - 1) / kPiece, [&](std::size_t piece) {
    const std::size_t begin = piece * kPiece, length = std::min(kPiece, size_ - begin);
    for (std::size_t k = 0; k < count_; ++k)
      add_scaled(v.subspan(begin, length), c[k], {data(Block::A) + k * size_ + begin, length});
  });
}

std::unique_ptr<VectorBlocks> make_host_vector_blocks(Residuals& residuals, std::size_t count) {
  return std::make_unique<JacobianBlocks>(residuals, count);
}

}  // namespace lather::optim
