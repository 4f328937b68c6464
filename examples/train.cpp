// Your own PDE, trained from C++. The README shows this file; tests/consumer builds and runs it.
#include <cstdio>
#include <lather/lather.hpp>

int main() {
  using namespace lather;
  const pde::Problem problem = pde::read_problem_text(R"toml(
    name = "heat"
    coordinates = ["x", "t"]
    fields = ["u"]
    domain = {x = [-1, 1], t = [0, 1]}
    equation = [{name = "heat", residual = "u_t - 0.1*u_xx"}]
    condition = [{name = "start", where = "t = 0", residual = "u - sin(pi*x)"},
                 {name = "walls", where = ["x = -1", "x = 1"], residual = "u"}]
    network = {width = 16, depth = 3})toml",
                                                      "heat.toml");
  pde::PinnObjective loss(problem);
  pde::PointSource points(problem, pde::sampling_settings({.points = {{"interior", 500}}}, problem), 1);
  std::vector<double> x = loss.initialize(1);
  points.update(0, loss, x);
  auto optimizer = optim::find_optimizer("lm").make(loss.layout());
  for (int step = 0; step < 50; ++step) optimizer->step(loss, x);
  std::printf("loss %.3e\n", loss.value(x));
}
