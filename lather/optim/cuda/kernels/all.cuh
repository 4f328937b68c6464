#pragma once
// Every kernel of the optimizers: one program.

#include "lather/optim/cuda/kernels/bases.cuh"
#include "lather/optim/cuda/kernels/kronecker.cuh"
#include "lather/optim/cuda/kernels/multiadam.cuh"
#include "lather/optim/cuda/kernels/muon.cuh"
#include "lather/optim/cuda/kernels/purifying_shampoo.cuh"
#include "lather/optim/cuda/kernels/sgd.cuh"
#include "lather/optim/cuda/kernels/shampoo.cuh"
#include "lather/optim/cuda/kernels/soap.cuh"
#include "lather/optim/cuda/kernels/ss_esoap.cuh"
#include "lather/optim/cuda/kernels/step.cuh"
