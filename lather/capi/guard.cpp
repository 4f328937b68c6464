#include "lather/capi/guard.hpp"

#include <filesystem>
#include <new>

#include "lather/core/version.hpp"
#include "lather/train/run_folder/environment.hpp"

namespace lather::capi {

namespace {

thread_local std::string last_error, last_text, last_bytes;

// Without memory for the message it is left empty.
void remember(const char* message) noexcept {
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();
  }
}

}  // namespace

std::int32_t status_of_exception() noexcept {
  try {
    throw;
  } catch (const CallbackFailed& error) {
    remember(error.what());
    return LATHER_CALLBACK;
  } catch (const std::bad_alloc&) {
    remember("out of memory");
    return LATHER_OUT_OF_MEMORY;
  } catch (const Error& error) {
    remember(error.what());
    return LATHER_INVALID;
  } catch (const std::filesystem::filesystem_error& error) {  // a path that the system refuses
    remember(error.what());
    return LATHER_INVALID;
  } catch (const std::exception& error) {
    remember(error.what());
    return LATHER_FAILED;
  } catch (...) {
    remember("an unknown exception");
    return LATHER_FAILED;
  }
}

const char* keep_text(std::string text) {
  last_text = std::move(text);
  return last_text.c_str();
}

const std::string& keep_bytes(std::string bytes) {
  last_bytes = std::move(bytes);
  return last_bytes;
}

extern "C" {

std::int32_t lather_api_version() { return LATHER_API_VERSION; }

const char* lather_version() {
  static const std::string text(version());
  return text.c_str();
}

const char* lather_last_error() { return last_error.c_str(); }

std::int32_t lather_environment(const char** json) {
  return guarded([&] { give_json(json, train::to_json(train::find_environment())); });
}

}  // extern "C"

}  // namespace lather::capi
