#pragma once
// Parameters are one flat array of doubles; a ParameterLayout
// says which piece of it is which matrix, vector or scalar.

#include <cstddef>
#include <string>
#include <vector>

namespace lather::optim {

// What a block does in its model. Optimizers that treat some
// blocks differently (Muon: embeddings and heads) look at this.
enum class Role { hidden, input, output, bias, gate, unknown };

struct ParameterBlock {
  std::string name;        // "layer2.weight"
  std::size_t offset = 0;  // into the flat array
  std::size_t rows = 1;    // matrices are row-major, inputs × outputs: z = a W + b
  std::size_t cols = 1;
  // A 1 × n matrix is still a matrix; vectors (rows = length, cols = 1) and scalars are not.
  bool matrix = false;
  Role role = Role::hidden;
  std::size_t size() const { return rows * cols; }
};

class ParameterLayout {
 public:
  std::size_t add_matrix(std::string name, std::size_t rows, std::size_t cols, Role role = Role::hidden) {
    return add({std::move(name), size_, rows, cols, true, role});
  }
  std::size_t add_vector(std::string name, std::size_t length, Role role = Role::bias) {
    return add({std::move(name), size_, length, 1, false, role});
  }
  std::size_t add_scalar(std::string name, Role role = Role::unknown) {
    return add({std::move(name), size_, 1, 1, false, role});
  }

  const std::vector<ParameterBlock>& blocks() const { return blocks_; }
  std::size_t size() const { return size_; }  // number of parameters

 private:
  // Returns the offset of the new block. Throws Error if no memory could hold the parameters.
  std::size_t add(ParameterBlock block);
  std::vector<ParameterBlock> blocks_;
  std::size_t size_ = 0;
};

// The first block that is another matrix or vector in `other` than in `layout`, in words; empty: there
// is none. Names and roles do not matter.
std::string different_block(const ParameterLayout& layout, const ParameterLayout& other);

}  // namespace lather::optim
