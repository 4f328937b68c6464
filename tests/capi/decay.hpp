#pragma once
// A problem that trains in no time, and handles of the C interface that free themselves.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lather/lather.h"
#include "temporary_folder.hpp"

namespace lather {

inline constexpr const char* kDecay = R"toml(name = "decay"
coordinates = ["t"]
fields = ["u"]
[domain]
t = [0, 1]
[network]
width = 6
depth = 1
[[equation]]
name = "decay"
residual = "u_t + u"
[[condition]]
name = "start"
where = "t = 0"
residual = "u - 1"
[reference]
u = "exp(-t)"
[training.quick]
optimizer = "lm"
steps = 12
points = {interior = 40, start = 1}
)toml";

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Problem = std::unique_ptr<lather_problem, Freed<lather_problem_free>>;
using Objective = std::unique_ptr<lather_objective, Freed<lather_objective_free>>;
using Method = std::unique_ptr<lather_optimizer, Freed<lather_optimizer_free>>;
using Training = std::unique_ptr<lather_trainer, Freed<lather_trainer_free>>;

inline void ok(std::int32_t status) { ASSERT_EQ(status, LATHER_OK) << lather_last_error(); }

inline Problem decay() {
  lather_problem* problem = nullptr;
  ok(lather_problem_from_text(kDecay, "decay.toml", &problem));
  return Problem(problem);
}

// As the interface wants them: the size set, everything else zero.
template <class Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof made;
  return made;
}

inline Training trainer(const char* settings, const char* folder = nullptr) {
  lather_trainer* made = nullptr;
  ok(lather_trainer_create(decay().get(), settings, folder, nullptr, &made));
  return Training(made);
}

class InAFolder : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  lather::test::TemporaryFolder folder_;
};
using CInterfaceRun = InAFolder;

}  // namespace lather
