// Muon on the GPU: the steps of optim/first_order/muon.cpp,
// Newton–Schulz as batched products over matrices of equal sides.

#include <algorithm>
#include <map>

#include "lather/optim/cuda/device_method.hpp"
#include "lather/optim/cuda/make_on_device.hpp"

namespace lather::optim {

namespace {

std::vector<std::size_t> orthogonalized_blocks(const ParameterLayout& layout, const MuonOptions& o) {
  std::vector<std::size_t> blocks;
  for (std::size_t k = 0; k < layout.blocks().size(); ++k)
    if (orthogonalizes(o, layout.blocks()[k])) blocks.push_back(k);
  return blocks;
}

class DeviceMuon final : public DeviceMethod {
 public:
  DeviceMuon(const ParameterLayout& layout, const MuonOptions& o)
      : DeviceMethod(
            layout,
            {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay, false, true,
             o.adam_learning_rate_ratio},
            orthogonalized_blocks(layout, o), [](const ParameterBlock&) { return std::size_t{0}; }, 0),
        options_(o),
        muon_layers_(layer_blocks_.size()),
        partials_(layer_grid_ * layer_blocks_.size()),
        lengths_(layout.blocks().size()) {
    std::vector<MuonLayer> layers;
    std::map<std::pair<int, int>, std::vector<std::size_t>> equal;  // sides -> layers
    std::size_t squares = 0;
    for (const std::size_t k : layer_blocks_) {
      const auto& block = layout.blocks()[k];
      const int d = static_cast<int>(std::min(block.rows, block.cols)),
                length = static_cast<int>(std::max(block.rows, block.cols));
      equal[{d, length}].push_back(layers.size());
      layers.push_back({static_cast<long long>(block.offset), static_cast<long long>(squares),
                        static_cast<int>(k), d, length, block.rows > block.cols,
                        muon_gain(o, block.rows, block.cols)});
      squares += static_cast<std::size_t>(d) * static_cast<std::size_t>(d);
    }
    if (layers.empty()) return;
    muon_layers_.upload(layers);
    for (auto& X : X_) X = cuda::Memory<double>(layout.size());
    for (auto* square : {&A_, &P_}) *square = cuda::Memory<double>(squares);
    for (const auto& [sides, members] : equal) {
      const auto addresses = [&, &members = members](const cuda::Memory<double>& base,
                                                     long long MuonLayer::*place) {
        std::vector<double*> list;
        for (const std::size_t l : members) list.push_back(base.data() + layers[l].*place);
        cuda::Memory<double*> memory(list.size());
        memory.upload(list);
        return memory;
      };
      groups_.push_back({sides.first,
                         sides.second,
                         static_cast<int>(members.size()),
                         {addresses(X_[0], &MuonLayer::offset), addresses(X_[1], &MuonLayer::offset)},
                         addresses(A_, &MuonLayer::square),
                         addresses(P_, &MuonLayer::square)});
    }
  }

  std::size_t memory_bytes() const override {
    return DeviceMethod::memory_bytes() + 2 * (X_[0].bytes() + A_.bytes());
  }

  void state(StateVisitor& visitor) override {
    DeviceMethod::state(visitor);
    device_array(visitor, "length", lengths_);
  }

 protected:
  enum Form { kOrthogonal = 0, kBetween = 1 };

  int graph_variant(std::int64_t t) const override {
    return (t - 1) % options_.orthogonalization_frequency == 0 ? kOrthogonal : kBetween;
  }

  void enqueue_change(int form) override {
    launch_per_layer("muon_momentum", cuda::Parameter().add(work(0)));
    if (form == kOrthogonal)
      enqueue_orthogonalization();
    else
      launch_per_layer("muon_rescale", cuda::Parameter().add(work(0)));
    enqueue_descent();
  }

 private:
  struct Group {  // of equal sides
    int d, length, count;
    cuda::Memory<double*> X[2], A, P;
  };

  MuonKernelArgs work(std::size_t X) const {
    MuonKernelArgs w{};
    w.e = elements();
    w.layers = muon_layers_.data();
    w.X = X_[X].data();
    w.A = A_.data();
    w.P = P_.data();
    w.partials = partials_.data();
    w.lengths = lengths_.data();
    w.momentum = options_.momentum;
    w.a = kNewtonSchulz.a;
    w.b = kNewtonSchulz.b;
    w.norm_guard = kNewtonSchulz.norm_guard;
    w.nesterov = options_.nesterov;
    w.partial_blocks = static_cast<int>(layer_grid_);
    return w;
  }

  void enqueue_orthogonalization() {
    if (groups_.empty()) return;
    launch_per_layer("muon_start", cuda::Parameter().add(work(0)));
    std::size_t now = 0;
    for (std::int64_t k = 0; k < options_.newton_schulz_steps; ++k, now = 1 - now) {
      const cuda::Blas& blas = layers_.blas();
      for (const auto& g : groups_)  // A = X X^T
        blas.multiply({.m = g.d, .n = g.d, .k = g.length, .transpose_b = true}, g.count, g.X[now].data(),
                      g.length, g.X[now].data(), g.length, g.A.data(), g.d);
      launch_per_layer("muon_polynomial", cuda::Parameter().add(work(now)));
      for (const auto& g : groups_) {
        // P = a I + b A + c A^2
        blas.multiply({.m = g.d, .n = g.d, .k = g.d, .alpha = kNewtonSchulz.c, .beta = 1}, g.count,
                      g.A.data(), g.d, g.A.data(), g.d, g.P.data(), g.d);
        // X <- P X
        blas.multiply({.m = g.d, .n = g.length, .k = g.d}, g.count, g.P.data(), g.d, g.X[now].data(),
                      g.length, g.X[1 - now].data(), g.length);
      }
    }
    const auto parameter = cuda::Parameter().add(work(now));
    launch_per_layer("muon_finish", parameter);
    layers_.launch("muon_length", 1, static_cast<unsigned>(layer_blocks_.size()), parameter);
  }

  MuonOptions options_;
  cuda::Memory<MuonLayer> muon_layers_;
  cuda::Memory<double> X_[2], A_, P_, partials_, lengths_;
  std::vector<Group> groups_;
};

}  // namespace

std::unique_ptr<Optimizer> make_on_device(const ParameterLayout& layout, const MuonOptions& options) {
  return std::make_unique<DeviceMuon>(layout, options);
}

}  // namespace lather::optim
