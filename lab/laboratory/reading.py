"""Reads experiment files. A mistake is a LabError that names its place and, for a name, the nearest valid one."""
from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from . import quantities
from .experiment import (TUNING_SEED, Budget, Check, Experiment, Figure, LabError, Maps, Metric, PaperValue, Problem,
                         Settings, Table, Variant, is_wanted)

EXPERIMENTS = Path(__file__).resolve().parent.parent.parent / "experiments"
BUDGETS = ("quick", "short", "paper")
RESULTS = ("out of memory", "diverged", "did not reach it")  # of runs that have no number
NOTHING = object()
T = TypeVar("T")


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    known = sorted(set(known))
    nearest = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else f"; known: {', '.join(known)}"
    return f"unknown {what} '{name}'{hint}"


def require_known(what: str, name: str, known: Iterable[str]) -> str:
    known = list(known)
    if name not in known:
        raise LabError(unknown(what, name, known))
    return name


def flatten(table: dict[str, Any], path: str = "") -> Settings:
    """network.width = 20 is a table in a table: values by path."""
    settings: Settings = {}
    for key, value in table.items():
        here = f"{path}.{key}" if path else key
        settings.update(flatten(value, here) if isinstance(value, dict) else {here: value})
    return settings


class Reader:
    """One table of the file: its keys are asked for, then done() names what is left."""

    def __init__(self, table: Any, what: str) -> None:
        if not isinstance(table, dict):
            raise LabError(f"{what} must be a table")
        self.table, self.what, self.known = table, what, list[str]()

    def get(self, key: str, kind: type | tuple[type, ...], words: str, otherwise: Any = NOTHING) -> Any:
        self.known.append(key)
        if key not in self.table:
            if otherwise is NOTHING:
                raise LabError(f"{key} is missing")
            return otherwise
        value = self.table[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise LabError(f"{key} must be {words}, not {value!r}")
        return value

    def text(self, key: str, otherwise: Any = "") -> str:
        value = self.get(key, str, "a text", otherwise)
        if otherwise is NOTHING and not value:
            raise LabError(f"{key} must not be empty")
        return value

    def name(self, key: str, hint: str = "") -> str:
        """A name that files are called after."""
        name = self.text(key, NOTHING)
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", name):
            raise LabError(f"{key} must be 1 to 64 letters, digits, '-', '_' and '.', the first one neither '-' nor "
                           f"'.', since files are named after it; got '{name}'{hint}")
        return name

    def flag(self, key: str, otherwise: bool = False) -> bool:
        return self.get(key, bool, "true or false", otherwise)

    def whole(self, key: str, otherwise: Any = NOTHING, least: int = 1) -> int:
        value = self.get(key, int, "a whole number", otherwise)
        if value < least and key in self.table:
            raise LabError(f"{key} must be at least {least}, not {value}")
        return value

    def positive(self, key: str) -> float:
        value = self.get(key, (int, float), "a positive number", 0)
        if key in self.table and not value > 0:
            raise LabError(f"{key} must be a positive number")
        return float(value)

    def names(self, key: str, what: str, known: Iterable[str], distinct: bool = True) -> list[str]:
        names = self.get(key, list, "a list of names", [])
        for name in names:
            require_known(what, name, known)
            if distinct and names.count(name) > 1:
                raise LabError(f"{key} names '{name}' twice")
        return names

    def settings(self, key: str) -> Settings:
        return flatten(self.get(key, dict, "a table", {}))

    def settings_by_name(self, key: str, known: Iterable[str]) -> dict[str, Settings]:
        tables = self.get(key, dict, "a table", {})
        return {require_known(key, name, known): flatten(Reader(table, f"{key}.{name}").table)
                for name, table in tables.items()}

    def tables(self, key: str, read: Callable[[Reader], T], needed: bool = False) -> list[T]:
        entries = self.get(key, list, f"a list of tables, [[{key}]]", NOTHING if needed else [])
        if needed and not entries:
            raise LabError(f"expected [[{key}]], a list of tables")
        result = []
        for number, entry in enumerate(entries, 1):
            called = entry.get("name") or entry.get("label") or entry.get("says") or entry.get("title") if isinstance(
                entry, dict) else None
            place = f"[[{key}]] {number}" + (f" ('{called}')" if called else "")
            result.append(at(place, lambda: read_whole(entry, place, read)))
        return result

    def done(self) -> None:
        for key in self.table:
            if key not in self.known:
                raise LabError(unknown("key", key, self.known))


def read_whole(table: Any, what: str, read: Callable[[Reader], T]) -> T:
    reader = Reader(table, what)
    result = read(reader)
    reader.done()
    return result


def at(place: str, do: Callable[[], T]) -> T:
    """Puts the place in front of the message of a mistake."""
    try:
        return do()
    except LabError as error:
        raise LabError(f"{place}: {error}") from None


def require_distinct(entries: list[Any], what: str) -> list[str]:
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise LabError(f"the {what} '{name}' is given twice")
    return names


def read_problem(r: Reader) -> Problem:
    name = r.name("name", '; a file is given by `problem = "path/to/file.toml"`')
    task = r.text("task")
    if task:
        require_known("task", task, quantities.TASK_METRICS)
        if "problem" in r.table:
            raise LabError("a row has a `problem` or a `task`, not both")
    return Problem(name, r.text("label", name), r.text("problem", name), task, r.settings("settings"))


def read_variant(r: Reader, problems: list[Problem]) -> Variant:
    rows = [p.name for p in problems]
    name = r.name("name")
    variant = Variant(name, r.text("label", name), r.text("optimizer", name), r.settings("settings"))
    variant.grid = r.settings("grid")
    for path, values in variant.grid.items():
        if not isinstance(values, list) or not values:
            raise LabError(f"grid.{path} must be a list of values")
    variant.only = r.names("only", "problem", rows)
    for row, file in r.get("instead", dict, "a table", {}).items():
        require_known("problem", row, rows)
        if next(p for p in problems if p.name == row).task:
            raise LabError(f"'{row}' is a matrix problem: no problem file can take its place")
        variant.instead[row] = file
    return variant


def read_quantity(text: str) -> str:
    if not quantities.is_task_metric(text):
        require_known("quantity", text, (*quantities.OF_TRAININGS, "task.loss"))
    return text


def paper_value(value: Any) -> PaperValue:
    def number(item: Any) -> bool:
        return isinstance(item, (int, float)) and not isinstance(item, bool)
    if number(value):
        return PaperValue(float(value))
    if isinstance(value, str):
        return PaperValue(text=value)
    if isinstance(value, list) and len(value) == 2 and all(map(number, value)):
        return PaperValue(float(value[0]), float(value[1]))
    raise LabError('a value of the paper must be a number, [mean, deviation], or a text such as "OOM"')


def read_metric(r: Reader, problems: list[str], variants: list[str]) -> Metric:
    quantity = read_quantity(r.text("quantity", NOTHING))
    of_task = quantities.is_task_metric(quantity)
    metric = Metric(quantity, r.text("label", quantity.removeprefix("task.")), r.whole("step", 0), r.flag("largest"),
                    r.positive("target"), r.flag("ranked", True))
    if metric.step and not of_task:
        raise LabError("only a task metric is given at a step")
    if metric.largest and (not of_task or metric.step):
        raise LabError("only a task metric without a step can be the largest of all steps")
    if (quantity == "seconds_to_target") != (metric.target > 0):
        raise LabError("seconds_to_target needs a target, and nothing else has one")
    for problem, row in r.get("paper", dict, "a table", {}).items():
        require_known("problem", problem, problems)
        metric.paper[problem] = {require_known("variant", variant, variants): paper_value(value)
                                 for variant, value in Reader(row, f"paper.{problem}").table.items()}
    return metric


def metric_called(label: str, e: Experiment) -> Metric:
    if label:
        require_known("metric", label, (m.label for m in e.metrics))
    return next(m for m in e.metrics if not label or m.label == label)


def read_check(r: Reader, e: Experiment) -> Check:
    variants, rows = [v.name for v in e.variants], [p.name for p in e.problems]
    check = Check(r.text("says", NOTHING), metric_called(r.text("metric"), e),
                  r.names("problems", "problem", rows) or rows, r.flag("ours"), r.text("question"))
    check.variant, check.over = r.text("variant"), r.text("over")
    for name in filter(None, (check.variant, check.over)):
        require_known("variant", name, variants)
    check.below = r.names("below", "variant", variants)
    bounds = r.get("range", list, "[smallest, largest]", [])
    if bounds:
        if len(bounds) != 2 or not all(isinstance(b, (int, float)) for b in bounds) or not bounds[0] < bounds[1]:
            raise LabError("range must be [smallest, largest]")
        check.low, check.high = map(float, bounds)
    check.events, check.result, check.not_tested = r.text("events"), r.text("result"), r.text("not_tested")
    if check.events:
        require_known("quantity of events", check.events, quantities.OF_EVENTS)
    if check.result:
        require_known("result", check.result, RESULTS)
    kinds = sum(map(bool, (check.below, check.over, check.events, check.result, check.not_tested)))
    needs_range, alone = bool(check.over or check.events), kinds == 0 and bool(bounds)
    if (kinds != 1 and not alone) or (not alone and needs_range != bool(bounds)) or \
            bool(check.variant) == bool(check.not_tested):
        raise LabError("a check needs a variant and one of `below`, `range`, `over` with `range`, `events` with "
                       "`range`, `result`; or, without a variant, `not_tested`")
    if bounds and check.high <= 0 and check.events != "gradient_cosine_after_10":
        raise LabError("range: only the cosine of gradients can be negative")
    if check.variant and (check.variant in check.below or check.variant == check.over):
        raise LabError(f"the check compares the variant '{check.variant}' with itself")
    return check


def read_table(r: Reader, variants: list[str]) -> Table:
    table = Table(r.text("title", NOTHING), r.names("variants", "variant", variants, distinct=False), r.text("about"),
                  r.flag("pairs"))
    if len(table.variants) < 2:
        raise LabError("variants must name two of them at least")
    if table.pairs and len(table.variants) % 2:
        raise LabError("a table with pairs = true must name an even number of variants")
    rows = [tuple(table.variants[i:i + 2]) for i in range(0, len(table.variants), 2)] if table.pairs else table.variants
    for row in rows:
        if table.pairs and row[0] == row[1]:
            raise LabError(f"the table compares the variant '{row[0]}' with itself")
        if rows.count(row) > 1:
            raise LabError(f"variants has '{' with '.join(row) if table.pairs else row}' twice")
    return table


def read_figure(r: Reader, e: Experiment) -> Figure:
    figure = Figure(r.name("name"), r.text("title"), r.names("variants", "variant", [v.name for v in e.variants]))
    figure.quantity = read_quantity(r.text("quantity", "mean_square"))
    if figure.quantity not in quantities.DRAWN_OVER_STEPS and not quantities.is_task_metric(figure.quantity):
        raise LabError(f"a figure shows {', '.join(quantities.DRAWN_OVER_STEPS)} or a task metric")
    figure.over = require_known("axis of a figure", r.text("over", "steps"),
                                ["steps", "seconds", "changes", *(path for p in e.problems for path in p.settings)])
    label = r.text("metric")
    if figure.over == "changes" and (label or "quantity" in r.table):
        raise LabError("a figure over changes of bases shows the training loss, and names nothing else")
    if ("quantity" in r.table) if figure.over_setting() else label:
        raise LabError("a figure over steps or seconds shows a `quantity`, one over a setting a `metric`")
    figure.metric = metric_called(label, e) if figure.over_setting() else None
    return figure


def read_maps(r: Reader, e: Experiment) -> Maps:
    rows = [p.name for p in e.problems]
    return Maps(r.names("problems", "problem", rows) or rows,
                require_known("variant", r.text("variant", NOTHING), [v.name for v in e.variants]))


def read_budget(r: Reader, e: Experiment) -> Budget:
    problems, variants = [p.name for p in e.problems], [v.name for v in e.variants]
    budget = Budget(r.whole("steps"), r.whole("tuning_steps", 0), r.whole("tuning_seeds", 1), r.whole("seeds", 1),
                    r.whole("grid_values", 0), r.positive("time_limit"), r.positive("cost"),
                    r.names("problems", "problem", problems), r.names("variants", "variant", variants),
                    r.names("axes", "axis of a grid", [path for v in e.variants for path in v.grid]),
                    r.settings("settings"), r.settings_by_name("problem", problems),
                    r.settings_by_name("variant", variants))
    if "tuning_seeds" in r.table and not budget.tuning_steps:
        raise LabError("tuning_seeds has no effect without tuning_steps: nothing is tuned")
    if budget.seeds >= TUNING_SEED:
        raise LabError(f"seeds must be less than {TUNING_SEED}: settings are chosen on seed {TUNING_SEED}, which must "
                       f"not be reported; got {budget.seeds}")
    run = [p for p in e.problems for v in e.variants if budget.runs(p, v)]
    if not run:
        raise LabError("this budget runs nothing: none of its variants is run on any of its problems")
    if budget.time_limit and all(p.task for p in run):
        raise LabError("time_limit has no effect on matrix problems, and this budget has no others")
    for figure in e.figures:
        if figure.over_setting():
            require_places(e, figure, budget)
        if figure.over == "changes" and {**e.settings, **budget.settings}.get("training.record_every") != 1:
            raise LabError(f"the figure '{figure.name}' is over changes of bases: `[settings]` or the budget must "
                           "have training.record_every = 1")
    return budget


def require_places(e: Experiment, figure: Figure, budget: Budget) -> None:
    """A figure over a setting has one place for each problem."""
    places: dict[float, str] = {}
    about = f"the figure '{figure.name}' is over {figure.over}"
    for problem in e.problems:
        number = budget.number_set(problem, figure.over)
        if number is None or not number > 0:
            raise LabError(f"{about}: the problem '{problem.name}' must set it to a positive number")
        if number in places:
            raise LabError(f"{about}, but the problems '{places[number]}' and '{problem.name}' both set it to "
                           f"{number:g}")
        places[number] = problem.name
    for variant in e.variants:
        if figure.over in (variant.settings | budget.variant.get(variant.name, {}) | variant.grid):
            raise LabError(f"{about}: the variant '{variant.name}' must not change it")


def require_measured(e: Experiment, quantity: str) -> None:
    """Raises LabError for what no problem of the experiment measures: its row would be missing."""
    measured = [name for p in e.problems if p.task for name in quantities.TASK_METRICS[p.task]]
    if quantities.is_task_metric(quantity):
        if not measured:
            raise LabError(f"{quantity} is measured on matrix problems, and this experiment has none: they have a "
                           "`task`")
        require_known("task metric", quantity.removeprefix("task."), measured)
    elif e.only_tasks() and quantity not in quantities.OF_MATRIX_PROBLEMS:
        raise LabError(f"{quantity} is not measured on matrix problems, and this experiment has no others; they have "
                       f"{', '.join(quantities.OF_MATRIX_PROBLEMS)} and task.NAME with NAME one of: "
                       f"{', '.join(dict.fromkeys(measured))}")


def read_experiment(tree: dict[str, Any]) -> Experiment:
    r = Reader(tree, "an experiment file")
    name = r.name("name")
    if name in ("all", "index", "reproduction"):
        raise LabError(f"an experiment cannot be named '{name}': " + (
            "`lab/reproduce all` means all of them" if name == "all" else "the page about all experiments is"))
    e = Experiment(name, r.text("title", NOTHING), r.text("paper"), r.text("claim"), r.text("about"),
                   r.text("conclusion"), r.text("recipe", "paper"), r.flag("best"), r.flag("events"), r.flag("tau"),
                   r.settings("settings"))
    e.problems = r.tables("problem", read_problem, needed=True)
    problems = require_distinct(e.problems, "problem")
    e.variants = r.tables("variant", lambda v: read_variant(v, e.problems), needed=True)
    variants = require_distinct(e.variants, "variant")
    e.metrics = r.tables("metric", lambda m: read_metric(m, problems, variants))
    e.checks = r.tables("check", lambda c: read_check(c, e))
    e.tables = r.tables("table", lambda t: read_table(t, variants))
    e.figures = r.tables("figure", lambda f: read_figure(f, e))
    if "maps" in r.table:
        e.maps = at("[maps]", lambda: read_whole(r.get("maps", dict, "a table"), "[maps]", lambda m: read_maps(m, e)))
    budgets = r.get("budget", dict, "a table")
    if not budgets:
        raise LabError(f"[budget] is empty: it needs one of {', '.join(BUDGETS)}")
    for key, table in budgets.items():
        require_known("budget", key, BUDGETS)
        e.budgets[key] = at(f"[budget.{key}]",
                            lambda: read_whole(table, f"[budget.{key}]", lambda b: read_budget(b, e)))
    r.done()
    require_effects(r, e)
    return e


def require_effects(r: Reader, e: Experiment) -> None:
    for key in ("recipe", "best", "events", "tau", "maps") if e.only_tasks() else ():
        if key in r.table:
            raise LabError(f"{key} has no effect on matrix problems, and this experiment has no others")
    longest, labels = max(b.steps for b in e.budgets.values()), [m.label for m in e.metrics]
    for metric in e.metrics:
        require_measured(e, metric.quantity)
        if metric.step > longest:
            raise LabError(f"no budget has the step {metric.step} of the metric '{metric.label}'; the longest has "
                           f"{longest}")
        if labels.count(metric.label) > 1:
            raise LabError(f"the metric '{metric.label}' is given twice: give one of them another label")
    for figure in e.figures:
        require_measured(e, figure.quantity if not (e.only_tasks() and figure.metric) else figure.metric.quantity)
    e.output_files()


def read_experiment_file(file: str | os.PathLike[str]) -> Experiment:
    path = Path(file)

    def read() -> Experiment:
        try:
            return read_experiment(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise LabError(f"cannot be read: {error}") from None
        except tomllib.TOMLDecodeError as error:
            raise LabError(str(error)) from None

    experiment = at(str(path), read)
    experiment.folder = str(path.parent)
    return experiment


def list_experiments() -> list[str]:
    return sorted(file.stem for file in EXPERIMENTS.glob("*.toml"))


def find_experiment(name_or_path: str) -> Path:
    """A bundled experiment by its name, or a file."""
    if name_or_path in list_experiments():
        return EXPERIMENTS / f"{name_or_path}.toml"
    path = Path(name_or_path)
    if path.is_file():
        return path
    if path.is_dir():
        raise LabError(f"'{name_or_path}' is a folder, not an experiment file")
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        raise LabError(f"there is no file '{name_or_path}'")
    raise LabError(unknown("experiment", name_or_path, [*list_experiments(), "all"]))


def read_experiments(names: Iterable[str]) -> list[Experiment]:
    """Those with these names; "all": every one that has a place in the paper, not our own studies."""
    found: list[tuple[Path, Experiment]] = []
    for name in names:
        for each in list_experiments() if name == "all" else [name]:
            file = find_experiment(each)
            experiment = read_experiment_file(file)
            if name != "all" or not experiment.is_study():
                found.append((file, experiment))
    writers: dict[str, tuple[Path, Experiment]] = {}
    for file, experiment in found:
        for output in experiment.output_files():
            if output in writers:
                other, earlier = writers[output]
                if file.samefile(other):
                    raise LabError(f"the experiment '{experiment.name}' is given twice (`all` includes those of the "
                                   "paper)")
                raise LabError(f"{other} ('{earlier.name}') and {file} ('{experiment.name}') would both write "
                               f"{output}: give one of them another name")
            writers[output] = (file, experiment)
    return [experiment for _, experiment in found]


__all__ = ["is_wanted", "read_experiment", "read_experiment_file", "read_experiments", "list_experiments",
           "find_experiment", "unknown", "require_known"]
