/* The C interface of Lather: liblather.so. docs/c-interface.md is the manual, examples/train.c a program.
 *
 * Conventions
 *  - Functions return LATHER_OK or another status; lather_last_error() then says in words what was wrong.
 *    What cannot be right is refused before anything happens. No exception leaves the library; nothing is
 *    printed.
 *  - Objects are opaque. NAME_free() accepts NULL. A pointer to another kind of object, or to one that was
 *    freed, is refused.
 *  - Threads: any thread may use any object; calls on one object wait for each other. A run
 *    (lather_trainer_run) lets other threads read its trainer between steps: info, summary, size, parameters,
 *    predict, reference, save. lather_trainer_stop() never waits and may be called from anywhere, also from a
 *    signal handler.
 *  - Functions of the caller's (callbacks) run in the thread whose call it is, unless stated otherwise.
 *    They may call the library, but an object whose call they are in refuses; the progress of a run may read
 *    its trainer. They may free any object: one in use is destroyed when its last call returns, and a run is
 *    stopped. What they throw, as C++ exceptions, ends the call with LATHER_CALLBACK; a run is saved first.
 *    They must return or throw: after longjmp the objects of the call stay in use, and refuse, for good.
 *  - fork: objects work in the child too, except those on a GPU and those another thread was using; these
 *    refuse.
 *  - Settings and results with many parts are JSON. A returned text belongs to the calling thread and stays
 *    valid until its next call that returns a text.
 *  - Structures begin with `size`, which the caller sets to sizeof(structure): later versions may append
 *    members, and nothing is read or written beyond `size`. Another size, or a member that this version does
 *    not know, is an error.
 *  - Arrays are double, row-major, on the host unless stated otherwise. Texts are UTF-8.
 *  - The library keeps the meaning of everything here as long as lather_api_version() is the same. */
#ifndef LATHER_LATHER_H
#define LATHER_LATHER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LATHER_API_VERSION 2

enum {
  LATHER_OK = 0,
  LATHER_INVALID = 1,       /* an input, a file, a setting: the message names it and what was expected */
  LATHER_OUT_OF_MEMORY = 2,
  LATHER_CALLBACK = 3,      /* a function of the caller's failed: it threw, or returned something but 0 */
  LATHER_FAILED = 4,        /* anything else */
  LATHER_INTERRUPTED = 5    /* Ctrl-C has ended the call: lather_catch_interrupts() */
};

/* How a step went (lather_step.status). Everything but RUNNING: further steps would do nothing new. */
enum { LATHER_RUNNING = 0, LATHER_CONVERGED = 1, LATHER_STALLED = 2, LATHER_NON_FINITE = 3 };
enum { LATHER_CPU = 0, LATHER_CUDA = 1 };
enum { LATHER_FLOAT64 = 0, LATHER_FLOAT32 = 1 };

typedef struct lather_problem lather_problem;
typedef struct lather_objective lather_objective;
typedef struct lather_optimizer lather_optimizer;
typedef struct lather_trainer lather_trainer;

int32_t lather_api_version(void);
const char* lather_version(void);
/* The message of this thread's last failed call. */
const char* lather_last_error(void);
/* {"version", "cpu", "cores", "cuda": "the GPU, or what is missing", …} */
int32_t lather_environment(const char** json);

/* From now on Ctrl-C (SIGINT) ends the calls of this thread within a second. Training, comparisons and sweeps
   save and return as if stopped; other calls return LATHER_INTERRUPTED, and what they were to change is as
   before, but for arrays they had begun to fill. LATHER_INVALID: another thread catches already. */
int32_t lather_catch_interrupts(void);
/* The handler of before is in place again; around a function of the caller's, say, that library calls. Returns
   1 if Ctrl-C came and no call has ended for it, else 0. */
int32_t lather_release_interrupts(void);
/* Whether Ctrl-C has ended the last call of this thread. */
int32_t lather_interrupted(void);

/* ---- Problems ------------------------------------------------------------------------------------- */

/* Names of all problems found, as a JSON list. $LATHER_PROBLEMS names additional folders. */
int32_t lather_problem_names(const char** json);
/* A bundled problem by its name, or a file. */
int32_t lather_problem_open(const char* name_or_file, lather_problem** problem);
/* `name` stands for the file in messages; data files are looked for in its folder. */
int32_t lather_problem_from_text(const char* text, const char* name, lather_problem** problem);
void lather_problem_free(lather_problem* problem);
/* {"name", "title", "file", "text", "coordinates", "domain", "fields", "unknowns", "terms", "point_sets",
   "recipes", "warnings", "description"} */
