#include <algorithm>

#include "lather/core/cuda/kernel_module.hpp"
#include "lather/core/error.hpp"
#include "lather/optim/cuda/kernels/vector_arguments.cuh"
#include "lather/optim/cuda/least_squares/normal_matrix.hpp"
#include "lather/optim/least_squares/solvers/sketched_factor.hpp"

namespace lather::optim {

namespace {

constexpr std::size_t kFoldedRows = 4096;  // of J at a time

// Rows of the sketch R J C; with R they are made once for the x of a pass over them and kept.
class SketchedJacobian final : public DeviceJacobian {
 public:
  SketchedJacobian(DeviceJacobian& jacobian, const Sketch& sketch)
      : jacobian_(jacobian),
        sketch_(sketch),
        module_("#include \"lather/optim/cuda/kernels/vector_blocks.cuh\"\n"),
        fold_kernel_(module_.kernel("fold_columns")),
        hash_kernel_(module_.kernel("hash_rows")),
        starts_(sketch.size().columns + 1),
        members_(sketch.size().parameters),
        bins_(sketch.size().rows > 0 ? Sketch::kHashes * sketch.size().residuals : 0),
        entries_(members_.size()),
        row_entries_(bins_.size()),
        folded_(kFoldedRows * stride()),
        B_(sketch.size().rows * stride()),
        r_(sketch.size().rows) {}

  std::size_t bytes() const { return folded_.bytes() + B_.bytes() + entries_.bytes() + row_entries_.bytes(); }

  double normal_matrix(std::span<const double>, double*, std::span<double>, const Finish&) override {
    throw unused();
  }
  Enqueued enqueue_transposed_times(std::span<const double>, std::span<const double>) override {
    throw unused();
  }
  void gram_matrix(std::span<const double>, double*, std::span<double>) override { throw unused(); }

  void visit_rows(std::span<const double> x, const RowVisitor& visit) override {
    if (sketch_.size().rows == 0) {
      load();
      return visit_folded(
          x, [&](const double* r, std::size_t, std::size_t count) { visit(folded_.data(), r, count); });
    }
    if (sketch_.draws() != drawn_) {
      load();
      add_all_rows(x);
    }
    visit(B_.data(), r_.data(), sketch_.size().rows);
  }

 private:
  std::size_t stride() const { return cuda::row_stride(sketch_.size().columns); }
  static Error unused() { return Error("a sketch of J is asked for its rows only"); }

  void load() {
    if (sketch_.draws() == loaded_) return;
    loaded_ = sketch_.draws();
    starts_.upload(sketch_.starts());
    members_.upload(sketch_.members());
    entries_.upload(sketch_.entries());
    if (sketch_.size().rows == 0) return;
    bins_.upload(sketch_.row_bins());
    row_entries_.upload(sketch_.row_entries());
  }

  // f(their residuals, first, count) for pieces of J C in folded_.
  template <class F>
  void visit_folded(std::span<const double> x, const F& f) {
    const SketchSize& size = sketch_.size();
    const std::size_t row = cuda::row_stride(size.parameters);
    std::size_t first = 0;
    jacobian_.visit_rows(x, [&](const double* rows, const double* r, std::size_t count) {
      for (std::size_t begin = 0; begin < count; begin += kFoldedRows) {
        const std::size_t height = std::min(kFoldedRows, count - begin);
        const FoldKernelArgs work{rows + begin * row,
                                  folded_.data(),
                                  starts_.data(),
                                  members_.data(),
                                  entries_.data(),
                                  static_cast<long long>(row),
                                  static_cast<long long>(stride()),
                                  static_cast<int>(height),
                                  static_cast<int>(size.columns)};
        cuda::launch(fold_kernel_, {dim3(static_cast<unsigned>(height)), dim3(256)},
                     cuda::Parameter().add(work), stream_);
        stream_.synchronize();
        f(r + begin, first + begin, height);
      }
      first += count;
    });
  }

  void add_all_rows(std::span<const double> x) {
    const SketchSize& size = sketch_.size();
    std::vector<double> residuals(size.residuals), r(size.rows);
    cuda::check(cudaMemset(B_.data(), 0, B_.bytes()));
    cuda::check(cudaStreamSynchronize(nullptr));
    visit_folded(x, [&](const double* weighted, std::size_t first, std::size_t count) {
      const HashRowsKernelArgs work{folded_.data(),
                                    B_.data(),
                                    bins_.data() + Sketch::kHashes * first,
                                    row_entries_.data() + Sketch::kHashes * first,
                                    static_cast<int>(count),
                                    static_cast<int>(size.columns),
                                    static_cast<int>(Sketch::kHashes),
                                    static_cast<int>(stride())};
      cuda::launch(hash_kernel_,
                   {dim3(static_cast<unsigned>(size.columns / 256 + 1), Sketch::kHashes), dim3(256)},
                   cuda::Parameter().add(work), stream_);
      stream_.synchronize();
      cuda::check(
          cudaMemcpy(residuals.data() + first, weighted, count * sizeof(double), cudaMemcpyDeviceToHost));
    });
    sketch_.hash(residuals, r);
    r_.upload(r);
    drawn_ = sketch_.draws();
  }

  DeviceJacobian& jacobian_;
  const Sketch& sketch_;
  cuda::Stream stream_;
  cuda::KernelModule module_;
  cudaKernel_t fold_kernel_, hash_kernel_;
  std::int64_t loaded_ = 0, drawn_ = 0;  // which draw of the sketch is here, and which one B is from
  cuda::Memory<unsigned int> starts_, members_, bins_;
  cuda::Memory<double> entries_, row_entries_, folded_, B_, r_;
};

}  // namespace

std::unique_ptr<OrthogonalFactor> make_device_sketched_factor(DeviceJacobian& jacobian,
                                                              const Sketch& sketch) {
  return std::make_unique<SketchedFactor<SketchedJacobian>>(
      std::make_unique<SketchedJacobian>(jacobian, sketch),
      [&](SketchedJacobian& source) { return make_device_orthogonal_factor(source, sketch.size().columns); });
}

double device_sketched_factor_bytes(std::size_t columns, std::size_t rows) {
  return device_orthogonal_factor_bytes(columns) +
         static_cast<double>((rows + kFoldedRows) * cuda::row_stride(columns)) * sizeof(double);
}

}  // namespace lather::optim
