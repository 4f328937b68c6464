#include "lather/optim/cuda/device_layers.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace lather::optim {

DeviceLayers::DeviceLayers(const ParameterLayout& layout, const std::vector<std::size_t>& blocks,
                           const MaxDimension& max_dimension, double initial_diagonal) {
  add_layers(layout, blocks, max_dimension);
  allocate(initial_diagonal);
  layers_on_device_ = cuda::Memory<DeviceLayer>(layers_.size());
  sides_on_device_ = cuda::Memory<DeviceSide>(sides_.size());
  if (!layers_.empty()) layers_on_device_.upload(layers_);
  if (!sides_.empty()) sides_on_device_.upload(sides_);
  module_ = std::make_unique<cuda::KernelModule>("#include \"lather/optim/cuda/kernels/all.cuh\"\n");
}

void DeviceLayers::add_layers(const ParameterLayout& layout, const std::vector<std::size_t>& blocks,
                              const MaxDimension& max_dimension) {
  const auto add_side = [&](const ParameterBlock& block, std::size_t d) {
    if (d > max_dimension(block)) return -1;
    sides_.push_back({nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, static_cast<int>(d),
                      static_cast<int>(layers_.size()), 0, 0});
    largest_ = std::max(largest_, static_cast<int>(d));
    return static_cast<int>(sides_.size()) - 1;
  };
  std::size_t flat = 0;
  for (const std::size_t k : blocks) {
    const auto& block = layout.blocks()[k];
    const int left = add_side(block, block.rows), right = add_side(block, block.cols);
    const auto has_basis = [&](int side) { return side >= 0 && sides_[side].d > 1; };
    layers_.push_back({static_cast<long long>(block.offset), static_cast<int>(block.rows),
                       static_cast<int>(block.cols), left, right, has_basis(left) || has_basis(right), 0});
    const Group shape{layers_.back().rows, layers_.back().cols, has_basis(left), has_basis(right), {}};
    flat = std::max(flat, block.offset + block.size());
    if (!shape.left && !shape.right && left < 0 && right < 0) continue;
    auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
      return g.rows == shape.rows && g.cols == shape.cols && g.left == shape.left && g.right == shape.right;
    });
    if (same == groups_.end()) same = groups_.insert(groups_.end(), shape);
    same->layers.push_back(layers_.size() - 1);
  }
  half_ = cuda::Memory<double>(flat);
}

// Sides of equal dimension are contiguous, for the eigensolver.
void DeviceLayers::allocate(double initial_diagonal) {
  std::vector<std::size_t> order(sides_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return sides_[a].d < sides_[b].d; });
  std::size_t total = 0, lengths = 0;
  std::vector<std::size_t> offsets(sides_.size()), value_offsets(sides_.size());
  for (std::size_t slot = 0; slot < order.size(); ++slot) {
    const std::size_t side = order[slot], d = sides_[side].d;
    if (dimensions_.empty() || dimensions_.back().d != sides_[side].d)
      dimensions_.push_back({sides_[side].d, slot, total, 0});
    ++dimensions_.back().count;
    sides_[side].slot = static_cast<int>(slot);
    offsets[side] = total;
    value_offsets[side] = lengths;
    total += d * d;
    lengths += d;
  }
  for (auto* memory : {&factor_, &basis_, &product_, &spare_, &result_})
    *memory = cuda::Memory<double>(total);
  values_ = cuda::Memory<double>(lengths);
  solved_values_ = cuda::Memory<double>(lengths);
  scratch_ = cuda::Memory<double>(2 * lengths);
  const std::size_t sides = std::max<std::size_t>(1, sides_.size());
  factor_blocks_ = static_cast<unsigned>(std::clamp(largest_ * largest_ / 2048, 1, 64));
  partials_ = cuda::Memory<double>(2 * factor_blocks_ * sides);
  for (auto* memory : {&info_, &solved_info_}) *memory = cuda::Memory<int>(sides);
  change_all();
  changed_ = cuda::Memory<int>(sides);

  std::vector<double> factors(total), bases(total);
  for (std::size_t s = 0; s < sides_.size(); ++s) {
    DeviceSide& side = sides_[s];
    side.factor = factor_.data() + offsets[s];
    side.basis = basis_.data() + offsets[s];
    side.product = product_.data() + offsets[s];
    side.result = result_.data() + offsets[s];
    side.values = values_.data() + value_offsets[s];
    side.scratch = scratch_.data() + 2 * value_offsets[s];
    side.first = static_cast<int>(value_offsets[s]);
    for (int i = 0; i < side.d; ++i) {
      factors[offsets[s] + static_cast<std::size_t>(i) * (side.d + 1)] = initial_diagonal;
      bases[offsets[s] + static_cast<std::size_t>(i) * (side.d + 1)] = 1;
    }
  }
  if (total > 0) factor_.upload(factors), basis_.upload(bases);
}

