#pragma once
// Where the tests find the repository and the command. Only paths.cpp knows the absolute paths, so that the
// object files of all other tests are the same in every checkout.

#include <string>

namespace lather::test {

std::string source_path(const std::string& relative);
std::string command_path();
std::string mpiexec_path();  // empty: none, or no MPI in this build

}  // namespace lather::test
