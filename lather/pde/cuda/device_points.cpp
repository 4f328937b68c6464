#include "lather/pde/cuda/device_points.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "lather/pde/cuda/kernels/point_arguments.cuh"
#include "lather/pde/sampling/sobol.hpp"

namespace lather::pde {

namespace {

constexpr int kSobolBits = 32;

static_assert(std::extent_v<decltype(DrawnPart::low)> >= symbolic::kMaxDimensions);

DrawnDesign drawn_design(SamplingMethod method) {
  return method == SamplingMethod::uniform ? DrawnDesign::uniform
         : method == SamplingMethod::sobol ? DrawnDesign::shifted_sobol
                                           : DrawnDesign::sobol_sequence;
}

}  // namespace

DevicePoints::DevicePoints(const PointPlan& plan, const std::vector<Target>& targets, bool single_precision)
    : every_(plan.every), seed_(plan.seed), step_(1), directions_(kSobolDimensions * kSobolBits) {
  std::vector<DrawnPart> parts;
  std::size_t most = 1;
  for (const auto& part : plan.parts) {
    const Target& target = targets[part.set];
    if (!target.coordinates) continue;
    DrawnPart work{target.coordinates,
                   static_cast<long long>(target.points),
                   static_cast<long long>(part.first),
                   static_cast<long long>(part.count),
                   static_cast<unsigned long long>(part.set),
                   part.index,
                   drawn_design(part.method),
                   static_cast<int>(part.box.size()),
                   {},
                   {}};
    for (std::size_t k = 0; k < part.box.size(); ++k) {
      const bool is_free = part.piece.empty() || std::isnan(part.piece[k]);
      work.low[k] = is_free ? part.box[k].low : part.piece[k];
      work.width[k] = is_free ? part.box[k].high - part.box[k].low : 0;
    }
    parts.push_back(work);
    most = std::max(most, part.count);
  }
  parts_count_ = static_cast<unsigned>(parts.size());
  blocks_ = static_cast<unsigned>(std::clamp<std::size_t>((most + 255) / 256, 1, 256));
  parts_ = cuda::Memory<std::byte>(parts.size() * sizeof(DrawnPart));
  if (!parts.empty()) parts_.upload(std::as_bytes(std::span<const DrawnPart>(parts)));
  std::vector<std::uint32_t> directions;
  for (int d = 0; d < kSobolDimensions; ++d)
    for (int k = 0; k < kSobolBits; ++k)  // the point whose Gray code is bit k alone
      directions.push_back(sobol_bits(static_cast<std::uint32_t>((std::uint64_t{2} << k) - 1), d));
  directions_.upload(directions);
  module_ =
      std::make_unique<cuda::KernelModule>(std::string("typedef ") + (single_precision ? "float" : "double") +
                                           " Number;\n#include \"lather/pde/cuda/kernels/points.cuh\"\n");
  kernel_ = module_->kernel("draw_points");
}

void DevicePoints::enqueue(const int* index, int* changed, cudaStream_t stream) const {
  if (parts_count_ == 0) return;
  const DrawKernelArgs work{reinterpret_cast<const DrawnPart*>(parts_.data()),
                            directions_.data(),
                            reinterpret_cast<const long long*>(step_.data()),
                            index,
                            changed,
                            every_,
                            seed_};
  cuda::launch(kernel_, {dim3(blocks_, parts_count_), dim3(256)}, cuda::Parameter().add(work), stream);
}

}  // namespace lather::pde