void DeviceLayers::bind(cudaStream_t stream) {
  if (blas_ && stream == stream_) return;
  stream_ = stream;
  if (!blas_) {
    blas_ = std::make_unique<cuda::Blas>(stream);
  } else {
    blas_->set_stream(stream);
    if (solver_) solver_->set_stream(stream);
  }
}

std::size_t DeviceLayers::bytes() const { return 5 * factor_.bytes() + old_basis_.bytes() + half_.bytes(); }

KroneckerKernelArgs DeviceLayers::work() const {
  return {layers_on_device_.data(),
          sides_on_device_.data(),
          info_.data(),
          changed_.data(),
          partials_.data(),
          static_cast<int>(layers_.size()),
          static_cast<int>(sides_.size()),
          static_cast<int>(factor_blocks_),
          0};
}

void DeviceLayers::launch(const char* kernel, unsigned x, unsigned y,
                          const cuda::Parameter& parameter) const {
  auto& found = kernels_[kernel];
  if (!found) found = module_->kernel(kernel);
  cuda::launch(found, {dim3(x, y), dim3(kDeviceThreads)}, parameter, stream_);
}

double* DeviceLayers::square(Square which) const {
  switch (which) {
    case Square::factor: return factor_.data();
    case Square::basis: return basis_.data();
    case Square::product: return product_.data();
    case Square::spare: return spare_.data();
    case Square::result: return result_.data();
    case Square::old_basis: return old_basis_.data();
  }
  return nullptr;
}

double* const* DeviceLayers::addresses(const void* key, int group, const std::vector<double*>& list) {
  auto& memory = addresses_[{key, group}];
  if (memory.size() == 0) {
    memory = cuda::Memory<double*>(list.size());
    memory.upload(list);
  }
  return memory.data();
}

double* const* DeviceLayers::in_flat(std::size_t group, const double* base) {
  std::vector<double*> list;
  for (const std::size_t l : groups_[group].layers)
    list.push_back(const_cast<double*>(base) + layers_[l].offset);
  return addresses(base, static_cast<int>(group), list);
}

double* const* DeviceLayers::of_sides(std::size_t group, bool left, Square which) {
  std::vector<double*> list;
  for (const std::size_t l : groups_[group].layers) {
    const DeviceSide& side = sides_[left ? layers_[l].left : layers_[l].right];
    list.push_back(which == Square::basis ? side.basis : side.product);
  }
  return addresses(square(which), 2 * static_cast<int>(group) + left, list);
}

double* const* DeviceLayers::of_dimension(std::size_t dimension, Square which) {
  const Dimension& same = dimensions_[dimension];
  std::vector<double*> list;
  for (std::size_t k = 0; k < same.count; ++k)
    list.push_back(square(which) + same.offset + k * static_cast<std::size_t>(same.d) * same.d);
  return addresses(square(which), -1 - static_cast<int>(dimension), list);
}

