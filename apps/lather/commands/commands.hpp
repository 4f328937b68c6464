#pragma once
// Every subcommand is a function that adds itself to the application; its callback may set the exit status.

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

namespace lather::command {

using AddCommand = std::function<void(CLI::App& app, int& exit_status)>;

void add_check(CLI::App& app, int& exit_status);
void add_list(CLI::App& app, int& exit_status);
void add_reference(CLI::App& app, int& exit_status);
void add_train(CLI::App& app, int& exit_status);
void add_eval(CLI::App& app, int& exit_status);
void add_predict(CLI::App& app, int& exit_status);
void add_export(CLI::App& app, int& exit_status);
void add_compare(CLI::App& app, int& exit_status);
void add_watch(CLI::App& app, int& exit_status);
void add_status(CLI::App& app, int& exit_status);
void add_sweep(CLI::App& app, int& exit_status);
void add_report(CLI::App& app, int& exit_status);
void add_doctor(CLI::App& app, int& exit_status);
void add_completion(CLI::App& app, int& exit_status);

// Words that were commands: each says where it is now.
void add_moved(CLI::App& app, int& exit_status);

std::vector<AddCommand> all_commands();

}  // namespace lather::command
