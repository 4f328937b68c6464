"""Reads experiment files. A mistake is a LabError that names its place and, for a name, the
nearest valid one."""
from __future__ import annotations

from typing import Any

from . import quantities
from .experiment import (
    TUNING_SEED,
    Budget,
    Check,
    Experiment,
    Figure,
    LabError,
    Maps,
    Metric,
    PaperValue,
    Problem,
    Table,
    Variant,
)
from .toml_tables import NOTHING, Reader, at, read_whole, require_known

BUDGETS = ("quick", "short", "paper")
RESULTS = ("out of memory", "diverged", "did not reach it")  # of runs that have no number


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
    return Problem(
        name, r.text("label", name), r.text("problem", name), task, r.settings("settings")
    )


def read_variant(r: Reader, problems: list[Problem]) -> Variant:
    rows = [p.name for p in problems]
    name = r.name("name")
    variant = Variant(
        name, r.text("label", name), r.text("optimizer", name), r.settings("settings")
    )
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
    raise LabError(
        'a value of the paper must be a number, [mean, deviation], or a text such as "OOM"'
    )


def read_metric(r: Reader, problems: list[str], variants: list[str]) -> Metric:
    quantity = read_quantity(r.text("quantity", NOTHING))
    of_task = quantities.is_task_metric(quantity)
    metric = Metric(
        quantity,
        r.text("label", quantity.removeprefix("task.")),
        r.whole("step", 0),
        r.flag("largest"),
        r.positive("target"),
        r.flag("ranked", True),
    )
    if metric.step and not of_task:
        raise LabError("only a task metric is given at a step")
    if metric.largest and (not of_task or metric.step):
        raise LabError("only a task metric without a step can be the largest of all steps")
    if (quantity == "seconds_to_target") != (metric.target > 0):
        raise LabError("seconds_to_target needs a target, and nothing else has one")
    for problem, row in r.get("paper", dict, "a table", {}).items():
        require_known("problem", problem, problems)
        metric.paper[problem] = {
            require_known("variant", variant, variants): paper_value(value)
            for variant, value in Reader(row, f"paper.{problem}").table.items()
        }
    return metric


def metric_called(label: str, e: Experiment) -> Metric:
    if label:
        require_known("metric", label, (m.label for m in e.metrics))
    return next(m for m in e.metrics if not label or m.label == label)


def read_check(r: Reader, e: Experiment) -> Check:
    variants, rows = [v.name for v in e.variants], [p.name for p in e.problems]
    check = Check(
        r.text("says", NOTHING),
        metric_called(r.text("metric"), e),
        r.names("problems", "problem", rows) or rows,
        r.flag("ours"),
        r.text("question"),
    )
    check.variant, check.over = r.text("variant"), r.text("over")
    for name in filter(None, (check.variant, check.over)):
        require_known("variant", name, variants)
    check.below = r.names("below", "variant", variants)
    bounds = r.get("range", list, "[smallest, largest]", [])
    if bounds:
        if (
            len(bounds) != 2
            or not all(isinstance(b, (int, float)) for b in bounds)
            or not bounds[0] < bounds[1]
        ):
            raise LabError("range must be [smallest, largest]")
        check.low, check.high = map(float, bounds)
    check.events, check.result, check.not_tested = (
        r.text("events"),
        r.text("result"),
        r.text("not_tested"),
    )
    if check.events:
        require_known("quantity of events", check.events, quantities.OF_EVENTS)
    if check.result:
        require_known("result", check.result, RESULTS)
    kinds = sum(map(bool, (check.below, check.over, check.events, check.result, check.not_tested)))
    needs_range, alone = bool(check.over or check.events), kinds == 0 and bool(bounds)
    if (
        (kinds != 1 and not alone)
        or (not alone and needs_range != bool(bounds))
        or bool(check.variant) == bool(check.not_tested)
    ):
        raise LabError(
            "a check needs a variant and one of `below`, `range`, `over` with `range`, `events` "
            "with "
            "`range`, `result`; or, without a variant, `not_tested`"
        )
    if bounds and check.high <= 0 and check.events != "gradient_cosine_after_10":
        raise LabError("range: only the cosine of gradients can be negative")
    if check.variant and (check.variant in check.below or check.variant == check.over):
        raise LabError(f"the check compares the variant '{check.variant}' with itself")
    return check