// One factor of Q_L^T X Q_R (`in`) or Q_L X Q_R^T, with Q the squares `by`.
void DeviceLayers::turn(std::size_t group, bool left, bool in, Square by, const double* x, double* out) {
  const Group& g = groups_[group];
  const int count = static_cast<int>(g.layers.size());
  const auto from = in_flat(group, x), to = in_flat(group, out), basis = of_sides(group, left, by);
  if (left)
    blas_->multiply({.m = g.rows, .n = g.cols, .k = g.rows, .transpose_a = in}, count, basis, g.rows, from,
                    g.cols, to, g.cols);
  else
    blas_->multiply({.m = g.rows, .n = g.cols, .k = g.cols, .transpose_b = !in}, count, from, g.cols, basis,
                    g.cols, to, g.cols);
}

void DeviceLayers::rotate(const double* x, double* out, bool in, Square by) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].left && groups_[g].right) {
      turn(g, true, in, by, x, half_.data());
      turn(g, false, in, by, half_.data(), out);
    } else if (groups_[g].left || groups_[g].right) {
      turn(g, groups_[g].left, in, by, x, out);
    }
  }
}
void DeviceLayers::rotate_in(const double* x, double* out) { rotate(x, out, true, Square::basis); }
void DeviceLayers::rotate_out(const double* x, double* out) { rotate(x, out, false, Square::basis); }
void DeviceLayers::turn_by_products(const double* x, double* out) { rotate(x, out, false, Square::product); }

void DeviceLayers::outer_products(const double* g) {
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const Group& group = groups_[k];
    const int rows = group.rows, cols = group.cols, count = static_cast<int>(group.layers.size());
    const DeviceLayer& first = layers_[group.layers.front()];
    const auto from = in_flat(k, g);
    if (first.left >= 0)
      blas_->multiply({.m = rows, .n = rows, .k = cols, .transpose_b = true}, count, from, cols, from, cols,
                      of_sides(k, true, Square::product), rows);
    if (first.right >= 0)
      blas_->multiply({.m = cols, .n = cols, .k = rows, .transpose_a = true}, count, from, cols, from, cols,
                      of_sides(k, false, Square::product), cols);
  }
}

void DeviceLayers::multiply(Square a, bool transpose_a, Square b, bool transpose_b, Square out, double alpha,
                            double beta) {
  for (std::size_t k = 0; k < dimensions_.size(); ++k) {
    const int d = dimensions_[k].d;
    blas_->multiply({d, d, d, transpose_a, transpose_b, alpha, beta}, static_cast<int>(dimensions_[k].count),
                    of_dimension(k, a), d, of_dimension(k, b), d, of_dimension(k, out), d);
  }
}

void DeviceLayers::copy(Square from, Square to) {
  if (factor_.size() > 0)
    cuda::check(
        cudaMemcpyAsync(square(to), square(from), factor_.bytes(), cudaMemcpyDeviceToDevice, stream_));
}

void DeviceLayers::change_all() {
  to_change_.clear();
  for (const auto& same : dimensions_) to_change_.push_back(static_cast<int>(same.count));
}

void DeviceLayers::orthonormalize(const Control* control) const {
  const auto sides = static_cast<unsigned>(sides_.size());
  const auto blocks = [](int columns) {
    return static_cast<unsigned>((columns + kReflectedColumns - 1) / kReflectedColumns);
  };
  if (sides == 0) return;
  OrthonormalKernelArgs args{work(), control, 0, 0};
  for (; args.panel * kPanel < largest_; ++args.panel) {
    launch("reflect_panel", 1, sides, cuda::Parameter().add(args));
    const int behind = largest_ - (args.panel + 1) * kPanel;
    if (behind > 0) launch("reflect_behind", blocks(behind), sides, cuda::Parameter().add(args));
  }
  launch("multiply_panels", blocks(largest_), sides, cuda::Parameter().add(args));
}

