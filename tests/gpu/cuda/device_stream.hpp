#pragma once
// Given gradients on the host and on the device: the same bits for an optimizer on either side.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lather/core/cuda/runtime.hpp"
#include "lather/core/rng.hpp"
#include "lather/linalg/eigensolver.hpp"
#include "lather/linalg/products.hpp"
#include "lather/optim/cuda/cuda_objective.hpp"
#include "lather/optim/objective.hpp"

namespace lather::optim::testing_support {

inline std::vector<double> normal_numbers(std::uint64_t seed, std::uint64_t stream, std::size_t count) {
  const Random random(seed, stream);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = random.normal(i);
  return values;
}

inline std::vector<double> orthogonal_matrix(std::uint64_t seed, std::size_t d) {
  const auto A = normal_numbers(seed, 900 + d, d * d);
  std::vector<double> Q(d * d);
  linalg::orthonormal_factor({A.data(), d, d}, {Q.data(), d, d});
  return Q;
}

// Gradients P_L D Z D P_R^T of every block with Z random, P orthogonal and D = diag(1.5^-i): the factors G
// G^T and G^T G have eigenvalues that fall by factors of about 2.
class SeparatedGradients {
 public:
  SeparatedGradients(const ParameterLayout& layout, std::uint64_t seed) : layout_(layout), seed_(seed) {
    for (const auto& block : layout.blocks()) bases_.push_back({basis(block.rows), basis(block.cols)});
  }
  std::vector<double> operator()(std::size_t t) const {
    std::vector<double> g(layout_.size());
    for (std::size_t k = 0; k < bases_.size(); ++k) {
      const auto& block = layout_.blocks()[k];
      const std::size_t m = block.rows, n = block.cols;
      const auto Z = normal_numbers(seed_ + k, t, m * n);
      std::vector<double> half(m * n);
      linalg::multiply({half.data(), m, n}, {bases_[k].left.data(), m, m}, {Z.data(), m, n});
      linalg::multiply_right_transposed({g.data() + block.offset, m, n}, {half.data(), m, n},
                                        {bases_[k].right.data(), n, n});
    }
    return g;
  }

 private:
  struct Bases {
    std::vector<double> left, right;
  };
  std::vector<double> basis(std::size_t d) const {  // P D
    auto P = orthogonal_matrix(seed_, d);
    for (std::size_t i = 0; i < d * d; ++i) P[i] *= std::pow(1.5, -static_cast<double>(i % d));
    return P;
  }
  ParameterLayout layout_;
  std::uint64_t seed_;
  std::vector<Bases> bases_;
};

// Two terms; an optimizer on the host asks for gradient number t, one
// on the device finds it in its memory. One step per call of steps().
class GivenGradients : public Objective, public CudaObjective {
 public:
  explicit GivenGradients(const ParameterLayout& layout)
      : layout_(layout),
        rules_{SeparatedGradients(layout, 11), SeparatedGradients(layout, 23)},
        x_(layout.size()),
        gradient_(layout.size()),
        staged_(layout.size()),
        losses_(2) {}

  std::size_t t = 0;  // number of the next gradient

  const ParameterLayout& layout() const override { return layout_; }
  double value(std::span<const double>) override { return 0; }
  double value_and_gradient(std::span<const double>, std::span<double> gradient) override {
    const auto g = sum(parts());
    std::copy(g.begin(), g.end(), gradient.begin());
    return 0;
  }
  std::vector<std::string> term_names() const override { return {"equation", "boundary"}; }
  std::vector<bool> term_is_equation() const override { return {true, false}; }
  void term_gradients(std::span<const double>, std::span<double> losses,
                      std::vector<std::vector<double>>& gradients) override {
    std::fill(losses.begin(), losses.end(), 0.0);
    gradients = parts();
  }
  CudaObjective* cuda_objective() override { return this; }

  cudaStream_t stream() override { return stream_; }
  double* device_parameters() override { return x_.data(); }
  double* device_gradient() override { return gradient_.data(); }
  const double* device_losses() override { return losses_.data(); }
  std::vector<double> loss_scales() const override { return {1, 1}; }
  void refresh() override {  // before the steps of one call
    const auto terms = parts();
    staged_.upload(sum(terms));
    if (group_of_term_.empty()) return;
    std::vector<double> groups(staged_groups_.size());
    for (std::size_t k = 0; k < terms.size(); ++k)
      for (std::size_t i = 0; i < terms[k].size(); ++i)
        groups[group_of_term_[k] * layout_.size() + i] += terms[k][i];
    staged_groups_.upload(groups);
  }
  void enqueue_points(const int*, int*) override {}
  void enqueue_gradient() override { enqueue_copy(gradient_.data(), staged_); }
  void set_groups(std::span<const std::size_t> group_of_term) override {
    if (std::equal(group_of_term.begin(), group_of_term.end(), group_of_term_.begin(), group_of_term_.end()))
      return;
    group_of_term_.assign(group_of_term.begin(), group_of_term.end());
    const auto groups = 1 + *std::max_element(group_of_term_.begin(), group_of_term_.end());
    staged_groups_ = cuda::Memory<double>(groups * layout_.size());
  }
  void enqueue_group_gradients(double* gradients) override { enqueue_copy(gradients, staged_groups_); }
  std::size_t version() const override { return 1; }

 protected:
  void upload(const std::vector<double>& part, std::size_t at) { staged_.upload(part, at); }

 private:
  std::vector<std::vector<double>> parts() {
    std::vector<std::vector<double>> terms = {rules_[0](t), rules_[1](t)};
    ++t;
    return terms;
  }
  static std::vector<double> sum(std::vector<std::vector<double>> terms) {
    for (std::size_t i = 0; i < terms[0].size(); ++i) terms[0][i] += terms[1][i];
    return terms[0];
  }
  void enqueue_copy(double* to, const cuda::Memory<double>& from) {
    cuda::check(cudaMemcpyAsync(to, from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream_));
  }

  ParameterLayout layout_;
  SeparatedGradients rules_[2];
  cuda::Stream stream_;
  cuda::Memory<double> x_, gradient_, staged_, staged_groups_, losses_;
  std::vector<std::size_t> group_of_term_;
};

}  // namespace lather::optim::testing_support
