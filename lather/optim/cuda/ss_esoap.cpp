// SS-eSOAP on the GPU: the steps of optim/kronecker/ss_esoap.cpp, all layers at once. A step whose trigger
// fires halts; the host then launches the change of basis and the rest of that step.

#include <algorithm>

#include "lather/optim/cuda/device_method.hpp"
#include "lather/optim/cuda/make_on_device.hpp"
#include "lather/optim/kronecker/basis_log.hpp"
#include "lather/optim/kronecker/ss_esoap_diagnostics.hpp"

namespace lather::optim {

namespace {

class DeviceSsEsoap final : public DeviceMethod, public KeepsBasisLog {
 public:
  DeviceSsEsoap(const ParameterLayout& layout, const SsEsoapOptions& o)
      : DeviceMethod(
            layout, {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay, false, o.correct_bias},
            matrix_blocks(layout, o.precondition_vectors),
            [&](const ParameterBlock&) { return static_cast<std::size_t>(o.max_dimension); },
            o.factor_epsilon),
        options_(o),
        states_(layer_blocks_.size()),
        S_rotated_(layout.size()),
        new_M_(layout.size()),
        new_S_(layout.size()),
        partials_(5 * layer_grid_ * layer_blocks_.size()),
        metric_partials_(layer_grid_ * layer_blocks_.size()),
        entry_partials_(layer_grid_ * layer_blocks_.size()),
        order_(layers_.value_count() + 1),
        logged_(kMostSteps * layer_blocks_.size()),
        step_losses_(kMostSteps) {
    for (const auto block : layer_blocks_) log_.tau.push_back({layout_.blocks()[block].name, {}});
    if (reprojects()) layers_.reserve_old_bases();
  }

  void objective_changed() override { now_.secant_valid = 0; }
  const BasisLog* basis_log() const override { return &log_; }

  void state(StateVisitor& visitor) override {
    DeviceMethod::state(visitor);
    bool secant_valid = now_.secant_valid != 0;
    visitor.boolean("secant_valid", secant_valid);
    now_.secant_valid = secant_valid;
    device_array(visitor, "step", change_);
    device_array(visitor, "previous_gradient", previous_);
    std::vector<LayerState> states(states_.size());
    states_.download(states);
    std::vector<double> S(layout_.size());
    S_rotated_.download(S);
    for (std::size_t l = 0; l < layer_blocks_.size(); ++l) {
      layers_.state(visitor, l);
      const auto& block = layout_.blocks()[layer_blocks_[l]];
      visitor.array("S", std::span(S).subspan(block.offset, block.size()));
      auto variance_steps = static_cast<std::int64_t>(states[l].variance_steps);
      visitor.integer("variance_steps", variance_steps);
      states[l].variance_steps = static_cast<double>(variance_steps);
      visitor.array("tau_counts", std::span<double>(states[l].tau_counts));
      std::copy_n(states[l].tau_counts, kTauCounts, log_.tau[l].counts);
    }
    if (!visitor.reading()) return;
    states_.upload(states);
    S_rotated_.upload(S);
  }

 protected:
  void prepare(Objective&, CudaObjective&) override { log_.first_step = now_.t + 1; }

  void enqueue_change(int) override {
    const auto parameter = cuda::Parameter().add(work());
    layers_.rotate_in(step_work().gradient, rotated_.data());  // G~ = Q_L^T G Q_R
    // Layers without a basis are not rotated: their factors are products of the gradient itself.
    accumulate_factors(rotated_or_plain(), options_.beta2, 1 - options_.beta2);
    layers_.launch("esoap_trigger", 1, 1, parameter);
    enqueue_rest();
  }

  void enqueue_after_halt(int) override {
    using Square = DeviceLayers::Square;
    const auto parameter = cuda::Parameter().add(work());
    layers_.rotate_out(m_.data(), U_.data());  // the momentum in parameter space
    const bool permutes = options_.variance_transition == VarianceTransition::permute;
    if (permutes) launch_per_side("esoap_order", 1, parameter);
    if (reprojects()) layers_.copy(Square::basis, Square::old_basis);
    layers_.replace_bases(
        {.from = Square::factor, .compose = true, .descending = true, .values_into_factor = true});
    if (permutes) launch_per_layer("esoap_permute", parameter);
    layers_.rotate_in(U_.data(), new_M_.data());
    layers_.rotate_in(change_.data(), new_S_.data());
    if (reprojects()) enqueue_reprojection();
    launch_per_layer("esoap_carry_over", parameter);
    layers_.launch("esoap_resume", 1, 1, parameter);
    layers_.rotate_in(step_work().gradient, rotated_.data());
    enqueue_rest();
  }

  void read_diagnostics() override {
    std::vector<LayerState> states(states_.size());
    states_.download(states);
    read_log(states);
    std::vector<double> ranges(2 * layers_.side_count());
    launch_per_side("eigenvalue_ranges", 1, cuda::Parameter().add(layers_.work()));
    cuda::check(cudaStreamSynchronize(stream()));
    if (!ranges.empty())
      cuda::check(cudaMemcpy(ranges.data(), layers_.work().partials, ranges.size() * sizeof(double),
                             cudaMemcpyDeviceToHost));
    const auto range = [&](int side) -> std::optional<EigenvalueRange> {
      if (side < 0) return std::nullopt;
      return EigenvalueRange{ranges[2 * side], ranges[2 * side + 1]};
    };
    std::vector<double> entries(entry_partials_.size());
    entry_partials_.download(entries);
    for (std::size_t l = 0; l < states.size(); ++l) {
      const LayerState& s = states[l];
      const auto own = std::span(entries).subspan(l * layer_grid_, layer_grid_);
      const DeviceLayer& layer = layers_.layers()[l];
      add_diagnostics(diagnostics_, layout_.blocks()[layer_blocks_[l]].name,
                      {s.tau, s.c, s.a, s.rho, s.gamma, s.changed, *std::ranges::max_element(own),
                       s.gradient_cosine, range(layer.left), range(layer.right)});
    }
  }

