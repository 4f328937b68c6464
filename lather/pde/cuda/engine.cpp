// The engine on CUDA: one graph per loss and gradient. Parameters go in and the gradient comes out through
// page-locked memory; optimizers that live on the device use the device addresses instead (CudaObjective).
// Every shard has its own sums (their order: parallel/shards.hpp); ranks, each with a GPU or a share of one,
// have some of the shards and compute everything else identically, with the same bits.

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "lather/core/error.hpp"
#include "lather/optim/cuda/cuda_objective.hpp"
#include "lather/pde/cuda/device_points.hpp"
#include "lather/pde/cuda/evaluation_passes.hpp"
#include "lather/pde/cuda/jacobian.hpp"
#include "lather/pde/cuda/pass.hpp"
#include "lather/pde/cuda/shard_slots.hpp"
#include "lather/pde/cuda/trials.hpp"
#include "lather/pde/engine/engine.hpp"

namespace lather::pde {

namespace {

template <class T>
class CudaEngine final : public Engine, public optim::CudaObjective, private CudaTrialEngine {
 public:
  CudaEngine(const Problem& given, const EngineOptions& engine_options)
      : Engine(given, engine_options), team_(options.threads > 0 ? options.threads : available_cores()) {
    if (!alone() && !sharded())
      throw Error(
          "the run was begun on the GPU in one process without --shards, and its sums cannot be shared: "
          "resume it without --ranks and mpirun");
    cuda::require_device();
    parameters_ = cuda::Memory<double>(layout.size());
    sums_ = std::make_unique<ShardSlots>(layout.size() + problem.terms.size(), options.shards, options.ranks);
    frozen_ = cuda::Memory<double>(std::max<std::size_t>(1, frozen.size()));
    scales_ = cuda::Memory<double>(problem.terms.size());
    host_ = cuda::PinnedMemory<double>(2 * layout.size() + 2 * problem.terms.size());
    for (std::size_t s = 0; s < sets.size(); ++s) {
      if (terms_of[s].empty()) continue;
      pass_set_[static_cast<int>(s)] = static_cast<int>(used_sets_.size());
      used_sets_.push_back(&sets[s]);
      for (int k : terms_of[s]) terms_.push_back(k);
    }
    pass_ = std::make_unique<CudaPass<T>>(
        tape, used_sets_, static_cast<int>(problem.unknowns.size()), addresses(),
        CudaPassOptions{
            .overlap = options.overlap, .batch_rows = options.tile_rows, .shards = options.shards});
    pass_->set_shards(sums_->own());
    for (auto* trials : {&value_trials_, &residual_trials_})
      trials->emplace(parameters_.data(), layout.size(), stream());
  }

  ThreadTeam& team() override { return team_; }
  std::size_t tile_points(int set) const override { return points[set].count(); }
  std::size_t workspace_bytes() const override {
    return pass_->bytes() + parameters_.bytes() + sums_->bytes() + value_trials_->bytes() +
           residual_trials_->bytes() + (jacobian_ ? jacobian_->bytes() : 0);
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
      evaluate_sums(gradient != nullptr);
      if (gradient) std::copy_n(host_gradient(), layout.size(), gradient);
    } else {
      for (std::size_t k = 0; k < problem.terms.size(); ++k) {
        set_scales(static_cast<int>(k));
        evaluate_sums(true);
        std::copy_n(host_gradient(), layout.size(), (*term_gradients)[k].data());
      }
    }
    read_losses();
  }

  // Ranks that add up on the host meet after every x.
  void values(std::span<const double> xs, std::span<double> values) override {
    if (values.size() == 1 || !sums_->sums_on_device()) return Engine::values(xs, values);
    require_points();
    upload_frozen();
    set_scales(-1);
    with_ranks([&] {
      follow_ranks();
      enqueue_scales();
      sums_->watched(
          [&] { value_trials_->run(xs, std::array{all_losses()}, [&] { enqueue_own_sums(false); }); });
    });
    read_values(values);
  }

  void residuals(std::span<const double> xs, std::span<double* const> r) override {
    require_points();
    upload_frozen();
    with_ranks([&] {
      follow_ranks();
      residual_trials_->run(xs, pass_->results(), [&] { pass_->enqueue_values(); });
      for (std::size_t i = 0; i < r.size(); ++i) {
        if (!r[i]) continue;
        const std::size_t trial = i / problem.terms.size(), term = i % problem.terms.size();
        const int set = problem.terms[term].point_set;
        const T* const values =
            residual_trials_->template result<T>(trial, place_of(static_cast<int>(term))).data();
        const auto [begin, end] = own_of(residuals_of(set));
        for (std::size_t q = begin, group = group_of(set); q < end; ++q)
          r[i][q] = std::accumulate(values + q * group, values + (q + 1) * group, 0.0);
        gather_visited(set, residuals_of(set), 1, r[i]);
      }
    });
  }

