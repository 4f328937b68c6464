#pragma once
// A well-conditioned basis of the space that the columns of a tall matrix span, with the directions left out
// that the matrix hardly sees.

#include <cstddef>
#include <vector>

#include "lather/linalg/matrix.hpp"
#include "lather/linalg/tall_qr.hpp"

namespace lather::linalg {

// W (columns of B x rank, row-major): the columns of B W are orthonormal.
struct OrthonormalColumns {
  std::size_t rank = 0;
  std::vector<double> W;
};

// The columns of B are first scaled to length one; of its pivoted QR decomposition, directions below `drop`
// times the first are left out. `qr` is scratch. B is overwritten.
OrthonormalColumns orthonormal_columns(MatrixView B, double drop, TallQr& qr);

}  // namespace lather::linalg
