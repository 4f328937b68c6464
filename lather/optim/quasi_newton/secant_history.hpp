#pragma once
// The last m pairs (s_i, y_i) and the product of the inverse Hessian they represent with a vector.

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "lather/core/state.hpp"

namespace lather::optim {

// Copies of the pairs on the GPU. -H g is a linear combination of them and g whose coefficients follow from
// inner products alone.
class DeviceSecants {
 public:
  virtual ~DeviceSecants() = default;
  virtual void clear() = 0;
  virtual void push(std::span<const double> s, std::span<const double> y, double rho) = 0;
  virtual void descend(std::span<const double> g, std::span<double> direction) = 0;
  virtual std::size_t bytes() const = 0;
};
// Null if this program was built without CUDA.
std::unique_ptr<DeviceSecants> make_device_secants(std::size_t capacity, std::size_t n);

class SecantHistory {
 public:
  explicit SecantHistory(std::size_t capacity);
  ~SecantHistory();

  void push(std::vector<double> s, std::vector<double> y);  // y.s > 0; drops the oldest pair when full
  void clear();
  bool empty() const { return pairs_.empty(); }
  std::size_t size() const { return pairs_.size(); }
  std::size_t bytes() const;  // on the host and on the GPU

  // direction = -H g by the two-loop recursion, with H_0 = (s.y / y.y) I of the newest pair; -g if there is
  // no pair.
  void descend(std::span<const double> g, std::span<double> direction) const;
  // From now on descend() computes on the GPU, on copies of the pairs of length n.
  void move_to_device(std::size_t n);
  bool on_device() const { return device_ != nullptr; }

  void state(StateVisitor& visitor);

 private:
  struct Pair {
    std::vector<double> s, y;
    double rho = 0;  // 1 / y.s
  };
  void push_to_device(const Pair& pair);
  std::size_t capacity_;
  std::deque<Pair> pairs_;  // oldest first
  std::unique_ptr<DeviceSecants> device_;
};

}  // namespace lather::optim
