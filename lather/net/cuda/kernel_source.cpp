#include "lather/net/cuda/kernel_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lather/net/cuda/kernel_text.hpp"
#include "lather/symbolic/emit.hpp"

namespace lather::net {

using symbolic::emit_number;
using What = ArrayRef::What;
using fmt::format;

std::string kernel_prelude(const KernelOptions& options) {
  return format("typedef {} Real;\n#define LATHER_FUNCTION __device__ __forceinline__\n",
                options.single_precision ? "float" : "double") +
         std::string(symbolic::emit_functions()) + "#include \"lather/net/cuda/kernels/generated.cuh\"\n";
}

std::string dispatch_source(const std::string& name, std::size_t sets, std::size_t pointers,
                            const std::string& attributes) {
  std::string text = format("extern \"C\" __global__ void {} {}(const __grid_constant__ {}_args a) {{\n",
                            attributes, name, name);
  for (std::size_t s = 0; s < sets; ++s)
    text +=
        format("  {}if ((int)blockIdx.y < a.piece[{}].block + a.piece[{}].blocks) {}_{}(a.p, a.piece[{}]);\n",
               s ? "else " : "", s, s, name, s, s);
  return format("struct {}_args {{ Piece piece[{}]; void* p[{}]; }};\n", name, sets,
                std::max<std::size_t>(1, pointers)) +
         "@functions@" + text + "}\n";
}

namespace {

constexpr int kThreads = 256;

// Writes the kernel of one pointwise operation in one direction.
class Writer {
 public:
  Writer(const Tape& tape, int operation, std::span<const KernelSet> sets, const Fusion& fusion,
         const KernelOptions& options, bool adjoint)
      : tape_(tape),
        op_(*tape.operations()[operation].pointwise),
        operation_(operation),
        sets_(sets),
        fusion_(fusion),
        options_(options),
        adjoint_(adjoint) {
    pack_ = options.widest_pack();
    const auto fits = [&](const Value& v) { return v.offset % pack_ == 0 && v.width % pack_ == 0; };
    while (!fits(op_.out) || !std::all_of(op_.in.begin(), op_.in.end(), fits)) pack_ /= 2;
    columns_ = op_.out.width / pack_;
    kernel_.operation = operation;
    kernel_.threads_x = 1;
    while (kernel_.threads_x < columns_ && kernel_.threads_x < kThreads) kernel_.threads_x *= 2;
    kernel_.threads_y = kThreads / kernel_.threads_x;
    kernel_.columns_x = (columns_ + kernel_.threads_x - 1) / kernel_.threads_x;
    const int out_reader = output_layer();
    absorbed_output_ = out_reader >= 0 && fusion.form[out_reader] == DenseForm::absorbed_output &&
                               tape.operations()[out_reader].dense->in.buffer == op_.out.buffer
                           ? out_reader
                           : -1;
  }

  PointwiseKernel finish() {
    std::string functions;
    std::vector<std::string> bodies;
    for (std::size_t s = 0; s < sets_.size(); ++s) bodies.push_back(set_function(s));
    // The name must not depend on where a kernel is used: layers of equal shape share one.
    std::string key = format("{}", kernel_.pointers.size());
    for (const auto& body : bodies) key += body;
    kernel_.name = format("{}_{:016x}", adjoint_ ? "adjoint" : "forward", std::hash<std::string>()(key));
    for (std::size_t s = 0; s < sets_.size(); ++s)
      functions += format("__device__ __forceinline__ void {}_{}(void* const* P, const Piece& q) {{\n{}}}\n",
                          kernel_.name, s, bodies[s]);
    std::string text = dispatch_source(kernel_.name, sets_.size(), kernel_.pointers.size(),
                                       format("__launch_bounds__({})", kThreads));
    text.replace(text.find("@functions@"), 11, functions);
    kernel_.source = text;
    return kernel_;
  }

 private:
  int output_layer() const { return fusion_.producer[tape_.output().buffer]; }

  // "P[3]" for a pointer, registered on first use.
  std::string pointer(KernelPointer::What what, int index) {
    const KernelPointer p{what, index};
    auto it = std::find(kernel_.pointers.begin(), kernel_.pointers.end(), p);
    if (it == kernel_.pointers.end()) it = kernel_.pointers.insert(it, p);
    return format("P[{}]", it - kernel_.pointers.begin());
  }
  std::string weight_pointer(WeightRef ref) {
    return pointer(ref.frozen ? KernelPointer::What::frozen : KernelPointer::What::parameters, ref.block);
  }
  std::string sums(int block, std::size_t columns) {
    kernel_.sums.push_back({block, columns});
    return format("static_cast<double*>({})",
                  pointer(KernelPointer::What::sums, static_cast<int>(kernel_.sums.size()) - 1));
  }

