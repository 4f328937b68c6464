# Flags shared by the library, the command, the tests and the benchmarks.
# -Wno-restrict: false positives of GCC 12 on string concatenation (GCC bug 105329).
# -Wno-maybe-uninitialized: GCC 12 takes the undefined registers of its own AVX-512 intrinsics for a mistake (GCC bug 105593).
# No fast-math: accuracy is the product. errno and floating-point traps are not used, so loops may vectorize without them.
add_library(lather_options INTERFACE)
# -Wno-dangling-reference: GCC 13 takes a reference into one argument for one into another, a temporary (GCC bug 107532).
target_compile_options(lather_options INTERFACE -Wall -Wextra -Wno-restrict -Wno-dangling-reference -Wno-maybe-uninitialized -fno-math-errno -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(lather_options INTERFACE -Wno-uninitialized)  # the same GCC 12 mistake under another name
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(lather_options INTERFACE -Wno-unknown-warning-option)  # GCC's warning names
endif()
if(LATHER_NATIVE)
  include(CheckCXXCompilerFlag)
  target_compile_options(lather_options INTERFACE -march=native)
  check_cxx_compiler_flag(-mprefer-vector-width=512 LATHER_HAS_VECTOR_WIDTH)
  if(LATHER_HAS_VECTOR_WIDTH)
    target_compile_options(lather_options INTERFACE -mprefer-vector-width=512)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64")
  # GCC splits multiply-adds in long chains on some CPUs (12 on AMD's, 13 on more): slower matrix products, and rounding that depends on the
  # tile.
  target_compile_options(lather_options INTERFACE --param=avoid-fma-max-bits=0)
endif()
if(LATHER_WERROR)
  target_compile_options(lather_options INTERFACE -Werror)
endif()
if(LATHER_SANITIZE AND LATHER_SANITIZE_THREADS)
  message(FATAL_ERROR "LATHER_SANITIZE and LATHER_SANITIZE_THREADS cannot be combined")
endif()
if(LATHER_SANITIZE)
  target_compile_options(lather_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(lather_options INTERFACE -fsanitize=address,undefined)
endif()
if(LATHER_SANITIZE_THREADS)
  target_compile_options(lather_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(lather_options INTERFACE -fsanitize=thread)
endif()
if(LATHER_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "LATHER_FUZZ needs clang: -DCMAKE_CXX_COMPILER=clang++")
  endif()
  target_compile_options(lather_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# lather_unity(<target> <files>): compiles this many source files as one, so that what they include is read once. Sources with
# their own options or definitions stay separate.
function(lather_unity target files)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LATHER_UNITY} UNITY_BUILD_BATCH_SIZE ${files})
endfunction()
