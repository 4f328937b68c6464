#pragma once
// What tests can ask the emulated device beyond CUDA.

#include <cstddef>

namespace lather::emulator {

extern int matrices_diagonalized;   // by the eigensolver, since the program started
extern int failing_dimension;       // the eigensolver does not converge for matrices of this size; 0: never
extern int devices, device_in_use;  // how many there are, and the number of the chosen one
extern int illegal_accesses;        // by library calls, to memory that is not, or no longer, allocated
extern int host_waits;              // synchronizations and copies that the host waited for
extern int nccl_version;            // in NCCL's numbering; 0: not installed
extern int programs_compiled;       // from source text, since the program started
extern int nccl_captured;           // NCCL operations that went into graphs

void finish_all();  // what all streams still have to do

// Whether these bytes are within one allocation.
bool is_allocated(const void* first, std::size_t bytes);

}  // namespace lather::emulator
