#include "commands/commands.hpp"

namespace lather::command {

std::vector<AddCommand> all_commands() {
  return {add_train, add_eval,      add_compare, add_sweep,      add_report,
          add_watch, add_status,    add_predict, add_export,     add_list,
          add_check, add_reference, add_doctor,  add_completion, add_moved};
}

}  // namespace lather::command