  // Address of component c of a value at point p and this thread's columns.
  std::string address(KernelPointer::What what, const Value& v, int c) {
    return format("static_cast<Real*>({}) + ((size_t)q.row + {}ull * q.points + p) * {} + {} + column",
                  pointer(what, v.buffer), c, options_.leading(tape_.buffer_widths()[v.buffer]), v.offset);
  }
  // The same for an array with one row per point.
  std::string row_address(KernelPointer::What what, int k) {
    return format("static_cast<Real*>({}) + (size_t)(q.stash_row + p) * {} + column", pointer(what, k),
                  options_.leading(op_.out.width));
  }
  std::string stash_address(int k) { return row_address(KernelPointer::What::stash, k); }

  // The dense layer that produces input i, or null.
  const Dense* layer_of(int i) const {
    const int producer = fusion_.producer[op_.in[i].buffer];
    return producer < 0 ? nullptr : &*tape_.operations()[producer].dense;
  }
  bool absorbed(int i) const {
    const int producer = fusion_.producer[op_.in[i].buffer];
    return producer >= 0 && fusion_.form[producer] == DenseForm::absorbed_input;
  }

  std::string set_function(std::size_t s) {
    set_ = &sets_[s];
    text_ = {};
    const auto& program = set_->tape->programs[operation_];
    const auto& inputs = adjoint_ ? program.adjoint_inputs : program.forward_inputs;
    const auto& outputs = adjoint_ ? program.adjoint_outputs : program.forward_outputs;
    std::vector<std::string> input_names, output_names;
    for (const auto& array : inputs) input_names.push_back(read(array));
    std::string declared;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      output_names.push_back(format("o{}", k));
      declared += format("{}o{}", k ? ", " : "      Real ", k);
    }
    const std::string body = symbolic::emit(adjoint_ ? program.adjoint : program.forward, input_names,
                                            output_names, "r", "      ");
    std::string results;
    for (std::size_t k = 0; k < outputs.size(); ++k) results += write(outputs[k], output_names[k]);
    if (adjoint_) results += sum_weights(outputs, output_names);
    return text_.body({pack_, columns_, kernel_.threads_x, kernel_.threads_y},
                      declared + ";\n" + body + results);
  }

  // Declares what is needed to read an array and returns its name in the lane loop.
  std::string read(const ArrayRef& array) {
    switch (array.what) {
      case What::in: return read_input(array.index, array.component);
      case What::out:
        return text_.lane_of(format("out{}", array.component),
                             address(KernelPointer::What::values, op_.out, array.component),
                             !adjoint_ ? "load" : "fetch");
      case What::stash:
        return text_.lane_of(format("stash{}", array.index), stash_address(array.index), "fetch");
      case What::out_bar: return read_output_bar(array.component);
      case What::in_bar:
        if (absorbed(array.index)) return "Real(0)";  // every reader sums its own share
        return text_.lane_of(format("old{}_{}", array.index, array.component),
                             address(KernelPointer::What::bar, op_.in[array.index], array.component), "load");
      default: {
        std::string name = format("scalar{}", array.index);
        if (text_.declare(name))
          text_.before(format("  const Real {} = Real(*static_cast<const double*>({}));\n", name,
                              pointer(KernelPointer::What::parameters, op_.scalars[array.index])));
        return name;
      }
    }
  }

  std::string bias_of(int i) {
    const Dense* layer = layer_of(i);
    if (!layer || !layer->bias) return "";
    const std::string name = format("bias{}", i);
    if (text_.declare(name))
      text_.before(format("  Pack<N> {} = {{}};\n  if (active) {} = weights<N>({}, column + {}, 1);\n", name,
                          name, weight_pointer(layer->bias), op_.in[i].offset - layer->out.offset));
    return name + ".v[l]";
  }

  std::string read_input(int i, int c) {
    const std::string bias = c == 0 ? bias_of(i) : "";
    if (absorbed(i)) return absorbed_product(i, c, bias);
    std::string value =
        text_.lane_of(format("in{}_{}", i, c), address(KernelPointer::What::values, op_.in[i], c), "fetch");
    if (bias.empty()) return value;
    std::string name = format("z{}", i);
    if (text_.declare(name))
      text_.once_per_lane(format("      const Real {} = {} + {};\n", name, value, bias));
    return name;
  }

