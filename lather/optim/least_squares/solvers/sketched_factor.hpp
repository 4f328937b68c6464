#pragma once
// The orthogonal factor of a sketch of J, whose rows are made by `Source`.

#include <memory>

#include "lather/optim/least_squares/solvers/orthogonal_factor.hpp"
#include "lather/optim/least_squares/solvers/sketch.hpp"

namespace lather::optim {

template <class Source>
class SketchedFactor final : public OrthogonalFactor {
 public:
  // make(source): the factor of the source's rows.
  template <class Make>
  SketchedFactor(std::unique_ptr<Source> source, const Make& make)
      : source_(std::move(source)), factor_(make(*source_)) {}

  std::size_t bytes() const override { return factor_->bytes() + source_->bytes(); }
  double build(std::span<const double> x, std::span<double> Jtr) override { return factor_->build(x, Jtr); }
  std::vector<double> diagonal() const override { return factor_->diagonal(); }
  void copy_upper(std::span<double> R) const override { factor_->copy_upper(R); }
  bool damp(double lambda, std::span<const double> D) override { return factor_->damp(lambda, D); }
  void solve(std::span<double> d) override { factor_->solve(d); }
  void solve_normal(std::span<double> b) override { factor_->solve_normal(b); }

 private:
  std::unique_ptr<Source> source_;
  std::unique_ptr<OrthogonalFactor> factor_;
};

std::unique_ptr<OrthogonalFactor> make_host_sketched_factor(Residuals& residuals, const Sketch& sketch);
double host_sketched_factor_bytes(std::size_t parameters, std::size_t columns, std::size_t rows);

}  // namespace lather::optim
