#pragma once
// Which of several GPUs a process uses.

namespace lather {

// Trainings that this process begins from now on use this GPU; counted on where there are fewer, so that
// processes of one machine share them. To be called with the number of the process on its machine.
void use_gpu(int number);

}  // namespace lather
