// The engine on CUDA: one graph per loss and gradient. Parameters go in and the gradient comes out through
// page-locked memory; optimizers that live on the device use the device addresses instead (CudaObjective).

#include <algorithm>
#include <cstring>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/optim/cuda/cuda_objective.hpp"
#include "lather/pde/cuda/device_points.hpp"
#include "lather/pde/cuda/jacobian.hpp"
#include "lather/pde/cuda/pass.hpp"
#include "lather/pde/engine/engine.hpp"

namespace lather::pde {

namespace {

// Points of a batch of an evaluation anywhere.
constexpr std::size_t kEvaluationRows = 1 << 18;

template <class T>
class CudaEngine final : public Engine, public optim::CudaObjective {
 public:
  CudaEngine(const Problem& given, const EngineOptions& engine_options)
      : Engine(given, engine_options), team_(options.threads > 0 ? options.threads : available_cores()) {
    if (!alone())
      throw Error("several ranks cannot share the points on the GPU yet; leave --ranks and mpirun out");
    cuda::require_device();
    parameters_ = cuda::Memory<double>(layout.size());
    gradient_ = cuda::Memory<double>(layout.size());
    frozen_ = cuda::Memory<double>(std::max<std::size_t>(1, frozen.size()));
    scales_ = cuda::Memory<double>(problem.terms.size());
    losses_ = cuda::Memory<double>(problem.terms.size());
    host_ = cuda::PinnedMemory<double>(2 * layout.size() + 2 * problem.terms.size());
    for (std::size_t s = 0; s < sets.size(); ++s) {
      if (terms_of[s].empty()) continue;
      pass_set_[static_cast<int>(s)] = static_cast<int>(used_sets_.size());
      used_sets_.push_back(&sets[s]);
      for (int k : terms_of[s]) terms_.push_back(k);
    }
    pass_ = std::make_unique<CudaPass<T>>(
        tape, used_sets_, static_cast<int>(problem.unknowns.size()), addresses(),
        CudaPassOptions{.overlap = options.overlap, .batch_rows = options.tile_rows});
  }

  ThreadTeam& team() override { return team_; }
  std::size_t tile_points(int set) const override { return points[set].count(); }
  std::size_t workspace_bytes() const override {
    return pass_->bytes() + parameters_.bytes() + gradient_.bytes() + (jacobian_ ? jacobian_->bytes() : 0);
  }
  optim::CudaObjective* cuda_objective() override { return this; }

  void points_changed(int set) override {
    const auto place = pass_set_.find(set);
    if (place == pass_set_.end() || points[set].count() == 0) return;
    if (pass_->set_points(place->second, points[set])) {
      forget_graphs();
      device_points_.reset();
    }
    if (jacobian_) jacobian_->points_changed(set);
  }
  void point_weights_changed(int term) override {
    if (pass_->set_point_weights(place_of(term), point_weights[term])) forget_graphs();
  }

  void compute(std::span<const double> x, double* gradient,
               std::vector<std::vector<double>>* term_gradients) override {
    require_points();
    stage(x);
    if (!term_gradients) {
      set_scales(-1);
      evaluate_graph(gradient != nullptr);
      if (gradient) std::copy_n(host_gradient(), layout.size(), gradient);
    } else {
      for (std::size_t k = 0; k < problem.terms.size(); ++k) {
        set_scales(static_cast<int>(k));
        evaluate_graph(true);
        std::copy_n(host_gradient(), layout.size(), (*term_gradients)[k].data());
      }
    }
    read_losses();
  }

  void residuals(std::span<const double> x, std::span<double* const> r) override {
    require_points();
    upload(x);
    pass_->enqueue_values();
    for (std::size_t k = 0; k < r.size(); ++k) {
      if (!r[k]) continue;
      const int set = problem.terms[k].point_set;
      const auto values = pass_->values(pass_set_.at(set), place_in_set[k]);
      for (std::size_t q = 0, group = group_of(set); q < residuals_of(set); ++q) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(q * group);
        r[k][q] = std::accumulate(first, first + static_cast<std::ptrdiff_t>(group), 0.0);
      }
    }
  }

  std::vector<std::vector<double>> evaluate(std::span<const double> x,
                                            std::span<const symbolic::Expr> expressions, const Points& at,
                                            std::span<const std::string> columns) override {
    upload(x);
    CudaPass<T>& pass = evaluation_pass(expressions, columns);
    pass.set_points(0, at);
    pass.enqueue_values();
    std::vector<std::vector<double>> values;
    for (std::size_t e = 0; e < expressions.size(); ++e)
      values.push_back(pass.values(0, static_cast<int>(e)));
    return values;
  }

