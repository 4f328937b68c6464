#include "lather/pde/cuda/point_set_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/symbolic/emit.hpp"

namespace lather::pde {

using fmt::format;
using symbolic::emit_number;
constexpr auto kNumbers = symbolic::Numbers::beside_text;  // windows and parameters share kernels

std::vector<std::vector<net::InputJet>> input_jets(const CompiledPointSet& set, int inputs) {
  std::vector<std::vector<net::InputJet>> jets(inputs, std::vector<net::InputJet>(set.jets.size()));
  for (const auto& where : set.input_outputs) jets[where.input][where.component].varies = true;
  for (const auto& constant : set.input_constants)
    jets[constant.where.input][constant.where.component].value = constant.value;
  return jets;
}

namespace {

class Pointers {
 public:
  explicit Pointers(std::vector<SetPointer>& list) : list_(list) {}
  std::string operator()(const char* type, SetPointer p) {
    auto it = std::find(list_.begin(), list_.end(), p);
    if (it == list_.end()) it = list_.insert(it, p);
    return format("static_cast<{}*>(P[{}])", type, it - list_.begin());
  }

 private:
  std::vector<SetPointer>& list_;
};

std::string with_functions(std::string text, const std::string& functions) {
  return text.replace(text.find("@functions@"), 11, functions);
}

}  // namespace

SetKernel input_kernel(std::span<const CompiledPointSet* const> sets, const net::Tape& tape,
                       const net::KernelOptions& options) {
  SetKernel kernel;
  kernel.name = "network_inputs";
  Pointers pointer(kernel.pointers);
  std::string functions;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const CompiledPointSet& set = *sets[s];
    const int inputs = tape.input().width, index = static_cast<int>(s);
    std::string text =
        format("__device__ __forceinline__ void network_inputs_{}(void* const* P, const Piece& q) {{\n", s);
    text +=
        "  for (int p = (blockIdx.y - q.block) * blockDim.x + threadIdx.x; p < q.points; p += q.blocks * "
        "blockDim.x) {\n";
    std::vector<std::string> reads, writes;
    for (int i : set.input_coordinates) {
      reads.push_back(format("c{}", i));
      text += format("    const Real c{} = {}[(size_t){} * q.total + q.point + p];\n", i,
                     pointer("const Real", {SetPointer::What::coordinates, index}), i);
    }
    for (std::size_t k = 0; k < set.input_outputs.size(); ++k) {
      writes.push_back(format("o{}", k));
      text += format("    Real o{};\n", k);
    }
    text += symbolic::emit(set.input, reads, writes, "r", "    ", kNumbers);
    const auto jets = input_jets(set, inputs);
    for (int c = 0; c < set.jets.size(); ++c)
      for (int k = 0; k < inputs; ++k) {
        std::string value = emit_number(jets[k][c].value, kNumbers);
        for (std::size_t j = 0; j < writes.size(); ++j)
          if (set.input_outputs[j].input == k && set.input_outputs[j].component == c) value = writes[j];
        text += format("    {}[((size_t)q.row + {}ull * q.points + p) * {} + {}] = {};\n",
                       pointer("Real", {SetPointer::What::inputs}), c, options.leading(inputs), k, value);
      }
    functions += text + "  }\n}\n";
  }
  kernel.source = with_functions(
      net::dispatch_source(kernel.name, sets.size(), kernel.pointers.size(), "__launch_bounds__(256)"),
      functions);
  return kernel;
}

namespace {

// One set's part of the head kernel.
class HeadWriter {
 public:
  HeadWriter(const CompiledPointSet& set, int index, const net::Tape& tape, HeadMode mode,
             const net::KernelOptions& options, Pointers& pointer)
      : set_(set), index_(index), tape_(tape), options_(options), pointer_(pointer), mode_(mode) {
    for (const auto& operation : tape.operations())
      if (operation.dense && operation.dense->out.buffer == tape.output().buffer) layer_ = &*operation.dense;
  }

  static const char* name(HeadMode mode) {
    return mode == HeadMode::values     ? "head_values"
           : mode == HeadMode::gradient ? "head_gradient"
                                        : "head_signals";
  }

