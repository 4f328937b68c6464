# Every dependency with its reason: docs/dependencies.md.
# Machines without packages (GPU nodes) may put headers into .staged/include; see scripts/stage-headers.sh.
list(PREPEND CMAKE_PREFIX_PATH ${PROJECT_SOURCE_DIR}/.staged)
find_package(Threads REQUIRED)

# lather_header_library(<target> <header>): an imported interface target for a header-only library.
function(lather_header_library target header)
  string(MAKE_C_IDENTIFIER ${target}_INCLUDE variable)
  find_path(${variable} ${header} HINTS ${PROJECT_SOURCE_DIR}/.staged/include PATH_SUFFIXES eigen3 kissfft)
  if(NOT ${variable})
    message(FATAL_ERROR "${header} not found. On Debian: run scripts/install-dependencies.sh")
  endif()
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${${variable}})
endfunction()

lather_header_library(lather_eigen Eigen/Core)
lather_header_library(lather_cli11 CLI/CLI.hpp)
lather_header_library(lather_json nlohmann/json.hpp)
lather_header_library(lather_toml toml++/toml.h)
lather_header_library(lather_kissfft kissfft.hh)
# The compiled library if there is one: header-only, it costs every source file five seconds. If there are only headers of
# version 9, LATHER_FMT_SOURCE becomes part of our library.
find_package(fmt CONFIG QUIET)
set(LATHER_FMT_SOURCE "")
if(fmt_FOUND)
  add_library(lather_fmt INTERFACE IMPORTED)
  target_link_libraries(lather_fmt INTERFACE fmt::fmt)
else()
  lather_header_library(lather_fmt fmt/format.h)
  file(STRINGS ${lather_fmt_INCLUDE}/fmt/core.h version REGEX "define FMT_VERSION 9[0-9][0-9][0-9][0-9]$")
  if(version)
    set(LATHER_FMT_SOURCE ${PROJECT_SOURCE_DIR}/cmake/fmt.cc)
  else()
    target_compile_definitions(lather_fmt INTERFACE FMT_HEADER_ONLY=1)
  endif()
endif()
