#pragma once
// The boundary of the C interface: no exception leaves, none of the caller's is lost, structures are
// read as far as they reach, texts are kept per thread.

#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "lather/capi/interrupts.hpp"
#include "lather/core/error.hpp"
#include "lather/lather.h"

namespace lather::capi {

// Thrown if one of the caller's functions has failed.
struct CallbackFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The status of the exception being handled; its message is kept for lather_last_error().
std::int32_t status_of_exception() noexcept;

template <class F>
std::int32_t guarded(F&& f) noexcept {
  const CallScope interruptible;
  try {
    f();
    return LATHER_OK;
  } catch (...) {
    return status_of_exception();
  }
}

// What a function of the caller's returns. Throws CallbackFailed for what it throws.
template <class F>
auto called_back(const char* name, F&& function) {
  try {
    return function();
  } catch (const std::exception& error) {
    throw CallbackFailed(std::string(name) + " has thrown: " + error.what());
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_exit, which nobody may catch for good
  } catch (...) {
    throw CallbackFailed(std::string(name) +
                         " has thrown something that is no exception of the standard library");
  }
}

// Kept for this thread until its next one.
const char* keep_text(std::string text);
const std::string& keep_bytes(std::string bytes);
inline void give_json(const char** out, const nlohmann::json& json) {
  if (!out) throw Error("the pointer for the result is NULL");
  *out = keep_text(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// Throws Error naming an argument that is NULL.
template <class T>
T& required(T* pointer, const char* name) {
  if (!pointer) throw Error(std::string(name) + " is NULL");
  return *pointer;
}
inline const char* required_text(const char* text, const char* name) { return &required(text, name); }

// `count` things of `width` doubles each, as an array's length. Throws Error for more than any memory holds.
std::size_t array_length(const char* name, std::uint64_t count, std::uint64_t width = 1);

// Throws Error unless `size` is that of the structure, in its first version or a later one.
void require_structure_size(const char* name, std::uint64_t size, std::size_t first, std::size_t known);
// Throws Error if a member that this library does not know is set.
void require_nothing_unknown(const char* name, const void* structure, std::uint64_t size, std::size_t known);

// The size of a structure when it first appeared: later versions append members.
template <class Struct>
inline constexpr std::size_t kFirstSize = 0;
template <>
inline constexpr std::size_t kFirstSize<lather_step> = 72;
template <>
inline constexpr std::size_t kFirstSize<lather_function> = 48;
template <>
inline constexpr std::size_t kFirstSize<lather_watcher> = 40;
template <>
inline constexpr std::size_t kFirstSize<lather_runs_watcher> = 32;

// The caller's structure as far as it reaches, the rest zero.
template <class Struct>
Struct known_part(const Struct& given, const char* name) {
  require_structure_size(name, given.size, kFirstSize<Struct>, sizeof(Struct));
  require_nothing_unknown(name, &given, given.size, sizeof(Struct));
  Struct known{};
  std::memcpy(&known, &given, std::min<std::size_t>(given.size, sizeof known));
  return known;
}
// A structure that is to be filled: checked before anything happens. NULL is allowed.
inline void require_room(const lather_step* step) {
  if (step) require_structure_size("lather_step", step->size, kFirstSize<lather_step>, sizeof(lather_step));
}

}  // namespace lather::capi
