#pragma once
// What tests may ask of the emulated device beyond CUDA.

namespace lather::emulator {

extern int matrices_diagonalized;  // by the eigensolver, since the program started
extern int failing_dimension;      // the eigensolver does not converge for matrices of this size; 0: never

}  // namespace lather::emulator
