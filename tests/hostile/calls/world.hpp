#pragma once
// What a sequence of calls works with: the objects that are alive, what is known about them, files.

#include <array>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "chance.hpp"
#include "lather/lather.h"

namespace lather::hostile {

struct Callee;

// What the caller of an object knows of it.
struct Facts {
  std::size_t dimensions = 1, fields = 1;
  std::vector<std::size_t> block_sizes;
};

// Ends what may run for long: a run by lather_trainer_stop(), many runs by the number that they
// look at.
class Stopper {
 public:
  Stopper();
  ~Stopper();
  int arm(lather_trainer* trainer, std::int32_t* number);
  void disarm(int armed);

 private:
  struct Armed {
    std::chrono::steady_clock::time_point when;
    lather_trainer* trainer;
    std::int32_t* number;
  };
  void watch();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Armed> armed_;
  int last_ = 0;
  bool done_ = false;
  std::thread thread_;
};

class World {
 public:
  explicit World(bool told);
  ~World();
  World(const World&) = delete;

  static constexpr std::size_t kSlots = 3;
  template <class T>
  using Slots = std::array<T*, kSlots>;
  Slots<lather_problem> problems{};
  Slots<lather_objective> objectives{};
  Slots<lather_optimizer> optimizers{};
  Slots<lather_trainer> trainers{};

  // Safe for several threads.
  Facts facts(const void* object) const;
  void learn(const void* object, Facts facts);
  void forget(const void* object);

  std::vector<std::string> states;            // saved by optimizers, whole
  std::vector<const void*> gone;              // addresses of objects that were freed
  bool crowded = false;                       // another thread calls too: nobody frees or replaces objects
  void keep(std::shared_ptr<Callee> callee);  // until the end: an object may be used beyond its freeing
  const std::filesystem::path folder;
  bool told;  // print every call before it is made
  Stopper stopper;

 private:
  mutable std::mutex mutex_;
  std::map<const void*, Facts> known_;
  std::vector<std::shared_ptr<Callee>> callees_;
};

// The folder of this process's worlds; it holds what they share.
std::filesystem::path& home();
// A finished run of a small problem and a checkpoint of it, made at the first use.
const std::filesystem::path& finished_run();

}  // namespace lather::hostile
