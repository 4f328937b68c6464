#include "commands.hpp"

namespace lather::command {

std::vector<AddCommand> all_commands() { return {add_check, add_list, add_reference, add_replay, add_task}; }

}  // namespace lather::command
