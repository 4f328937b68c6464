#include "commands.hpp"

namespace lather::command {

std::vector<AddCommand> all_commands() { return {add_list, add_replay}; }

}  // namespace lather::command
