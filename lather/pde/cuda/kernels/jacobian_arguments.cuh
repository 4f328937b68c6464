#pragma once
// What rows of Jacobians are made of (jacobian.cuh); host and kernels read this file.

namespace lather::pde {

// One layer's part of the rows of J: row p is root weight * sum_c in_cp out_bar_cp^T, and the bias. If a
// residual is the sum over `group` consecutive points, these are sums over them too. With
// W = V diag(g): dV = dW diag(g), dg_j = sum_i V_ij dW_ij.
struct JacobianLayer {
  const double *in, *out_bar, *V, *g;  // g: null without factors
  long long weight, bias, scale;       // where the layer's parameters begin, -1: none
  int in_stride, out_stride, inputs, outputs;
};

constexpr int kJacobianLayers = 16;  // in one launch
constexpr int kJacobianRoom = 6144;  // numbers in the shared memory of a thread block
struct JacobianLayersKernelArgs {
  const double* root_weights;
  double* rows;
  long long stride;             // from row to row
  int first, residuals, group;  // residuals of the window before these; these; points of each
  int window, components;       // window: its points
  int threads;                  // per residual: 32 or 256
  int layers, unused;
  JacobianLayer layer[kJacobianLayers];
};

// to[p * stride] = root weight * sum over j, and over the points i of residual p, of from[i * from_stride + j]
struct JacobianScalarKernelArgs {
  const double *from, *root_weights;
  double* to;
  long long stride;
  int residuals, width, from_stride, group;
};

// For one term, from its values at the points of three trials: root weight times the second difference over h
// of the residuals, each the sum of `group` values.
struct BendTermKernelArgs {
  const double *here, *ahead, *behind, *root_weights;
  double* to;
  double h;
  int residuals, group;
};

// to_i += sum over rows of row_i^2
struct ColumnSquaresKernelArgs {
  const double* rows;
  double* to;
  long long size, stride;  // columns; from row to row
  int count, unused;
};

}  // namespace lather::pde
