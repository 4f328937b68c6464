#pragma once
// What the opaque types of lather.h hold.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lather/capi/guard.hpp"
#include "lather/optim/foreign_parameters.hpp"
#include "lather/train/session.hpp"

struct lather_problem {
  lather::train::ProblemSource source;
};

struct lather_objective {
  std::unique_ptr<lather::optim::Objective> objective;
  // For problems only.
  lather::pde::PinnObjective* loss = nullptr;
  lather::pde::SamplingSettings sampling;
};

struct lather_optimizer {
  lather::optim::ParameterLayout layout;
  std::unique_ptr<lather::optim::Optimizer> optimizer;
  lather::optim::Family family;
  std::string name;
  lather::Device device;
  std::unique_ptr<lather::optim::ForeignParameters> foreign;  // made at the first lather_optimizer_apply
};

struct lather_trainer {
  lather::train::Session session;
  nlohmann::json finished;  // the summary of a run that has ended already
  std::string path;         // of its folder; empty: it has none
  std::atomic<bool> stop = false;
};

namespace lather::capi {

void fill(lather_step* to, const optim::StepReport& report, std::int64_t steps);

}  // namespace lather::capi
