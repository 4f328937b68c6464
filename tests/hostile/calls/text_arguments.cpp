// Texts, files and folders as arguments.
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "call.hpp"
#include "texts.hpp"

namespace lather::hostile {

namespace fs = std::filesystem;

const char* Call::text(std::string valid) {
  if (chance_.one_in(24)) {
    note("NULL");
    return nullptr;
  }
  return given(chance_.one_in(5) ? texts::spoilt(chance_, std::move(valid)) : valid);
}

const char* Call::problem_text() { return text(texts::problem(chance_, world_.folder)); }
const char* Call::run_settings() { return text(texts::settings(chance_)); }
const char* Call::optimizer_settings() { return text(texts::optimizer(chance_)); }
const char* Call::blocks() { return text(texts::blocks(chance_)); }
const char* Call::limits() { return text(texts::limits(chance_)); }
const char* Call::sweep_text() { return text(texts::sweep(chance_)); }
const char* Call::sweep_options() { return text(texts::sweep_options(chance_)); }
const char* Call::compare_options() { return text(texts::compare_options(chance_)); }
const char* Call::contestants() { return text(texts::contestants(chance_)); }
const char* Call::groups() { return text(texts::groups(chance_)); }

const char* Call::quantities() {
  const auto list = texts::quantities(chance_);
  if (chance_.one_in(24)) {
    note("NULL");
    return nullptr;
  }
  return given(list);
}
std::size_t Call::parts(const char* list) const {
  std::size_t count = 1;
  for (; list && *list; ++list) count += *list == ',';
  return count;
}

const char* Call::point_set() {
  return text(chance_.of<std::string>({"interior", "start", "walls", "seen", "interior", "nothing", ""}));
}

const char* Call::problem_label() {
  if (chance_.one_in(12))
    return text(chance_.of<std::string>({"", "problem", std::string(5000, 'n'), "\x1b[2J", "a\nb"}));
  return given((world_.folder / "p.toml").string());
}

const char* Call::problem_file() {
  if (chance_.one_in(3))
    return text(chance_.of<std::string>(
        {"tiny", "tinny", "", ".", "missing.toml", std::string(5000, 'n'), "/dev/null", "p.toml/", "\xff"}));
  std::ofstream(world_.folder / "p.toml", std::ios::binary | std::ios::trunc)
      << texts::problem(chance_, world_.folder);
  return given("p.toml");
}

namespace {

fs::path one_of_its_files(Chance& chance, const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files.empty() ? folder / "config.json" : chance.any(files);
}

// A run folder as somebody else might hand it over.
void damage(Chance& chance, const fs::path& folder) {
  const auto file = one_of_its_files(chance, folder);
  const auto before = texts::content(file);
  switch (chance.below(8)) {
    case 0: fs::remove(file); break;
    case 1:
      fs::remove(file);
      fs::create_directory(file);
      break;
    case 2:
      fs::remove(file);
      fs::create_symlink(chance.of({"/etc/passwd", "missing", "config.json", "."}), file);
      break;
    case 3:
      fs::remove(file);
      ::mkfifo(file.c_str(), 0600);
      break;
    case 4: std::ofstream(file, std::ios::binary | std::ios::trunc) << texts::spoilt(chance, before); break;
    default: std::ofstream(file, std::ios::binary | std::ios::trunc) << texts::damaged(chance, before);
  }
}

}  // namespace

// NULL, a new name, a run of this sequence, a finished run, whole or damaged, or no folder at all.
const char* Call::folder() {
  switch (chance_.below(10)) {
    case 0:
    case 1: note("NULL"); return nullptr;
    case 2: return given("");
    case 3:
      return given(chance_.of<std::string>(
          {"missing/below", ".", "p.toml", "/dev/null", std::string(5000, 'n'), "\xff\x1b[2J", "a b"}));
    case 4:
    case 5: return given("run" + std::to_string(chance_.below(3)));
    default: break;
  }
  const fs::path copy = world_.folder / ("copy" + std::to_string(chance_.below(2)));
  std::error_code ignored;
  fs::remove_all(copy, ignored);
  fs::copy(finished_run(), copy, fs::copy_options::recursive, ignored);
  for (std::size_t k = chance_.below(3); k > 0 && !ignored; --k) damage(chance_, copy);
  return given(copy.filename().string());
}

const char* Call::checkpoint_file() {
  if (chance_.one_in(3))
    return given(chance_.of<std::string>({"state", "state2", "", ".", "missing/state", "fifo"}));
  const auto file = world_.folder / "state";
  const auto checkpoint = one_of_its_files(chance_, finished_run() / "checkpoints");
  if (name_ == std::string("lather_trainer_load")) {
    const auto bytes =
        fs::exists(file) && chance_.one_in(2) ? texts::content(file) : texts::content(checkpoint);
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        << (chance_.one_in(3) ? bytes : texts::damaged(chance_, bytes));
  }
  return given("state");
}

const char* const* Call::run_list() {
  length_ = chance_.below(4);
  if (chance_.one_in(20)) {
    note("NULL");
    return nullptr;
  }
  const auto list = static_cast<const char**>(take(length_ * sizeof(const char*)));
  for (std::size_t k = 0; k < length_; ++k) list[k] = folder();
  return list;
}

}  // namespace lather::hostile