void DeviceLayers::read_changed() {
  std::vector<int> changed(sides_.size());
  if (!changed.empty())
    cuda::check(cudaMemcpyAsync(changed.data(), changed_.data(), changed.size() * sizeof(int),
                                cudaMemcpyDeviceToHost, stream_));
  cuda::check(cudaStreamSynchronize(stream_));
  to_change_.assign(dimensions_.size(), 0);
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    const auto same = std::find_if(dimensions_.begin(), dimensions_.end(),
                                   [&](const Dimension& dimension) { return dimension.d == sides_[side].d; });
    to_change_[same - dimensions_.begin()] += changed[side] != 0;
  }
}

// The first counts[k] products of dimension k.
void DeviceLayers::diagonalize(const std::vector<int>& counts, double* values, int* info) {
  if (!solver_) solver_ = std::make_unique<cuda::Solver>(stream_);
  std::size_t value_offset = 0;
  for (std::size_t k = 0; k < dimensions_.size(); ++k) {
    const Dimension& same = dimensions_[k];
    if (same.d > 1 && counts[k] > 0)
      solver_->eigenvectors(same.d, counts[k], product_.data() + same.offset, values + value_offset,
                            info + same.first);
    value_offset += same.count * same.d;
  }
}

void DeviceLayers::diagonalize_products() {
  std::vector<int> all;
  for (const auto& same : dimensions_) all.push_back(static_cast<int>(same.count));
  diagonalize(all, values_.data(), info_.data());
}

void DeviceLayers::replace_bases(const Replacement& how) {
  if (sides_.empty()) return;
  const auto basis = cuda::Parameter().add(BasisKernelArgs{work(), solved_values_.data(), solved_info_.data(),
                                                           how.descending, how.values_into_factor,
                                                           how.from == Square::result, 0});
  const auto sides = static_cast<unsigned>(sides_.size());
  launch("gather_for_eigensolver", factor_blocks_, sides, basis);
  diagonalize(to_change_, solved_values_.data(), solved_info_.data());
  launch("scatter_from_eigensolver", factor_blocks_, sides, basis);
  if (how.compose) {
    multiply(Square::result, false, Square::basis, true, Square::spare);   // (Q X)^T = X^T Q^T
    multiply(Square::spare, false, Square::spare, true, Square::product);  // one Newton–Schulz step:
    copy(Square::spare, Square::result);                                   // Q <- (3 Q - Q Q^T Q) / 2
    multiply(Square::product, false, Square::spare, false, Square::result, -0.5, 1.5);
  }
  launch("canonical_signs", static_cast<unsigned>(largest_ + 7) / 8, sides, basis);
  launch("canonical_clusters", 1, sides, basis);
  launch("install_bases", factor_blocks_, sides, basis);
}

void DeviceLayers::state(StateVisitor& visitor, std::size_t layer) {
  const auto side_state = [&](int side, const std::string& name) {
    const std::size_t size = side < 0 ? 0 : static_cast<std::size_t>(sides_[side].d) * sides_[side].d;
    std::vector<double> values(size);
    const auto array = [&](double* on_device, const char* what) {
      if (!visitor.reading() && size > 0)
        cuda::check(cudaMemcpy(values.data(), on_device, size * sizeof(double), cudaMemcpyDeviceToHost));
      visitor.array(name + what, std::span(values));
      if (!visitor.reading() || size == 0) return;
      cuda::check(cudaMemcpy(on_device, values.data(), size * sizeof(double), cudaMemcpyHostToDevice));
      cuda::check(cudaStreamSynchronize(nullptr));  // our streams do not wait for the default one
    };
    array(side < 0 ? nullptr : sides_[side].factor, ".factor");
    array(side < 0 ? nullptr : sides_[side].basis, ".basis");
  };
  side_state(layers_[layer].left, "left");
  side_state(layers_[layer].right, "right");
}

}  // namespace lather::optim