  // `sums`: number of accumulators of the kernel; `first_term`: where this set's begin.
  std::string function(std::size_t sums, std::size_t first_term, std::size_t terms, int unknowns) {
    std::string text = format("__device__ __forceinline__ void {}_{}(void* const* P, const Piece& q) {{\n",
                              name(mode_), index_);
    text += "  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, b = blockIdx.y - q.block;\n";
    for (std::size_t k = 0; k < sums; ++k) text += format("  double sum{} = 0;\n", k);
    text += format(
        "  for (int p = b * {} + warp; p < q.points; p += q.blocks * {}) {{\n    const size_t at = "
        "(size_t)q.point + p;\n    (void)at;\n",
        kHeadWarps, kHeadWarps);
    text += output_layer() + values();
    if (mode_ != HeadMode::values) text += loss_and_cotangent(first_term, terms, unknowns);
    if (mode_ != HeadMode::gradient)
      for (int e = 0; e < set_.values.outputs; ++e)
        text += format("    if (lane == 0) {}[at] = value{};\n",
                       pointer_("Real", {SetPointer::What::values, index_, e}), e);
    text += "  }\n";
    if (sums > 0) {
      text += format("  __shared__ double shared[{}];\n", kHeadWarps);
      for (std::size_t k = 0; k < sums; ++k)
        text += format(
            "  __syncthreads();\n  if (lane == 0) shared[warp] = sum{};\n  __syncthreads();\n  if "
            "(threadIdx.x == 0) {{\n    double t = 0;\n    for (int w = 0; w < {}; ++w) t += shared[w];\n    "
            "{}[(size_t)blockIdx.y * {} + {}] = t;\n  }}\n",
            k, kHeadWarps, pointer_("double", {SetPointer::What::sums}), sums, k);
    }
    return text + "}\n";
  }

 private:
  std::string weight(net::WeightRef ref) {
    return pointer_("const double",
                    {ref.frozen ? SetPointer::What::frozen : SetPointer::What::parameters, ref.block});
  }

  // u_{c,k} = sum_j a_{c,j} W_{j,k} (+ b_k): every lane takes its share of the columns, a butterfly adds them
  // up for all.
  std::string output_layer() {
    const int width = layer_->in.width, outputs = layer_->out.width, components = set_.jets.size();
    int pack = options_.widest_pack();
    while (width % pack != 0 || layer_->in.offset % pack != 0) pack /= 2;
    const int leading = options_.leading(tape_.buffer_widths()[layer_->in.buffer]);
    std::string text;
    for (int c = 0; c < components; ++c)
      for (int k = 0; k < outputs; ++k) text += format("    Real u{}_{} = 0;\n", c, k);
    text +=
        format("    for (int column = lane * {}; column < {}; column += {}) {{\n", pack, width, 32 * pack);
    for (int c = 0; c < components; ++c)
      text += format(
          "      const Pack<{}> a{} = fetch<{}>({} + ((size_t)q.row + {}ull * q.points + p) * {} + {} + "
          "column);\n",
          pack, c, pack, pointer_("const Real", {SetPointer::What::last}), c, leading, layer_->in.offset);
    for (int k = 0; k < outputs; ++k) {
      text +=
          layer_->scale
              ? format(
                    "      const Pack<{}> w{} = scaled_weights<{}>({}, column * {} + {}, {}, {}, {}, 0);\n",
                    pack, k, pack, weight(layer_->weight), outputs, k, outputs, weight(layer_->scale), k)
              : format("      const Pack<{}> w{} = weights<{}>({}, column * {} + {}, {});\n", pack, k, pack,
                       weight(layer_->weight), outputs, k, outputs);
    }
    text += format("#pragma unroll\n      for (int l = 0; l < {}; ++l) {{\n", pack);
    for (int c = 0; c < components; ++c)
      for (int k = 0; k < outputs; ++k)
        text += format("        u{0}_{1} = fma(a{0}.v[l], w{1}.v[l], u{0}_{1});\n", c, k);
    text += "      }\n    }\n";
    text += "#pragma unroll\n    for (int other = 16; other > 0; other /= 2) {\n";
    for (int c = 0; c < components; ++c)
      for (int k = 0; k < outputs; ++k)
        text += format("      u{0}_{1} += __shfl_xor_sync(0xffffffffu, u{0}_{1}, other);\n", c, k);
    text += "    }\n";
    if (layer_->bias)
      for (int k = 0; k < outputs; ++k)
        text += format("    u0_{} += Real(__ldg({} + {}));\n", k, weight(layer_->bias), k);
    return text;
  }

  std::string name_of(const Slot& slot) {
    switch (slot.what) {
      case Slot::What::coordinate: return format("c{}", slot.index);
      case Slot::What::column: return format("d{}", slot.index);
      case Slot::What::unknown: return format("unknown{}", slot.index);
      case Slot::What::output: return format("u{}_{}", slot.component, slot.index);
      default: return format("bar{}", slot.index);
    }
  }

  std::string values() {
    std::string text;
    std::vector<std::string> inputs, outputs;
    for (const Slot& slot : set_.values_inputs) {
      inputs.push_back(name_of(slot));
      if (slot.what == Slot::What::coordinate)
        text += format("    const Real c{} = {}[(size_t){} * q.total + at];\n", slot.index,
                       pointer_("const Real", {SetPointer::What::coordinates, index_}), slot.index);
      if (slot.what == Slot::What::column)
        text += format("    const Real d{} = {}[(size_t){} * q.total + at];\n", slot.index,
                       pointer_("const Real", {SetPointer::What::columns, index_}), slot.index);
      if (slot.what == Slot::What::unknown)
        text += format("    const Real unknown{} = Real({}[{}]);\n", slot.index,
                       pointer_("const double", {SetPointer::What::unknowns}), slot.index);
    }
    for (int e = 0; e < set_.values.outputs; ++e) {
      outputs.push_back(format("value{}", e));
      text += format("    Real value{};\n", e);
    }
    return text + "    {\n" + symbolic::emit(set_.values, inputs, outputs, "r", "      ", kNumbers) +
           "    }\n";
  }

