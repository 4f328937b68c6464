#pragma once
// The residuals of an engine's terms, one after another, weighted so that the loss is their sum of squares:
// r_i = sqrt(weight * point weight / points) * residual_i.

#include "lather/pde/engine/engine.hpp"

namespace lather::pde {

class EngineResiduals : public optim::Residuals {
 public:
  explicit EngineResiduals(Engine& engine) : engine_(engine) {}
  std::size_t size() const final { return engine_.layout.size(); }
  std::size_t residual_count() const final;
  void residuals(std::span<const double> x, std::span<double> r) final { residuals_at(x, r); }
  void residuals_at(std::span<const double> xs, std::span<double> r) final;
  void residual_scales(std::span<double> scales) const final;
  ThreadTeam* team() final { return &engine_.team(); }

 protected:
  Engine& engine_;
};

}  // namespace lather::pde
