// liblather.so carries a C++ library of its own; exceptions of a program with another one must come
// through it.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "lather/lather.h"

namespace {

template <class Thrown>
int32_t throws(void* user, const double*, double*, double*) {
  throw Thrown(*static_cast<Thrown*>(user));
}

template <class Thrown>
std::string message_of(Thrown thrown) {
  lather_function function{};
  function.size = sizeof function;
  function.user = &thrown;
  function.value = throws<Thrown>;
  const char* const blocks = R"([{"name": "x", "size": 2}])";
  lather_objective* objective = nullptr;
  lather_optimizer* optimizer = nullptr;
  EXPECT_EQ(lather_objective_from_function(&function, blocks, &objective), LATHER_OK);
  EXPECT_EQ(lather_optimizer_create(R"({"name": "lbfgs"})", blocks, LATHER_CPU, &optimizer), LATHER_OK);
  double x[2] = {1, 2};
  EXPECT_EQ(lather_optimizer_step(optimizer, objective, x, nullptr), LATHER_CALLBACK);
  EXPECT_EQ(x[1], 2);
  lather_optimizer_free(optimizer);
  lather_objective_free(objective);
  return lather_last_error();
}

TEST(SharedLibrary, ReturnsWhatFunctionsOfTheCallersThrow) {
  EXPECT_EQ(message_of(std::runtime_error("no more")), "lather_function.value has thrown: no more");
  EXPECT_EQ(message_of(3),
            "lather_function.value has thrown something that is no exception of the standard library");
}

}  // namespace
