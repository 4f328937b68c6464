#pragma once
// Values of references at points, kept while the process lives: runs of one problem ask for the same grids, and an
// expensive reference takes longer there than a short training.
// Measured: relative errors of one short run took 4 to 16 s on one core (Burgers, Boussinesq, Allen-Cahn), nearly all
// of it the reference on a grid of 401 by 401.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lather::train {

class KnownValues {
 public:
  using Numbers = std::vector<double>;
  explicit KnownValues(std::size_t most) : most_(most) {}

  // What `compute` gave under this key. Whoever asks first computes, others wait for it. An error of `compute` is
  // that of the caller, and the next one tries again.
  Numbers get(const std::string& key, const std::function<Numbers()>& compute);
  void forget();

 private:
  struct Entry {
    std::once_flag once;
    Numbers numbers;
  };
  std::size_t most_;  // numbers; beyond it all are forgotten
  std::size_t kept_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

// Those of the process.
KnownValues& known_values();

}  // namespace lather::train
