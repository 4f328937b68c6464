#!/usr/bin/env python3
"""Reads lather.h and writes the table of calls of the fuzzer: for each function how its arguments are drawn.

    table.py lather.h calls.inc

Nothing is listed by hand but what a kind of argument means. A function, an argument or a member of a structure that no
rule here describes fails the build: whoever extends lather.h says here what its contract is, in one line.
"""
import re
import sys

KINDS = ["problem", "objective", "optimizer", "trainer"]
X = "lather_objective_size(objective)"
R = "lather_objective_residual_count(objective)"

# What an argument is, by type and name, and by function where a name means something else there. The expressions are
# members of Call (call.hpp); earlier arguments may be used by their names.
ARGUMENTS = {
    ("const char*", "name_or_file"): "call.problem_file()",
    ("const char*", "text"): "call.problem_text()",
    ("const char*", "name"): "call.problem_label()",
    ("const char*", "settings"): "call.run_settings()",
    ("const char*", "settings", "lather_optimizer_create"): "call.optimizer_settings()",
    ("const char*", "blocks"): "call.blocks()",
    ("const char*", "set"): "call.point_set()",
    ("const char*", "folder"): "call.folder()",
    ("const char*", "from"): "call.folder()",
    ("const char*", "file"): "call.checkpoint_file()",
    ("const char*", "limits"): "call.limits()",
    ("const char*", "quantities"): "call.quantities()",
    ("const char*", "sweep"): "call.sweep_text()",
    ("const char*", "options"): "call.sweep_options()",
    ("const char*", "options", "lather_compare"): "call.compare_options()",
    ("const char*", "optimizers"): "call.contestants()",
    ("const char*", "groups"): "call.groups()",
    ("const char* const*", "runs"): "call.run_list()",
    ("uint64_t", "count", "lather_report_page"): "call.length(runs)",
    ("uint64_t", "count", "lather_report_figure"): "call.length(runs)",
    ("int32_t", "device"): "call.device()",
    ("int32_t", "best"): "call.flag()",
    ("int32_t", "fine"): "call.flag()",
    ("int32_t", "last"): "call.flag()",
    ("int64_t", "most"): "call.most()",
    ("uint64_t", "seed"): "call.seed()",
    ("double", "factor"): "call.number()",
    ("double", "loss"): "call.number()",
    ("const double*", "x"): f"call.numbers({X})",
    ("double*", "x", "lather_optimizer_step"): f"call.kept_on_failure({X})",
    ("double*", "x", "lather_objective_initialize"): f"call.output({X})",
    ("double*", "value"): "call.output(1)",
    ("double*", "gradient"): f"call.output({X})",
    ("double*", "r"): f"call.output({R})",
    ("uint64_t", "first"): f"call.first_row({R})",
    ("uint64_t", "count", "lather_objective_jacobian"): f"call.row_count({R}, first)",
    ("double*", "rows"): f"call.output(call.fits({R}, first, count) ? count * {X} : 0)",
    ("const double*", "v"): f"call.numbers({X})",
    ("double*", "Jv"): f"call.output({R})",
    ("const double*", "w"): f"call.numbers({R})",
    ("double*", "Jtw"): f"call.output({X})",
    ("uint64_t", "count", "lather_objective_set_points"): "call.point_count()",
    ("const double*", "coordinates", "lather_objective_set_points"): "call.points(count, call.dimensions(objective))",
    ("uint64_t", "count", "lather_trainer_predict"): "call.point_count()",
    ("uint64_t", "count", "lather_trainer_reference"): "call.point_count()",
    ("const double*", "coordinates"): "call.points(count, call.dimensions(trainer))",
    ("double*", "values", "lather_trainer_predict"): "call.table(count, call.parts(quantities))",
    ("double*", "values", "lather_trainer_reference"): "call.table(count, call.fields(trainer))",
    ("double*", "parameters"): "call.output(lather_trainer_size(trainer))",
    ("const lather_tensor*", "tensors"): "call.tensors(optimizer)",
    ("uint64_t", "count", "lather_optimizer_apply"): "call.length(tensors)",
    ("void*", "stream"): "nullptr",
    ("lather_step*", "step"): "call.step()",
    ("const lather_function*", "function"): "call.function()",
    ("const lather_watcher*", "watcher"): "call.watcher(trainer)",
    ("const lather_runs_watcher*", "watcher"): "call.runs_watcher()",
    ("const void**", "bytes"): "call.result<const void*>()",
    ("uint64_t*", "count"): "call.result<std::uint64_t>()",
    ("const void*", "bytes"): "call.state(optimizer)",
    ("uint64_t", "count", "lather_optimizer_load"): "call.length(bytes)",
}
# What is checked after a call that has succeeded, beside what holds for all.
AFTER = {
    "lather_objective_create": "call.same_dimensions(*objective, problem);",
    "lather_objective_from_function": "call.remember_blocks(*objective, blocks);",
    "lather_optimizer_create": "call.remember_blocks(*optimizer, blocks);",
    "lather_optimizer_save": "call.remember_state(optimizer, *bytes, *count);",
}
# What must hold whether or not it has succeeded.
AROUND = {
    "lather_optimizer_load": "call.unchanged_if_refused(optimizer);",
}
TEXTS = {"json": "json", "summary": "json", "result": "json", "html": "text", "svg": "text", "markdown": "text"}
# Relative to 20. Calls that take long, or that begin what others need.
WEIGHTS = {"lather_sweep": 1, "lather_compare": 1, "lather_trainer_run": 8, "lather_report_page": 3,
           "lather_report_figure": 3, "lather_environment": 2, "lather_problem_names": 4, "lather_trainer_create": 16,
           "lather_trainer_create_or_resume": 6, "lather_trainer_resume": 8, "lather_trainer_open": 8,
           "lather_trainer_reference": 10, "lather_trainer_summary": 8, "lather_optimizer_catalogue": 4,
           "lather_api_version": 2, "lather_version": 2, "lather_last_error": 4, "lather_optimizer_step": 40,
           "lather_optimizer_apply": 40}
