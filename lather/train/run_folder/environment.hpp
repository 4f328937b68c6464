#pragma once
// What a run was made with and on: the library, its build, the machine. `lather doctor` prints it,
// environment.json keeps it.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lather::train {

struct Environment {
  std::string version, commit, compiler, build;  // build: "release, compiled for this machine"
  std::string cpu, host, system;
  std::vector<std::string> instruction_sets;  // those of this CPU that matter here
  int vector_doubles = 1;  // doubles per vector register that the kernels were compiled for
  int widest_doubles = 1;  // and that this CPU has
  int cores = 1;
  double memory_gib = 0;
  std::vector<std::string> gpus;  // found on this machine
  std::string gpu_driver;         // empty: none
  std::string cuda;               // the device --device cuda uses, or what is missing
};

Environment find_environment();
nlohmann::json to_json(const Environment& environment);

}  // namespace lather::train
