//   Z = A X B    margin_ij = c_ij z_ij    f = sum log(1 + exp(-margin))
//   W = df/dZ = -c sigmoid(-margin)       gradient A^T (W B^T)

#include <algorithm>
#include <cmath>

#include "lather/optim/deterministic_sums.hpp"
#include "matrix/matrix_problem_parts.hpp"
#include "matrix/matrix_problems.hpp"

namespace lather::lab {

using namespace matrix_problem;
using Eigen::Index;

void LogisticRegressionOptions::fields(FieldVisitor& v) {
  v.integer("m", m, "rows of X", at_least(1));
  v.integer("n", n, "columns of X", at_least(1));
  v.integer("N", N, "rows of A: samples", at_least(1));
  v.integer("q", q, "columns of B: labels per sample", at_least(1));
  v.integer("batch", batch, "samples per step, drawn with replacement; 0: all", non_negative());
  v.integer("seed", seed, "of data, starting point and batches", non_negative());
  v.choice("labels", labels, "signs of a teacher's A X B (separable) or coin flips",
           {{"teacher", Labels::teacher}, {"random", Labels::random}});
  v.real("margin", margin, "labels of the teacher nearer than this to zero are left out", non_negative());
}

namespace {

// Fixed pieces of work, divided among the threads: sums do not depend on how many there are.
constexpr Index kTileRows = 128;  // of A; the tile of Z (128 x 400 doubles) stays in L2
constexpr Index kGradientPieces = 8;
constexpr Index kChunk = 512;

template <class F>
void for_pieces(ThreadTeam& team, Index count, F f) {
  team.run([&](int thread) {
    const auto [begin, end] = share_of(static_cast<std::size_t>(count), thread, team.size());
    for (std::size_t piece = begin; piece < end; ++piece) f(static_cast<Index>(piece));
  });
}

// Over `count` numbers z (overwritten by w = df/dz) and labels c; returns the sum of losses. The chunks are
// aligned, so that vector and scalar exponentials see the same numbers whatever the addresses.
double logistic(double* z, const double* c, Index count) {
  using Array = Eigen::Array<double, kChunk, 1>;
  Array margin, e, loss;
  double sum = 0;
  for (Index begin = 0; begin < count; begin += kChunk) {
    const Index length = std::min(kChunk, count - begin);
    margin.setZero();
    for (Index i = 0; i < length; ++i) margin[i] = z[begin + i] * c[begin + i];
    e = (-margin.abs()).exp();
    // log(1 + e) to full precision for small e: log(u) e / (u - 1) with u = 1 + e rounded (Kahan).
    loss = (1 + e == 1).select(e, (1 + e).log() * e / ((1 + e) - 1)) + (-margin).max(0.0);
    for (Index i = 0; i < length; ++i)
      if (c[begin + i] == 0) loss[i] = 0;  // left out
    sum +=
        optim::sum_of_magnitudes({loss.data(), static_cast<std::size_t>(length)});  // losses are not negative
    e = (margin >= 0).select(e, 1.0) / (1 + e);                                     // sigmoid(-margin)
    for (Index i = 0; i < length; ++i) z[begin + i] = -c[begin + i] * e[i];
  }
  return sum;
}

}  // namespace

struct LogisticRegression::Data {
  explicit Data(int threads) : team(threads) {}
  LogisticRegressionOptions options;
  Matrix A, B, C;           // whole data set
  Matrix A_batch, C_batch;  // rows of the current batch
  ThreadTeam team;

