# cmake -DOUTPUT=… -DROOT=… -DFILES=a|b -P embed-kernels.cmake: the sources of kernels, and the headers they share with the
# host, as one C++ source. NVRTC reads them under the names they have in the tree.
string(REPLACE "|" ";" files "${FILES}")
set(text "// Made by cmake/embed-kernels.cmake.\n#include \"lather/core/cuda/kernel_files.hpp\"\n\nnamespace lather::cuda {\n\n")
string(APPEND text "std::span<const KernelFile> kernel_files() {\n  static const KernelFile files[] = {\n")
foreach(name ${files})
  file(READ ${ROOT}/${name} content)
  string(APPEND text "{\"${name}\", R\"lather_kernel(${content})lather_kernel\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${text}  };\n  return files;\n}\n\n}  // namespace lather::cuda\n")
