#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <map>

#include "lather/core/memory.hpp"
#include "lather/linalg/block_cholesky.hpp"
#include "lather/linalg/products.hpp"
#include "lather/local/system.hpp"

namespace lather::local {

Rows compressed(Rows rows, linalg::TallQr& qr) {
  const std::size_t n = rows.matrix.cols;
  if (rows.matrix.rows <= n) return rows;
  Dense all(rows.matrix.rows, n + 1);
  for (std::size_t i = 0; i < all.rows; ++i) {
    std::copy_n(rows.matrix.row(i), n, all.row(i));
    all.row(i)[n] = rows.right[i];
  }
  qr.reset(n + 1);
  qr.add_rows(all.view());
  const auto R = qr.R();
  Rows triangle{Dense(n, n), std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    std::copy_n(R.data + i * (n + 1) + i, n - i, triangle.matrix.row(i) + i);
    triangle.right[i] = R(i, n);
  }
  return triangle;
}

namespace {

Dense product(const Dense& a, const Dense& b) {
  Dense c(a.rows, b.cols);
  linalg::multiply(c.view(), a.view(), b.view());
  return c;
}

void multiply_add(const Dense& a, const double* x, double* y) {  // y += A x
  for (std::size_t i = 0; i < a.rows; ++i) {
    const double* const row = a.row(i);
    double sum = 0;
    for (std::size_t j = 0; j < a.cols; ++j) sum += row[j] * x[j];
    y[i] += sum;
  }
}

void multiply_add_transposed(const Dense& a, const double* y, double* x) {  // x += A^T y
  for (std::size_t i = 0; i < a.rows; ++i) {
    const double* const row = a.row(i);
    for (std::size_t j = 0; j < a.cols; ++j) x[j] += row[j] * y[i];
  }
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class SparseSolver {
 public:
  SparseSolver(const System& system, ThreadTeam& team, const SolveLimits& limits)
      : system_(system), team_(team), limits_(limits) {
    const std::size_t count = system.own.size();
    touching_.resize(count);
    for (std::size_t c = 0; c < system.couplings.size(); ++c) {
      touching_[system.couplings[c].first].push_back(c);
      if (system.couplings[c].second != system.couplings[c].first)
        touching_[system.couplings[c].second].push_back(c);
    }
    make_columns();
    project();
  }

  std::size_t unknowns() const { return begin_.back(); }

  void factor(SolveReport& report) {
    std::map<std::pair<std::size_t, std::size_t>, Dense> blocks;
    std::vector<std::pair<std::size_t, std::size_t>> neighbours;
    for (const auto& c : system_.couplings)
      if (c.first != c.second) {
        const std::pair<std::size_t, std::size_t> key = std::minmax(c.first, c.second);
        auto& block = blocks[key];
        if (block.rows == 0) {
          block = Dense(columns_[key.first].rank, columns_[key.second].rank);
          neighbours.push_back(key);
        }
      }
    std::vector<std::size_t> sizes;
    for (const auto& columns : columns_) sizes.push_back(columns.rank);
    cholesky_ = std::make_unique<linalg::BlockCholesky>(sizes, neighbours);
    report.factor_bytes = cholesky_->bytes();
    if (limits_.bytes > 0 && report.factor_bytes > limits_.bytes)
      throw OutOfMemory(fmt::format("the factor of {} unknowns needs {:.1f} GiB, and {:.1f} GiB are allowed",
                                    unknowns(), report.factor_bytes / kGiB, limits_.bytes / kGiB));
    for (std::size_t c = 0; c < system_.couplings.size(); ++c) {
      const auto& [first, second, rows] = system_.couplings[c];
      if (first == second) continue;
      const auto& [left, right] = projected_[c];
      const Dense& low = first < second ? left : right;
      const Dense& high = first < second ? right : left;
      auto& block = blocks[std::minmax(first, second)];
      Dense part(block.rows, block.cols);
      linalg::multiply_left_transposed(part.view(), low.view(), high.view());
      for (std::size_t i = 0; i < part.values.size(); ++i) block.values[i] += part.values[i];
    }
    std::vector<linalg::BlockCholesky::Block> list;
    for (const auto& [key, block] : blocks) list.push_back({key.first, key.second, block.view()});
    for (report.shift = 1e-14; !cholesky_->factor(list, report.shift, team_, limits_.poll);
         report.shift *= 100)
      if (report.shift > 1e-2) throw Error("the normal equations of the local solver could not be factored");
  }

  // Conjugate gradients for least squares, preconditioned.
  std::vector<double> solve(int& iterations) {
    constexpr int kMost = 40;
    constexpr double kSmallest = 1e-26;
    std::vector<double> x(unknowns()), residual = right_side(), image(residual.size());
    std::vector<double> gradient = transposed_times(residual), z = gradient;
    cholesky_->solve(z);
    std::vector<double> direction = z, solved(residual.size());
    double size = dot(gradient, z);
    for (iterations = 0; iterations < kMost; ++iterations) {
      if (limits_.poll) limits_.poll();
      image = times(direction);
      const double length = dot(image, image);
      if (!(length > 0) || !(size > 0)) break;
      const double step = size / length;
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += step * direction[i];
      for (std::size_t i = 0; i < residual.size(); ++i) {
        residual[i] -= step * image[i];
        solved[i] += step * image[i];
      }
      gradient = transposed_times(residual);
      z = gradient;
      cholesky_->solve(z);
      const double next = dot(gradient, z);
      if (step * step * length <= kSmallest * dot(solved, solved)) break;
      for (std::size_t i = 0; i < direction.size(); ++i) direction[i] = z[i] + next / size * direction[i];
      size = next;
    }
    return x;
  }

  Coefficients coefficients(const std::vector<double>& x) const {
    Coefficients found;
    for (std::size_t p = 0; p < columns_.size(); ++p) {
      auto& own = found.emplace_back(system_.own[p].matrix.cols);
      const auto& [rank, W] = columns_[p];
      for (std::size_t i = 0; i < own.size(); ++i)
        for (std::size_t j = 0; j < rank; ++j) own[i] += W[i * rank + j] * x[begin_[p] + j];
    }
    return found;
  }

 private:
  template <class Work>
  void over(std::size_t count, Work&& work) {
    std::atomic<std::size_t> next = 0;
    team_.run([&](int) {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    });
  }

  void make_columns() {
    columns_.resize(system_.own.size());
    std::atomic<std::size_t> next = 0;
    team_.run([&](int) {
      linalg::TallQr qr;
      for (std::size_t p = next++; p < columns_.size(); p = next++) {
        if (limits_.poll) limits_.poll();
        Dense all = system_.own[p].matrix;
        for (const std::size_t c : touching_[p]) {
          const auto& coupling = system_.couplings[c];
          if (coupling.first == coupling.second)
            all.append(closed(coupling));
          else
            all.append(coupling.first == p ? coupling.rows.first : coupling.rows.second);
        }
        columns_[p] = linalg::orthonormal_columns(all.view(), kDrop, qr);
      }
    });
    begin_.assign(1, 0);
    for (const auto& columns : columns_) begin_.push_back(begin_.back() + columns.rank);
  }

  // A patch that is its own neighbour.
  static Dense closed(const Coupling& coupling) {
    Dense sum = coupling.rows.first;
    for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += coupling.rows.second.values[i];
    return sum;
  }

  // Rows in terms of the orthonormal columns.
  void project() {
    own_.resize(system_.own.size());
    projected_.resize(system_.couplings.size());
    own_begin_.assign(1, 0);
    for (const auto& own : system_.own) own_begin_.push_back(own_begin_.back() + own.right.size());
    coupling_begin_.assign(1, own_begin_.back());
    for (const auto& c : system_.couplings)
      coupling_begin_.push_back(coupling_begin_.back() + c.rows.right.size());
    const auto columns = [&](std::size_t p) {
      Dense W(system_.own[p].matrix.cols, columns_[p].rank);
      W.values = columns_[p].W;
      return W;
    };
    over(own_.size(), [&](std::size_t p) { own_[p] = product(system_.own[p].matrix, columns(p)); });
    over(projected_.size(), [&](std::size_t c) {
      const auto& [first, second, rows] = system_.couplings[c];
      if (first == second) {
        projected_[c].first = product(closed(system_.couplings[c]), columns(first));
      } else {
        projected_[c] = {product(rows.first, columns(first)), product(rows.second, columns(second))};
      }
    });
  }

  std::vector<double> right_side() const {
    std::vector<double> right;
    for (const auto& own : system_.own) right.insert(right.end(), own.right.begin(), own.right.end());
    for (const auto& c : system_.couplings)
      right.insert(right.end(), c.rows.right.begin(), c.rows.right.end());
    return right;
  }

  std::vector<double> times(const std::vector<double>& x) {
    std::vector<double> y(coupling_begin_.back());
    over(own_.size(), [&](std::size_t p) {
      multiply_add(own_[p], x.data() + begin_[p], y.data() + own_begin_[p]);
      for (const std::size_t c : touching_[p]) {
        const auto& [first, second, rows] = system_.couplings[c];
        if (first != p) continue;  // each once
        multiply_add(projected_[c].first, x.data() + begin_[first], y.data() + coupling_begin_[c]);
        if (second != first)
          multiply_add(projected_[c].second, x.data() + begin_[second], y.data() + coupling_begin_[c]);
      }
    });
    return y;
  }

  std::vector<double> transposed_times(const std::vector<double>& y) {
    std::vector<double> x(unknowns());
    over(own_.size(), [&](std::size_t p) {
      double* const to = x.data() + begin_[p];
      multiply_add_transposed(own_[p], y.data() + own_begin_[p], to);
      for (const std::size_t c : touching_[p])
        multiply_add_transposed(system_.couplings[c].first == p ? projected_[c].first : projected_[c].second,
                                y.data() + coupling_begin_[c], to);
    });
    return x;
  }

  const System& system_;
  ThreadTeam& team_;
  const SolveLimits& limits_;
  std::vector<std::vector<std::size_t>> touching_;  // couplings of each patch
  std::vector<linalg::OrthonormalColumns> columns_;
  std::vector<Dense> own_;
  std::vector<std::pair<Dense, Dense>> projected_;
  std::vector<std::size_t> begin_, own_begin_, coupling_begin_;
  std::unique_ptr<linalg::BlockCholesky> cholesky_;
};

}  // namespace

Coefficients solve_sparse(const System& system, ThreadTeam& team, const SolveLimits& limits,
                          SolveReport& report) {
  SparseSolver solver(system, team, limits);
  report.unknowns = solver.unknowns();
  solver.factor(report);
  return solver.coefficients(solver.solve(report.iterations));
}

}  // namespace lather::local