  optim::Residuals& jacobian() override { return device_jacobian(); }
  void visit_signals(std::span<const double> x, int term, std::size_t first, std::size_t count,
                     std::span<const double> seeds, PinnObjective::SignalVisitor& visitor,
                     Reach /*all: there is one rank*/) override {
    device_jacobian().visit(x, term, first, count, seeds, visitor);
  }

  // CudaObjective
  cudaStream_t stream() override { return pass_->stream(); }
  double* device_parameters() override { return parameters_.data(); }
  double* device_gradient() override { return gradient_.data(); }
  const double* device_losses() override { return losses_.data(); }
  bool draw_points(const PointPlan& plan) override {
    for (const auto& part : plan.parts)
      if (!DevicePoints::draws(part.method)) return false;
    plan_ = plan;
    device_points_.reset();
    forget_graphs();
    return true;
  }
  void set_step(std::int64_t step) override { step_ = step; }
  void enqueue_points(const int* index, int* changed) override {
    if (!plan_) return;
    device_points_->enqueue(index, changed, pass_->stream());
    pass_->inputs();
  }
  void refresh() override {
    require_points();
    refresh_points();
    upload_frozen();
    set_scales(-1);
    scales_.upload({host_scales(), problem.terms.size()});
  }
  void enqueue_gradient() override { pass_->enqueue(true); }
  void set_groups(std::span<const std::size_t> group_of_term) override {
    require_points();
    const std::size_t terms = terms_.size(), groups = 1 + *std::ranges::max_element(group_of_term);
    if (group_scales_.size() != groups * terms) {
      group_scales_ = cuda::Memory<double>(groups * terms);
      forget_graphs();
    }
    std::vector<double> scales(groups * terms);
    for (std::size_t k = 0; k < terms; ++k)
      scales[group_of_term[terms_[k]] * terms + k] = 2 * loss_scale(terms_[k]);
    group_scales_.upload(scales);
  }
  void enqueue_group_gradients(double* gradients) override {
    const std::size_t terms = terms_.size();
    for (std::size_t first = 0; first < group_scales_.size(); first += terms, gradients += layout.size()) {
      cuda::check(cudaMemcpyAsync(scales_.data(), group_scales_.data() + first, terms * sizeof(double),
                                  cudaMemcpyDeviceToDevice, stream()));
      pass_->enqueue(true);
      cuda::check(cudaMemcpyAsync(gradients, gradient_.data(), gradient_.bytes(), cudaMemcpyDeviceToDevice,
                                  stream()));
    }
  }
  std::vector<double> loss_scales() const override {
    std::vector<double> scales;
    for (const int term : terms_) scales.push_back(loss_scale(term));
    return scales;
  }
  std::size_t version() const override { return version_; }

 private:
  void refresh_points() {
    if (!plan_) return;
    if (!device_points_) {
      std::vector<DevicePoints::Target> targets(points.size());
      for (const auto& [set, place] : pass_set_)
        targets[set] = {pass_->coordinates(place), points[set].count()};
      device_points_ = std::make_unique<DevicePoints>(*plan_, targets, std::is_same_v<T, float>);
    }
    device_points_->set_step(step_);
  }

  CudaAddresses addresses() const {
    return {parameters_.data(), frozen_.data(), scales_.data(), losses_.data(), gradient_.data()};
  }
  double loss_scale(int term) const {
    return term_weights[term] / static_cast<double>(residuals_of(problem.terms[term].point_set));
  }
  CudaJacobian& device_jacobian() {
    if constexpr (!std::is_same_v<T, double>)
      throw Error("per-point derivatives are not available in float32; use float64");
    require_points();
    if (!jacobian_)
      jacobian_ = std::make_unique<CudaJacobian>(*this, addresses(),
                                                 [this](std::span<const double> x) { upload(x); });
    return *jacobian_;
  }
  // The pass numbers terms set by set.
  int place_of(int term) const {
    return static_cast<int>(std::find(terms_.begin(), terms_.end(), term) - terms_.begin());
  }

  double* host_parameters() const { return host_.data(); }
  double* host_gradient() const { return host_.data() + layout.size(); }
  double* host_scales() const { return host_.data() + 2 * layout.size(); }
  double* host_losses() const { return host_scales() + problem.terms.size(); }

  void require_points() const {
    for (std::size_t s = 0; s < points.size(); ++s)
      if (points[s].count() == 0 && !terms_of[s].empty())
        throw Error("point set '" + problem.point_sets[s].name + "' has no points");
  }

