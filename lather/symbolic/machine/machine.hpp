#pragma once
// Runs pointwise programs on the CPU: one instruction at a time over a chunk of elements small enough that
// all intermediate arrays stay in the L1 cache.

#include <cstddef>
#include <span>
#include <vector>

#include "lather/core/buffer.hpp"
#include "lather/symbolic/program.hpp"

namespace lather::symbolic {

// How the program's inputs and outputs are bound to memory. Default: all arrays.
struct Binding {
  std::vector<int> scalar_inputs;   // one number for all elements
  std::vector<int> summed_outputs;  // added up over all elements into one number
};

// A program with scratch memory, for one thread. The program must outlive it.
template <class T>
class Machine {
 public:
  explicit Machine(const Program& program, const Binding& binding = {});

  // Elements 0 … n-1. Inputs and outputs are arrays of n elements, except scalars: inputs[i] points to one
  // number, and summed outputs are added to the one number outputs[j] points to, in order of the elements.
  void run(std::size_t n, std::span<const T* const> inputs, std::span<T* const> outputs);

 private:
  // Operands resolved to base pointers.
  struct Step {
    Opcode op;
    int result, a, b, c;  // into bases_
  };
  static constexpr std::size_t kChunk =
      128;  // Measured: best of 64 … 512 for tanh jets of 4 components (bench_engine).
  void execute(std::size_t n);
  int base_of(const Operand& operand) const;

  const Program* program_;
  std::vector<Step> steps_;
  std::vector<T*> bases_;        // inputs, outputs, constants, registers
  std::vector<char> is_scalar_;  // per input
  std::vector<char> is_summed_;  // per output
  Buffer<T> scratch_;
};

extern template class Machine<double>;
extern template class Machine<float>;

}  // namespace lather::symbolic
