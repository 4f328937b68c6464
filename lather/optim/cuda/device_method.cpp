#include "lather/optim/cuda/device_method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lather/core/error.hpp"
#include "lather/optim/step_status.hpp"

namespace lather::optim {

namespace {

// Steps of one launch. A row of steps is worth little more than a pair (the host needs 10 µs to look), and
// every step launched after a halt is lost.
constexpr int kStepsPerLaunch[] = {16, 4, 1};
constexpr double kStepsPerHalt = 16;
constexpr std::size_t kMostResumptions = 256;

}  // namespace

DeviceMethod::DeviceMethod(const ParameterLayout& layout, const DeviceMethodConstants& constants,
                           const std::vector<std::size_t>& layer_blocks,
                           const DeviceLayers::MaxDimension& max_dimension, double initial_diagonal)
    : Optimizer(layout, layer_blocks.empty() ? Fits::size : Fits::blocks),
      constants_(constants),
      layer_blocks_(layer_blocks),
      layers_(layout, layer_blocks, max_dimension, initial_diagonal),
      control_(1),
      factors_(kMostSteps),
      host_control_(1),
      host_parameters_(layout.size()) {
  const std::size_t n = layout.size();
  for (auto* memory : {&m_, &v_, &change_, &previous_, &rotated_, &U_rotated_, &U_})
    *memory = cuda::Memory<double>(n);
  std::vector<DeviceBlock> blocks;
  std::size_t largest = 1, largest_layer = 1;
  for (std::size_t k = 0; k < layout.blocks().size(); ++k) {
    const auto& block = layout.blocks()[k];
    const auto layer = std::find(layer_blocks.begin(), layer_blocks.end(), k);
    blocks.push_back({static_cast<long long>(block.offset), static_cast<long long>(block.size()),
                      layer == layer_blocks.end() ? -1 : static_cast<int>(layer - layer_blocks.begin()), 0});
    largest = std::max(largest, block.size());
    if (layer != layer_blocks.end()) largest_layer = std::max(largest_layer, block.size());
  }
  blocks_ = cuda::Memory<DeviceBlock>(blocks.size());
  blocks_.upload(blocks);
  const auto grid = [](std::size_t size) {
    return static_cast<unsigned>(std::clamp<std::size_t>(size / 1024, 1, 32));
  };
  layer_grid_ = grid(largest_layer);
  block_grid_ = grid(largest);
  const auto gradient_blocks = static_cast<unsigned>(std::clamp<std::size_t>(n / 1024, 1, 128));
  gradient_norms_ = cuda::Memory<double>(gradient_blocks);
  change_norms_ = cuda::Memory<double>(
      std::max(block_grid_ * blocks.size(), layer_grid_ * std::max<std::size_t>(1, layer_blocks.size())));
  work_.control = control_.data();
  work_.change = change_.data();
  work_.previous = previous_.data();
  work_.factors = factors_.data();
  work_.gradient_norms = gradient_norms_.data();
  work_.change_norms = change_norms_.data();
  work_.learning_rate = constants.learning_rate;
  work_.beta1 = constants.beta1;
  work_.beta2 = constants.beta2;
  work_.epsilon = constants.epsilon;
  work_.weight_decay = constants.weight_decay;
  work_.size = static_cast<long long>(n);
  work_.gradient_blocks = static_cast<int>(gradient_blocks);
  work_.change_blocks = static_cast<int>(change_norms_.size());
}

ElementKernelArgs DeviceMethod::elements() const {
  return {work_,
          blocks_.data(),
          m_.data(),
          v_.data(),
          largest_v_.data(),
          rotated_.data(),
          U_rotated_.data(),
          U_.data(),
          constants_.adam_rate_ratio,
          constants_.coupled_decay,
          constants_.correct_bias};
}

std::vector<std::size_t> DeviceMethod::matrix_blocks(const ParameterLayout& layout, bool vectors_too) {
  std::vector<std::size_t> blocks;
  for (std::size_t k = 0; k < layout.blocks().size(); ++k)
    if (layout.blocks()[k].matrix || vectors_too) blocks.push_back(k);
  return blocks;
}

void DeviceMethod::accumulate_factors(const double* g, double keep, double weight) {
  if (layers_.side_count() == 0) return;
  layers_.outer_products(g);
  const FactorKernelArgs work{layers_.work(), control_.data(), keep, weight};
  launch_per_side("accumulate_factors", layers_.factor_blocks(), cuda::Parameter().add(work));
}

void DeviceMethod::bind(CudaObjective& objective) {
  if (&objective != objective_ || objective.version() != version_) {
    forget_graphs();
    objective_ = &objective;
    version_ = objective.version();
    layers_.bind(objective.stream());
    work_.x = objective.device_parameters();
    work_.gradient = objective.device_gradient();
    work_.losses = objective.device_losses();
  }
  objective.refresh();
  const auto scales = objective.loss_scales();
  if (scales != scales_on_device_) {
    if (losses_scales_.size() != scales.size()) {
      losses_scales_ = cuda::Memory<double>(scales.size());
      forget_graphs();
    }
    losses_scales_.upload(scales);
    scales_on_device_ = scales;
    work_.loss_scales = losses_scales_.data();
    work_.terms = static_cast<int>(scales.size());
  }
}

void DeviceMethod::forget_graphs() {
  graphs_.clear();
  resumptions_.clear();
}

void DeviceMethod::put_parameters(std::span<const double> x) {
  std::copy(x.begin(), x.end(), host_parameters_.data());
  cuda::check(cudaMemcpyAsync(work_.x, host_parameters_.data(), x.size_bytes(), cudaMemcpyHostToDevice,
                              objective_->stream()));
}

void DeviceMethod::put_factors(std::span<const double> factors) {
  if (factors.size() <= factors_on_device_.size() &&
      std::equal(factors.begin(), factors.end(), factors_on_device_.begin()))
    return;
  factors_.upload(factors);
  factors_on_device_.assign(factors.begin(), factors.end());
}

void DeviceMethod::put_control() {
  host_control_[0] = now_;
  cuda::check(cudaMemcpyAsync(control_.data(), host_control_.data(), sizeof(Control), cudaMemcpyHostToDevice,
                              objective_->stream()));
}

void DeviceMethod::read_control() {
  const cudaStream_t stream = objective_->stream();
  cuda::check(cudaMemcpyAsync(host_control_.data(), control_.data(), sizeof(Control), cudaMemcpyDeviceToHost,
                              stream));
  cuda::check(cudaStreamSynchronize(stream));
  now_ = host_control_[0];
}

void DeviceMethod::enqueue_descent() {
  layers_.launch("descend", block_grid_, static_cast<unsigned>(layout_.blocks().size()),
                 cuda::Parameter().add(elements()));
}

void DeviceMethod::finish_step(int form) {
  const auto grid = static_cast<unsigned>(std::clamp<long long>(work_.size / 1024, 1, 128));
  layers_.launch("apply_change", grid, 1, cuda::Parameter().add(work_));
  enqueue_after(form);
}

bool DeviceMethod::clip_gradients(const ClipOptions& options) {
  clip_ = options;
  return true;
}

void DeviceMethod::enqueue_evaluation() {
  Control* const control = control_.data();
  objective_->enqueue_points(&control->index, &control->points_changed);
  enqueue_gradient();
}

// After its evaluation.
void DeviceMethod::enqueue_step(int form) {
  const auto blocks = static_cast<unsigned>(work_.gradient_blocks);
  layers_.launch("gradient_norms", blocks, 1, cuda::Parameter().add(work_));
  if (clip_) {
    const ClipKernelArgs work{work_, objective_->device_gradient(), clip_->limit, clip_->by == Clip::value,
                              0};
    layers_.launch("clip_gradient", blocks, 1, cuda::Parameter().add(work));
    layers_.launch("gradient_norms", blocks, 1, cuda::Parameter().add(work_));
  }
  layers_.launch("begin_step", 1, 1, cuda::Parameter().add(work_));
  enqueue_change(form);
  finish_step(form);
}

void DeviceMethod::perform(int form, int count) {
  const cudaStream_t stream = objective_->stream();
  const bool together = objective_->captures_gradient();  // with the rest of a step, in one graph
  const auto enqueue = [&] {
    if (together) enqueue_evaluation();
    enqueue_step(form);
  };
  if (form >= kUncaptured) {
    if (!together) enqueue_evaluation();
    enqueue();
  } else {
    cuda::Graph& graph = graphs_[{form, count}];
    if (!graph) {
      // First once without effect and without a graph, to load kernels and library code: that must not happen
      // during a capture.
      const auto lock = cuda::alone();
      now_.halt = kGradientNotFinite;
      put_control();
      enqueue();
      cuda::check(cudaStreamSynchronize(stream));
      now_.halt = kRunning;
      put_control();
      cuda::check(cudaStreamSynchronize(stream));
      graph = cuda::Graph(stream, [&] {
        for (int i = 0; i < count; ++i) enqueue();
      });
    }
    if (!together) enqueue_evaluation();
    graph.launch(stream);
  }
  read_control();
}

// If another process is lost, steps are taken until a gradient lacks its part, and the rest is taken again.
void DeviceMethod::launch(int form, int count) {
  const bool complete = objective_->run([&] { perform(form, count); });
  if (complete || now_.halt != kGradientNotFinite) return;
  now_.halt = kRunning;
  put_control();
}

void DeviceMethod::resume(int form) {
  const cudaStream_t stream = objective_->stream();
  const auto enqueue = [&] {
    enqueue_after_halt(form);
    finish_step(form);
  };
  layers_.read_changed();
  // The first time, the eigensolver allocates its memory and loads its code: not in a capture.
  if (resumptions_.size() >= kMostResumptions) resumptions_.clear();
  const auto [known, first] = resumptions_.try_emplace({form, layers_.to_change()});
  cuda::Graph& graph = known->second;
  if (first || !layers_.captures()) {
    const auto lock = cuda::alone();
    enqueue();
  } else {
    if (!graph) graph = cuda::Graph(stream, enqueue);
    graph.launch(stream);
  }
  read_control();
  const auto since = static_cast<double>(now_.t - last_halt_);
  steps_between_halts_ = steps_between_halts_ == 0 ? since : 0.8 * steps_between_halts_ + 0.2 * since;
  last_halt_ = now_.t;
}

// How many steps in a row have the next form and are unlikely to be lost.
int DeviceMethod::how_many(std::size_t left) const {
  const int form = graph_variant(now_.t + 1);
  if (form >= kUncaptured || !objective_->captures_gradient()) return 1;
  const double expected = std::max(steps_between_halts_, static_cast<double>(now_.t - last_halt_));
  for (const int row : kStepsPerLaunch) {
    if (static_cast<std::size_t>(row) > left || (row > 1 && row > expected / kStepsPerHalt)) continue;
    bool same = true;
    for (int i = 1; i < row; ++i) same = same && graph_variant(now_.t + 1 + i) == form;
    if (same) return row;
  }
  return 1;
}

void DeviceMethod::end_in_trouble(StepReport& report) const {
  const bool step = now_.halt == kStepNotFinite;
  std::vector<double> values(layout_.size());
  cuda::check(cudaMemcpy(values.data(), step ? change_.data() : work_.gradient,
                         values.size() * sizeof(double), cudaMemcpyDeviceToHost));
  step ? end_with_bad_step(report, layout_, values) : end_with_bad_gradient(report, layout_, values);
  report.step_norm = 0;
}

StepReport DeviceMethod::take_step(Objective& objective, std::span<double> x) {
  std::int64_t done = 0;
  return take_steps(objective, x, std::span(&factor_, 1), done);
}

StepReport DeviceMethod::take_steps(Objective& objective, std::span<double> x,
                                    std::span<const double> factors, std::int64_t& done) {
  CudaObjective* device = objective.cuda_objective();
  if (!device) throw Error("the optimizer is on the GPU, the objective is not");
  factors = factors.first(std::min(factors.size(), kMostSteps));
  prepare(objective, *device);
  bind(*device);
  if (!objective.holds_parameters()) put_parameters(x);
  put_factors(factors);
  now_.index = 0;
  now_.points_changed = 0;
  now_.halt = kRunning;
  const auto updates_before = now_.basis_updates;
  put_control();

  int evaluations = 0;
  while (now_.halt == kRunning && static_cast<std::size_t>(now_.index) < factors.size()) {
    if (device->version() != version_) {  // another rank was lost: the run is to be saved soon
      if (now_.index > 0) break;
      bind(*device);
    }
    const int form = graph_variant(now_.t + 1), before = now_.index;
    launch(form, how_many(factors.size() - before));
    if (now_.halt == kBasisWanted) resume(form);
    evaluations += now_.index - before;
  }
  factor_ = factors[std::max(0, now_.index - 1)];
  if (!objective.holds_parameters()) {
    cuda::check(cudaMemcpyAsync(host_parameters_.data(), work_.x, x.size_bytes(), cudaMemcpyDeviceToHost,
                                device->stream()));
    cuda::check(cudaStreamSynchronize(device->stream()));
    std::copy_n(host_parameters_.data(), x.size(), x.begin());
  }

  StepReport report;
  report.loss = now_.loss;
  report.gradient_norm = now_.gradient_norm;
  report.step_norm = now_.step_norm;
  report.evaluations = std::max(1, evaluations);
  report.basis_updates = static_cast<int>(now_.basis_updates - updates_before);
  done = std::max(1, now_.index);
  if (now_.halt != kRunning) {
    end_in_trouble(report);
    // The step that failed counts as taken, as on the host.
    done = std::min<std::int64_t>(now_.index + 1, static_cast<std::int64_t>(factors.size()));
  } else if (now_.gradient_norm == 0) {
    end_with_zero_gradient(report);
  } else if (now_.eigensolver_failed) {
    report.message = "an eigenbasis could not be computed; the old one is kept";
    now_.eigensolver_failed = 0;
  }
  diagnostics_.clear();
  read_diagnostics();
  return report;
}

void DeviceMethod::device_array(StateVisitor& visitor, const char* name, cuda::Memory<double>& memory) const {
  std::vector<double> values(memory.size());
  if (!visitor.reading() && !values.empty()) memory.download(values);
  visitor.array(name, std::span(values));
  if (visitor.reading() && !values.empty()) memory.upload(values);
}

// Same names and order as in GradientMethod, KroneckerBlocks and MatrixMethod: a checkpoint works on host and
// device.
void DeviceMethod::counters(StateVisitor& visitor) {
  std::int64_t t = now_.t;
  visitor.integer("t", t);
  now_.t = t;
  visitor.real("learning_rate_factor", factor_);
}

void DeviceMethod::kronecker_state(StateVisitor& visitor) {
  std::size_t layer = 0;
  for (std::size_t k = 0; k < layout_.blocks().size(); ++k) {
    if (layer < layer_blocks_.size() && layer_blocks_[layer] == k) {
      layers_.state(visitor, layer++);
      continue;
    }
    for (const char* name : {"left.factor", "left.basis", "right.factor", "right.basis"})
      visitor.array(name, std::span<double>());
  }
}

void DeviceMethod::state(StateVisitor& visitor) {
  counters(visitor);
  device_array(visitor, "m", m_);
  device_array(visitor, "v", v_);
}

}  // namespace lather::optim