  // Value over the rows of (rows_A, rows_C); the gradient too if it is not null.
  double evaluate(const Matrix& rows_A, const Matrix& rows_C, const ConstMap& X, double* gradient) {
    const Index rows = rows_A.rows(), n = B.rows(), tiles = (rows + kTileRows - 1) / kTileRows;
    std::vector<double> sums(static_cast<std::size_t>(tiles));
    Matrix P(gradient ? rows : 0, n);  // W B^T
    for_pieces(team, tiles, [&](Index tile) {
      const Index first = tile * kTileRows, count = std::min(kTileRows, rows - first);
      Matrix Z = product(view(product(view(rows_A.middleRows(first, count)), view(X))), view(B));
      sums[static_cast<std::size_t>(tile)] =
          logistic(Z.data(), rows_C.data() + first * rows_C.cols(), Z.size());
      if (gradient) P.middleRows(first, count) = product_right_transposed(view(Z), view(B));
    });
    if (gradient) {
      Map G(gradient, A.cols(), n);
      const Index m = A.cols(), pieces = std::min(kGradientPieces, m);
      for_pieces(team, pieces, [&](Index piece) {
        const Index first = m * piece / pieces, count = m * (piece + 1) / pieces - first;
        const Matrix columns_A = rows_A.middleCols(first, count);
        G.middleRows(first, count) = product_left_transposed(view(columns_A), view(P));
      });
    }
    double sum = 0;
    for (const double part : sums) sum += part;
    return sum;
  }
  bool batched() const { return options.batch > 0; }
  double evaluate_batch(const ConstMap& X, double* gradient) {
    return batched() ? evaluate(A_batch, C_batch, X, gradient) : evaluate(A, C, X, gradient);
  }
};

LogisticRegression::LogisticRegression(const LogisticRegressionOptions& o)
    : MatrixProblem(static_cast<std::uint64_t>(o.seed)), data_(std::make_unique<Data>(available_cores())) {
  layout_.add_matrix("X", static_cast<std::size_t>(o.m), static_cast<std::size_t>(o.n));
  auto& d = *data_;
  d.options = o;
  d.A = normal_matrix(seed_, kA, o.N, o.m);
  d.B = normal_matrix(seed_, kB, o.n, o.q);
  d.C = o.labels == Labels::random
            ? normal_matrix(seed_, kC, o.N, o.q)
            : product(view(product(view(d.A), view(normal_matrix(seed_, kTeacher, o.m, o.n)))), view(d.B));
  const double margin = o.labels == Labels::teacher ? o.margin : 0;
  d.C = d.C.unaryExpr([&](double c) { return std::abs(c) < margin ? 0.0 : c > 0 ? 1.0 : -1.0; });
  draw_batch(0);
}
LogisticRegression::~LogisticRegression() = default;

bool LogisticRegression::stochastic() const { return data_->batched(); }

void LogisticRegression::draw_batch(std::int64_t number) {
  auto& d = *data_;
  if (!d.batched()) return;
  const Index batch = d.options.batch;
  const Random random(seed_, kBatch + static_cast<std::uint64_t>(number));
  d.A_batch.resize(batch, d.A.cols());
  d.C_batch.resize(batch, d.C.cols());
  for (Index i = 0; i < batch; ++i) {
    const auto row = static_cast<Index>(random.bits(static_cast<std::uint64_t>(i)) %
                                        static_cast<std::uint64_t>(d.A.rows()));
    d.A_batch.row(i) = d.A.row(row);
    d.C_batch.row(i) = d.C.row(row);
  }
}

double LogisticRegression::value(std::span<const double> x) {
  return data_->evaluate_batch(ConstMap(x.data(), data_->A.cols(), data_->B.rows()), nullptr);
}
double LogisticRegression::value_and_gradient(std::span<const double> x, std::span<double> gradient) {
  return data_->evaluate_batch(ConstMap(x.data(), data_->A.cols(), data_->B.rows()), gradient.data());
}

std::vector<std::string> LogisticRegression::metric_names() const {
  return {"loss", "accuracy", "gradient_condition", "gradient_nuclear_norm"};
}
std::vector<Metric> LogisticRegression::metrics(std::span<const double> x) {
  auto& d = *data_;
  const ConstMap X(x.data(), d.A.cols(), d.B.rows());
  Matrix G(X.rows(), X.cols());
  const double loss = d.evaluate(d.A, d.C, X, G.data());
  Index right = 0;
  for (Index first = 0; first < d.A.rows(); first += kTileRows) {
    const Index count = std::min(kTileRows, d.A.rows() - first);
    const Matrix Z = product(view(product(view(d.A.middleRows(first, count)), view(X))), view(d.B));
    right += (Z.array() * d.C.middleRows(first, count).array() > 0).count();
  }
  const Spectrum gradient = spectrum(G);
  return {{"loss", loss},
          {"accuracy", static_cast<double>(right) / static_cast<double>((d.C.array() != 0).count())},
          {"gradient_condition", gradient.condition},
          {"gradient_nuclear_norm", gradient.nuclear_norm}};
}

}  // namespace lather::lab
