#pragma once
// Arguments of the optimizer kernels; host and kernels read this file.
//
// A step is a chain of kernels and products. One of them may find that the host is needed (a new basis) or
// that nothing can be done (a NaN): it sets Control::halt, and every kernel that changes state then does
// nothing, so that steps already launched have no effect.

#include "lather/optim/formulas/ss_esoap.hpp"

namespace lather::optim {

enum Halt { kRunning = 0, kBasisWanted = 1, kGradientNotFinite = 2, kStepNotFinite = 3 };

struct Control {
  long long t;  // steps taken, as the optimizer counts them
  int halt;
  int index;  // of the next step in the current row: its learning-rate factor
  int secant_valid;
  int points_changed;
  int eigensolver_failed;
  long long basis_updates;
  double loss;
  double gradient_norm;
  double step_norm;
  double rate;  // learning rate times its factor
  double correction1;
  double correction2;
};

// Common to all methods.
struct StepKernelArgs {
  Control* control;
  double* x;
  const double* gradient;
  double* change;    // of the parameters, by the last step
  double* previous;  // gradient of the last step, or null
  const double* losses;
  const double* loss_scales;
  const double* factors;
  double* gradient_norms;  // partial sums of squares
  double* change_norms;
  double learning_rate;
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
  long long size;
  int terms;
  int gradient_blocks;
  int change_blocks;
  int unused;
};

struct ClipKernelArgs {
  StepKernelArgs s;
  double* gradient;
  double limit;
  int by_value;
  int unused;
};

struct DeviceLayer {
  long long offset;
  int rows;
  int cols;
  int left;  // side, or -1: no factor
  int right;
  int has_basis;  // does a basis turn its values?
  int unused;
};

struct DeviceSide {
  double* factor;
  double* basis;
  double* product;
  double* result;
  double* values;   // eigenvalues, ascending
  double* scratch;  // 2 d
  int d;
  int layer;
  int slot;   // in memory order
  int first;  // where its values begin among those of all sides
};

struct KroneckerKernelArgs {
  const DeviceLayer* layers;
  const DeviceSide* sides;
  int* info;         // of the eigensolver, by slot
  int* changed;      // per side: is its basis to be replaced?
  double* partials;  // per side and block: squares off the diagonal, and on it
  int layer_count;
  int side_count;
  int factor_blocks;
  int unused;
};

struct BasisKernelArgs {
  KroneckerKernelArgs k;
  const double* solved_values;  // of the eigensolver, which solves the sides to be changed one after another
  const int* solved_info;
  int descending;
  int values_into_factor;
  int from_result;  // what is diagonalized: `result`, or the factor
  int unused;
};

struct FactorKernelArgs {
  KroneckerKernelArgs k;
  Control* control;
  double keep;
  double weight;
};

// A block of parameters and its layer.
struct DeviceBlock {
  long long offset;
  long long size;
  int layer;  // -1: none, Adam
  int unused;
};

struct ElementKernelArgs {
  StepKernelArgs s;
  const DeviceBlock* blocks;
  double* m;
  double* v;
  double* largest_v;  // of amsgrad, or null
  double* rotated;    // G~
  double* U_rotated;
  double* U;
  double adam_rate_ratio;  // Adam's rate for the blocks that are not layers, over the rate
  int coupled_decay;
  int correct_bias;
};

struct LayerState {
  double tau;
  double c;
  double a;
  double rho;
  double gamma;
  double gradient_cosine;  // not a number in the first step, which has no previous gradient
  double changed;
  double variance_steps;
  double rho_left;
  double rho_right;
  double tau_counts[kTauCounts];
};

// One step of one layer.
struct LoggedStep {
  long long changed;  // its basis was replaced
  double rho_left;
  double rho_right;
  double gamma;
  double gradient_cosine;
};

struct EsoapKernelArgs {
  ElementKernelArgs e;
  KroneckerKernelArgs k;
  LayerState* state;
  LoggedStep* log;      // per step of a row and layer
  double* step_losses;  // per step of a row
  double* S_rotated;
  double* partials;         // per layer and block: largest V, c, <g, g_old>, |g|^2, |g_old|^2
  double* metric_partials;  // per layer and block
  double* entry_partials;   // per layer and block: largest entry of M^ / (sqrt V^ + eps)
  double* new_M;
  double* new_S;
  int* order;  // of permute: per side, at its offset among the values
  double trigger;
  double ratio_epsilon;
  double relative_epsilon;
  double eigenvalue_floor;
  double tau_min;
  double tau_max;
  double tau_power;
  long long check_interval;
  long long warmup_steps;
  SecantMetric metric;
  TauScope tau_scope;
  TriggerRule trigger_rule;
  VarianceTransition transition;
  InnerUpdate inner_update;
  int keep_step_bound;
  int thresholds;
  double gamma_thresholds[8];
  double gamma_values[9];
};

constexpr int kPanel = 16;             // columns of a panel
constexpr int kReflectedColumns = 32;  // to which a thread block applies a panel
struct OrthonormalKernelArgs {
  KroneckerKernelArgs k;
  const Control* control;
  int panel;  // of columns
  int unused;
};

struct SoapKernelArgs {
  ElementKernelArgs e;
  KroneckerKernelArgs k;
  int* order;  // per side, at its offset among the values
  double* new_M;
  double* new_V;
  double* partials;  // per layer and block: squares of U
  int normalize;     // directions to root mean square 1
  int unused;
};

struct PurifyKernelArgs {
  ElementKernelArgs e;
  KroneckerKernelArgs k;
  double tolerance;
  int always;  // no tolerance: every basis is replaced
  int unused;
};

struct SgdKernelArgs {
  StepKernelArgs s;
  double* momentum;
  double mu;
  double dampening;
  int nesterov;
  int unused;
};

struct MultiAdamKernelArgs {
  StepKernelArgs s;
  const double* group_gradients;  // groups × parameters, as m and v
  const double* group_weights;
  double* gradient;  // their sum
  double* m;
  double* v;
  int groups;
  int unused;
};

struct MuonLayer {
  long long offset;
  long long square;  // where its d × d matrices begin
  int block;
  int d;  // the shorter side; X is d × length
  int length;
  int tall;  // X is the transposed block
  double gain;
};

struct MuonKernelArgs {
  ElementKernelArgs e;
  const MuonLayer* layers;
  double* X;
  double* A;         // X X^T
  double* P;         // a I + b A + c A^2
  double* partials;  // per layer and block: squares of U
  double* lengths;   // by block of parameters, of the last orthogonalized direction
  double momentum;
  double a;
  double b;
  double norm_guard;
  int nesterov;
  int partial_blocks;  // per layer
};

struct ShampooKernelArgs {
  ElementKernelArgs e;
  KroneckerKernelArgs k;
  double* partials;  // per layer and block: squares of the grafted direction, and of Shampoo's
  double factor_beta;
  double epsilon;
  int grafted;
  int unused;
};

// H <- scale H - p p^T + sign q q^T + r r^T
struct InverseHessianKernelArgs {
  double* H;
  const double* p;
  const double* q;
  const double* r;
  double scale;
  double sign;
  long long n;
};

// For square matrices whose rows begin `stride` numbers apart.
struct TriangleKernelArgs {
  const double* matrix;
  const double* shift;
  double* to;
  int size;
  int stride;
};

}  // namespace lather::optim