int32_t lather_problem_info(const lather_problem* problem, const char** json);

/* Settings of objectives and trainers are a JSON object, NULL for defaults:
     {"recipe": "quick", "optimizer": "lm", "device": "cpu", "precision": "float64", "seed": 0, "threads": 0,
      "steps": 100, "seconds": 60, "target": "l2=1e-6", "patience": 0,
      "set": {"network": {"width": 64}, "optimizer.learning_rate": 1e-3}} */

/* ---- Optimizers ----------------------------------------------------------------------------------- */

/* {NAME: {"summary", "family", "needs_residuals", "on_device", "options": [{"name", "type", "default",
   "range", "help"}]}} */
int32_t lather_optimizer_catalogue(const char** json);

typedef struct lather_step {
  uint64_t size;
  double loss;           /* at the parameters before the step */
  double gradient_norm;
  double step_norm;
  int64_t steps;         /* taken */
  int64_t evaluations;
  int64_t basis_updates;
  int64_t status;        /* LATHER_RUNNING, … */
  const char* message;   /* in words, or empty; valid until the next step in this thread */
} lather_step;

/* `settings`: {"name": "adam", "learning_rate": 1e-3, "clip": {"limit": 1}, …}.
   `blocks`: what the flat array of parameters is made of,
     [{"name": "layer1.weight", "rows": 2, "cols": 64}, {"name": "layer1.bias", "size": 64}, …];
   with rows and cols a block is a matrix (row-major), with size a vector. "role", if it is known: hidden,
   input, output, bias, gate or unknown. device: LATHER_CPU or LATHER_CUDA. */
int32_t lather_optimizer_create(const char* settings, const char* blocks, int32_t device,
                                lather_optimizer** optimizer);
void lather_optimizer_free(lather_optimizer* optimizer);
uint64_t lather_optimizer_size(const lather_optimizer* optimizer); /* number of parameters */
/* One iteration on an objective, starting from x (host); x is updated, unless the call fails. The objective
   must have the optimizer's number of parameters, and for methods that treat matrices as such the same
   blocks. `step` may be NULL. */
int32_t lather_optimizer_step(lather_optimizer* optimizer, lather_objective* objective, double* x,
                              lather_step* step);

/* A block in the caller's memory, host or device, contiguous. */
typedef struct lather_tensor {
  void* parameter;
  const void* gradient;
  int64_t type;   /* LATHER_FLOAT64 or LATHER_FLOAT32, for both */
  uint64_t count; /* elements of either; an error if the block has another number of them */
} lather_tensor;
/* One iteration of a first-order or Kronecker method with given gradients: parameters are updated in place.
   One tensor per block, in the same order. Memory must be where the optimizer is; on LATHER_CUDA the step is
   ordered after work already in `stream` (a cudaStream_t; NULL: the default one) and before later work. */
int32_t lather_optimizer_apply(lather_optimizer* optimizer, const lather_tensor* tensors, uint64_t count,
                               double loss, void* stream, lather_step* step);
/* Multiplies the learning rate given in the settings. Methods with a line search ignore it. */
int32_t lather_optimizer_set_rate_factor(lather_optimizer* optimizer, double factor);
/* Points or weights have changed: differences of gradients across the change are invalid. */
int32_t lather_optimizer_objective_changed(lather_optimizer* optimizer);
/* {"memory_bytes", "diagnostics": [{"block", "quantity", "value"}]} of the last step. */
int32_t lather_optimizer_info(const lather_optimizer* optimizer, const char** json);
/* Everything needed to continue bit for bit, as bytes; like texts, they belong to the thread. An optimizer
   created with the same settings and blocks, on either device, reads them back. Bytes that are damaged, or of
   another optimizer, are refused, and the optimizer keeps the state it has. */
int32_t lather_optimizer_save(lather_optimizer* optimizer, const void** bytes, uint64_t* count);
int32_t lather_optimizer_load(lather_optimizer* optimizer, const void* bytes, uint64_t count);

/* ---- Objectives ----------------------------------------------------------------------------------- */

/* The loss of a problem at the points that a run with these settings begins with. */
int32_t lather_objective_create(const lather_problem* problem, const char* settings,
                                lather_objective** objective);