  // z_c = sum_k x_{c,k} W_k (+ b)
  std::string absorbed_product(int i, int c, const std::string& bias) {
    std::string name = format("z{}_{}", i, c);
    if (!text_.declare(name)) return name;
    std::string sum = bias.empty() ? "Real(0)" : bias;
    const Dense& layer = *layer_of(i);
    for (int k = 0; k < layer.in.width; ++k)
      if (const std::string x = input_jet(k, c); !x.empty())
        sum = format("fma({}, {}.v[l], {})", x, absorbed_weights(i, k), sum);
    text_.once_per_lane(format("      const Real {} = {};\n", name, sum));
    return name;
  }
  // Empty: zero.
  std::string input_jet(int k, int c) {
    const InputJet& jet = set_->inputs[k][c];
    if (!jet.varies) return jet.value == 0 ? "" : emit_number(jet.value, symbolic::Numbers::beside_text);
    std::string name = format("x{}_{}", k, c);
    if (text_.declare(name))
      text_.once_per_point(format(
          "    const Real {} = __ldg(static_cast<const Real*>({}) + ((size_t)q.row + {}ull * q.points + p) * "
          "{} + {});\n",
          name, pointer(KernelPointer::What::values, 0), c, options_.leading(tape_.buffer_widths()[0]), k));
    return name;
  }
  std::string absorbed_weights(int i, int k) {
    const Dense& layer = *layer_of(i);
    std::string name = format("w{}_{}", i, k);
    const int column = op_.in[i].offset - layer.out.offset, at = k * layer.out.width + column;
    if (text_.declare(name))
      text_.before(preload(name, layer, format("column + {}", at), 1, format("column + {}", column), 1));
    return name;
  }

  // Weights a thread needs at all its points, times the layer's column factors if it has them.
  std::string preload(const std::string& name, const Dense& layer, const std::string& at, int step,
                      const std::string& scale_at, int scale_step) {
    const std::string w = weight_pointer(layer.weight);
    const std::string call = layer.scale ? format("scaled_weights<N>({}, {}, {}, {}, {}, {})", w, at, step,
                                                  weight_pointer(layer.scale), scale_at, scale_step)
                                         : format("weights<N>({}, {}, {})", w, at, step);
    return format("  Pack<N> {} = {{}};\n  if (active) {} = {};\n", name, name, call);
  }

  // Adjoint of the output layer: a_bar_c = sum_k u_bar_{c,k} W_k
  std::string read_output_bar(int c) {
    if (absorbed_output_ < 0)
      return text_.lane_of(format("bar{}", c), address(KernelPointer::What::bar, op_.out, c), "fetch");
    std::string name = format("bar{}", c);
    if (!text_.declare(name)) return name;
    const int outputs = tape_.output().width;
    std::string sum;
    for (int k = 0; k < outputs; ++k) {
      const std::string u = output_bar(c, k), w = output_weights(k);
      sum = k == 0 ? format("{} * {}.v[l]", u, w) : format("fma({}, {}.v[l], {})", u, w, sum);
    }
    text_.once_per_lane(format("      const Real {} = {};\n", name, sum));
    return name;
  }
  std::string output_bar(int c, int k) {
    std::string name = format("u{}_{}", c, k);
    if (text_.declare(name))
      text_.once_per_point(format(
          "    const Real {} = __ldg(static_cast<const Real*>({}) + ((size_t)q.row + {}ull * q.points + p) * "
          "{} + {});\n",
          name, pointer(KernelPointer::What::bar, tape_.output().buffer), c,
          options_.leading(tape_.output().width), k));
    return name;
  }
  std::string output_weights(int k) {
    const Dense& layer = *tape_.operations()[absorbed_output_].dense;
    const int outputs = tape_.output().width;
    std::string name = format("v{}", k);
    if (text_.declare(name))
      text_.before(preload(name, layer, format("column * {} + {}", outputs, k), outputs, format("{}", k), 0));
    return name;
  }

