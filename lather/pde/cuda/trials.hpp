#pragma once
// Several parameter vectors evaluated one after another on a stream: they go to the device in one copy, all
// results come back in one, and the host waits once; or they are already on the device, and it does not.

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "lather/pde/cuda/pass.hpp"
#include "lather/pde/engine/engine.hpp"

namespace lather::pde {

// Launches what enqueue() puts on the stream, captured at the first call.
template <class Enqueue>
void launch_graph(cuda::Graph& graph, cudaStream_t stream, const Enqueue& enqueue) {
  if (!graph) {
    // Once without a graph: this loads kernels and library code, which must not happen during a capture.
    const auto lock = cuda::alone();
    enqueue();
    graph = cuda::Graph(stream, enqueue);
  }
  graph.launch(stream);
}

// The engine as its Jacobian sees it: x goes to the device, and points that are already there are tried.
class CudaTrialEngine {
 public:
  virtual ~CudaTrialEngine() = default;
  virtual cudaStream_t stream() = 0;
  // x and frozen weights, from memory that stays unchanged until the stream has been waited for.
  virtual void enqueue_upload(std::span<const double> x, cudaStream_t stream) = 0;
  // Room for `count` x; what is then enqueued on stream() leaves the unweighted residuals at all points of a
  // term, one x after another.
  virtual double* residual_points(std::size_t count) = 0;
  virtual void enqueue_residuals(std::size_t count) = 0;
  virtual const double* residuals_at(std::size_t trial, int term) = 0;
  // The same for losses, which go on to the host, to be read after waiting for stream().
  virtual double* value_points(std::size_t count) = 0;
  virtual void enqueue_values(std::size_t count) = 0;
  virtual void read_values(std::span<double> values) = 0;
};

class CudaTrials {
 public:
  // An evaluation reads its x, `size` numbers, from `parameters`.
  CudaTrials(double* parameters, std::size_t size, cudaStream_t stream)
      : parameters_(parameters), size_(size), stream_(stream) {}

  using Part = std::span<const std::byte>;  // of a result, on the device
  // Calls, for one x after another, enqueue(), which evaluates and leaves the result in the parts.
  template <class Enqueue>
  void run(std::span<const double> xs, std::span<const Part> parts, const Enqueue& enqueue) {
    const std::size_t trials = xs.size() / size_;
    prepare(trials, parts);
    std::copy(xs.begin(), xs.end(), host_xs_.data());
    copy(xs_.data(), host_xs_.data(), xs.size_bytes(), cudaMemcpyHostToDevice);
    evaluate(trials, enqueue);
    enqueue_download(trials);
    cuda::check(cudaStreamSynchronize(stream_));
  }
  // The same in steps: room on the device, to be written to; then the evaluation; results on the device, or
  // copied to the host.
  double* points(std::size_t trials, std::span<const Part> parts) {
    prepare(trials, parts);
    return xs_.data();
  }
  template <class Enqueue>
  void evaluate(std::size_t trials, const Enqueue& enqueue) {
    const auto enqueue_all = [&] {
      for (std::size_t i = 0; i < trials; ++i) {
        copy(parameters_, xs_.data() + i * size_, size_ * sizeof(double), cudaMemcpyDeviceToDevice);
        enqueue();
        for (std::size_t k = 0; k < parts_.size(); ++k)
          copy(results_.data() + i * stride_ + offsets_[k], parts_[k].data(), parts_[k].size(),
               cudaMemcpyDeviceToDevice);
      }
    };
    if (trials > 1)
      launch_graph(graphs_[trials], stream_, enqueue_all);
    else
      enqueue_all();
  }
  void enqueue_download(std::size_t trials) {
    copy(host_results_.data(), results_.data(), trials * stride_, cudaMemcpyDeviceToHost);
  }
  const std::byte* result_on_device(std::size_t trial, std::size_t part) const {
    return results_.data() + trial * stride_ + offsets_[part];
  }
  template <class T>
  std::span<const T> result(std::size_t trial, std::size_t part) const {
    return {reinterpret_cast<const T*>(host_results_.data() + trial * stride_ + offsets_[part]),
            parts_[part].size() / sizeof(T)};
  }

  void forget_graphs() {
    for (auto& graph : graphs_) graph = {};
  }
  std::size_t bytes() const { return xs_.bytes() + results_.bytes(); }

 private:
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    cuda::check(cudaMemcpyAsync(to, from, bytes, kind, stream_));
  }
  // Makes room; graphs with other addresses are invalid.
  void prepare(std::size_t trials, std::span<const Part> parts) {
    const auto same = [](const Part& a, const Part& b) {
      return a.data() == b.data() && a.size() == b.size();
    };
    if (trials <= room_ && std::ranges::equal(parts, parts_, same)) return;
    forget_graphs();
    room_ = std::max(room_, trials);
    parts_.assign(parts.begin(), parts.end());
    offsets_.clear();
    stride_ = 0;
    for (const Part& part : parts) {
      offsets_.push_back(stride_);
      stride_ += (part.size() + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    }
    xs_ = cuda::Memory<double>(room_ * size_);
    host_xs_ = cuda::PinnedMemory<double>(room_ * size_);
    results_ = cuda::Memory<std::byte>(room_ * stride_);
    host_results_ = cuda::PinnedMemory<std::byte>(room_ * stride_);
  }

  double* parameters_;
  std::size_t size_;
  cudaStream_t stream_;
  std::size_t room_ = 0, stride_ = 0;  // trials; bytes from result to result
  std::vector<Part> parts_;
  std::vector<std::size_t> offsets_;  // of the parts in a result
  cuda::Memory<double> xs_;
  cuda::PinnedMemory<double> host_xs_;
  cuda::Memory<std::byte> results_;
  cuda::PinnedMemory<std::byte> host_results_;
  std::array<cuda::Graph, Engine::kMostTrials + 1> graphs_;  // by the number of trials
};

}  // namespace lather::pde