  std::vector<std::vector<double>> evaluate(std::span<const double> x,
                                            std::span<const symbolic::Expr> expressions, const Points& at,
                                            std::span<const std::string> columns) override {
    upload(x);
    CudaPass<T>& pass = evaluations_.of(*this, addresses(), expressions, columns);
    std::vector<std::vector<double>> values(expressions.size());
    with_ranks([&] {
      pass.set_shards(sums_->own());
      pass.set_points(0, at);
      pass.enqueue_values();
      for (std::size_t e = 0; e < expressions.size(); ++e) {
        values[e] = pass.values(0, static_cast<int>(e));
        gather_visited(0, values[e].size(), 1, values[e].data());
      }
    });
    return values;
  }

  optim::Residuals& jacobian() override { return device_jacobian(); }
  int shards() override { return sharded() ? options.shards : team_.size(); }
  IndexRange visited_by(int rank, int /*set*/, std::size_t count) const override {
    if (!sharded()) return {0, count};
    const auto own = share_of(options.shards, rank, alone() ? 1 : options.ranks->size());
    return {count * own.begin / options.shards, count * own.end / options.shards};
  }
  void visit_signals(std::span<const double> x, int term, std::size_t first, std::size_t count,
                     std::span<const double> seeds, PinnObjective::SignalVisitor& visitor,
                     Reach reach) override {
    const IndexRange all{0, static_cast<std::size_t>(options.shards)};
    device_jacobian().visit(x, {term, first, count, seeds}, reach == Reach::own_share ? sums_->own() : all,
                            visitor);
  }