NO_STATUS = {"lather_api_version", "lather_release_interrupts", "lather_interrupted"}  # an int32_t that is not a status
MEMBERS = {
    "lather_step": "size loss gradient_norm step_norm steps evaluations basis_updates status message",
    "lather_tensor": "parameter gradient type count",
    "lather_function": "size user value residual_count residuals jacobian",
    "lather_progress": "size step steps stage stages loss gradient_norm residual l2 seconds steps_per_second "
                       "seconds_left recorded",
    "lather_watcher": "size user progress message interval",
    "lather_runs_watcher": "size user message stop",
}


def fail(words: str) -> None:
    sys.exit(f"{sys.argv[1]}: {words}; say in tests/hostile/calls/table.py what it is")


def read(header: str) -> tuple[dict[str, str], list[tuple[str, str, list[tuple[str, str]]]]]:
    """Structures with their bodies, and functions as (result, name, [(type, name), …])."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    structures = dict(re.findall(r"typedef struct (lather_\w+) \{(.*?)\} \1;", text, flags=re.S))
    text = re.sub(r"typedef struct lather_\w+ \{.*?\} lather_\w+;", "", text, flags=re.S)
    text = re.sub(r"typedef [^;]*;|enum \{[^}]*\};|extern \"C\" \{", "", text)
    functions = []
    for result, name, inside in re.findall(r"([\w *]+?)\b(lather_\w+)\(([^()]*)\);", text):
        arguments = []
        for argument in filter(None, re.sub(r"\s+", " ", inside).strip().replace("void", "", inside.strip() == "void").split(",")):
            kind, word = re.fullmatch(r"\s*(.*?)(\w+)\s*", argument).groups()
            arguments.append((re.sub(r"\s*\*", "*", kind).strip(), word))
        functions.append((re.sub(r"\s*\*", "*", result).strip(), name, arguments))
    rest = re.sub(r"[\w *]+?\blather_\w+\([^()]*\);", "", text).replace("}", "").strip()
    if rest:
        fail(f"not understood: {rest[:200]!r}")
    return structures, functions


def argument_code(function: str, kind: str, name: str) -> str:
    plain = kind.removeprefix("const ")
    for thing in KINDS:
        if plain == f"lather_{thing}*":
            return f"call.some_{thing}()"
        if plain == f"lather_{thing}**":
            return f"call.result<lather_{thing}*>()"
    if kind == "const char**" and name in TEXTS:
        return "call.result<const char*>()"
    found = ARGUMENTS.get((kind, name, function), ARGUMENTS.get((kind, name)))
    if found is None:
        fail(f"argument '{kind} {name}' of {function} has no rule")
    return found


def call_code(result: str, name: str, arguments: list[tuple[str, str]]) -> str:
    lines, after = [], []
    if name.endswith("_free"):
        lines += [f"call.release_{name.split('_')[1]}();"]
        return entry(name, lines)
    for kind, word in arguments:
        lines.append(f"{kind} {word} = {argument_code(name, kind, word)};")
        if kind == "const char**":
            after.append(f"call.check_{TEXTS[word]}({word});")
        thing = kind.removeprefix("lather_").removesuffix("**")
        if kind.endswith("**") and thing in KINDS:
            after.append(f"call.keep_{thing}({word});")
    invocation = f"{name}({', '.join(word for _, word in arguments)})"
    if name in AROUND:
        lines.append(AROUND[name])
    lines.append("call.begin();")
    if result == "void":
        lines += [f"{invocation};", "call.returned();"]
    elif result == "int32_t" and name not in NO_STATUS:
        if name in AFTER:
            after.insert(0, AFTER[name])
        judged = f"call.judged({invocation})"
        lines.append(f"if ({judged}) {{ {' '.join(after)} }}" if after else f"{judged};")
    elif result in ("int32_t", "uint64_t"):
        lines.append(f"call.returned({invocation});")
    elif result == "const char*":
        lines.append(f"call.returned_text({invocation});")
    else:
        fail(f"{name} returns '{result}'")
    return entry(name, lines)


def entry(name: str, lines: list[str]) -> str:
    body = "\n".join("     " + line for line in lines)
    return f"{{\"{name}\", {WEIGHTS.get(name, 20)}, [](Call& call) {{\n{body}\n   }}}},\n"


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        structures, functions = read(file.read())
    for structure, body in structures.items():
        members = re.findall(r"\(\*(\w+)\)\([^)]*\)|(\w+)\s*(?=[,;])", body)
        members = " ".join(pointer or plain for pointer, plain in members)
        if MEMBERS.get(structure) != members:
            fail(f"{structure} has the members '{members}', known are '{MEMBERS.get(structure)}'")
    for unused in (set(WEIGHTS) | set(AFTER) | set(AROUND)) - {name for _, name, _ in functions}:
        fail(f"{unused} has a rule, but is not declared")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("// Generated by tests/hostile/calls/table.py from lather.h.\n")
        file.writelines(call_code(*function) for function in functions)


main()
