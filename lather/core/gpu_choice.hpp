#pragma once
// Which of several GPUs a process uses.

namespace lather {

// Trainings that this process starts from now on use this GPU, modulo the number of GPUs, so that processes
// of one machine share them. To be called with the number of the process on its machine.
void use_gpu(int number);

}  // namespace lather