  std::string loss_and_cotangent(std::size_t first_term, std::size_t terms, int unknowns) {
    std::string text;
    const bool summed = mode_ == HeadMode::gradient;
    for (int e = 0; e < set_.values.outputs; ++e) {
      if (summed) {
        const bool grouped = set_.group > 1;  // the first point of a group counts for all of them
        const std::string at = grouped ? format("at / {}ull", set_.group) : "at";
        text += format("    const double weight{0} = {1} ? static_cast<const double*>({1})[{2}] : 1.0;\n", e,
                       pointer_("void", {SetPointer::What::point_weights, index_, e}), at);
        text += format(
            "    const double residual{} = {};\n", e,
            grouped
                ? format("{}[{}]", pointer_("const double", {SetPointer::What::group_sums, index_, e}), at)
                : format("double(value{})", e));
        text += format("    {2}sum{0} += weight{1} * residual{1} * residual{1};\n", first_term + e, e,
                       grouped ? format("if (at % {}ull == 0) ", set_.group) : "");
      }
      text += format("    const Real bar{0} = Real({1}[{2}]{3});\n", e,
                     pointer_("const double", {SetPointer::What::scales}), first_term + e,
                     summed ? format(" * weight{0} * residual{0}", e) : "");
    }
    const int outputs = layer_->out.width, components = set_.jets.size();
    for (int c = 0; c < components; ++c)
      for (int k = 0; k < outputs; ++k) text += format("    Real ub{}_{} = 0;\n", c, k);
    std::vector<std::string> in, out;
    for (const Slot& slot : set_.adjoint_inputs) in.push_back(name_of(slot));
    std::string after;
    for (const Slot& slot : set_.adjoint_outputs) {
      if (slot.what == Slot::What::output_bar) {
        out.push_back(format("ub{}_{}", slot.component, slot.index));
      } else {
        out.push_back(format("unknown_bar{}", slot.index));
        text += format("    Real unknown_bar{};\n", slot.index);
        after += summed ? format("    sum{} += unknown_bar{};\n", terms + slot.index, slot.index)
                        : format("    if (lane == 0) {}[(size_t){} * q.points + p] = unknown_bar{};\n",
                                 pointer_("Real", {SetPointer::What::unknown_bars}), slot.index, slot.index);
      }
    }
    text += "    {\n" + symbolic::emit(set_.adjoint, in, out, "r", "      ", kNumbers) + "    }\n" + after;
    text += "    if (lane == 0) {\n";
    for (int c = 0; c < components; ++c)
      for (int k = 0; k < outputs; ++k)
        text +=
            format("      {}[((size_t)q.row + {}ull * q.points + p) * {} + {}] = ub{}_{};\n",
                   pointer_("Real", {SetPointer::What::output_bar}), c, options_.leading(outputs), k, c, k);
    text += "    }\n";
    if (layer_->bias && summed)
      for (int k = 0; k < outputs; ++k) text += format("    sum{} += ub0_{};\n", terms + unknowns + k, k);
    return text;
  }

  const CompiledPointSet& set_;
  int index_;
  const net::Tape& tape_;
  const net::KernelOptions& options_;
  Pointers& pointer_;
  HeadMode mode_;
  const net::Dense* layer_ = nullptr;
};

}  // namespace

HeadKernel head_kernel(std::span<const CompiledPointSet* const> sets, const net::Tape& tape, int unknowns,
                       HeadMode mode, const net::KernelOptions& options) {
  HeadKernel kernel;
  kernel.name = HeadWriter::name(mode);
  Pointers pointer(kernel.pointers);
  std::size_t terms = 0;
  for (const auto* set : sets) terms += set->values.outputs;
  if (mode == HeadMode::gradient) kernel.sums = terms + unknowns + tape.output().width;
  std::string functions;
  std::size_t first_term = 0;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    functions += HeadWriter(*sets[s], static_cast<int>(s), tape, mode, options, pointer)
                     .function(kernel.sums, first_term, terms, unknowns);
    first_term += sets[s]->values.outputs;
  }
  kernel.source = with_functions(net::dispatch_source(kernel.name, sets.size(), kernel.pointers.size(),
                                                      format("__launch_bounds__({})", 32 * kHeadWarps)),
                                 functions);
  return kernel;
}

}  // namespace lather::pde
