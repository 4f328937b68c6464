#pragma once
// What an optimizer that lives on the GPU needs from the objective: addresses, and work to put on the stream.
// Everything enqueued may be captured into a graph, which stays valid until version() changes.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace lather::optim {

class CudaObjective {
 public:
  virtual ~CudaObjective() = default;
  virtual cudaStream_t stream() = 0;
  virtual double* device_parameters() = 0;
  virtual double* device_gradient() = 0;
  virtual const double* device_losses() = 0;            // sums of point weight * residual^2, one per term
  virtual std::vector<double> loss_scales() const = 0;  // factors that make them losses, same order
  virtual void refresh() = 0;                           // weights of terms, frozen weights: to the device
  // Draws points inside a row of steps; *index (device) is the number of the step in it, *changed (device)
  // says whether they are new.
  virtual void enqueue_points(const int* index, int* changed) = 0;
  virtual void enqueue_gradient() = 0;  // losses and gradient at device_parameters()
  // False if other processes add to them through the host: gradients are then enqueued step by step, outside
  // of graphs. What is asked for by graphs changes with version().
  virtual bool captures_gradient() const { return true; }
  // Calls work(), which launches graphs with gradients and waits for the stream. False: another process was
  // lost meanwhile; the first number of every gradient since then is NaN, and version() has changed.
  virtual bool run(const std::function<void()>& work) {
    work();
    return true;
  }
  // Gradients of groups of terms, one after another, instead of one for all; device_gradient() is then
  // undefined. group_of_term: in the order of Objective::term_names(), groups count from 0. To be set again
  // whenever weights of terms may have changed.
  virtual void set_groups(std::span<const std::size_t> group_of_term) = 0;
  virtual void enqueue_group_gradients(double* gradients) = 0;  // groups × parameters, on the device
  virtual std::size_t version() const = 0;
};

}  // namespace lather::optim
