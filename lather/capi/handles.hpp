#pragma once
// What the opaque types of lather.h hold, and who may use them when. Every function takes its turn with the
// objects it is given:
//
//   const In optimizer(handle, "optimizer");   // waits for other threads; throws Error if it cannot be used
//   optimizer->layout
//
// A pointer is looked up before anything of the object is read, so that one that was freed, or that is of
// another kind, is refused in words.

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "lather/capi/guard.hpp"
#include "lather/optim/foreign_parameters.hpp"
#include "lather/train/rewind.hpp"
#include "lather/train/session.hpp"

namespace lather::capi {

enum class Use {
  share,  // reads what never changes: nobody waits
  alone,
  read,  // alone, but admitted by a run of another call
  run    // alone, but admits those who read, between its steps
};

class Handle {
 public:
  Handle();
  virtual ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  virtual const char* kind() const = 0;
  virtual bool on_gpu() const { return false; }
  virtual void freed_in_use() {}  // it is destroyed when the calls that use it have returned

 private:
  friend class Turn;
  friend struct Turns;
  friend void free_handle(Handle* pointer) noexcept;
  unsigned long process_;   // that made it
  std::thread::id user_;    // the thread that is in it now
  std::thread::id runner_;  // the thread whose run is in progress
  int calls_ = 0;           // that use it or wait for it
  std::atomic<int> waiting_readers_{0};
  bool freed_ = false;
  bool lost_ = false;  // in a forked process: another thread of its parent was in it
};

class Turn {
 public:
  // `pointer` may be anything. Throws Error if it is no handle of this kind, if it was freed, or if
  // waiting for it could never end.
  Turn(const Handle* pointer, const char* kind, const char* name, Use use);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Of a run: while f is called, this thread and others may read the object.
  template <class F>
  void let_read(F&& f) const {
    const Away away(*this);
    f();
  }
  void let_read_who_waits() const {
    if (handle_->waiting_readers_.load(std::memory_order_relaxed) > 0) let_read([] {});
  }

 private:
  struct Away {
    explicit Away(const Turn& turn);
    ~Away();
    Handle& handle;
  };
  Handle* handle_;
  Use use_;
};

template <class Object>
class In {
 public:
  In(Object* object, const char* name, Use use = Use::alone)
      : turn_(object, Object::kKind, name, use), object_(object) {}
  Object& operator*() const { return *object_; }
  Object* operator->() const { return object_; }
  const Turn& turn() const { return turn_; }

 private:
  Turn turn_;
  Object* object_;
};

// A size that is asked for without a place for errors: 0 for what is no such object.
template <class Object, class F>
std::uint64_t size_of(Object* object, F&& size, Use use = Use::share) {
  std::uint64_t found = 0;
  if (object) guarded([&] { found = size(*In(object, "object", use)); });
  return found;
}

// Destroys the object, or leaves that to the last call that uses it. NULL, and what is no object, are
// left alone.
void free_handle(Handle* pointer) noexcept;

void fill(lather_step* to, const optim::StepReport& report, std::int64_t steps);

}  // namespace lather::capi

struct lather_problem final : lather::capi::Handle {
  static constexpr const char* kKind = "problem";
  explicit lather_problem(lather::train::ProblemSource given) : source(std::move(given)) {}
  const char* kind() const override { return kKind; }

  const lather::train::ProblemSource source;
};

struct lather_objective final : lather::capi::Handle {
  static constexpr const char* kKind = "objective";
  explicit lather_objective(std::unique_ptr<lather::optim::Objective> given);
  const char* kind() const override { return kKind; }
  bool on_gpu() const override { return gpu; }

  std::unique_ptr<lather::optim::Objective> objective;
  const std::size_t size;
  std::atomic<std::size_t> residual_count;  // of now: points may change
  const bool gpu;
  // For problems only.
  lather::pde::PinnObjective* loss = nullptr;
  lather::pde::SamplingSettings sampling;
};

struct lather_optimizer final : lather::capi::Handle {
  static constexpr const char* kKind = "optimizer";
  const char* kind() const override { return kKind; }
  bool on_gpu() const override { return device == lather::Device::cuda; }

  std::unique_ptr<lather::optim::Optimizer> optimizer;
  lather::optim::Family family;
  std::string name;
  lather::Device device = lather::Device::cpu;
  std::unique_ptr<lather::optim::ForeignParameters> foreign;  // made at the first lather_optimizer_apply
  double seconds = std::numeric_limits<double>::infinity();   // that the last step took
};

struct lather_trainer final : lather::capi::Handle {
  static constexpr const char* kKind = "trainer";
  explicit lather_trainer(lather::train::Session given);
  const char* kind() const override { return kKind; }
  bool on_gpu() const override { return gpu; }
  void freed_in_use() override { stop.ask(); }

  lather::train::Session session;
  nlohmann::json finished;  // the summary of a run that has ended already
  std::string path;         // of its folder; empty: it has none
  const bool gpu;
  lather::Stop stop;
  lather::train::Rewind rewind;  // for steps that are taken one by one
};
