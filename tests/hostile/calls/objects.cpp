// The objects of a sequence: chosen, made where a call needs one, freed and replaced.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "callee.hpp"
#include "texts.hpp"

namespace lather::hostile {

Stopper::Stopper() : thread_([this] { watch(); }) {}
Stopper::~Stopper() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}
int Stopper::arm(lather_trainer* trainer, std::int32_t* number) {
  const std::lock_guard lock(mutex_);
  armed_[++last_] = {std::chrono::steady_clock::now() + std::chrono::milliseconds(200), trainer, number};
  changed_.notify_all();
  return last_;
}
void Stopper::disarm(int armed) {
  const std::lock_guard lock(mutex_);
  armed_.erase(armed);
}
void Stopper::watch() {
  std::unique_lock lock(mutex_);
  while (!done_) {
    if (armed_.empty())
      changed_.wait(lock);
    else
      changed_.wait_for(lock, std::chrono::milliseconds(20));
    for (const auto& [id, one] : armed_) {
      if (std::chrono::steady_clock::now() < one.when) continue;
      if (one.trainer) lather_trainer_stop(one.trainer);
      if (one.number) __atomic_store_n(one.number, 1, __ATOMIC_RELAXED);
    }
  }
}

World::World(bool tell) : folder(home() / "world"), told(tell) {
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
}
World::~World() {
  for (auto* it : trainers) lather_trainer_free(it);
  for (auto* it : objectives) lather_objective_free(it);
  for (auto* it : optimizers) lather_optimizer_free(it);
  for (auto* it : problems) lather_problem_free(it);
  if (!std::filesystem::is_empty(folder)) std::filesystem::remove_all(folder);
}
Facts World::facts(const void* object) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(object);
  return found == known_.end() ? Facts{} : found->second;
}
void World::learn(const void* object, Facts facts) {
  const std::lock_guard lock(mutex_);
  known_[object] = std::move(facts);
}
void World::forget(const void* object) {
  const std::lock_guard lock(mutex_);
  known_.erase(object);
  if (object && !crowded) gone.push_back(object);
}
void World::keep(std::shared_ptr<Callee> callee) {
  const std::lock_guard lock(mutex_);
  callees_.push_back(std::move(callee));
}

std::filesystem::path& home() {
  static std::filesystem::path path;
  return path;
}

const std::filesystem::path& finished_run() {
  static const std::filesystem::path folder = [] {
    const auto path = home() / "finished";
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    lather_problem* problem = nullptr;
    lather_trainer* trainer = nullptr;
    if (lather_problem_from_text(texts::kDecay, "decay.toml", &problem) != LATHER_OK ||
        lather_trainer_create(problem, "{\"threads\": 1}", path.c_str(), nullptr, &trainer) != LATHER_OK ||
        lather_trainer_run(trainer, nullptr, nullptr) != LATHER_OK)
      defect(std::string("the run that is to be damaged cannot be made: ") + lather_last_error());
    lather_trainer_free(trainer);
    lather_problem_free(problem);
    return path;
  }();
  return folder;
}

template <class T>
T* Call::some(const World::Slots<T>& slots, const std::function<void()>& make, const char* kind) {
  if (chance_.one_in(40)) {
    note("NULL");
    return nullptr;
  }
  if (!visitor_ && chance_.one_in(60)) {  // whatever once was at this address, or is no object of this kind
    const void* others[] = {world_.problems[0], world_.objectives[0], world_.optimizers[0],
                            world_.trainers[0], world_.gone.empty() ? nullptr : chance_.any(world_.gone)};
    note("another object");
    return static_cast<T*>(const_cast<void*>(others[chance_.below(std::size(others))]));
  }
  const auto alive = std::count_if(slots.begin(), slots.end(), [](T* one) { return one; });
  if (alive == 0 && !visitor_ && !chance_.one_in(6)) make();
  for (std::size_t k = 0, first = chance_.below(World::kSlots); k < World::kSlots; ++k) {
    const std::size_t slot = (first + k) % World::kSlots;
    if (!slots[slot]) continue;
    if (world_.told) note(kind + std::to_string(slot));
    return slots[slot];
  }
  note("NULL");
  return nullptr;
}
lather_problem* Call::some_problem() {
  return some<lather_problem>(
      world_.problems, [&] { make_problem(); }, "problem");
}
lather_objective* Call::some_objective() {
  return some<lather_objective>(
      world_.objectives, [&] { make_objective(); }, "objective");
}
lather_optimizer* Call::some_optimizer() {
  return some<lather_optimizer>(
      world_.optimizers, [&] { make_optimizer(); }, "optimizer");
}
lather_trainer* Call::some_trainer() {
  return some<lather_trainer>(
      world_.trainers, [&] { make_trainer(); }, "trainer");
}

