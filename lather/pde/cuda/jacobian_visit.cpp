// Signals of the device for visitors on the host: a window is computed and fetched, then its points are
// shared by the threads.
#include <algorithm>
#include <numeric>

#include "lather/pde/cuda/jacobian.hpp"

namespace lather::pde {

namespace {

constexpr std::size_t kVisitedPoints =
    2048;  // of a window: what is fetched stays small beside the host's memory

// `rows` rows of the device on the host.
struct Fetched {
  Fetched(const double* from, std::size_t rows, std::size_t width, std::size_t row_stride)
      : values(rows * row_stride), stride(row_stride) {
    // Beyond the last row's width the device need not have memory.
    cuda::check(cudaMemcpy(values.data(), from, ((rows - 1) * stride + width) * sizeof(double),
                           cudaMemcpyDeviceToHost));
  }
  std::vector<double> values;
  std::size_t stride;
};

struct FetchedLayer {
  std::size_t block;
  Fetched in, out_bar;
};
struct FetchedScalar {
  std::size_t parameter, width;
  Fetched rows;
};

struct Window {
  std::size_t first, points, components;
  std::vector<double> residuals = {};
  std::vector<FetchedLayer> layers = {};
  std::vector<FetchedScalar> scalars = {};
  std::span<const double> seeds = {};  // of its points; empty: all 1
};

// Points [begin, end) of a window, component by component.
std::vector<double> part_of(const Fetched& rows, const Window& window, std::size_t begin, std::size_t end) {
  std::vector<double> part;
  part.reserve(window.components * (end - begin) * rows.stride);
  for (std::size_t c = 0; c < window.components; ++c) {
    const auto from = rows.values.begin() + static_cast<std::ptrdiff_t>((c * window.points) * rows.stride);
    part.insert(part.end(), from + static_cast<std::ptrdiff_t>(begin * rows.stride),
                from + static_cast<std::ptrdiff_t>(end * rows.stride));
  }
  return part;
}

void show(const Window& window, std::size_t begin, std::size_t end, int thread,
          PinnObjective::SignalVisitor& visitor) {
  const std::size_t count = end - begin;
  const auto seed = [&](std::size_t p) { return window.seeds.empty() ? 1.0 : window.seeds[begin + p]; };
  visitor.begin_tile(thread, window.first + begin, count);
  visitor.residuals(thread, std::span(window.residuals).subspan(begin, count));
  for (const auto& layer : window.layers) {
    const auto in = part_of(layer.in, window, begin, end);
    auto out_bar = part_of(layer.out_bar, window, begin, end);
    const std::size_t stride = layer.out_bar.stride;
    for (std::size_t row = 0; row < window.components * count; ++row)  // linear in the seed of their point
      for (std::size_t j = 0; j < stride; ++j) out_bar[row * stride + j] *= seed(row % count);
    visitor.layer(thread, {layer.block, static_cast<int>(window.components), 1, in.data(), layer.in.stride,
                           out_bar.data(), stride});
  }
  std::vector<double> per_point(count);
  for (const auto& scalar : window.scalars) {
    for (std::size_t p = 0; p < count; ++p) {
      const double* row = scalar.rows.values.data() + (begin + p) * scalar.rows.stride;
      per_point[p] = seed(p) * std::accumulate(row, row + scalar.width, 0.0);
    }
    visitor.scalar(thread, scalar.parameter, per_point);
  }
  visitor.end_tile(thread);
}

}  // namespace

void CudaJacobian::visit(std::span<const double> x, int term, std::size_t first, std::size_t count,
                         std::span<const double> seeds, PinnObjective::SignalVisitor& visitor) {
  upload_(x);
  CudaPass<double>& pass = pass_of(engine_.problem.terms[term].point_set);
  const int expression = engine_.place_in_set[term];
  const std::size_t most = std::min(pass.window(), kVisitedPoints), components = pass.components(0);
  for (std::size_t start = 0; start < count; start += most) {
    const std::size_t points = std::min(most, count - start);
    pass.enqueue_window(first + start, points);
    pass.enqueue_signals(expression);
    cuda::check(cudaStreamSynchronize(pass.stream()));
    Window window{.first = first + start, .points = points, .components = components};
    window.residuals = Fetched(pass.window_values(expression), points, 1, 1).values;
    if (!seeds.empty()) window.seeds = seeds.subspan(start, points);
    for (const auto& layer : pass.layers()) {
      const net::Dense& dense = *engine_.tape.operations()[layer.operation].dense;
      window.layers.push_back(
          {static_cast<std::size_t>(dense.weight.block),
           {layer.in, components * points, static_cast<std::size_t>(dense.in.width), layer.in_stride},
           {layer.out_bar, components * points, static_cast<std::size_t>(dense.out.width),
            layer.out_stride}});
    }
    for (const auto& s : pass.scalars())
      window.scalars.push_back({s.parameter, s.width, {s.rows, points, s.width, s.stride}});
    engine_.team().run([&](int thread) {
      const auto [begin, end] = share_of(points, thread, engine_.team().size());
      if (begin < end) show(window, begin, end, thread, visitor);
    });
  }
}

}  // namespace lather::pde
