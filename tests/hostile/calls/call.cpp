#include "call.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "callee.hpp"

namespace lather::hostile {

void defect(const std::string& what) {
  std::fprintf(stderr, "defect: %s\n", what.c_str());
  std::fflush(stderr);
  ::_exit(kDefect);
}

Call::Call(World& world, GuardedMemory& memory, const char* name, std::uint64_t seed, bool visitor)
    : world_(world), memory_(memory), name_(name), chance_(seed), visitor_(visitor) {
  memory_.clear();
}

void Call::note(const std::string& argument) {
  if (!world_.told) return;
  if (!arguments_.empty()) arguments_ += ", ";
  arguments_ += argument;
}

void* Call::maybe(std::size_t bytes) {
  if (chance_.one_in(24)) {
    note("NULL");
    return nullptr;
  }
  if (world_.told) note(std::to_string(bytes) + " bytes");
  return take(bytes);
}

const char* Call::given(const std::string& text) {
  char* copy = static_cast<char*>(memory_.take(text.size() + 8, false));
  // Behind the last byte is what nobody may read, as far as addresses allow: memory_ rounds up to 8.
  char* end = copy + (text.size() + 8 + 7) / 8 * 8;
  char* begin = end - text.size() - 1;
  std::memcpy(begin, text.c_str(), text.size() + 1);
  if (world_.told) note('"' + (text.size() > 2000 ? text.substr(0, 200) + "…" : text) + '"');
  kept_.push_back({begin, text, true});
  return begin;
}

void Call::begin() {
  callback_failed();
  failures_ = callback_failures();
  if (world_.told) {
    std::fprintf(stderr, "%s%s(%s)\n", visitor_ ? "    " : "  ", name_, arguments_.c_str());
    std::fflush(stderr);
  }
}

bool Call::judged(std::int32_t status) {
  const bool failed = callback_failed();
  const std::string message = status == LATHER_OK ? "" : lather_last_error();
  if (world_.told) std::fprintf(stderr, "%s  -> %d %s\n", visitor_ ? "    " : "  ", status, message.c_str());
  const auto wrong = [&](const std::string& what) { defect(std::string(name_) + ": " + what); };
  if (status < LATHER_OK || status > LATHER_FAILED) wrong("status " + std::to_string(status));
  if (status != LATHER_OK && message.empty()) wrong("an error without a message");
  if (status == LATHER_FAILED) wrong("not foreseen: " + message);
  for (const char* inner : {"std::", "basic_string", "vector::", "bad_", "Assertion"})
    if (status != LATHER_CALLBACK && message.find(inner) != message.npos)
      wrong("a message that speaks of the inside: " + message);
  if (failed && status != LATHER_CALLBACK)
    wrong("a function of the caller's has failed, and nobody says so: " + message);
  if (status == LATHER_CALLBACK && callback_failures() == failures_)
    wrong("no function of the caller's has failed: " + message);
  for (const auto& kept : kept_)
    if ((kept.always || status != LATHER_OK) &&
        std::memcmp(kept.now, kept.before.data(), kept.before.size()) != 0)
      wrong(kept.always ? "an argument that is const has changed"
                        : "what was to be changed has changed although the call failed: " + message);
  if (status != LATHER_OK)
    for (void* const* place : empty_on_failure_)
      if (*place) wrong("a result although the call failed: " + message);
  if (after_) after_(status);
  return status == LATHER_OK;
}

void Call::returned() {
  if (world_.told) std::fprintf(stderr, "    done\n");
}
void Call::returned(std::uint64_t value) {
  if (world_.told) std::fprintf(stderr, "    -> %llu\n", static_cast<unsigned long long>(value));
}
void Call::returned_text(const char* text) {
  if (!text) defect(std::string(name_) + ": NULL instead of a text");
  returned(std::strlen(text));
}

void Call::check_text(const char** text) {
  if (!text) return;
  if (!*text || !**text) defect(std::string(name_) + ": no text although the call succeeded");
}

void Call::check_json(const char** text) {
  check_text(text);
  if (text && nlohmann::json::parse(*text, nullptr, false).is_discarded())
    defect(std::string(name_) + ": not JSON: " + std::string(*text).substr(0, 300));
}

void Call::unchanged_if_refused(lather_optimizer* optimizer) {
  const void* bytes = nullptr;
  std::uint64_t count = 0;
  if (!optimizer || visitor_ || lather_optimizer_save(optimizer, &bytes, &count) != LATHER_OK) return;
  after_ = [this, optimizer,
            before = std::string(static_cast<const char*>(bytes), count)](std::int32_t status) {
    const void* now = nullptr;
    std::uint64_t size = 0;
    if (status == LATHER_OK || lather_optimizer_save(optimizer, &now, &size) != LATHER_OK) return;
    if (std::string(static_cast<const char*>(now), size) != before)
      defect("a state that was refused has changed the optimizer");
  };
}

}  // namespace lather::hostile
