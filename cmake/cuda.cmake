# LATHER_CUDA: AUTO (if a CUDA toolkit is found), ON, OFF. Only its headers and the static runtime are linked; cuBLAS,
# cuSOLVER, NVRTC and the driver are loaded when a GPU is first used, so the program starts on machines that have none of them.
# Sources in folders named cuda are compiled if CUDA is on, their *_stub.cpp if it is off.
set(LATHER_CUDA AUTO CACHE STRING "Build the CUDA engine: AUTO, ON or OFF")
set_property(CACHE LATHER_CUDA PROPERTY STRINGS AUTO ON OFF)
set(LATHER_WITH_CUDA OFF)
if(LATHER_CUDA)
  if(LATHER_CUDA STREQUAL "AUTO")
    find_package(CUDAToolkit 12.8 QUIET)
  else()
    find_package(CUDAToolkit 12.8 REQUIRED)
  endif()
  if(CUDAToolkit_FOUND AND TARGET CUDA::cudart_static)
    set(LATHER_WITH_CUDA ON)
  elseif(NOT LATHER_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "LATHER_CUDA=ON needs a CUDA toolkit (12.8 or newer) with the static runtime")
  endif()
endif()
message(STATUS "CUDA engine: ${LATHER_WITH_CUDA} ${CUDAToolkit_VERSION}")
