#pragma once
// Two blocks of vectors as long as x, A and B, held as rows where the rows of J are made (on the host or on
// the GPU), and what nystrom.cpp does with them. The count × count matrices are on the host.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lather/core/buffer.hpp"
#include "lather/optim/residuals.hpp"

namespace lather::optim {

class VectorBlocks {
 public:
  enum class Block { A, B };
  virtual ~VectorBlocks() = default;
  virtual std::size_t count() const = 0;
  virtual std::size_t bytes() const = 0;

  virtual void draw(std::uint64_t seed, std::uint64_t stream) = 0;  // A = standard normal numbers
  // B = S J^T J S A at x with S = diag(scale); an empty scale: S = I. A may change by rounding.
  virtual void multiply_normal(std::span<const double> x, std::span<const double> scale) = 0;
  virtual void add_shift(double shift) = 0;                              // B += shift A
  virtual std::vector<double> inner(Block left, Block right) const = 0;  // left right^T
  virtual void solve_lower(std::span<const double> C, Block block) = 0;  // block = C^{-1} block
  virtual void combine(std::span<const double> W) = 0;                   // A = W B
  // K = V^T diag(values) V, values descending; V, with one eigenvector per row, overwrites K.
  virtual bool eigenvectors(std::span<double> K, std::span<double> values) = 0;

  virtual std::vector<double> project(std::span<const double> v) const = 0;                // A v
  virtual void add_combination(std::span<const double> c, std::span<double> v) const = 0;  // v += A^T c
};

class HostVectorBlocks : public VectorBlocks {
 public:
  HostVectorBlocks(std::size_t count, std::size_t size, ThreadTeam* team = nullptr);
  std::size_t count() const override { return count_; }
  std::size_t bytes() const override { return (A_.size() + B_.size()) * sizeof(double); }
  std::span<double> vector(Block block, std::size_t k) { return {data(block) + k * size_, size_}; }
  std::span<double> all(Block block) { return {data(block), count_ * size_}; }

  void draw(std::uint64_t seed, std::uint64_t stream) override;
  void multiply_normal(std::span<const double> x, std::span<const double> scale) override;
  void add_shift(double shift) override;
  std::vector<double> inner(Block left, Block right) const override;
  void solve_lower(std::span<const double> C, Block block) override;
  void combine(std::span<const double> W) override;
  bool eigenvectors(std::span<double> K, std::span<double> values) override;
  std::vector<double> project(std::span<const double> v) const override;
  void add_combination(std::span<const double> c, std::span<double> v) const override;

 protected:
  double* data(Block block) { return (block == Block::A ? A_ : B_).data(); }
  const double* data(Block block) const { return (block == Block::A ? A_ : B_).data(); }
  // f(first vector, number of vectors), in groups that do not depend on the number of threads.
  template <class F>
  void over_groups(const F& f) const;

  std::size_t count_, size_;
  ThreadTeam* team_;
  Buffer<double> A_, B_;
};

// With products by the rows of these residuals' Jacobian.
std::unique_ptr<VectorBlocks> make_host_vector_blocks(Residuals& residuals, std::size_t count);

// The same numbers on the host and on the GPU.
void draw_normal_numbers(std::span<double> to, std::uint64_t seed, std::uint64_t stream, ThreadTeam* team);
bool eigenvectors_as_rows(std::span<double> K, std::span<double> values);

}  // namespace lather::optim
