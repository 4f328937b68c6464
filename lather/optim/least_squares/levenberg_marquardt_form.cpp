// Choice of the form of the linearized problem, its memory, and the options.

#include <fmt/format.h>

#include <algorithm>

#include "lather/core/error.hpp"
#include "lather/core/memory.hpp"
#include "lather/optim/least_squares/levenberg_marquardt.hpp"

namespace lather::optim {

namespace {

// For the default rank of the Nyström approximation.
constexpr std::size_t kLeastRank = 100, kMostRank = 1000, kRankPart = 50;

// Measured: docs/gauss-newton.md.
std::size_t default_columns(std::size_t parameters) {
  return std::clamp<std::size_t>(parameters / 10, 1, 10000);
}

// A sketch has twice as many rows as columns, if J has more: with as many rows as columns the smallest
// singular values of the sketch would be artifacts of the draw.
SketchSize sketch_of_columns(const Residuals& source, std::size_t columns) {
  const std::size_t residuals = source.residual_count();
  return {source.size(), residuals, columns, residuals > 2 * columns ? 2 * columns : 0};
}

SketchSize sketch_of(const LevenbergMarquardtOptions& options, const Residuals& source, double memory_limit) {
  const auto asked = static_cast<std::size_t>(options.sketch_size);
  SketchSize size = sketch_of_columns(source, asked > 0 ? asked : default_columns(source.size()));
  while (asked == 0 && size.columns > 1 &&
         source.sketched_factor_bytes(size.columns, size.rows) > memory_limit)
    size = sketch_of_columns(source, size.columns - size.columns / 8 - 1);
  return size;
}

// A requested rank must fit; the default is reduced to fit, and if none does, the diagonal is used.
void choose_preconditioner(const LevenbergMarquardtOptions& options, std::size_t parameters,
                           double memory_limit, LinearizationOptions& o) {
  o.preconditioner = options.preconditioner;
  if (o.preconditioner == Preconditioner::diagonal) return;
  const double bytes_of_one = 2.0 * sizeof(double) * static_cast<double>(parameters);
  o.rank = options.rank > 0 ? static_cast<std::size_t>(options.rank)
                            : std::clamp(parameters / kRankPart, kLeastRank, kMostRank);
  o.rank = std::min(o.rank, parameters);
  const double bytes = bytes_of_one * static_cast<double>(o.rank);
  if (bytes <= memory_limit) return;
  if (options.rank > 0)
    throw OutOfMemory(
        fmt::format("lm: a Nyström approximation of rank {} needs {:.1f} GiB, max_memory is {:.1f} GiB; use "
                    "a smaller rank or "
                    "preconditioner=diagonal",
                    o.rank, bytes / kGiB, memory_limit / kGiB));
  o.rank = static_cast<std::size_t>(memory_limit / bytes_of_one);
  if (o.rank == 0) o.preconditioner = Preconditioner::diagonal;
}

LinearizationOptions linearization_options(const LevenbergMarquardtOptions& options, const Residuals& source,
                                           double memory_limit, LeastSquaresForm form) {
  LinearizationOptions o{form, options.damping, options.cg_tolerance, options.cg_iterations};
  if (form == LeastSquaresForm::sketch) {
    const SketchSize size = sketch_of(options, source, memory_limit);
    o.sketch_columns = size.columns;
    o.sketch_rows = size.rows;
  }
  if (form == LeastSquaresForm::conjugate_gradients)
    choose_preconditioner(options, source.size(), memory_limit, o);
  return o;
}

}  // namespace

LeastSquaresForm choose_lm_form(const LevenbergMarquardtOptions& options, const Residuals& source,
                                double memory_limit, bool orthogonal) {
  using Form = LeastSquaresForm;
  const std::size_t residuals = source.residual_count();
  const auto fits = [&](std::size_t dimension) {
    return source.normal_matrix_bytes(dimension) <= memory_limit;
  };
  const auto require_room = [&](std::string_view form, std::size_t dimension, std::string_view what,
                                std::string_view instead) {
    if (!fits(dimension))
      throw OutOfMemory(fmt::format(
          "lm: the {} form needs {:.1f} GiB for {} {}, max_memory is {:.1f} GiB; use {}", form,
          source.normal_matrix_bytes(dimension) / kGiB, dimension, what, memory_limit / kGiB, instead));
  };
  if (options.form == Form::primal)
    require_room("primal", source.size(), "parameters", "form=dual or form=cg");
  if (options.form == Form::dual)
    require_room("dual", residuals, "residuals", "form=primal, form=cg, or fewer points");
  if (options.form == Form::orthogonal && source.orthogonal_factor_bytes() > memory_limit)
    throw OutOfMemory(fmt::format(
        "lm: the orthogonal form needs {:.1f} GiB for {} parameters, max_memory is {:.1f} GiB; use "
        "form=primal, form=dual or form=cg",
        source.orthogonal_factor_bytes() / kGiB, source.size(), memory_limit / kGiB));
  if (options.form == Form::sketch) {
    const SketchSize size = sketch_of(options, source, memory_limit);
    if (const double bytes = source.sketched_factor_bytes(size.columns, size.rows); bytes > memory_limit)
      throw OutOfMemory(fmt::format(
          "lm: a sketch of {} columns needs {:.1f} GiB, max_memory is {:.1f} GiB; use a smaller sketch_size",
          size.columns, bytes / kGiB, memory_limit / kGiB));
  }
  if (options.form != Form::automatic) return options.form;
  const bool dual = residuals < source.size() && options.damping == DampingMatrix::identity;
  if (!fits(dual ? residuals : source.size())) {
    const SketchSize size = sketch_of_columns(source, default_columns(source.size()));
    return source.sketched_factor_bytes(size.columns, size.rows) <= memory_limit ? Form::sketch
                                                                                 : Form::conjugate_gradients;
  }
  if (dual) return Form::dual;
  return orthogonal && source.orthogonal_factor_bytes() <= memory_limit ? Form::orthogonal : Form::primal;
}

double lm_memory_limit(const LevenbergMarquardtOptions& options, const Residuals& source) {
  return options.max_memory > 0 ? options.max_memory * kGiB : 0.6 * source.available_bytes();
}

double lm_matrix_bytes(const LevenbergMarquardtOptions& options, const Residuals& source,
                       double memory_limit) {
  const auto form = choose_lm_form(options, source, memory_limit, false);
  const auto o = linearization_options(options, source, memory_limit, form);
  switch (form) {
    case LeastSquaresForm::dual: return source.normal_matrix_bytes(source.residual_count());
    case LeastSquaresForm::orthogonal: return source.orthogonal_factor_bytes();
    case LeastSquaresForm::sketch: return source.sketched_factor_bytes(o.sketch_columns, o.sketch_rows);
    case LeastSquaresForm::conjugate_gradients:
      // The block of vectors, their products, and copies of both while they are made orthonormal.
      return 4.0 * sizeof(double) * static_cast<double>(source.size()) * static_cast<double>(o.rank);
    default: return source.normal_matrix_bytes(source.size());
  }
}

void LevenbergMarquardt::use_form(Residuals& source, Form form) {
  if (linear_ && linear_->form() == form && linear_->fits(source)) return;
  linear_ = nullptr;  // frees its memory for the next one
  linear_ = make_linearization(source, linearization_options(options_, source, memory_limit_, form));
}

// If Cholesky finds no better step and the form is ours to choose: the same x in the orthogonal form, which
// costs several times as much. It is kept until the residuals change.
bool LevenbergMarquardt::turn_orthogonal(Objective& objective, std::span<const double> x,
                                         StepReport& report) {
  Residuals& source = objective.source();
  if (options_.form != Form::automatic || linear_->form() != Form::primal ||
      source.orthogonal_factor_bytes() > memory_limit_)
    return false;
  floor_.stalled();
  use_form(source, Form::orthogonal);
  path_.reset();
  linear_->build(x, steps_);
  take_value(objective, x, report);
  return true;
}

Linearization& LevenbergMarquardt::linearization_of(Objective& objective) {
  Residuals& source = objective.source();
  // Before the first matrix is allocated: the memory free at that point is what they may share.
  if (memory_limit_ == 0) memory_limit_ = lm_memory_limit(options_, source);
  use_form(source, choose_lm_form(options_, source, memory_limit_, floor_.left()));
  return *linear_;
}

// Before the first step: what J^T J will take, unless the form turns out to be a smaller one.
std::size_t LevenbergMarquardt::memory_bytes() const {
  if (linear_) return linear_->bytes();
  switch (options_.form) {
    case Form::conjugate_gradients: return 0;
    case Form::orthogonal: return 2 * sizeof(double) * size_ * size_;
    case Form::sketch: {
      const std::size_t side =
          options_.sketch_size > 0 ? static_cast<std::size_t>(options_.sketch_size) : default_columns(size_);
      return 2 * sizeof(double) * side * side;
    }
    default: return sizeof(double) * size_ * size_;
  }
}

void LevenbergMarquardtOptions::fields(FieldVisitor& v) {
  v.choice(
      "form", form,
      "which matrix is factored: by size and damping; J^T J (parameters × parameters), J J^T (residuals × "
      "residuals), none (conjugate gradients), J itself, orthogonally, or a random sketch of J likewise",
      {{"auto", Form::automatic},
       {"primal", Form::primal},
       {"dual", Form::dual},
       {"cg", Form::conjugate_gradients},
       {"qr", Form::orthogonal},
       {"sketch", Form::sketch}});
  v.choice("damping", damping,
           "what lambda multiplies: the identity, or diag(J^T J), which makes steps independent of the scale "
           "of each parameter (not with form=dual)",
           {{"identity", Damping::identity}, {"marquardt", Damping::marquardt}});
  v.choice(
      "adaptation", adaptation,
      "what lambda follows: the length of the best step along the direction; the gain ratio (Nielsen); or "
      "target: the least lambda, of several tried in every step, with a gain ratio of at least target_gain",
      {{"length", Adaptation::length}, {"gain", Adaptation::gain}, {"target", Adaptation::target}});
  v.real("target_gain", target_gain, "adaptation=target: gain ratio that a step must have",
         {.low = 0, .high = 1, .low_open = true, .high_open = true});
  v.boolean("acceleration", acceleration,
            "follow the bend of the residuals along the step (geodesic acceleration)");
  v.real("initial_damping", initial_damping, "first lambda, relative to the mean of diag(J^T J)", positive());
  v.real("longest_step", longest_step,
         "steps longer than this times 1 + |parameters| are not taken, lambda rises instead "
         "(adaptation=target: to "
         "that of a step of about this length); 0: no limit",
         non_negative());
  v.real("smallest_damping", smallest_damping, "lower limit of lambda, relative likewise", positive());
  v.real("largest_damping", largest_damping, "upper limit of lambda; reaching it means that no step helps",
         positive());
  v.integer("tries", tries, "values of lambda tried before a step counts as failed", at_least(1));
  v.integer("halvings", halvings, "shorter steps tried along a direction, each half as long as the last",
            non_negative());
  v.real("max_memory", max_memory,
         "GiB the matrices may take; beyond it the form is sketch, or cg where that does not fit either; 0: "
         "60 % of what is free where they lie",
         non_negative());
  v.real("cg_tolerance", cg_tolerance, "relative residual at which conjugate gradients stop", positive());
  v.integer("cg_iterations", cg_iterations, "most conjugate gradient iterations per solve", at_least(1));
  v.choice("preconditioner", preconditioner,
           "form=cg: the diagonal, or a low-rank approximation of J^T J from products with random vectors",
           {{"diagonal", Preconditioner::diagonal}, {"nystrom", Preconditioner::nystrom}});
  v.integer(
      "rank", rank,
      "preconditioner=nystrom: rank of the approximation, at most the number of parameters; 0: a fiftieth "
      "of them, 100 to 1000",
      non_negative());
  v.integer(
      "refresh_every", refresh_every,
      "preconditioner=nystrom: most steps between two approximations; another one is made when points or "
      "weights change, and when a solution takes more than twice the iterations",
      at_least(1));
  v.integer(
      "sketch_size", sketch_size,
      "form=sketch: dimension of the random subspace a step is taken in; 0: a tenth of the parameters, at "
      "most 10,000, or what fits into max_memory",
      non_negative());
  v.integer("spectrum_every", spectrum_every,
            "steps between reports of condition number and effective rank; 0: never", non_negative());
}

}  // namespace lather::optim
