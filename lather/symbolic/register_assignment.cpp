#include "lather/symbolic/register_assignment.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lather::symbolic {

namespace {

class RegisterAssignment {
 public:
  explicit RegisterAssignment(LoweredCode lowered) : l_(std::move(lowered)) {
    remove_dead_code();
    place_outputs();
    share_registers();
  }

  Program finish(int inputs) {
    Program program;
    program.inputs = inputs;
    program.outputs = static_cast<int>(l_.results.size());
    program.registers = registers_;
    program.constants = l_.constants;
    const auto operand = [&](VirtualValue v) { return v < 0 ? Operand{} : l_.place[v]; };
    for (const auto& i : l_.code)
      program.code.push_back({i.op, operand(i.result), operand(i.a), operand(i.b), operand(i.c)});
    return program;
  }

 private:
  void remove_dead_code() {
    std::vector<bool> needed(l_.place.size());
    for (VirtualValue v : l_.results) needed[v] = true;
    std::vector<VirtualInstruction> kept;
    for (auto it = l_.code.rbegin(); it != l_.code.rend(); ++it) {
      if (!needed[it->result]) continue;
      for (VirtualValue v : {it->a, it->b, it->c})
        if (v >= 0) needed[v] = true;
      kept.push_back(*it);
    }
    l_.code.assign(kept.rbegin(), kept.rend());
  }

  void place_outputs() {
    for (std::size_t j = 0; j < l_.results.size(); ++j) {
      const VirtualValue v = l_.results[j];
      const Operand target{Operand::Place::output, static_cast<std::uint16_t>(j)};
      if (l_.place[v].place == Operand::Place::reg) {
        l_.place[v] = target;
      } else {  // an input, a constant, or a value that already is another output
        l_.place.push_back(target);
        l_.code.push_back({Opcode::copy, static_cast<VirtualValue>(l_.place.size()) - 1, v, -1, -1});
      }
    }
  }

  void share_registers() {
    std::vector<int> last(l_.place.size(), -1);
    for (std::size_t i = 0; i < l_.code.size(); ++i)
      for (VirtualValue v : {l_.code[i].a, l_.code[i].b, l_.code[i].c})
        if (v >= 0) last[v] = static_cast<int>(i);
    std::vector<int> free;
    for (std::size_t i = 0; i < l_.code.size(); ++i) {
      const auto& instruction = l_.code[i];
      // Operands read for the last time here free their register
      // before the result is placed: element-wise code may overwrite.
      VirtualValue operands[] = {instruction.a, instruction.b, instruction.c};
      for (int k = 0; k < 3; ++k) {
        const VirtualValue v = operands[k];
        if (v < 0 || l_.place[v].place != Operand::Place::reg || last[v] != static_cast<int>(i)) continue;
        if (std::find(operands, operands + k, v) != operands + k) continue;
        free.push_back(l_.place[v].index);
      }
      Operand& result = l_.place[instruction.result];
      if (result.place != Operand::Place::reg) continue;
      if (free.empty()) {
        result.index = static_cast<std::uint16_t>(registers_++);
      } else {
        result.index = static_cast<std::uint16_t>(free.back());
        free.pop_back();
      }
    }
  }

  LoweredCode l_;
  int registers_ = 0;
};

}  // namespace

Program assign_registers(LoweredCode lowered, int inputs) {
  return RegisterAssignment(std::move(lowered)).finish(inputs);
}

}  // namespace lather::symbolic
