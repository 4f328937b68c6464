// Signals from the device for visitors on the host: a window is computed and fetched, then its points are
// shared among the threads.
#include <algorithm>
#include <numeric>

#include "lather/pde/cuda/jacobian.hpp"

namespace lather::pde {

namespace {

constexpr std::size_t kVisitedPoints =
    2048;  // of a window: what is fetched stays small compared with the host's memory

// A host copy of `rows` rows on the device.
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

struct Window {  // residuals, each of `group` consecutive points
  std::size_t first, count, group, components;
  std::vector<double> residuals = {};
  std::vector<FetchedLayer> layers = {};
  std::vector<FetchedScalar> scalars = {};
  std::span<const double> seeds = {};  // of its points; empty: all 1
};

// Residuals [begin, end) of a window, component by component; the points of a group are further components.
std::vector<double> part_of(const Fetched& rows, const Window& window, std::size_t begin, std::size_t end) {
  std::vector<double> part;
  part.reserve(window.components * window.group * (end - begin) * rows.stride);
  for (std::size_t c = 0; c < window.components; ++c)
    for (std::size_t j = 0; j < window.group; ++j)
      for (std::size_t q = begin; q < end; ++q) {
        const std::size_t row = (c * window.count + q) * window.group + j;
        const auto from = rows.values.begin() + static_cast<std::ptrdiff_t>(row * rows.stride);
        part.insert(part.end(), from, from + static_cast<std::ptrdiff_t>(rows.stride));
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
    const std::size_t components = window.components * window.group;
    for (std::size_t row = 0; row < components * count; ++row)  // linear in the seed of their residual
      for (std::size_t j = 0; j < stride; ++j) out_bar[row * stride + j] *= seed(row % count);
    visitor.layer(thread, {layer.block, static_cast<int>(components), static_cast<int>(window.group),
                           in.data(), layer.in.stride, out_bar.data(), stride});
  }
  std::vector<double> per_point(count);
  for (const auto& scalar : window.scalars) {
    for (std::size_t p = 0; p < count; ++p) {
      double sum = 0;
      for (std::size_t i = (begin + p) * window.group; i < (begin + p + 1) * window.group; ++i) {
        const double* row = scalar.rows.values.data() + i * scalar.rows.stride;
        sum += std::accumulate(row, row + scalar.width, 0.0);
      }
      per_point[p] = seed(p) * sum;
    }
    visitor.scalar(thread, scalar.parameter, per_point);
  }
  visitor.end_tile(thread);
}

}  // namespace

// show_window(window), window after window.
template <class Show>
void CudaJacobian::visit_windows(const VisitedPoints& visited, const Show& show_window) {
  CudaPass<double>& pass = pass_of(engine_.problem.terms[visited.term].point_set);
  const int expression = engine_.place_in_set[visited.term];
  const std::size_t group = engine_.group_of(engine_.problem.terms[visited.term].point_set);
  const std::size_t components = pass.components(0),
                    most = std::max<std::size_t>(1, std::min(pass.window(), kVisitedPoints) / group);
  for (std::size_t start = 0; start < visited.count; start += most) {
    const std::size_t residuals = std::min(most, visited.count - start), points = residuals * group,
                      first = visited.first + start;
    pass.enqueue_window(first * group, points);
    pass.enqueue_signals(expression);
    cuda::check(cudaStreamSynchronize(pass.stream()));
    Window window{.first = first, .count = residuals, .group = group, .components = components};
    const auto values = Fetched(pass.window_values(expression), points, 1, 1).values;
    for (auto at = values.begin(); at != values.end(); at += static_cast<std::ptrdiff_t>(group))
      window.residuals.push_back(std::accumulate(at, at + static_cast<std::ptrdiff_t>(group), 0.0));
    if (!visited.seeds.empty()) window.seeds = visited.seeds.subspan(start, residuals);
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
    show_window(window);
  }
}

void CudaJacobian::visit(std::span<const double> x, const VisitedPoints& visited, IndexRange shards,
                         PinnObjective::SignalVisitor& visitor) {
  trials_.enqueue_upload(x, stream_);
  stream_.synchronize();
  if (!sharded())
    return visit_windows(visited, [&](const Window& window) {
      engine_.team().run([&](int thread) {
        const auto [begin, end] = share_of(window.count, thread, engine_.team().size());
        if (begin < end) show(window, begin, end, thread, visitor);
      });
    });
  const std::size_t all = engine_.options.shards;
  for (std::size_t s = shards.begin; s < shards.end; ++s) {
    const std::size_t begin = visited.count * s / all, end = visited.count * (s + 1) / all;
    const auto seeds = visited.seeds.empty() ? visited.seeds : visited.seeds.subspan(begin, end - begin);
    visit_windows({visited.term, visited.first + begin, end - begin, seeds},
                  [&](const Window& window) { show(window, 0, window.count, static_cast<int>(s), visitor); });
  }
}

}  // namespace lather::pde
