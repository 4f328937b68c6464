// lather list problems|optimizers|networks|experiments [NAME]
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "lather/core/error.hpp"
#include "lather/net/architecture.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/optim/clipped.hpp"
#include "lather/optim/schedule.hpp"
#include "lather/optim/schedule_free.hpp"
#include "lather/optim/switching.hpp"
#include "lather/pde/find_problem.hpp"
#include "lather/pde/problem_file.hpp"
#include "lather/pde/problem_text.hpp"

namespace lather::command {

namespace {

struct ListArguments {
  std::string name;
  bool names = false;  // nothing but the names, for scripts and completion
};

void print_options(const std::vector<FieldDescription>& options, const std::string& prefix) {
  for (const auto& o : options) {
    fmt::print("  {:<34} {:<14} {}{}\n", prefix + o.name, o.default_value.empty() ? "-" : o.default_value,
               o.help, o.range.empty() ? "" : fmt::format("; {}", o.range));
  }
}

void list_problems(const ListArguments& a) {
  if (!a.name.empty()) {
    fmt::print("{}", pde::describe(pde::read_problem_file(pde::find_problem(a.name))));
    return;
  }
  for (const auto& name : pde::list_problems()) {
    if (a.names) {
      fmt::print("{}\n", name);
      continue;
    }
    try {
      fmt::print("{:<24} {}\n", name, pde::read_problem_file(pde::find_problem(name)).title);
    } catch (const std::exception& error) {
      fmt::print("{:<24} (unreadable: {})\n", name, error.what());
    }
  }
}

void list_optimizers(const ListArguments& a) {
  if (a.name.empty()) {
    for (const auto& e : optim::catalogue()) {
      if (a.names)
        fmt::print("{}\n", e.name);
      else
        fmt::print("{:<20} {}\n", e.name, e.summary);
    }
    return;
  }
  const auto& e = optim::find_optimizer(a.name);
  fmt::print("{}: {}\n\noptions, with defaults (lather train … --set optimizer.learning_rate=1e-3)\n", e.name,
             e.summary);
  print_options(e.describe(), "optimizer.");
  fmt::print("\nof any optimizer\n");
  print_options(options::describe(optim::ScheduleOptions{}), "optimizer.schedule.");
  print_options(options::describe(optim::ClipOptions{}), "optimizer.clip.");
  print_options(options::describe(optim::ScheduleFreeOptions{}), "optimizer.schedule_free.");
  fmt::print("  {:<34} {:<14} {}\n", "optimizer.then.name", "-",
             "a second optimizer, with options of its own, and when to switch to it:");
  print_options(options::describe(optim::SwitchOptions{}), "optimizer.then.");
}

void list_networks(const ListArguments& a) {
  const std::vector<std::pair<std::string, const char*>> networks = {
      {"mlp", "dense layers"},
      {"modified-mlp",
       "dense layers with gates between two embeddings of the input (Wang, Teng, Perdikaris 2021)"},
      {"piratenet", "gated residual blocks that start as the identity (Wang et al. 2024)"}};
  if (!a.name.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, what] : networks) names.push_back(name);
    const auto found = std::find(names.begin(), names.end(), a.name);
    if (found == names.end()) throw Error(unknown_name_message("network", a.name, names));
    fmt::print("{}: {}\n\n", a.name, networks[found - names.begin()].second);
  } else {
    for (const auto& [name, what] : networks) {
      if (a.names)
        fmt::print("{}\n", name);
      else
        fmt::print("{:<16} {}\n", name, what);
    }
    if (a.names) return;
    fmt::print("\n");
  }
  fmt::print("options, with defaults ([network] in a problem file, or --set network.width=128)\n");
  print_options(options::describe(net::NetworkOptions{}), "network.");
}

void list_experiments(const ListArguments& a) {
  std::vector<std::string> names;
  std::error_code status;
  for (const auto& entry : std::filesystem::directory_iterator(LATHER_EXPERIMENT_DIR, status))
    if (entry.is_regular_file()) names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  if (!a.name.empty() && std::find(names.begin(), names.end(), a.name) == names.end())
    throw Error(unknown_name_message("experiment", a.name, names));
  for (const auto& name : names)
    if (a.name.empty() || a.name == name) fmt::print("{}\n", name);
}

}  // namespace

void add_list(CLI::App& app, int&) {
  auto* list = app.add_subcommand("list", "What there is: problems, optimizers, networks, experiments");
  list->require_subcommand(1);
  list->footer(
      "Examples:\n  lather list problems\n  lather list optimizers ss-esoap\n  lather list networks");
  auto a = std::make_shared<ListArguments>();
  const auto add = [&](const char* name, const char* what, void (*action)(const ListArguments&)) {
    auto* sub = list->add_subcommand(name, what);
    sub->add_option("name", a->name, "one of them, in detail")->type_name("NAME");
    sub->add_flag("--names", a->names, "the names alone");
    sub->callback([a, action] { action(*a); });
  };
  add("problems", "Built-in problems and those in $LATHER_PROBLEMS", list_problems);
  add("optimizers", "Optimizers; with a name, its options and their defaults", list_optimizers);
  add("networks", "Networks and their options", list_networks);
  add("experiments", "Experiments that come along", list_experiments);
}

}  // namespace lather::command
