#include "commands.hpp"

namespace lather::command {

std::vector<AddCommand> all_commands() { return {add_check, add_list, add_reference}; }

}  // namespace lather::command
