#pragma once
// One call of the C interface: draws its arguments, and judges what came back. The table of calls
// is generated (table.py).

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "guarded_memory.hpp"
#include "world.hpp"

namespace lather::hostile {

// Prints and ends the process with kDefect: something is wrong that is no crash.
inline constexpr int kDefect = 77;
[[noreturn]] void defect(const std::string& what);

class Call {
 public:
  // A visitor (another thread, or a callback) uses the objects but neither frees nor replaces them.
  Call(World& world, GuardedMemory& memory, const char* name, std::uint64_t seed, bool visitor);

  // Objects: one that is alive, or NULL.
  lather_problem* some_problem();
  lather_objective* some_objective();
  lather_optimizer* some_optimizer();
  lather_trainer* some_trainer();
  void release_problem();
  void release_objective();
  void release_optimizer();
  void release_trainer();
  void keep_problem(lather_problem** made);
  void keep_objective(lather_objective** made);
  void keep_optimizer(lather_optimizer** made);
  void keep_trainer(lather_trainer** made);

  // Where a result goes: zero, or NULL instead of a place.
  template <class T>
  T* result() {
    T* place = static_cast<T*>(maybe(sizeof(T)));
    if (place) *place = T{};
    if constexpr (std::is_pointer_v<T>)
      if (place) empty_on_failure_.push_back((void* const*)place);  // whatever it points to
    return place;
  }

  // Texts.
  const char* problem_file();
  const char* problem_text();
  const char* problem_label();
  const char* run_settings();
  const char* optimizer_settings();
  const char* blocks();
  const char* point_set();
  const char* folder();
  const char* checkpoint_file();
  const char* limits();
  const char* quantities();
  const char* sweep_text();
  const char* sweep_options();
  const char* compare_options();
  const char* contestants();
  const char* groups();
  const char* const* run_list();
  std::size_t parts(const char* list) const;

  // Numbers and arrays. Lengths are those that the contract asks for.
  std::int32_t device();
  std::int32_t flag();
  std::int64_t most();
  std::uint64_t seed();
  double number();
  const double* numbers(std::size_t count);
  double* output(std::size_t count);
  double* kept_on_failure(std::size_t count);
  std::uint64_t first_row(std::uint64_t all);
  std::uint64_t row_count(std::uint64_t all, std::uint64_t first);
  static bool fits(std::uint64_t all, std::uint64_t first, std::uint64_t count);
  std::uint64_t point_count();
  const double* points(std::uint64_t count, std::size_t dimensions);
  double* table(std::uint64_t count, std::size_t columns);
  std::size_t dimensions(const void* object) const { return world_.facts(object).dimensions; }
  std::size_t fields(const void* object) const { return world_.facts(object).fields; }
  const lather_tensor* tensors(lather_optimizer* optimizer);
  const void* state(lather_optimizer* optimizer);
  // Of the list that was drawn last.
  std::uint64_t length(const void* list) const;

  // Structures.
  lather_step* step();
  const lather_function* function();
  const lather_watcher* watcher(lather_trainer* trainer);
  const lather_runs_watcher* runs_watcher();

  // Around the call.
  void begin();
  bool judged(std::int32_t status);
  void returned();
  void returned(std::uint64_t value);
  void returned_text(const char* text);
  void check_json(const char** text);
  void check_text(const char** text);
  void same_dimensions(const void* object, const lather_problem* problem);
  void remember_blocks(const void* object, const char* blocks);
  void remember_state(const void* optimizer, const void* bytes, std::uint64_t count);
  // A state that is refused must leave the optimizer as it was.
  void unchanged_if_refused(lather_optimizer* optimizer);

 private:
  friend struct Callee;
  template <class T>
  T* some(const World::Slots<T>& slots, const std::function<void()>& make, const char* kind);
  template <class T>
  T* taken(World::Slots<T>& slots);
  template <class T>
  bool kept(World::Slots<T>& slots, T* made, void (*release)(T*));
  void make_problem();
  void make_objective();
  void make_optimizer();
  void make_trainer();

  void* maybe(std::size_t bytes);  // memory, or rarely NULL
  void* take(std::size_t bytes) { return memory_.take(bytes, chance_.one_in(4)); }
  const char* given(const std::string& text);  // as an argument
  void note(const std::string& argument);
  template <class Struct>
  Struct* structure(Struct filled);
  double* array(std::size_t count);
  const char* text(std::string valid);       // as it is, spoilt, or NULL
  void* watched();                           // a Callee for callbacks of runs
  lather_function callee(std::size_t size);  // kept with the objective that is made of it

  World& world_;
  GuardedMemory& memory_;
  const char* name_;
  Chance chance_;
  bool visitor_;
  std::uint64_t length_ = 0, failures_ = 0;
  std::string arguments_;
  struct Kept {
    const void* now;
    std::string before;
    bool always;
  };
  std::vector<Kept> kept_;
  std::vector<void* const*> empty_on_failure_;
  std::function<void(std::int32_t)> after_;
  std::shared_ptr<Callee> pending_;
  std::int32_t stop_ = 0;
};

struct Entry {
  const char* name;
  int weight;
  void (*make)(Call&);
};
std::span<const Entry> table();
// The call of this seed, chosen among the functions of `family` bits (see sequence.cpp), by a
// visitor or not.
void make_call(World& world, GuardedMemory& memory, const Entry& entry, std::uint64_t seed, bool visitor);

}  // namespace lather::hostile
