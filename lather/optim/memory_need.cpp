#include "lather/optim/memory_need.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "lather/linalg/tall_qr.hpp"
#include "lather/optim/first_order/muon.hpp"
#include "lather/optim/kronecker/purifying_shampoo.hpp"
#include "lather/optim/kronecker/shampoo.hpp"
#include "lather/optim/kronecker/soap.hpp"
#include "lather/optim/kronecker/ss_esoap.hpp"
#include "lather/optim/least_squares/levenberg_marquardt.hpp"
#include "lather/optim/least_squares/nncg.hpp"
#include "lather/optim/least_squares/output_layer/features.hpp"
#include "lather/optim/quasi_newton/lbfgs.hpp"

namespace lather::optim {

namespace {

struct Sizes {
  const ParameterLayout& layout;
  const Residuals& source;
  double n, m, terms, steps;  // parameters, residuals, terms of the loss, steps
};

// In doubles, not bytes.
struct Count {
  double held = 0, saved = 0;
};

// Vectors as long as the parameters: gradient and change, and those that are saved.
Count vectors(const Sizes& s, double saved, double others = 2) {
  return {(saved + others) * s.n, saved * s.n};
}

// Factors and bases of all matrices, no longer than `most` along a side, with a scratch matrix for each and, for
// eigenvectors and roots, `squares` matrices as large as the largest factor.
Count kronecker(const Sizes& s, std::int64_t most, bool vectors_too, double squares) {
  Count count;
  double largest = 0;
  for (const auto& block : s.layout.blocks()) {
    if (!block.matrix && !vectors_too) continue;
    for (const std::size_t side : {block.rows, block.cols})
      if (side <= static_cast<std::size_t>(most)) {
        const double d = static_cast<double>(side);
        count.saved += 2 * d * d;
        largest = std::max(largest, d);
      }
    count.held += static_cast<double>(block.size());
  }
  count.held += count.saved + squares * largest * largest;
  return count;
}

Count operator+(const Count& a, const Count& b) { return {a.held + b.held, a.saved + b.saved}; }

Count of_lm(const Sizes& s, const LevenbergMarquardtOptions& o) {
  const double matrices = lm_matrix_bytes(o, s.source, lm_memory_limit(o, s.source)) / sizeof(double);
  // Residuals at three points of a path, their second difference, and the weights of points.
  return {matrices + 12 * s.n + 8 * s.m, 0};
}

// Rows of the Jacobian in chunks, and those of its output layer rotated into a triangle.
Count of_linear(const Sizes& s) {
  const std::size_t columns = output_columns(s.layout).size() + 1;
  constexpr std::size_t kRows = 512;
  return {kRows * (s.n + static_cast<double>(columns)) +
              linalg::TallQr::bytes_of(columns, kRows) / sizeof(double) + 4 * s.n + 6 * s.m,
          0};
}

Count of_kfac(const Sizes& s) {
  constexpr double kGroups = 2, kKept = 3;  // equations and conditions; averages, new ones, their inverse
  Count count{10 * s.n + 6 * s.m, s.n};
  for (const auto& block : s.layout.blocks())
    if (block.matrix) {
      const double a = static_cast<double>(block.rows + 1), b = static_cast<double>(block.cols);
      count = count + Count{kGroups * kKept * (a * a + b * b), kGroups * (a * a + b * b)};
    }
  return count;
}

using Rule = std::function<Count(const Sizes&, const AnyOptions&)>;

const std::map<std::string, Rule>& rules() {
  static const Rule adam = [](const Sizes& s, const AnyOptions&) { return vectors(s, 3); };
  static const Rule dense = [](const Sizes& s, const AnyOptions&) {
    return Count{s.n * s.n + 14 * s.n, s.n * s.n + 2 * s.n};
  };
  static const Rule spring = [](const Sizes& s, const AnyOptions&) {
    return Count{s.source.normal_matrix_bytes(s.source.residual_count()) / sizeof(double) + 6 * s.n + 6 * s.m,
                 s.n};
  };
  static const Rule ss_esoap = [](const Sizes& s, const AnyOptions& o) {
    return vectors(s, 5, 3) + kronecker(s, o.as<SsEsoapOptions>().max_dimension, false, 3);
  };
  static const Rule kfac = [](const Sizes& s, const AnyOptions&) { return of_kfac(s); };
  static const std::map<std::string, Rule> all = {
      {"adam", adam},
      {"adamw", adam},
      {"sgd", [](const Sizes& s, const AnyOptions&) { return vectors(s, 1); }},
      {"multiadam",
       [](const Sizes& s, const AnyOptions&) {
         return Count{(2 + 4 * s.terms) * s.n, 2 * s.terms * s.n};
       }},
      {"muon",
       [](const Sizes& s, const AnyOptions&) {
         return vectors(s, 3) + Count{kronecker(s, 1 << 30, false, 2).held / 2, 0};
       }},
      {"shampoo",
       [](const Sizes& s, const AnyOptions& o) {
         const auto& options = o.as<ShampooOptions>();
         return vectors(s, 3) + kronecker(s, options.max_dimension, options.precondition_vectors, 4);
       }},
      {"soap",
       [](const Sizes& s, const AnyOptions& o) {
         const auto& options = o.as<SoapOptions>();
         return vectors(s, 2, 4) + kronecker(s, options.max_dimension, options.precondition_vectors, 4);
       }},
      {"purifying-shampoo",
       [](const Sizes& s, const AnyOptions& o) {
         const auto& options = o.as<PurifyingShampooOptions>();
         return vectors(s, 2, 3) + kronecker(s, options.max_dimension, false, 4);
       }},
      {"ss-esoap", ss_esoap},
      {"ss-esoap-paper", ss_esoap},
      {"lbfgs",
       [](const Sizes& s, const AnyOptions& o) {
         const double pairs = 2 * std::min(s.steps, static_cast<double>(o.as<LbfgsOptions>().history));
         return Count{(pairs + 8) * s.n, (pairs + 2) * s.n};
       }},
      {"bfgs", dense},
      {"ss-bfgs", dense},
      {"ss-broyden", dense},
      {"nncg",
       [](const Sizes& s, const AnyOptions& o) {
         return Count{(3 * static_cast<double>(o.as<NysNewtonCgOptions>().rank) + 12) * s.n, s.n};
       }},
      {"lm", [](const Sizes& s, const AnyOptions& o) { return of_lm(s, o.as<LevenbergMarquardtOptions>()); }},
      {"gauss-newton",
       [](const Sizes& s, const AnyOptions&) {
         return Count{s.source.orthogonal_factor_bytes() / sizeof(double) + 8 * s.n + 6 * s.m, 0};
       }},
      {"linear", [](const Sizes& s, const AnyOptions&) { return of_linear(s); }},
      // The Gramian and what it is summed in, its eigenvectors, and the eigensolver's copies.
      {"engd",
       [](const Sizes& s, const AnyOptions&) {
         return Count{s.source.normal_matrix_bytes(s.source.size()) / sizeof(double) + 3 * s.n * s.n, 0};
       }},
      // The Jacobian and the decomposition's copy of it, both factors twice.
      {"anagram",
       [](const Sizes& s, const AnyOptions&) {
         return Count{2 * s.m * s.n + 2 * (s.m + s.n) * std::min(s.m, s.n), 0};
       }},
      {"spring", spring},
      {"spring-paper", spring},
      {"kfac", kfac},
      {"kfac-star", kfac},
  };
  return all;
}

}  // namespace

OptimizerNeed memory_need(const OptimizerSpec& spec, const ParameterLayout& layout, std::size_t terms,
                          std::int64_t steps, const Residuals& source) {
  const Sizes sizes{layout,
                    source,
                    static_cast<double>(layout.size()),
                    static_cast<double>(source.residual_count()),
                    static_cast<double>(terms),
                    static_cast<double>(steps)};
  const auto rule = rules().find(spec.name);
  Count count = (rule != rules().end() ? rule->second : rules().at("adam"))(sizes, spec.options);
  if (spec.wrappers.schedule_free) count = count + Count{2 * sizes.n, sizes.n};
  OptimizerNeed need{count.held * sizeof(double), count.saved * sizeof(double)};
  if (const auto& then = spec.wrappers.then; then && then->optimizer) {
    const auto second = memory_need(*then->optimizer, layout, terms, steps, source);
    need.held += second.held;
    need.saved += second.saved;
  }
  return need;
}

}  // namespace lather::optim
