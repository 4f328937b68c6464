#include "lather/capi/guard.hpp"

#include <fmt/format.h>

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
  } catch (const Interrupted&) {
    remember("interrupted");
    heed_interrupt();
    return LATHER_INTERRUPTED;
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

std::size_t array_length(const char* name, std::uint64_t count, std::uint64_t width) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 44;  // doubles: 128 TiB
  if (width > 0 && count > kMost / width)
    throw Error(fmt::format("{} = {}: more than any memory holds", name, count));
  return count * width;
}

void require_structure_size(const char* name, std::uint64_t size, std::size_t first, std::size_t known) {
  constexpr std::uint64_t kMost = 4096;  // of any version
  if (size < first || size > kMost)
    throw Error(fmt::format("{}.size is {}: set it to sizeof({}), which is {}", name, size, name, known));
}

void require_nothing_unknown(const char* name, const void* structure, std::uint64_t size, std::size_t known) {
  const auto* const bytes = static_cast<const char*>(structure);
  for (std::size_t i = known; i < size; ++i)
    if (bytes[i] != 0)
      throw Error(
          fmt::format("{} has members that this version of Lather ({}) does not know", name, version()));
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
