#pragma once
// A function of the caller's: f = sum (x_i - i)^2 of six parameters in two blocks, and whatever is to
// happen while it is called.

#include <functional>

#include "decay.hpp"

namespace lather {

inline constexpr const char* kSixBlocks =
    R"([{"name": "W", "rows": 2, "cols": 2}, {"name": "b", "size": 2}])";

inline Objective six_objective(const lather_function& function, const char* blocks = kSixBlocks) {
  lather_objective* made = nullptr;
  ok(lather_objective_from_function(&function, blocks, &made));
  return Objective(made);
}

inline Method six_optimizer(const char* settings, const char* blocks = kSixBlocks) {
  lather_optimizer* made = nullptr;
  ok(lather_optimizer_create(settings, blocks, LATHER_CPU, &made));
  return Method(made);
}

struct Meanwhile {
  std::function<std::int32_t()> happens = [] { return 0; };

  lather_function function() {
    auto made = sized<lather_function>();
    made.user = this;
    made.value = [](void* user, const double* x, double* value, double* gradient) {
      *value = 0;
      for (int i = 0; i < 6; ++i) {
        *value += (x[i] - i) * (x[i] - i);
        if (gradient) gradient[i] = 2 * (x[i] - i);
      }
      return static_cast<Meanwhile*>(user)->happens();
    };
    return made;
  }
};

inline bool says(const char* words) {
  return std::string(lather_last_error()).find(words) != std::string::npos;
}

}  // namespace lather
