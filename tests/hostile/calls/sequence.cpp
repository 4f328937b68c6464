#include "sequence.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "callee.hpp"
#include "texts.hpp"

namespace lather::hostile {

namespace {

const Entry kTable[] = {
#include "calls.inc"
};

// Functions that change how long arrays must be: nobody may call them while another thread uses the
// object.
bool changes_lengths(const char* name) {
  return std::strcmp(name, "lather_objective_set_points") == 0 ||
         std::strcmp(name, "lather_objective_initialize") == 0;
}

std::string family(const std::string& name) {
  const auto end = name.find('_', 7);
  return name.substr(7, end - 7);
}

}  // namespace

std::span<const Entry> table() { return kTable; }

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

void make_call(World& world, GuardedMemory& memory, const Entry& entry, std::uint64_t seed, bool visitor) {
  if (visitor && changes_lengths(entry.name)) return;
  Call call(world, memory, entry.name, seed, visitor);
  entry.make(call);
}

// A sequence uses some families of functions only: it gets deeper than one that tries everything.
std::vector<Planned> plan(std::uint64_t sequence) {
  Chance chance(sequence);
  const std::vector<std::vector<std::string>> kThemes = {
      {"optimizer", "objective"}, {"optimizer", "objective"},
      {"optimizer", "objective"}, {"problem"},
      {"problem", "objective"},   {"problem", "objective", "optimizer"},
      {"problem", "trainer"},     {"trainer", "report"}};
  // What trains costs a hundred times as much as what does not.
  auto theme = kThemes[chance.one_in(12) ? chance.between(6, 7) : chance.below(6)];
  if (chance.one_in(60)) theme = {};  // everything
  std::vector<int> weights;
  int all = 0;
  for (const auto& entry : kTable) {
    const bool chosen =
        theme.empty() || std::find(theme.begin(), theme.end(), family(entry.name)) != theme.end();
    weights.push_back(chosen && !chance.one_in(5) ? entry.weight : 0);
    all += weights.back();
  }
  std::vector<Planned> calls;
  for (std::size_t k = chance.between(5, 30); k > 0 && all > 0; --k) {
    auto at = static_cast<int>(chance.below(static_cast<std::size_t>(all)));
    std::size_t entry = 0;
    while ((at -= weights[entry]) >= 0) ++entry;
    calls.push_back({entry, chance.bits(), chance.one_in(40)});
  }
  return calls;
}

void play(std::uint64_t sequence, const std::vector<std::size_t>& only, bool told, Watched* watched) {
  static GuardedMemory memory, memory_of_company;
  World world(told);
  const auto calls = plan(sequence);
  for (std::size_t k = 0; k < calls.size(); ++k) {
    if (!only.empty() && std::find(only.begin(), only.end(), k) == only.end()) continue;
    if (told) std::fprintf(stderr, "%zu:\n", k);
    if (watched) {
      watched->since_ms = now_ms();
      watched->call = static_cast<std::int64_t>(k);
    }
    const auto& [entry, seed, with_company] = calls[k];
    std::thread company;
    world.crowded = with_company;
    if (with_company) {
      Chance chance(seed);
      const auto& other = kTable[calls[chance.below(calls.size())].entry];
      company = std::thread([&world, &other, from = chance.bits()] {
        Chance seeds(from);
        for (int i = 0; i < 3; ++i) make_call(world, memory_of_company, other, seeds.bits(), true);
      });
    }
    make_call(world, memory, kTable[entry], seed, with_company);
    if (company.joinable()) company.join();
    world.crowded = false;
    if (watched) ++watched->calls;
  }
}

}  // namespace lather::hostile
