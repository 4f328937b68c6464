#include "lather/optim/quasi_newton/secant_history.hpp"

#include "lather/optim/deterministic_sums.hpp"

namespace lather::optim {

SecantHistory::SecantHistory(std::size_t capacity) : capacity_(capacity) {}
SecantHistory::~SecantHistory() = default;

void SecantHistory::clear() {
  pairs_.clear();
  if (device_) device_->clear();
}

std::size_t SecantHistory::bytes() const {
  std::size_t sum = device_ ? device_->bytes() : 0;
  for (const Pair& pair : pairs_) sum += (pair.s.size() + pair.y.size()) * sizeof(double);
  return sum;
}

void SecantHistory::move_to_device(std::size_t n) {
  if (capacity_ > 0) device_ = make_device_secants(capacity_, n);
  for (const Pair& pair : pairs_) push_to_device(pair);
}

void SecantHistory::push_to_device(const Pair& pair) {
  if (device_) device_->push(pair.s, pair.y, pair.rho);
}

void SecantHistory::push(std::vector<double> s, std::vector<double> y) {
  if (capacity_ == 0) return;
  if (pairs_.size() == capacity_) pairs_.pop_front();
  const double rho = 1 / dot(y, s);
  pairs_.push_back({std::move(s), std::move(y), rho});
  push_to_device(pairs_.back());
}

void SecantHistory::descend(std::span<const double> g, std::span<double> direction) const {
  if (device_ && !pairs_.empty()) return device_->descend(g, direction);
  const std::span<double> q = direction, r = direction;
  for (std::size_t i = 0; i < g.size(); ++i) q[i] = -g[i];
  if (pairs_.empty()) return;
  std::vector<double> alpha(pairs_.size());
  for (std::size_t i = pairs_.size(); i-- > 0;) {
    alpha[i] = pairs_[i].rho * dot(pairs_[i].s, q);  // alpha_i = rho_i s_i . q
    add_scaled(q, -alpha[i], pairs_[i].y);           // q = q - alpha_i y_i
  }
  const Pair& newest = pairs_.back();
  const double gamma = 1 / newest.rho / dot(newest.y, newest.y);
  for (double& value : r) value *= gamma;  // r = gamma q
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const double beta = pairs_[i].rho * dot(pairs_[i].y, r);  // beta = rho_i y_i . r
    add_scaled(r, alpha[i] - beta, pairs_[i].s);              // r = r + (alpha_i - beta) s_i
  }
}

void SecantHistory::state(StateVisitor& v) {
  auto count = static_cast<std::int64_t>(pairs_.size());
  v.integer("pairs", count);
  pairs_.resize(static_cast<std::size_t>(count));
  for (auto& pair : pairs_) {
    v.array("s", pair.s);
    v.array("y", pair.y);
    v.real("rho", pair.rho);
  }
  if (!v.reading() || !device_) return;
  device_->clear();
  for (const Pair& pair : pairs_) push_to_device(pair);
}

}  // namespace lather::optim
