// Setting up: kernels, points and their weights. Batches and
// memory: pass_layout.cpp; the work itself: pass_run.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lather/pde/cuda/pass.hpp"
#include "lather/symbolic/emit.hpp"

namespace lather::pde {

using net::DenseForm;

template <class T>
CudaPass<T>::CudaPass(const net::Tape& tape, std::vector<const CompiledPointSet*> sets, int unknowns,
                      const CudaAddresses& addresses, const CudaPassOptions& options)
    : tape_(&tape),
      sets_(std::move(sets)),
      unknowns_(unknowns),
      addresses_(addresses),
      options_(options),
      kernel_options_{.single_precision = sizeof(T) == 4, .per_point = options.signals},
      fusion_(net::plan_fusion(tape, sets_[0]->tape, options.absorb)),
      blas_(stream_),
      set_memory_(sets_.size()),
      own_shards_{0, static_cast<std::size_t>(std::max(1, options.shards))} {
  for (std::size_t s = 0; s < sets_.size(); ++s)
    for (int e = 0; e < sets_[s]->values.outputs; ++e) term_place_.emplace_back(static_cast<int>(s), e);
  terms_ = term_place_.size();
  point_weights_.resize(terms_);
  results_.resize(terms_);
  group_sums_.resize(terms_);
  if (options_.gradient && options_.overlap) side_blas_ = std::make_unique<cuda::Blas>(side_);
  if (options_.signals) {
    std::vector<double> identity(terms_ * terms_);
    for (std::size_t k = 0; k < terms_; ++k) identity[k * (terms_ + 1)] = 1;
    selection_ = cuda::Memory<double>(identity.size());
    selection_.upload(identity);
  }
  compile_kernels();
}

template <class T>
void CudaPass<T>::compile_kernels() {
  std::vector<net::KernelSet> kernel_sets;
  for (const auto* set : sets_) kernel_sets.push_back({&set->tape, input_jets(*set, tape_->input().width)});
  const int operations = static_cast<int>(tape_->operations().size());
  forward_.resize(operations);
  adjoint_.resize(operations);
  for (int i = 0; i < operations; ++i) {
    if (!tape_->operations()[i].pointwise) continue;
    forward_[i] = net::forward_kernel(*tape_, i, kernel_sets, fusion_, kernel_options_);
    if (options_.gradient)
      adjoint_[i] = net::adjoint_kernel(*tape_, i, kernel_sets, fusion_, kernel_options_);
  }
  input_kernel_ = input_kernel(sets_, *tape_, kernel_options_);
  head_values_ = head_kernel(sets_, *tape_, unknowns_, HeadMode::values, kernel_options_);
  if (options_.gradient)
    head_gradient_ = head_kernel(sets_, *tape_, unknowns_,
                                 options_.signals ? HeadMode::signals : HeadMode::gradient, kernel_options_);

  std::string source;
  std::set<std::string> names{"prepare_weights", "close_sums", "factor_gradient", "add_groups"};
  const auto add = [&](const std::string& name, const std::string& text) {
    if (!name.empty() && names.insert(name).second) source += text;
  };
  for (const auto* list : {&forward_, &adjoint_})
    for (const auto& kernel : *list) add(kernel.name, kernel.source);
  add(input_kernel_.name, input_kernel_.source);
  add(head_values_.name, head_values_.source);
  add(head_gradient_.name, head_gradient_.source);
  // Constant memory has 64 KiB.
  const auto numbers = symbolic::take_numbers(source, "numbers", 4096);
  module_ = std::make_unique<cuda::KernelModule>(
      net::kernel_prelude(kernel_options_) + "#include \"lather/pde/cuda/kernels/jobs.cuh\"\n" +
      fmt::format("extern \"C\" {{ __constant__ Real numbers[{}]; }}\n", numbers.size() + 1) + source);
  module_->set("numbers", std::span<const T>(std::vector<T>(numbers.begin(), numbers.end())));
  for (const auto& name : names) kernels_[name] = module_->kernel(name);
}

template <class T>
bool CudaPass<T>::has_groups() const {
  return std::any_of(sets_.begin(), sets_.end(), [](const auto* set) { return set->group > 1; });
}

template <class T>
bool CudaPass<T>::uses_products(std::size_t i) const {
  const auto& d = tape_->operations()[i].dense;
  return d && (fusion_.form[i] == DenseForm::product ||
               (options_.gradient && fusion_.form[i] == DenseForm::output));
}

template <class T>
bool CudaPass<T>::has_values(int buffer) const {
  const int producer = fusion_.producer[buffer];
  return buffer != 0 && (producer < 0 || fusion_.form[producer] == DenseForm::product);
}

template <class T>
bool CudaPass<T>::has_bar(int buffer) const {
  if (!options_.gradient || !sets_[0]->tape.needs_bar[buffer]) return false;
  if (buffer == tape_->output().buffer) return true;
  const int producer = fusion_.producer[buffer];
  if (producer >= 0) return fusion_.form[producer] == DenseForm::product;
  const int output = fusion_.producer[tape_->output().buffer];
  return !(fusion_.form[output] == DenseForm::absorbed_output &&
           tape_->operations()[output].dense->in.buffer == buffer);
}

template <class T>
T* CudaPass<T>::values_at(const net::Value& v) const {
  return values_[v.buffer].data() + v.offset;
}
template <class T>
T* CudaPass<T>::bar_at(const net::Value& v) const {
  return bars_[v.buffer].data() + v.offset;
}

template <class T>
const double* CudaPass<T>::block_address(net::WeightRef ref) const {
  return (ref.frozen ? addresses_.frozen : addresses_.parameters) + tape_->block(ref).offset;
}

template <class T>
bool CudaPass<T>::set_points(int set, const Points& points) {
  SetMemory& memory = set_memory_[set];
  const std::size_t count = points.count();
  const bool same = memory.points == count;
  if (!same)
    memory = {count, cuda::Memory<T>(count * points.coordinates.size()),
              cuda::Memory<T>(count * points.columns.size())};
  const auto upload = [&](const std::vector<std::vector<double>>& arrays, cuda::Memory<T>& to) {
    std::vector<T> flat;
    for (const auto& array : arrays) flat.insert(flat.end(), array.begin(), array.end());
    if (!flat.empty()) to.upload(flat);
  };
  upload(points.coordinates, memory.coordinates);
  upload(points.columns, memory.columns);
  for (std::size_t k = 0; k < terms_; ++k) {
    if (term_place_[k].first != set || point_weights_[k].size() == 0) continue;
    if (!same)
      point_weights_[k] = {};
    else
      set_point_weights(static_cast<int>(k), {});
  }
  if (!same && complete()) lay_out();
  if (complete()) inputs();
  return !same;
}

template <class T>
bool CudaPass<T>::complete() const {
  return std::all_of(set_memory_.begin(), set_memory_.end(), [](const auto& m) { return m.points > 0; });
}

template <class T>
bool CudaPass<T>::set_shards(IndexRange own) {
  if (own.begin == own_shards_.begin && own.end == own_shards_.end) return false;
  own_shards_ = own;
  if (!complete()) return true;
  lay_out();
  inputs();
  return true;
}

template <class T>
bool CudaPass<T>::set_point_weights(int term, std::span<const double> weights) {
  auto& memory = point_weights_[term];
  if (weights.empty() && memory.size() == 0) return false;
  const bool is_new = memory.size() == 0;
  const std::size_t residuals = groups_of(term_place_[term].first);
  if (is_new) memory = cuda::Memory<double>(residuals);
  memory.upload(weights.empty() ? std::span<const double>(std::vector<double>(residuals, 1.0)) : weights);
  return is_new;
}

template <class T>
std::size_t CudaPass<T>::bytes() const {
  std::size_t total = inputs_.bytes() + sums_.bytes() + unknown_bars_.bytes();
  for (const auto* list : {&values_, &bars_, &weights_, &transposed_weights_, &weight_bars_, &results_})
    for (const auto& memory : *list) total += memory.bytes();
  for (const auto* lists : {&stashes_, &scalar_bars_})
    for (const auto& list : *lists)
      for (const auto& memory : list) total += memory.bytes();
  for (const auto& set : set_memory_) total += set.coordinates.bytes() + set.columns.bytes();
  for (const auto& memory : point_weights_) total += memory.bytes();
  return total;
}

// The members defined here.
template class CudaPass<double>;
template class CudaPass<float>;

}  // namespace lather::pde
