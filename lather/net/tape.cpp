#include "lather/net/tape.hpp"

namespace lather::net {

Tape::Tape(int inputs) : buffer_widths_{inputs} {}

Value Tape::new_buffer(int width) {
  buffer_widths_.push_back(width);
  return {static_cast<int>(buffer_widths_.size()) - 1, 0, width};
}

int Tape::scalar(std::string name, optim::Role role) {
  parameters_.add_scalar(std::move(name), role);
  return static_cast<int>(parameters_.blocks().size()) - 1;
}

Value Tape::dense(Value in, int width, const DenseOptions& options) {
  auto& layout = options.frozen ? frozen_ : parameters_;
  const auto last_block = [&] {
    return WeightRef{static_cast<int>(layout.blocks().size()) - 1, options.frozen};
  };
  Dense dense{in, new_buffer(width), {}, {}, {}};
  layout.add_matrix(options.name + ".weight", in.width, width, options.role);
  dense.weight = last_block();
  if (options.factorized) {
    layout.add_vector(options.name + ".scale", width, optim::Role::gate);
    dense.scale = last_block();
  }
  if (options.bias) {
    layout.add_vector(options.name + ".bias", width, optim::Role::bias);
    dense.bias = last_block();
  }
  operations_.push_back({dense, {}});
  return dense.out;
}

}  // namespace lather::net