  std::string write(const ArrayRef& array, const std::string& name) {
    switch (array.what) {
      case What::out:
        return text_.stored(format("to_out{}", array.component),
                            address(KernelPointer::What::values, op_.out, array.component), name);
      case What::stash:
        return text_.stored(format("to_stash{}", array.index), stash_address(array.index), name);
      case What::in_bar: {
        const int i = array.index;
        std::string text;
        const int producer = fusion_.producer[op_.in[i].buffer];
        const Dense* layer = layer_of(i);
        if (!absorbed(i))
          text = text_.stored(format("to_bar{}_{}", i, array.component),
                              address(KernelPointer::What::bar, op_.in[i], array.component), name);
        const bool completes = layer && (absorbed(i) || fusion_.bias_summer[producer] == operation_);
        if (completes && array.component == 0 && layer->bias && !layer->bias.frozen && !options_.per_point) {
          const int column = op_.in[i].offset - layer->out.offset;
          text += text_.summed_by_column(format("bias_sum{}", i), name,
                                         sums_for(layer->bias.block, layer->out.width),
                                         format("{}", layer->out.width), format("column + {} + l", column));
        }
        return text;
      }
      default: {  // scalar_bar: over all elements
        if (options_.per_point)
          return text_.stored(format("to_scalar{}", array.index),
                              row_address(KernelPointer::What::scalar_bar, array.index), name);
        const std::string sum = format("scalar_sum{}", array.index);
        const std::string target = sums_for(op_.scalars[array.index], kernel_.columns_x);
        return text_.summed_over_block(sum, name, target, kernel_.columns_x);
      }
    }
  }

  // The sums of a parameter block share one target, whichever set adds to them.
  std::string sums_for(int block, std::size_t columns) {
    for (std::size_t k = 0; k < kernel_.sums.size(); ++k)
      if (kernel_.sums[k].block == block)
        return format("static_cast<double*>({})", pointer(KernelPointer::What::sums, static_cast<int>(k)));
    return sums(block, columns);
  }

  // Weight gradients of absorbed layers: input side W_bar_k = sum x_{c,k} z_bar_c, output side W_bar_k = sum
  // a_c u_bar_{c,k}.
  std::string sum_weights(const std::vector<ArrayRef>& outputs, const std::vector<std::string>& names) {
    std::string text;
    for (int i = 0; i < static_cast<int>(op_.in.size()); ++i) {
      if (!absorbed(i)) continue;
      const Dense& layer = *layer_of(i);
      if (layer.weight.frozen) continue;
      for (int k = 0; k < layer.in.width; ++k) {
        std::string sum = "Real(0)";
        for (std::size_t j = 0; j < outputs.size(); ++j) {
          if (outputs[j].what != What::in_bar || outputs[j].index != i) continue;
          if (const std::string x = input_jet(k, outputs[j].component); !x.empty())
            sum = format("fma({}, {}, {})", x, names[j], sum);
        }
        const int at = k * layer.out.width + op_.in[i].offset - layer.out.offset;
        text += text_.summed_by_column(
            format("weight_sum{}_{}", i, k), sum,
            sums_for(layer.weight.block, static_cast<std::size_t>(layer.in.width) * layer.out.width),
            format("{}", layer.in.width * layer.out.width), format("column + {} + l", at));
      }
    }
    if (absorbed_output_ < 0) return text;
    const Dense& layer = *tape_.operations()[absorbed_output_].dense;
    if (layer.weight.frozen) return text;
    const int m = layer.out.width;
    for (int k = 0; k < m; ++k) {
      std::string sum = "Real(0)";
      for (int c = 0; c < set_->tape->jets.size(); ++c)
        sum = format(
            "fma({}, {}, {})",
            text_.lane_of(format("out{}", c), address(KernelPointer::What::values, op_.out, c), "fetch"),
            output_bar(c, k), sum);
      text +=
          text_.summed_by_column(format("output_sum{}", k), sum,
                                 sums_for(layer.weight.block, static_cast<std::size_t>(layer.in.width) * m),
                                 format("{}", layer.in.width * m), format("(column + l) * {} + {}", m, k));
    }
    return text;
  }

  const Tape& tape_;
  const Pointwise& op_;
  int operation_;
  std::span<const KernelSet> sets_;
  const Fusion& fusion_;
  const KernelOptions& options_;
  bool adjoint_;
  int pack_ = 1, columns_ = 0, absorbed_output_ = -1;
  PointwiseKernel kernel_;
  const KernelSet* set_ = nullptr;
  KernelText text_;  // of one set's function
};

}  // namespace

PointwiseKernel forward_kernel(const Tape& tape, int operation, std::span<const KernelSet> sets,
                               const Fusion& fusion, const KernelOptions& options) {
  return Writer(tape, operation, sets, fusion, options, false).finish();
}

PointwiseKernel adjoint_kernel(const Tape& tape, int operation, std::span<const KernelSet> sets,
                               const Fusion& fusion, const KernelOptions& options) {
  if (sets[0].tape->programs[operation].adjoint_outputs.empty()) return {};
  return Writer(tape, operation, sets, fusion, options, true).finish();
}

}  // namespace lather::net
