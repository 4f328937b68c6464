#include "lather/pde/cuda/device_points.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "lather/pde/sampling/sobol.hpp"

namespace lather::pde {

namespace {

constexpr int kSobolBits = 32;

// clang-format off: it takes the argument for an expression
LATHER_ON_BOTH_SIDES(
    kPointStructures,
    // A coordinate is low + width * u; width 0: held fixed, and no random number is spent on it.
    struct PartWork {
      void* coordinates;
      long long points, first, count;
      unsigned long long set, index;
      int design, dimensions;
      double low[10], width[10];
    };

    struct DrawWork {
      const PartWork* parts;
      const unsigned* directions;  // of the Sobol' sequence, 32 per coordinate
      const long long* step;
      const int* index;
      int* changed;
      long long every;
      unsigned long long seed;
    };)
// clang-format on
static_assert(std::extent_v<decltype(PartWork::low)> >= symbolic::kMaxDimensions);

// Random (core/rng.hpp), stream_of and unit_points (pde/sampling/sampling.cpp), word for word.
constexpr const char* kPointKernel = R"(
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 with_label(u64 z, u64 label) {
  z += label + 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

__device__ __forceinline__ u64 random_bits(u64 seed, u64 stream, u64 index) {
  u32 c0 = (u32)index, c1 = (u32)(index >> 32), c2 = (u32)stream, c3 = (u32)(stream >> 32), k0 = (u32)seed, k1 = (u32)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    c0 = (u32)(p1 >> 32) ^ c1 ^ k0, c1 = (u32)p1, c2 = (u32)(p0 >> 32) ^ c3 ^ k1, c3 = (u32)p0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return ((u64)c0 << 32) | c1;
}

__device__ __forceinline__ u32 sobol_bits(const u32* directions, u32 index) {
  u32 bits = 0, gray = index ^ (index >> 1);
  for (int k = 0; gray != 0; ++k, gray >>= 1)
    if (gray & 1u) bits ^= directions[k];
  return bits;
}

__device__ __forceinline__ double open_unit(u64 bits) { return ((double)bits + 0.5) * 2.220446049250313e-16; }

extern "C" __global__ void __launch_bounds__(256) draw_points(const __grid_constant__ DrawWork w) {
  const long long step = *w.step + *w.index;
  const bool due = step % w.every == 0;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *w.changed = due;
  if (!due) return;
  const PartWork& p = w.parts[blockIdx.y];
  const u64 draw = (u64)(step / w.every);
  const u64 stream = with_label(with_label(with_label(with_label(0, 1), p.set), draw), p.index);
  int free = 0;
  for (int k = 0; k < p.dimensions; ++k) free += p.width[k] != 0;
  for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < p.count; i += (long long)gridDim.x * 256) {
    for (int k = 0, next = 0; k < p.dimensions; ++k) {
      double value = p.low[k];
      if (p.width[k] != 0) {
        double u;
        if (p.design == 0) {
          u = open_unit(random_bits(w.seed, stream, (u64)i * free + next) >> 12);
        } else if (p.design == 1) {
          const u64 shift = random_bits(w.seed, stream, (u64)next) >> 12;
          u = open_unit(((u64)sobol_bits(w.directions + 32 * next, (u32)i) << 20) ^ shift);
        } else {
          u = sobol_bits(w.directions + 32 * next, (u32)(draw * p.count + i)) * 2.3283064365386963e-10;
        }
        value = fma(p.width[k], u, p.low[k]);
        ++next;
      }
      static_cast<Number*>(p.coordinates)[k * p.points + p.first + i] = (Number)value;
    }
  }
}
)";

int design_number(Design design) { return design == Design::uniform ? 0 : design == Design::sobol ? 1 : 2; }

}  // namespace

DevicePoints::DevicePoints(const PointPlan& plan, const std::vector<Target>& targets, bool single_precision)
    : every_(plan.every), seed_(plan.seed), step_(1), directions_(kSobolDimensions * kSobolBits) {
  std::vector<PartWork> parts;
  std::size_t most = 1;
  for (const auto& part : plan.parts) {
    const Target& target = targets[part.set];
    if (!target.coordinates) continue;
    PartWork work{target.coordinates,
                  static_cast<long long>(target.points),
                  static_cast<long long>(part.first),
                  static_cast<long long>(part.count),
                  static_cast<unsigned long long>(part.set),
                  part.index,
                  design_number(part.design),
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
  parts_ = cuda::Memory<std::byte>(parts.size() * sizeof(PartWork));
  if (!parts.empty()) parts_.upload(std::as_bytes(std::span<const PartWork>(parts)));
  std::vector<std::uint32_t> directions;
  for (int d = 0; d < kSobolDimensions; ++d)
    for (int k = 0; k < kSobolBits; ++k)  // the point whose Gray code is bit k alone
      directions.push_back(sobol_bits(static_cast<std::uint32_t>((std::uint64_t{2} << k) - 1), d));
  directions_.upload(directions);
  module_ =
      std::make_unique<cuda::KernelModule>(std::string("typedef ") + (single_precision ? "float" : "double") +
                                           " Number;\n" + kPointStructures + kPointKernel);
  kernel_ = module_->kernel("draw_points");
}

void DevicePoints::enqueue(const int* index, int* changed, cudaStream_t stream) const {
  if (parts_count_ == 0) return;
  const DrawWork work{reinterpret_cast<const PartWork*>(parts_.data()),
                      directions_.data(),
                      reinterpret_cast<const long long*>(step_.data()),
                      index,
                      changed,
                      every_,
                      seed_};
  cuda::launch(kernel_, {dim3(blocks_, parts_count_), dim3(256)}, cuda::Parameter().add(work), stream);
}

}  // namespace lather::pde
