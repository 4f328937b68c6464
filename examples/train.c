/* Training from C: a problem as text, a run with a callback, predictions with derivatives; then a function of one's own.
 * Build it with find_package(lather) and target_link_libraries(… lather::c), or: cc train.c -llather */
#include <lather/lather.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int32_t status) {
  if (status == LATHER_OK) return;
  fprintf(stderr, "lather: %s\n", lather_last_error());
  exit(1);
}

static const char* const kDecay =
    "name = \"decay\"\n"
    "coordinates = [\"t\"]\n"
    "fields = [\"u\"]\n"
    "[domain]\n"
    "t = [0, 1]\n"
    "[[equation]]\n"
    "name = \"decay\"\n"
    "residual = \"u_t + u\"\n"
    "[[condition]]\n"
    "name = \"start\"\n"
    "where = \"t = 0\"\n"
    "residual = \"u - 1\"\n";

static int32_t show(void* user, const lather_progress* p) {
  int* calls = user;
  if (++*calls == 1) printf("first line of the history: step %lld of %lld\n", (long long)p->step, (long long)p->steps);
  return 0; /* anything else would end the run */
}

/* Rosenbrock's function, f = (10 (y - x^2))^2 + (1 - x)^2. */
static int32_t rosenbrock(void* user, const double* x, double* value, double* gradient) {
  const double a = 10 * (x[1] - x[0] * x[0]), b = 1 - x[0];
  (void)user;
  *value = a * a + b * b;
  if (gradient) {
    gradient[0] = -40 * a * x[0] - 2 * b;
    gradient[1] = 20 * a;
  }
  return 0;
}

static double train(void) {
  lather_problem* problem = NULL;
  lather_trainer* trainer = NULL;
  int calls = 0;
  lather_watcher watcher;
  const double t[3] = {0, 0.5, 1};
  double values[3][2], worst = 0;

  check(lather_problem_from_text(kDecay, "decay.toml", &problem));
  check(lather_trainer_create(problem, "{\"steps\": 30, \"seed\": 1, \"threads\": 1}", "", NULL, &trainer));
  memset(&watcher, 0, sizeof watcher);
  watcher.size = sizeof watcher;
  watcher.user = &calls;
  watcher.progress = show;
  watcher.interval = 0.5;
  check(lather_trainer_run(trainer, &watcher, NULL));

  check(lather_trainer_predict(trainer, 1, "u, u_t", 3, t, &values[0][0]));
  for (int i = 0; i < 3; ++i) {
    printf("u(%.1f) = %.8f, u_t = %.8f\n", t[i], values[i][0], values[i][1]);
    worst = fmax(worst, fabs(values[i][0] - exp(-t[i])));
  }
  lather_trainer_free(trainer);
  lather_problem_free(problem);
  return calls > 0 ? worst : 1;
}

static double minimize(void) {
  const char* blocks = "[{\"name\": \"x\", \"size\": 2}]";
  lather_function function;
  lather_objective* objective = NULL;
  lather_optimizer* optimizer = NULL;
  lather_step step = {.size = sizeof step, .status = LATHER_RUNNING};
  double x[2] = {-1.2, 1}, value = 0;
  int steps = 0;

  memset(&function, 0, sizeof function);
  function.size = sizeof function;
  function.value = rosenbrock;
  check(lather_objective_from_function(&function, blocks, &objective));
  check(lather_optimizer_create("{\"name\": \"lbfgs\"}", blocks, LATHER_CPU, &optimizer));
  while (steps < 200 && step.status == LATHER_RUNNING) {
    check(lather_optimizer_step(optimizer, objective, x, &step));
    ++steps;
  }
  check(lather_objective_value(objective, x, &value));
  printf("lbfgs: %d steps, f(%.6f, %.6f) = %.2e; %s\n", steps, x[0], x[1], value, step.message);
  lather_optimizer_free(optimizer);
  lather_objective_free(objective);
  return value;
}

int main(void) {
  printf("Lather %s\n", lather_version());
  return train() < 1e-5 && minimize() < 1e-12 ? 0 : 1;
}
