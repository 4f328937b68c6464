#pragma once
// The boundary of the C interface: no exception leaves, texts are kept per thread.

#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "lather/core/error.hpp"
#include "lather/lather.h"

namespace lather::capi {

// Thrown if one of the caller's functions has failed: the caller knows why.
struct CallbackFailed : std::exception {
  const char* what() const noexcept override { return "a function of the caller's has failed"; }
};

// The status of the exception being handled; its message is kept for lather_last_error().
std::int32_t status_of_exception() noexcept;

template <class F>
std::int32_t guarded(F&& f) noexcept {
  try {
    f();
    return LATHER_OK;
  } catch (...) {
    return status_of_exception();
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

}  // namespace lather::capi