  // CudaObjective
  cudaStream_t stream() override { return pass_->stream(); }
  double* device_parameters() override { return parameters_.data(); }
  double* device_gradient() override { return sums_->data(); }
  const double* device_losses() override { return sums_->data() + layout.size(); }
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
  bool captures_gradient() const override { return sums_->sums_on_device(); }
  bool run(const std::function<void()>& work) override {
    try {
      sums_->watched(work);
      return true;
    } catch (const parallel::RankLost& loss) {
      if (!options.ranks->go_on_alone(loss)) throw;
      follow_ranks();
      return false;
    }
  }
  void enqueue_gradient() override {
    with_ranks([&] {
      follow_ranks();
      if (captures_gradient()) return enqueue_own_sums(true);
      launch_graph(own_gradient_, stream(), [&] { enqueue_own_sums(true); });
      cuda::check(cudaStreamSynchronize(stream()));
      sums_->exchange(sums(true));
      sums_->enqueue_upload(sums(true), stream());
    });
  }
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
      enqueue_gradient();
      cuda::check(cudaMemcpyAsync(gradients, device_gradient(), layout.size() * sizeof(double),
                                  cudaMemcpyDeviceToDevice, stream()));
    }
  }
  std::vector<double> loss_scales() const override {
    std::vector<double> scales;
    for (const int term : terms_) scales.push_back(loss_scale(term));
    return scales;
  }
  std::size_t version() const override { return version_; }

 private:
  // CudaTrialEngine; in one process, without shards
  void enqueue_upload(std::span<const double> x, cudaStream_t stream) override {
    stage(x);
    enqueue_upload(stream);
  }
  double* residual_points(std::size_t count) override {
    return residual_trials_->points(count, pass_->results());
  }
  void enqueue_residuals(std::size_t count) override {
    residual_trials_->evaluate(count, [&] { pass_->enqueue_values(); });
  }
  const double* residuals_at(std::size_t trial, int term) override {
    return reinterpret_cast<const double*>(residual_trials_->result_on_device(trial, place_of(term)));
  }
  double* value_points(std::size_t count) override {
    return value_trials_->points(count, std::array{all_losses()});
  }
  void enqueue_values(std::size_t count) override {
    set_scales(-1);
    enqueue_scales();
    value_trials_->evaluate(count, [&] { enqueue_own_sums(false); });
    value_trials_->enqueue_download(count);
  }
  void read_values(std::span<double> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::copy_n(value_trials_->template result<double>(i, 0).data(), problem.terms.size(), host_losses());
      read_losses();
      values[i] = total_loss();
    }
  }
  CudaTrials::Part all_losses() { return std::as_bytes(std::span(device_losses(), problem.terms.size())); }

  bool sharded() const { return options.shards > 0; }
  // Other ranks may have been lost: this rank then has other shards.
  void follow_ranks() {
    if (pass_->set_shards(sums_->own())) forget_graphs();
  }
  IndexRange own_of(std::size_t count) const {
    return visited_by(alone() ? 0 : options.ranks->rank(), 0, count);
  }
  // Part of a slot: gradient and losses, or only the losses.
  ShardSlots::Part sums(bool with_gradient) const {
    const std::size_t n = layout.size(), terms = problem.terms.size();
    return with_gradient ? ShardSlots::Part{0, n + terms} : ShardSlots::Part{n, terms};
  }
  void enqueue_own_sums(bool with_gradient) {
    pass_->enqueue(with_gradient);
    sums_->enqueue_sum(sums(with_gradient), stream());
  }

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
    return {parameters_.data(), frozen_.data(), scales_.data(), sums_->data() + layout.size(),
            sums_->data(),      sums_->stride()};
  }
  double loss_scale(int term) const {
    return term_weights[term] / static_cast<double>(residuals_of(problem.terms[term].point_set));
  }
  CudaJacobian& device_jacobian() {
    if constexpr (!std::is_same_v<T, double>)
      throw Error("per-point derivatives are not available in float32; use float64");
    require_points();
    if (!jacobian_)
      jacobian_ = std::make_unique<CudaJacobian>(*this, addresses(), static_cast<CudaTrialEngine&>(*this));
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

  // Puts them where the graph reads them.
  void stage(std::span<const double> x) {
    std::copy(x.begin(), x.end(), host_parameters());
    upload_frozen();
  }
  void upload(std::span<const double> x) {
    stage(x);
    enqueue_upload(stream());
    cuda::check(cudaStreamSynchronize(stream()));
  }
  void enqueue_upload(cudaStream_t stream) {
    cuda::check(cudaMemcpyAsync(parameters_.data(), host_parameters(), parameters_.bytes(),
                                cudaMemcpyHostToDevice, stream));
  }
  void enqueue_scales() {
    cuda::check(
        cudaMemcpyAsync(scales_.data(), host_scales(), scales_.bytes(), cudaMemcpyHostToDevice, stream()));
  }
  void upload_frozen() {
    if (frozen == frozen_on_device_) return;
    frozen_on_device_ = frozen;
    if (!frozen.empty()) frozen_.upload(frozen);
  }

  // For all terms, or for only one.
  void set_scales(int only) {
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      const int term = terms_[k];
      host_scales()[k] = only >= 0 && term != only ? 0.0 : 2 * loss_scale(term);
    }
  }

  // Losses and, if wanted, gradient to the host.
  void evaluate_sums(bool with_gradient) {
    with_ranks([&] {
      follow_ranks();
      sums_->watched([&] {
        launch_graph(graphs_[with_gradient], stream(), [&] { enqueue_evaluation(with_gradient); });
        cuda::check(cudaStreamSynchronize(stream()));
      });
      if (sums_->sums_on_device()) return;
      const auto total = sums_->exchange(sums(with_gradient));
      if (with_gradient) std::copy_n(total.begin(), layout.size(), host_gradient());
      std::copy(total.end() - static_cast<std::ptrdiff_t>(problem.terms.size()), total.end(), host_losses());
    });
  }

  void enqueue_evaluation(bool with_gradient) {
    enqueue_upload(stream());
    enqueue_scales();
    enqueue_own_sums(with_gradient);
    if (!sums_->sums_on_device()) return;
    cuda::check(
        cudaMemcpyAsync(host_losses(), device_losses(), scales_.bytes(), cudaMemcpyDeviceToHost, stream()));
    if (with_gradient)
      cuda::check(cudaMemcpyAsync(host_gradient(), device_gradient(), layout.size() * sizeof(double),
                                  cudaMemcpyDeviceToHost, stream()));
  }

  void read_losses() {
    for (std::size_t k = 0; k < terms_.size(); ++k)
      losses[terms_[k]] = loss_scale(terms_[k]) * host_losses()[k];
  }

  void forget_graphs() {
    for (auto& graph : graphs_) graph = {};
    own_gradient_ = {};
    for (auto* trials : {&value_trials_, &residual_trials_}) (*trials)->forget_graphs();
    ++version_;
  }

  cuda::Memory<double> parameters_, frozen_, scales_;
  std::unique_ptr<ShardSlots> sums_;   // of every shard: the gradient, then the losses
  cuda::Memory<double> group_scales_;  // groups × terms of the pass
  cuda::PinnedMemory<double> host_;    // parameters, gradient, scales, losses
  std::vector<double> frozen_on_device_;
  std::map<int, int> pass_set_;  // point set -> set of the pass; sets without terms are left out
  std::vector<const CompiledPointSet*> used_sets_;
  std::vector<int> terms_;  // of the pass -> of the problem
  std::unique_ptr<CudaPass<T>> pass_;
  std::unique_ptr<CudaJacobian> jacobian_;  // for curvature methods
  std::optional<PointPlan> plan_;
  std::unique_ptr<DevicePoints> device_points_;  // that follow the plan
  std::int64_t step_ = 0;
  ThreadTeam team_;        // for optimizers that update on the host
  cuda::Graph graphs_[2];  // value; value and gradient
  std::optional<CudaTrials> value_trials_, residual_trials_;
  cuda::Graph own_gradient_;  // what this rank adds to the gradient at the parameters on the device
  std::size_t version_ = 0;
  EvaluationPasses<T> evaluations_;
};

}  // namespace

std::unique_ptr<Engine> make_cuda_engine(const Problem& problem, const EngineOptions& options) {
  if (options.precision == Precision::float32) return std::make_unique<CudaEngine<float>>(problem, options);
  return std::make_unique<CudaEngine<double>>(problem, options);
}

}  // namespace lather::pde
