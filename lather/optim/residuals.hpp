#pragma once
// The residuals r of a sum of squares, value = r^T r, and their Jacobian J = dr/dx (residual_count × size):
// all that least-squares methods ask of an objective. Overriding residual_count, residuals and jacobian_rows
// is enough: the rest then works row by row, in plain code that is the specification of faster versions.
// What is not offered throws Error when asked for.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace lather {
class ThreadTeam;
}

namespace lather::optim {

class NormalMatrix;
class OrthogonalFactor;
class Sketch;
class VectorBlocks;

// Throws Error that names the array and both sizes, if they differ.
void require_size(std::string_view name, std::size_t size, std::size_t expected);

class Residuals {
 public:
  virtual ~Residuals() = default;

  virtual std::size_t size() const = 0;                     // parameters
  virtual std::size_t residual_count() const { return 0; }  // 0: not a sum of squares
  virtual void residuals(std::span<const double> x, std::span<double> r);
  // At several x, stored one after another, like their r. Must equal one-by-one evaluation, bit for bit.
  virtual void residuals_at(std::span<const double> xs, std::span<double> r);
  // r_i = scale_i * (residual i as the equation states it).
  virtual void residual_scales(std::span<double> scales) const;

  // All of these at the same x: rows [first, first + count) of J, row-major;
  virtual void jacobian_rows(std::span<const double> x, std::size_t first, std::size_t count, double* rows);
  // J^T J (size × size, row-major, lower triangle) and J^T r; returns the value r^T r;
  virtual double normal_equations(std::span<const double> x, double* JtJ, std::span<double> Jtr);
  // diag(J^T J);
  virtual void normal_diagonal(std::span<const double> x, std::span<double> diagonal);
  // J J^T (residual_count × residual_count, row-major, lower triangle) and r;
  virtual void residual_gram(std::span<const double> x, double* JJt, std::span<double> r);
  // J v and J^T w.
  virtual void jacobian_times(std::span<const double> x, std::span<const double> v, std::span<double> Jv);
  virtual void transposed_jacobian_times(std::span<const double> x, std::span<const double> w,
                                         std::span<double> Jtw);

  // Threads a method may use between calls; null: only its own.
  virtual ThreadTeam* team() { return nullptr; }

  // The object that computes the rows, if this one only forwards requests. Matrices belong to it.
  virtual Residuals& source() { return *this; }
  // Storage for J^T J or J J^T and its factor, or for the R of J = Q R, where rows are computed (host or
  // GPU); the memory it takes, and the memory free there.
  virtual std::unique_ptr<NormalMatrix> make_normal_matrix(std::size_t dimension);
  virtual double normal_matrix_bytes(std::size_t dimension) const;
  virtual std::unique_ptr<OrthogonalFactor> make_orthogonal_factor();
  virtual double orthogonal_factor_bytes() const;
  // The R of a sketch of J, which is redrawn before every build; `rows` 0: all rows of J are used.
  virtual std::unique_ptr<OrthogonalFactor> make_sketched_factor(const Sketch& sketch);
  virtual double sketched_factor_bytes(std::size_t columns, std::size_t rows) const;
  // Storage for blocks of `count` vectors as long as x.
  virtual std::unique_ptr<VectorBlocks> make_vector_blocks(std::size_t count);
  virtual double available_bytes() const;
};

}  // namespace lather::optim
