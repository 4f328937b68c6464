// A whole run from C++: a problem written by the program, a run folder with history and checkpoints, an
// interruption, resuming from the checkpoint, and the report page.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <lather/lather.hpp>
#include <lather/report/html_report.hpp>

namespace {

using namespace lather;

// A damped oscillator, u'' + 2 d u' + u = 0, u(0) = 1, u'(0) = 0.
std::string oscillator(double damping) {
  return R"toml(
name = "oscillator"
coordinates = ["t"]
fields = ["u"]
domain = {t = [0, 6]}
parameters = {d = )toml" +
         std::to_string(damping) + R"toml(}
equation = [{name = "motion", residual = "u_tt + 2*d*u_t + u"}]
condition = [{name = "start", where = "t = 0", residual = ["u - 1", "u_t"]}]
network = {width = 16, depth = 3}
[training.quick]
points = {interior = 200}
)toml";
}

train::Outcome continue_run(train::Trainer& trainer, train::RunFolder& folder, std::int64_t stop_at,
                            double seconds_before) {
  train::Watcher watcher;
  watcher.interrupted = [&] { return trainer.step() >= stop_at; };
  return train::run(trainer, folder, watcher, seconds_before);
}

}  // namespace

int main() {
  const std::filesystem::path run = "runs/oscillator";
  std::filesystem::remove_all(run);
  std::ofstream("oscillator.toml") << oscillator(0.1);

  train::ConfigRequest request;
  request.problem = "oscillator.toml";
  request.optimizer = "lm";
  request.steps = 60;
  const train::Config config = train::resolve(request);
  {
    auto folder = train::RunFolder::create(run, config);
    train::Trainer trainer(config);
    const auto outcome = continue_run(trainer, folder, /*stop_at=*/20, 0);
    std::printf("first session: step %lld, %s\n", static_cast<long long>(trainer.step()),
                outcome.message.c_str());
  }  // as if the program had ended here
  auto folder = train::RunFolder::open(run);
  train::Trainer trainer(train::read_config(run / "config.json"));
  std::vector<std::string> messages;
  const double seconds = train::restore(trainer, folder, messages);
  std::printf("resumed at step %lld\n", static_cast<long long>(trainer.step()));
  const auto outcome = continue_run(trainer, folder, config.stop.steps, seconds);
  std::printf("second session: step %lld, residual %.2e, %s\n", static_cast<long long>(trainer.step()),
              trainer.measure().residual, outcome.message.c_str());

  const std::vector<std::filesystem::path> runs = {run};
  std::ofstream(run / "report.html") << report::make_report(runs).html;
  return trainer.measure().residual < 1e-6 ? 0 : 1;
}
