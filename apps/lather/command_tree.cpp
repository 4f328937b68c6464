#include "command_tree.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lather/core/version.hpp"

namespace lather::command {

namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

// Options with a flag name, including --help; no positionals.
std::vector<const CLI::Option*> flags_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* o) { return o->nonpositional() && !o->get_group().empty(); });
}
std::vector<const CLI::Option*> positionals_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* o) { return o->get_positional(); });
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : flags_of(app)) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    for (const auto& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// Words that complete to names the program itself knows.
constexpr const char* kProblemCommands = "train|check|compare";

std::string quoted(std::string text) {
  for (std::size_t i = 0; (i = text.find('\'', i)) != std::string::npos; i += 4) text.replace(i, 1, "'\\''");
  return "'" + text + "'";
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const auto* command : commands_of(app)) {
    names.push_back(command->get_name());
    std::vector<std::string> words = flag_names(*command);
    for (const auto* sub : commands_of(*command)) words.push_back(sub->get_name());
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), fmt::join(words, " "));
  }
  return fmt::format(R"sh(# bash completion of lather: source <(lather completion bash)
_lather() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$current"))
    return
  fi
  case $previous in
    --optimizer|--optimizers) words=$(lather list optimizers --names 2>/dev/null) ;;
    --recipe|--size) words="quick best paper" ;;
    --device) words="cpu cuda" ;;
    --precision) words="float64 float32" ;;
    --reduction) words="host nccl nccl-sum" ;;
    --format) words="npz vtk vtu safetensors tensorboard" ;;
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case $command in
{}  esac
  case $command in
    {}) words="$words $(lather list problems --names 2>/dev/null)" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}}
complete -o filenames -F _lather lather
)sh",
                     fmt::join(names, " "), cases, kProblemCommands);
}

std::string zsh_completion(const CLI::App& app) {
  std::string commands, cases;
  for (const auto* command : commands_of(app)) {
    commands += fmt::format("    {}\n", quoted(command->get_name() + ":" + command->get_description()));
    std::string words;
    for (const auto* option : flags_of(*command))
      for (const auto& name : option->get_lnames())
        words += " " + quoted("--" + name + ":" + option->get_description());
    for (const auto* sub : commands_of(*command))
      words += " " + quoted(sub->get_name() + ":" + sub->get_description());
    cases += fmt::format("    {}) choices=({} ) ;;\n", command->get_name(), words);
  }
  return fmt::format(R"sh(#compdef lather
# zsh completion of lather: lather completion zsh > "${{fpath[1]}}/_lather"
_lather() {{
  local -a commands choices names
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[CURRENT-1] in
    --optimizer|--optimizers) names=(${{(f)"$(lather list optimizers --names 2>/dev/null)"}}); _describe optimizer names; return ;;
  esac
  local command=$words[2]
  case $command in
{}  esac
  case $command in
    {}) names=(${{(f)"$(lather list problems --names 2>/dev/null)"}}); _describe problem names ;;
  esac
  _describe option choices
  _files
}}
compdef _lather lather
)sh",
                     commands, cases, kProblemCommands);
}

std::string fish_completion(const CLI::App& app) {
  std::string out =
      "# fish completion of lather: lather completion fish > ~/.config/fish/completions/lather.fish\n";
  for (const auto* command : commands_of(app)) {
    const auto& name = command->get_name();
    out += fmt::format("complete -c lather -n __fish_use_subcommand -a {} -d {}\n", name,
                       quoted(command->get_description()));
    const std::string seen = quoted("__fish_seen_subcommand_from " + name);
    for (const auto* option : flags_of(*command))
      for (const auto& flag : option->get_lnames())
        out += fmt::format("complete -c lather -n {} -l {} -d {}\n", seen, flag,
                           quoted(option->get_description()));
    for (const auto* sub : commands_of(*command))
      out += fmt::format("complete -c lather -n {} -a {} -d {}\n", seen, sub->get_name(),
                         quoted(sub->get_description()));
  }
  out +=
      "complete -c lather -n '__fish_seen_subcommand_from train check compare estimate' -a '(lather list "
      "problems "
      "--names 2>/dev/null)'\n";
  out += "complete -c lather -l optimizer -a '(lather list optimizers --names 2>/dev/null)'\n";
  return out;
}

namespace {

std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out;
}

// Lines that start with a dot would be commands.
std::string troff_lines(const std::string& text) {
  std::string out;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = troff(text.substr(start, end - start));
    out += (line.starts_with(".") ? "\\&" : "") + line + "\n";
    start = end + 1;
  }
  return out;
}

std::string manual_of(const CLI::App& command, const std::string& path) {
  std::string synopsis = path;
  for (const auto* option : positionals_of(command)) {
    const std::string name = option->get_name(true);
    synopsis += option->get_required() ? " " + name : " [" + name + "]";
  }
  if (!flags_of(command).empty()) synopsis += " [options]";
  std::string out = fmt::format(".SS \"{}\"\n{}.\n", troff(synopsis), troff(command.get_description()));
  for (const auto* option : positionals_of(command))
    out += fmt::format(".TP\n.I {}\n{}\n", troff(option->get_name(true)), troff(option->get_description()));
  for (const auto* option : flags_of(command)) {
    if (option == command.get_help_ptr()) continue;
    const std::string value = option->get_type_size() != 0 ? " " + option->get_type_name() : "";
    out +=
        fmt::format(".TP\n.B {}\n{}\n", troff(option->get_name() + value), troff(option->get_description()));
  }
  if (!command.get_footer().empty())
    out += fmt::format(".PP\n.nf\n{}.fi\n", troff_lines(command.get_footer()));
  for (const auto* sub : commands_of(command)) out += manual_of(*sub, path + " " + sub->get_name());
  return out;
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  std::string out = fmt::format(
      ".\\\" Generated by `lather completion man`; a test compares it with the command.\n"
      ".TH LATHER 1 \"\" \"lather {}\" \"User Commands\"\n.SH NAME\nlather \\- {}\n.SH SYNOPSIS\n.B "
      "lather\n.I command\n[options]\n"
      ".SH DESCRIPTION\n{}\nA problem is a text file; `lather list problems` names the built-in "
      "ones.\n.SH COMMANDS\n",
      version(), "physics\\-informed neural networks to high accuracy", troff(app.get_description()));
  for (const auto* command : commands_of(app)) out += manual_of(*command, "lather " + command->get_name());
  out += R"(.SH EXIT STATUS
.TP
0
Success.
.TP
1
Invalid command line.
.TP
2
An error, described on standard error.
.TP
3
Training ended without reaching its target, or the loss became NaN.
.TP
4
There is not enough memory.
.TP
130
Training was interrupted and saved.
.SH ENVIRONMENT
.TP
.B LATHER_PROBLEMS
folders with more problem files, separated by colons
.TP
.B LATHER_CACHE
folder for computed reference solutions and compiled kernels (default $XDG_CACHE_HOME/lather or ~/.cache/lather)
.SH FILES
.TP
runs/
run folders, one per training
)";
  return out;
}

}  // namespace lather::command