/* A function of the caller's. `value` alone is enough for gradient and quasi-Newton methods; least-squares
   methods need residuals and rows of their Jacobian. If `value` is NULL it is the sum of squared residuals.
   If a function returns anything but 0, the call that invoked it ends with LATHER_CALLBACK. */
typedef struct lather_function {
  uint64_t size;
  void* user;
  /* gradient may be NULL: only the value is wanted */
  int32_t (*value)(void* user, const double* x, double* value, double* gradient);
  uint64_t residual_count; /* 0: not a sum of squares */
  int32_t (*residuals)(void* user, const double* x, double* r);
  /* rows [first, first + count) of dr/dx */
  int32_t (*jacobian)(void* user, const double* x, uint64_t first, uint64_t count, double* rows);
} lather_function;
int32_t lather_objective_from_function(const lather_function* function, const char* blocks,
                                       lather_objective** objective);
void lather_objective_free(lather_objective* objective);
/* {"size", "residual_count", "blocks": [{"name", "offset", "rows", "cols", "matrix", "role"}], "terms",
   "point_sets": {NAME: number of points}} */
int32_t lather_objective_info(lather_objective* objective, const char** json);
uint64_t lather_objective_size(const lather_objective* objective);
uint64_t lather_objective_residual_count(const lather_objective* objective);
/* For problems: weights from a seed, and the points they start with. */
int32_t lather_objective_initialize(lather_objective* objective, uint64_t seed, double* x);
/* For problems: sets the points of a set (not of data), `count` rows of coordinates. */
int32_t lather_objective_set_points(lather_objective* objective, const char* set, uint64_t count,
                                    const double* coordinates);
int32_t lather_objective_value(lather_objective* objective, const double* x, double* value);
int32_t lather_objective_gradient(lather_objective* objective, const double* x, double* value,
                                  double* gradient);
/* The same for a problem on LATHER_CUDA: x and gradient are device memory, ordered on `stream` as in
   lather_optimizer_apply. */
int32_t lather_objective_gradient_on_device(lather_objective* objective, const double* x, double* value,
                                            double* gradient, void* stream);
/* value = r^T r, J = dr/dx (residual_count × size). */
int32_t lather_objective_residuals(lather_objective* objective, const double* x, double* r);
int32_t lather_objective_jacobian(lather_objective* objective, const double* x, uint64_t first,
                                  uint64_t count, double* rows);
int32_t lather_objective_jacobian_times(lather_objective* objective, const double* x, const double* v,
                                        double* Jv);
int32_t lather_objective_transposed_jacobian_times(lather_objective* objective, const double* x,
                                                   const double* w, double* Jtw);

/* ---- Training ------------------------------------------------------------------------------------- */

/* `folder`: the run folder, "" for runs/PROBLEM-OPTIMIZER-SEED-N, NULL for none (stepping only). `from`: a
   run whose best network is the starting point, or NULL. */
int32_t lather_trainer_create(const lather_problem* problem, const char* settings, const char* folder,
                              const char* from, lather_trainer** trainer);
/* Like `create`, for a folder that may already hold the same run, which is then resumed. A run that has ended
   with the same limits is opened as it is; lather_trainer_run() then returns its summary at once. */
int32_t lather_trainer_create_or_resume(const lather_problem* problem, const char* settings,
                                        const char* folder, lather_trainer** trainer);
/* Resumes a run, bit for bit. `limits`: {"steps", "seconds", "target", "patience"} or NULL. */
int32_t lather_trainer_resume(const char* folder, const char* limits, lather_trainer** trainer);
/* Opens a run for reading: metrics, predictions. */
int32_t lather_trainer_open(const char* folder, lather_trainer** trainer);
void lather_trainer_free(lather_trainer* trainer);

/* {"folder", "config", "step", "best_step", "parameters", "coordinates", "domain", "fields", "unknowns",
   "terms", "chosen", "warnings", "messages", "finished"} */
int32_t lather_trainer_info(lather_trainer* trainer, const char** json);
/* One iteration, or up to `most` if the optimizer can take several at once. Nothing is written. */
int32_t lather_trainer_step(lather_trainer* trainer, int64_t most, lather_step* step);

typedef struct lather_progress {
  uint64_t size;
  int64_t step, steps;
  int64_t stage, stages;
  double loss, gradient_norm;
  double residual, l2; /* of the last validation; NaN if there is none */
  double seconds, steps_per_second, seconds_left;
  int64_t recorded;    /* a line of the history was written at this step */
} lather_progress;

