#include "lather/net/cuda/fusion.hpp"

namespace lather::net {

Fusion plan_fusion(const Tape& tape, const JetTape& jets, bool absorb) {
  const auto& operations = tape.operations();
  const std::size_t buffers = tape.buffer_widths().size();
  Fusion fusion{std::vector<DenseForm>(operations.size(), DenseForm::product), std::vector<int>(buffers, -1),
                std::vector<int>(operations.size(), -1)};
  std::vector<int> dense_readers(buffers), pointwise_readers(buffers), pointwise_writers(buffers),
      first_reader(buffers, -1);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (const auto& d = operations[i].dense) {
      fusion.producer[d->out.buffer] = static_cast<int>(i);
      ++dense_readers[d->in.buffer];
    } else {
      const auto& p = *operations[i].pointwise;
      ++pointwise_writers[p.out.buffer];
      for (const Value& in : p.in) {
        ++pointwise_readers[in.buffer];
        if (first_reader[in.buffer] < 0) first_reader[in.buffer] = static_cast<int>(i);
      }
    }
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto& d = operations[i].dense;
    if (!d) continue;
    const bool is_output = d->out.buffer == tape.output().buffer;
    if (is_output) {
      const bool from_one_kernel = dense_readers[d->in.buffer] == 1 && pointwise_readers[d->in.buffer] == 0 &&
                                   pointwise_writers[d->in.buffer] == 1 &&
                                   d->in.width == tape.buffer_widths()[d->in.buffer] &&
                                   jets.needs_bar[d->in.buffer];
      fusion.form[i] = absorb && from_one_kernel ? DenseForm::absorbed_output : DenseForm::output;
    } else if (absorb && d->in.buffer == tape.input().buffer) {
      fusion.form[i] = DenseForm::absorbed_input;
    }
    // In the backward pass, the reader that comes first on the tape is the last to add to the bar.
    fusion.bias_summer[i] = first_reader[d->out.buffer];
  }
  return fusion;
}

}  // namespace lather::net