 private:
  void read_log(const std::vector<LayerState>& states) {
    const auto steps = static_cast<std::size_t>(now_.index), layers = layer_blocks_.size();
    log_.events.clear();
    log_.fits.clear();
    log_.losses.resize(layers > 0 ? steps : 0);
    if (!log_.losses.empty()) step_losses_.download(log_.losses);
    for (std::size_t l = 0; l < layers; ++l)
      std::copy_n(states[l].tau_counts, kTauCounts, log_.tau[l].counts);
    if (steps * layers == 0) return;
    std::vector<LoggedStep> logged(steps * layers);
    logged_.download(logged);
    for (std::size_t i = 0; i < logged.size(); ++i) {
      const LoggedStep& e = logged[i];
      log_.fits.push_back({std::max(e.rho_left, e.rho_right), e.gradient_cosine});
      if (e.changed != 0)
        log_.events.push_back({log_.first_step + static_cast<std::int64_t>(i / layers),
                               log_.tau[i % layers].block, e.rho_left, e.rho_right, e.gamma,
                               e.gradient_cosine});
    }
  }

  bool reprojects() const {
    return options_.variance_transition == VarianceTransition::reproject ||
           options_.variance_transition == VarianceTransition::reproject_squared;
  }

  // V <- U_L V U_R^T with U = Q_new^T Q_old, or with the squares of its entries; into `rotated`.
  void enqueue_reprojection() {
    using Square = DeviceLayers::Square;
    layers_.multiply(Square::basis, true, Square::old_basis, false, Square::product);
    if (options_.variance_transition == VarianceTransition::reproject_squared)
      launch_per_side("esoap_square_products", layers_.factor_blocks(), cuda::Parameter().add(work()));
    layers_.turn_by_products(v_.data(), rotated_.data());
  }

  EsoapKernelArgs work() const {
    const auto& o = options_;
    EsoapKernelArgs w{};
    w.e = elements();
    w.k = layers_.work();
    w.state = states_.data();
    w.log = logged_.data();
    w.step_losses = step_losses_.data();
    w.S_rotated = S_rotated_.data();
    w.partials = partials_.data();
    w.metric_partials = metric_partials_.data();
    w.entry_partials = entry_partials_.data();
    w.new_M = new_M_.data();
    w.new_S = new_S_.data();
    w.order = order_.data();
    w.trigger = o.trigger;
    w.ratio_epsilon = o.ratio_epsilon;
    w.relative_epsilon = o.relative_epsilon;
    w.eigenvalue_floor = o.eigenvalue_floor;
    w.tau_min = o.tau_min;
    w.tau_max = o.tau_max;
    w.tau_power = o.tau_power;
    w.check_interval = o.check_interval;
    w.warmup_steps = o.warmup_steps;
    w.metric = o.secant_metric;
    w.tau_scope = o.tau_scope;
    w.trigger_rule = o.trigger_rule;
    w.transition = o.variance_transition;
    w.inner_update = o.inner_update;
    w.keep_step_bound = o.keep_step_bound;
    w.thresholds = static_cast<int>(o.gamma_thresholds.size());
    std::copy(o.gamma_thresholds.begin(), o.gamma_thresholds.end(), w.gamma_thresholds);
    std::copy(o.gamma_values.begin(), o.gamma_values.end(), w.gamma_values);
    return w;
  }

  // Alg. 2 after the basis is settled: moments, tau, direction, change.
  void enqueue_rest() {
    const auto parameter = cuda::Parameter().add(work());
    launch_per_layer("esoap_moments", parameter);
    if (options_.secant_metric != SecantMetric::off) {
      if (options_.weight_decay > 0) layers_.rotate_in(change_.data(), S_rotated_.data());
      launch_per_layer("esoap_metric", parameter);
    }
    launch_per_layer("esoap_direction", parameter);
    layers_.rotate_out(U_rotated_.data(), U_.data());
    enqueue_descent();
  }

  const double* rotated_or_plain() {
    for (const auto& layer : layers_.layers())
      if (!layer.has_basis)  // both sides of length 1, or none has a basis
        cuda::check(cudaMemcpyAsync(
            rotated_.data() + layer.offset, step_work().gradient + layer.offset,
            static_cast<std::size_t>(layer.rows) * static_cast<std::size_t>(layer.cols) * sizeof(double),
            cudaMemcpyDeviceToDevice, stream()));
    return rotated_.data();
  }

  SsEsoapOptions options_;
  cuda::Memory<LayerState> states_;
  cuda::Memory<double> S_rotated_, new_M_, new_S_, partials_, metric_partials_, entry_partials_;
  cuda::Memory<int> order_;
  cuda::Memory<LoggedStep> logged_;
  cuda::Memory<double> step_losses_;
  BasisLog log_;
};

}  // namespace

std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const SsEsoapOptions& o) {
  require_gammas(o);
  // Exact solves factorize every factor in every step, one after another: no gain over the host. The kernels
  // hold 8 thresholds.
  const bool exact =
      o.secant_metric == SecantMetric::paper && o.secant_eigenvalues == SecantEigenvalues::exact;
  if (exact || o.gamma_thresholds.size() > 8) return nullptr;
  return std::make_unique<DeviceSsEsoap>(layout, o);
}

}  // namespace lather::optim