typedef struct lather_watcher {
  uint64_t size;
  void* user;
  /* After recorded steps, and once per `interval` seconds. Anything but 0 stops the run, which is saved. */
  int32_t (*progress)(void* user, const lather_progress* progress);
  void (*message)(void* user, const char* text);
  double interval; /* at least 0 */
} lather_watcher;
/* Runs to the end of the settings, with history and checkpoints in the folder. `watcher` and its functions
   may be NULL; if one of them throws, the run is saved and the call fails with LATHER_CALLBACK. `summary`:
   what summary.json holds. */
int32_t lather_trainer_run(lather_trainer* trainer, const lather_watcher* watcher, const char** summary);
/* Asks a run in another thread, or in this one from a signal handler, to save and end. Never waits. */
void lather_trainer_stop(lather_trainer* trainer);

/* Residuals at held-out points, errors against the reference, unknowns: as in summary.json. fine: on the grid
   of `lather eval`, which may take seconds. */
int32_t lather_trainer_summary(lather_trainer* trainer, int32_t fine, const char** json);
uint64_t lather_trainer_size(const lather_trainer* trainer);
/* best: those of the best validation so far; else the current ones. */
int32_t lather_trainer_parameters(lather_trainer* trainer, int32_t best, double* parameters);
/* Values of quantities ("u", "u_x", "v_xxt", separated by commas) at `count` rows of coordinates: `values` is
   count × quantities. */
int32_t lather_trainer_predict(lather_trainer* trainer, int32_t best, const char* quantities,
                               uint64_t count, const double* coordinates, double* values);
/* The true fields, count × fields, NaN where not known. May compute the reference first. */
int32_t lather_trainer_reference(lather_trainer* trainer, uint64_t count, const double* coordinates,
                                 double* values);
/* Saves a checkpoint to a file, and loads it into a trainer created with the same settings. */
int32_t lather_trainer_save(lather_trainer* trainer, const char* file);
int32_t lather_trainer_load(lather_trainer* trainer, const char* file);

/* ---- Many runs ------------------------------------------------------------------------------------ */

typedef struct lather_runs_watcher {
  uint64_t size;
  void* user;
  /* A line when runs begin and end; called from threads of the library, one at a time. */
  void (*message)(void* user, const char* text);
  /* NULL, or a number: anything but 0 asks all runs to save and end. */
  const int32_t* stop;
} lather_runs_watcher;

/* What `lather sweep` does, in the same folder with the same files: finished runs are not repeated,
   interrupted ones are resumed. sweep: the text of a sweep file (docs/sweeps.md), which names no problem if
   `problem` is given. folder: NULL or "" for runs/sweep-NAME. options: {"jobs": 0, "device": "cpu",
   "collect": false}, NULL for none. watcher: may be NULL.
   result: {"complete", "folder", "page", "table": Markdown, "metric", "points": [{"label", "optimizer",
   "values": {PATH: TEXT}, "score", "round", "finished", "runs": [FOLDER, …]}, …]}, best first. */
int32_t lather_sweep(const lather_problem* problem, const char* sweep, const char* folder, const char* options,
                     const lather_runs_watcher* watcher, const char** result);
/* What `lather compare` does. optimizers: [{"name": "adam", "label": "slow",
   "set": {"optimizer.learning_rate": 1e-4}}, …]; labels default to the names. settings: as for
   lather_trainer_create, for all runs. options: {"seeds": [0, 1, 2], "jobs": 1, "equal_time": false,
   "last": false}. folder: NULL or "" for runs/compare-PROBLEM-N.
   result: {"complete", "folder", "table": Markdown, "groups": [{"name", "runs": [FOLDER, …]}, …]}. */
int32_t lather_compare(const lather_problem* problem, const char* optimizers, const char* settings, const char* folder,
                       const char* options, const lather_runs_watcher* watcher, const char** result);

/* ---- Reports -------------------------------------------------------------------------------------- */

/* Run folders, or folders of comparisons. The HTML page, or an SVG figure, as text. */
int32_t lather_report_page(const char* const* runs, uint64_t count, const char** html);
int32_t lather_report_figure(const char* const* runs, uint64_t count, const char** svg);
/* A Markdown table from [{"name": "adam", "summaries": […]}, …]: mean and deviation per group. */
int32_t lather_report_table(const char* groups, int32_t last, const char** markdown);

#ifdef __cplusplus
}
#endif

#endif