template <class T>
T* Call::taken(World::Slots<T>& slots) {
  if (visitor_) return nullptr;
  T*& slot = slots[chance_.below(World::kSlots)];
  T* object = std::exchange(slot, nullptr);
  note(object ? "an object" : "NULL");
  begin();
  return object;
}
void Call::release_problem() {
  auto* it = taken(world_.problems);
  lather_problem_free(it);
  world_.forget(it);
}
void Call::release_objective() {
  auto* it = taken(world_.objectives);
  lather_objective_free(it);
  world_.forget(it);
}
void Call::release_optimizer() {
  auto* it = taken(world_.optimizers);
  lather_optimizer_free(it);
  world_.forget(it);
}
void Call::release_trainer() {
  auto* it = taken(world_.trainers);
  lather_trainer_free(it);
  world_.forget(it);
}

// A new object takes a place of its own or replaces another, which is freed.
template <class T>
bool Call::kept(World::Slots<T>& slots, T* made, void (*release)(T*)) {
  if (!made) defect(std::string(name_) + ": no object although the call succeeded");
  if (visitor_) {
    release(made);
    return false;
  }
  T*& slot = slots[chance_.below(World::kSlots)];
  T* old = std::exchange(slot, made);
  if (old) {
    release(old);
    if (old != made) world_.forget(old);
  }
  return true;
}

void Call::keep_problem(lather_problem** made) {
  if (!made) return;
  Facts facts;
  const char* text = nullptr;
  if (lather_problem_info(*made, &text) == LATHER_OK) {
    const auto info = nlohmann::json::parse(text);
    facts.dimensions = info["coordinates"].size();
    facts.fields = info["fields"].size();
  }
  auto* problem = *made;
  world_.learn(problem, facts);
  if (!kept(world_.problems, problem, lather_problem_free)) world_.forget(problem);
}
void Call::keep_objective(lather_objective** made) {
  if (made && *made && !kept(world_.objectives, *made, lather_objective_free)) world_.forget(*made);
}
void Call::keep_optimizer(lather_optimizer** made) {
  if (made && *made && !kept(world_.optimizers, *made, lather_optimizer_free)) world_.forget(*made);
}
void Call::keep_trainer(lather_trainer** made) {
  if (!made) return;
  Facts facts;
  const char* text = nullptr;
  if (lather_trainer_info(*made, &text) == LATHER_OK) {
    const auto info = nlohmann::json::parse(text);
    facts.dimensions = info["coordinates"].size();
    facts.fields = info["fields"].size();
  }
  auto* trainer = *made;
  world_.learn(trainer, facts);
  if (!kept(world_.trainers, trainer, lather_trainer_free)) world_.forget(trainer);
}

void Call::same_dimensions(const void* object, const lather_problem* problem) {
  world_.learn(object, world_.facts(problem));
}
void Call::remember_blocks(const void* object, const char* blocks) {
  Facts facts;
  if (pending_) pending_->size = texts::total(blocks);
  for (const auto& block : nlohmann::json::parse(blocks)) {
    const auto number = [&](const char* key) { return block.value(key, std::size_t{0}); };
    facts.block_sizes.push_back(number("size") + number("rows") * number("cols"));
  }
  world_.learn(object, std::move(facts));
}

void Call::make_problem() {
  lather_problem* made = nullptr;
  const auto text = texts::problem(chance_, world_.folder);
  if (lather_problem_from_text(text.c_str(), (world_.folder / "p.toml").c_str(), &made) != LATHER_OK) return;
  keep_problem(&made);
}
void Call::make_trainer() {
  lather_trainer* made = nullptr;
  if (auto* problem = some_problem())
    if (lather_trainer_create(problem, texts::settings(chance_).c_str(), nullptr, nullptr, &made) ==
        LATHER_OK)
      keep_trainer(&made);
}
void Call::make_objective() {
  lather_objective* made = nullptr;
  if (chance_.one_in(3)) {
    if (auto* problem = some_problem())
      if (lather_objective_create(problem, texts::settings(chance_).c_str(), &made) == LATHER_OK) {
        same_dimensions(made, problem);
        keep_objective(&made);
      }
    return;
  }
  const auto text = texts::blocks(chance_);
  const auto function = callee(texts::total(text));
  if (lather_objective_from_function(&function, text.c_str(), &made) != LATHER_OK) return;
  remember_blocks(made, text.c_str());
  keep_objective(&made);
}
void Call::make_optimizer() {
  lather_optimizer* made = nullptr;
  const auto blocks = texts::blocks(chance_);
  if (lather_optimizer_create(texts::optimizer(chance_).c_str(), blocks.c_str(), LATHER_CPU, &made) !=
      LATHER_OK)
    return;
  remember_blocks(made, blocks.c_str());
  keep_optimizer(&made);
}

}  // namespace lather::hostile
