#pragma once
// Arguments of the kernels in cholesky.cuh; host and kernels read this file.

namespace lather::optim {

constexpr int kCholeskyPanel = 256, kCholeskyBlock = 64;  // columns; a panel is a row of blocks

// Columns [from, from + width) of a matrix from row `from` on, and the panel that holds them.
struct CholeskyPanelKernelArgs {
  double* matrix;
  const double* diagonal;
  const double* shift;
  const double* right_side;  // null, or b: it is row `size` of the matrix, and becomes C^{-1} b
  double* panel;             // rows of kCholeskyPanel numbers
  const double* blocks;      // factors of the blocks on its diagonal, rows of kCholeskyBlock numbers
  int size;
  int stride;  // of the matrix
  int from;
  int width;
};

// A block on the diagonal of a panel, and the rows below it.
struct CholeskyBlockKernelArgs {
  double* block;   // in the panel
  double* factor;  // written here: other thread blocks still read the block
  int* failed;     // set to 1 if the matrix is not positive definite
  int width;
  int below;
  int rows_per_block;  // of those below, per thread block; at most 256
  int unused;
};

}  // namespace lather::optim
