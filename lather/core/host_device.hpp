#pragma once
// Functions that host code and kernels share. Kernels are compiled at run time
// by NVRTC, which has no standard headers: a header that both read includes
// only others of its kind, and calls sqrt, pow, fmin, … by their plain names.

#ifdef __CUDACC_RTC__
#define LATHER_HOST_DEVICE __device__ __forceinline__
#else
#include <cmath>
#define LATHER_HOST_DEVICE inline
#endif