def read_table(r: Reader, variants: list[str]) -> Table:
    table = Table(
        r.text("title", NOTHING),
        r.names("variants", "variant", variants, distinct=False),
        r.text("about"),
        r.flag("pairs"),
    )
    if len(table.variants) < 2:
        raise LabError("variants must name two of them at least")
    if table.pairs and len(table.variants) % 2:
        raise LabError("a table with pairs = true must name an even number of variants")
    size = 2 if table.pairs else 1
    rows = [table.variants[i : i + size] for i in range(0, len(table.variants), size)]
    for row in rows:
        if table.pairs and row[0] == row[1]:
            raise LabError(f"the table compares the variant '{row[0]}' with itself")
        if rows.count(row) > 1:
            raise LabError(f"variants has '{' with '.join(row)}' twice")
    return table


def read_figure(r: Reader, e: Experiment) -> Figure:
    figure = Figure(
        r.name("name"),
        r.text("title"),
        r.names("variants", "variant", [v.name for v in e.variants]),
    )
    figure.quantity = read_quantity(r.text("quantity", "mean_square"))
    if figure.quantity not in quantities.DRAWN_OVER_STEPS and not quantities.is_task_metric(
        figure.quantity
    ):
        raise LabError(f"a figure shows {', '.join(quantities.DRAWN_OVER_STEPS)} or a task metric")
    figure.over = require_known(
        "axis of a figure",
        r.text("over", "steps"),
        ["steps", "seconds", "changes", *(path for p in e.problems for path in p.settings)],
    )
    label = r.text("metric")
    if figure.over == "changes" and (label or "quantity" in r.table):
        raise LabError(
            "a figure over changes of bases shows the training loss, and names nothing else"
        )
    if ("quantity" in r.table) if figure.over_setting() else label:
        raise LabError(
            "a figure over steps or seconds shows a `quantity`, one over a setting a `metric`"
        )
    figure.metric = metric_called(label, e) if figure.over_setting() else None
    return figure


def read_maps(r: Reader, e: Experiment) -> Maps:
    rows = [p.name for p in e.problems]
    return Maps(
        r.names("problems", "problem", rows) or rows,
        require_known("variant", r.text("variant", NOTHING), [v.name for v in e.variants]),
    )


def read_budget(r: Reader, e: Experiment) -> Budget:
    problems, variants = [p.name for p in e.problems], [v.name for v in e.variants]
    budget = Budget(
        r.whole("steps"),
        r.whole("tuning_steps", 0),
        r.whole("tuning_seeds", 1),
        r.whole("seeds", 1),
        r.whole("grid_values", 0),
        r.positive("time_limit"),
        r.positive("cost"),
        r.names("problems", "problem", problems),
        r.names("variants", "variant", variants),
        r.names("axes", "axis of a grid", [path for v in e.variants for path in v.grid]),
        r.settings("settings"),
        r.settings_by_name("problem", problems),
        r.settings_by_name("variant", variants),
    )
    if "tuning_seeds" in r.table and not budget.tuning_steps:
        raise LabError("tuning_seeds has no effect without tuning_steps: nothing is tuned")
    if budget.seeds >= TUNING_SEED:
        raise LabError(
            f"seeds must be less than {TUNING_SEED}: settings are chosen on seed {TUNING_SEED}, "
            "which must "
            f"not be reported; got {budget.seeds}"
        )
    run = [p for p in e.problems for v in e.variants if budget.runs(p, v)]
    if not run:
        raise LabError(
            "this budget runs nothing: none of its variants is run on any of its problems"
        )
    if budget.time_limit and all(p.task for p in run):
        raise LabError("time_limit has no effect on matrix problems, and this budget has no others")
    for figure in e.figures:
        if figure.over_setting():
            require_places(e, figure, budget)
        if (
            figure.over == "changes"
            and {**e.settings, **budget.settings}.get("training.record_every") != 1
        ):
            raise LabError(
                f"the figure '{figure.name}' is over changes of bases: `[settings]` or the "
                "budget must "
                "have training.record_every = 1"
            )
    return budget


