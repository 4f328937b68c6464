#pragma once
// Values of references at points, kept for the life of the process: runs of one problem ask for the same
// grids, and an expensive reference takes longer there than a short training.
// Measured: relative errors of one short run took 4 to 16 s on one core (Burgers, Boussinesq, Allen-Cahn),
// nearly all of it the reference on a grid of 401 by 401.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lather/core/process_mutex.hpp"

namespace lather::train {

class KnownValues {
 public:
  using Numbers = std::vector<double>;
  explicit KnownValues(std::size_t most) : most_(most) {}

  // The result of `compute` for this key. The first caller computes, others wait. An error in `compute` goes
  // to its caller, and the next one tries again.
  Numbers get(const std::string& key, const std::function<Numbers()>& compute);
  void forget();

 private:
  struct Entry {
    // Held while the numbers are computed. (ThreadSanitizer hangs on a std::call_once that throws.)
    ProcessMutex mutex;
    bool known = false;
    Numbers numbers;
  };
  std::size_t most_;  // numbers; beyond it, all are forgotten
  std::size_t kept_ = 0;
  ProcessMutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

// Shared by the whole process.
KnownValues& known_values();

}  // namespace lather::train