  // Where the graph takes them from.
  void stage(std::span<const double> x) {
    std::copy(x.begin(), x.end(), host_parameters());
    upload_frozen();
  }
  void upload(std::span<const double> x) {
    stage(x);
    enqueue_upload();
    cuda::check(cudaStreamSynchronize(pass_->stream()));
  }
  void enqueue_upload() {
    cuda::check(cudaMemcpyAsync(parameters_.data(), host_parameters(), parameters_.bytes(),
                                cudaMemcpyHostToDevice, pass_->stream()));
  }
  void upload_frozen() {
    if (frozen == frozen_on_device_) return;
    frozen_on_device_ = frozen;
    if (!frozen.empty()) frozen_.upload(frozen);
  }

  // Of all terms, or of one alone.
  void set_scales(int only) {
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      const int term = terms_[k];
      host_scales()[k] = only >= 0 && term != only ? 0.0 : 2 * loss_scale(term);
    }
  }

  void evaluate_graph(bool with_gradient) {
    cuda::Graph& graph = graphs_[with_gradient];
    const cudaStream_t stream = pass_->stream();
    if (!graph) {
      // Once without a graph: kernels and library code are loaded then, which a capture must not meet.
      const auto lock = cuda::alone();
      enqueue_evaluation(with_gradient);
      graph = cuda::Graph(stream, [&] { enqueue_evaluation(with_gradient); });
    }
    graph.launch(stream);
    cuda::check(cudaStreamSynchronize(stream));
  }

  void enqueue_evaluation(bool with_gradient) {
    const cudaStream_t stream = pass_->stream();
    const std::size_t terms = problem.terms.size() * sizeof(double);
    enqueue_upload();
    cuda::check(cudaMemcpyAsync(scales_.data(), host_scales(), terms, cudaMemcpyHostToDevice, stream));
    pass_->enqueue(with_gradient);
    cuda::check(cudaMemcpyAsync(host_losses(), losses_.data(), terms, cudaMemcpyDeviceToHost, stream));
    if (with_gradient)
      cuda::check(cudaMemcpyAsync(host_gradient(), gradient_.data(), gradient_.bytes(),
                                  cudaMemcpyDeviceToHost, stream));
  }

  void read_losses() {
    for (std::size_t k = 0; k < terms_.size(); ++k)
      losses[terms_[k]] = loss_scale(terms_[k]) * host_losses()[k];
  }

  void forget_graphs() {
    for (auto& graph : graphs_) graph = {};
    ++version_;
  }

  CudaPass<T>& evaluation_pass(std::span<const symbolic::Expr> expressions,
                               std::span<const std::string> columns) {
    auto& entry = evaluations_[evaluation_key(problem, expressions, columns)];
    if (!entry.pass) {
      entry.set = std::make_unique<CompiledPointSet>(compile_set(problem, tape, expressions, columns));
      entry.pass =
          std::make_unique<CudaPass<T>>(tape, std::vector<const CompiledPointSet*>{entry.set.get()},
                                        static_cast<int>(problem.unknowns.size()), addresses(),
                                        CudaPassOptions{.gradient = false, .batch_rows = kEvaluationRows});
    }
    return *entry.pass;
  }
  struct Evaluation {
    std::unique_ptr<CompiledPointSet> set;
    std::unique_ptr<CudaPass<T>> pass;
  };

  cuda::Memory<double> parameters_, gradient_, frozen_, scales_, losses_;
  cuda::Memory<double> group_scales_;  // groups × terms of the pass
  cuda::PinnedMemory<double> host_;    // parameters, gradient, scales, losses
  std::vector<double> frozen_on_device_;
  std::map<int, int> pass_set_;  // point set -> set of the pass; sets without terms are left out
  std::vector<const CompiledPointSet*> used_sets_;
  std::vector<int> terms_;  // of the pass -> of the problem
  std::unique_ptr<CudaPass<T>> pass_;
  std::unique_ptr<CudaJacobian> jacobian_;  // for curvature methods
  std::optional<PointPlan> plan_;
  std::unique_ptr<DevicePoints> device_points_;  // that follow it
  std::int64_t step_ = 0;
  ThreadTeam team_;        // for optimizers that update on the host
  cuda::Graph graphs_[2];  // value; value and gradient
  std::size_t version_ = 0;
  std::map<std::vector<std::uint32_t>, Evaluation> evaluations_;
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(const Problem& problem, const EngineOptions& options) {
  if (options.precision == Precision::float32) return std::make_unique<CudaEngine<float>>(problem, options);
  return std::make_unique<CudaEngine<double>>(problem, options);
}

}  // namespace lather::pde