def require_places(e: Experiment, figure: Figure, budget: Budget) -> None:
    """A figure over a setting has one place for each problem."""
    places: dict[float, str] = {}
    about = f"the figure '{figure.name}' is over {figure.over}"
    for problem in e.problems:
        number = budget.number_set(problem, figure.over)
        if number is None or not number > 0:
            raise LabError(
                f"{about}: the problem '{problem.name}' must set it to a positive number"
            )
        if number in places:
            raise LabError(
                f"{about}, but the problems '{places[number]}' and '{problem.name}' both set it to "
                f"{number:g}"
            )
        places[number] = problem.name
    for variant in e.variants:
        if figure.over in (variant.settings | budget.variant.get(variant.name, {}) | variant.grid):
            raise LabError(f"{about}: the variant '{variant.name}' must not change it")


def require_measured(e: Experiment, quantity: str) -> None:
    """Raises LabError for what no problem of the experiment measures: its row would be missing."""
    measured = [name for p in e.problems if p.task for name in quantities.TASK_METRICS[p.task]]
    if quantities.is_task_metric(quantity):
        if not measured:
            raise LabError(
                f"{quantity} is measured on matrix problems, and this experiment has none: they "
                "have a "
                "`task`"
            )
        require_known("task metric", quantity.removeprefix("task."), measured)
    elif e.only_tasks() and quantity not in quantities.OF_MATRIX_PROBLEMS:
        raise LabError(
            f"{quantity} is not measured on matrix problems, and this experiment has no others; "
            "they have "
            f"{', '.join(quantities.OF_MATRIX_PROBLEMS)} and task.NAME with NAME one of: "
            f"{', '.join(dict.fromkeys(measured))}"
        )


def read_experiment(tree: dict[str, Any]) -> Experiment:
    r = Reader(tree, "an experiment file")
    name = r.name("name")
    if name in ("all", "index", "reproduction"):
        raise LabError(
            f"an experiment cannot be named '{name}': "
            + (
                "`lab/reproduce all` means all of them"
                if name == "all"
                else "the page about all experiments is"
            )
        )
    e = Experiment(
        name,
        r.text("title", NOTHING),
        r.text("paper"),
        r.text("claim"),
        r.text("about"),
        r.text("conclusion"),
        r.text("recipe", "paper"),
        r.flag("best"),
        r.flag("events"),
        r.flag("tau"),
        r.settings("settings"),
    )
    e.problems = r.tables("problem", read_problem, needed=True)
    problems = require_distinct(e.problems, "problem")
    e.variants = r.tables("variant", lambda v: read_variant(v, e.problems), needed=True)
    variants = require_distinct(e.variants, "variant")
    e.metrics = r.tables("metric", lambda m: read_metric(m, problems, variants))
    e.checks = r.tables("check", lambda c: read_check(c, e))
    e.tables = r.tables("table", lambda t: read_table(t, variants))
    e.figures = r.tables("figure", lambda f: read_figure(f, e))
    if "maps" in r.table:
        e.maps = at(
            "[maps]",
            lambda: read_whole(r.get("maps", dict, "a table"), "[maps]", lambda m: read_maps(m, e)),
        )
    budgets = r.get("budget", dict, "a table")
    if not budgets:
        raise LabError(f"[budget] is empty: it needs one of {', '.join(BUDGETS)}")
    for key, table in budgets.items():
        require_known("budget", key, BUDGETS)
        e.budgets[key] = at(
            f"[budget.{key}]",
            lambda: read_whole(table, f"[budget.{key}]", lambda b: read_budget(b, e)),
        )
    r.done()
    require_effects(r, e)
    return e


def require_effects(r: Reader, e: Experiment) -> None:
    for key in ("recipe", "best", "events", "tau", "maps") if e.only_tasks() else ():
        if key in r.table:
            raise LabError(
                f"{key} has no effect on matrix problems, and this experiment has no others"
            )
    longest, labels = max(b.steps for b in e.budgets.values()), [m.label for m in e.metrics]
    for metric in e.metrics:
        require_measured(e, metric.quantity)
        if metric.step > longest:
            raise LabError(
                f"no budget has the step {metric.step} of the metric '{metric.label}'; the "
                "longest has "
                f"{longest}"
            )
        if labels.count(metric.label) > 1:
            raise LabError(
                f"the metric '{metric.label}' is given twice: give one of them another label"
            )
    for figure in e.figures:
        require_measured(
            e, figure.quantity if not (e.only_tasks() and figure.metric) else figure.metric.quantity
        )
    e.output_files()
