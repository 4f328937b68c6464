"""What an experiment file says: which runs answer a table or a figure of a paper, and what the
paper prints there.

docs/experiment-files.md lists every key; reading.py reads the files.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import quantities

TUNING_SEED = (
    1000  # settings are chosen on this seed and, with several tuning_seeds, on those that follow it
)
NO_BOUND = 1e300

Settings = dict[str, Any]  # values by path: {"network.width": 20}


class LabError(Exception):
    """A mistake of the user's, in a sentence that names its place."""


@dataclass
class Problem:
    """A row: a problem, perhaps with other settings, or one of the paper's matrix problems."""

    name: str
    label: str
    problem: str
    task: str = ""  # quadratic, logistic, completion; empty: it is a problem file
    settings: Settings = field(default_factory=dict)


@dataclass
class Variant:
    """A column: a method with its settings."""

    name: str
    label: str
    optimizer: str
    settings: Settings = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)  # values to search, by path
    only: list[str] = field(default_factory=list)  # problems it is run on; empty: all
    instead: dict[str, str] = field(default_factory=dict)  # another problem file in that row


@dataclass
class PaperValue:
    value: float | None = None
    deviation: float | None = None
    text: str = ""  # if it is not a number: "OOM", "DNC"

    def rank(self) -> float | None:
        if self.value is not None:
            return self.value
        return math.inf if self.text else None

    def words(self) -> str:
        if self.value is None:
            return self.text
        return f"{self.value:.2e}" + (
            f" ± {self.deviation:.1e}" if self.deviation is not None else ""
        )


@dataclass
class Metric:
    quantity: str
    label: str
    step: int = 0  # of a task metric; 0: the last
    largest: bool = False  # of a task metric: of all recorded steps
    target: float = 0  # of seconds_to_target
    ranked: bool = True  # whether smaller is better
    paper: dict[str, dict[str, PaperValue]] = field(default_factory=dict)  # by problem, by variant

    def printed(self, problem: str, variant: str) -> PaperValue | None:
        return self.paper.get(problem, {}).get(variant)

    def quantity_text(self) -> str:
        return f"{self.quantity}@{self.step}" if self.step else self.quantity


@dataclass
class Check:
    """A claim in words, and what would make it true; docs/experiment-files.md explains the six
    kinds."""

    says: str
    metric: Metric
    problems: list[str]
    ours: bool = False
    question: str = ""
    variant: str = ""
    over: str = ""
    events: str = ""
    result: str = ""
    not_tested: str = ""
    below: list[str] = field(default_factory=list)
    low: float = 0
    high: float = 0

    def words(self) -> str:
        if not self.ours:
            return self.says
        return self.says.removesuffix(".") + " (ours)" + ("." if self.says.endswith(".") else "")


@dataclass
class Table:
    """Some variants as rows, each compared with the first one or, in pairs, every second one
    with the row above it."""

    title: str
    variants: list[str]
    about: str = ""
    pairs: bool = False

    def compared_with(self, row: int) -> str:
        return self.variants[row - row % 2 if self.pairs else 0]


@dataclass
class Figure:
    name: str
    title: str
    variants: list[str]  # empty: all
    quantity: str = "mean_square"
    over: str = "steps"  # or seconds, changes, or the path of a setting
    metric: Metric | None = None  # over a setting

    def over_setting(self) -> bool:
        return self.over not in ("steps", "seconds", "changes")

    def draws(self, variant: str) -> bool:
        return not self.variants or variant in self.variants


@dataclass
class Maps:
    problems: list[str] = field(default_factory=list)
    variant: str = ""


@dataclass
class Budget:
    steps: int
    tuning_steps: int = 0  # 0: no tuning, the variants' own settings
    tuning_seeds: int = 1  # settings are as good as on the worst of them
    seeds: int = 1
    grid_values: int = 0  # 0: all values of an axis
    time_limit: float = 0  # seconds of training per run; 0: no limit
    cost: float = 0  # measured: seconds for all runs in sequence, on one core or one GPU
    problems: list[str] = field(default_factory=list)  # empty: all; likewise variants and axes
    variants: list[str] = field(default_factory=list)
    axes: list[str] = field(default_factory=list)
    settings: Settings = field(default_factory=dict)
    problem: dict[str, Settings] = field(default_factory=dict)
    variant: dict[str, Settings] = field(default_factory=dict)

    def runs(self, problem: Problem, variant: Variant) -> bool:
        return (
            is_wanted(self.problems, problem.name)
            and is_wanted(self.variants, variant.name)
            and is_wanted(variant.only, problem.name)
        )

    def number_set(self, problem: Problem, path: str) -> float | None:
        """The number that a problem sets within this budget; None if it sets none."""
        value = {**problem.settings, **self.problem.get(problem.name, {})}.get(path)
        return (
            float(value)
            if isinstance(value, (int, float)) and not isinstance(value, bool)
            else None
        )


def is_wanted(wanted: list[str], name: str) -> bool:
    """In a list where none means all."""
    return not wanted or name in wanted


@dataclass
class Experiment:
    name: str
    title: str
    paper: str = ""
    claim: str = ""
    about: str = ""
    conclusion: str = ""  # for the page, written by someone who has seen the numbers
    recipe: str = "paper"
    best: bool = False  # figures at the best held-out step instead of the last
    events: bool = False  # a table of the changes of bases in its runs
    tau: bool = False  # a table of how large tau was, and how often
    settings: Settings = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    variants: list[Variant] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    maps: Maps = field(default_factory=Maps)
    budgets: dict[str, Budget] = field(default_factory=dict)
    folder: str = ""  # of its file

    def problem(self, name: str) -> Problem:
        return next(p for p in self.problems if p.name == name)

    def variant(self, name: str) -> Variant:
        return next(v for v in self.variants if v.name == name)

    def is_study(self) -> bool:
        """Names no place in a paper and has no values from one."""
        return not self.paper and not any(m.paper for m in self.metrics)

    def reads_events(self) -> bool:
        return (
            self.events
            or any(c.events for c in self.checks)
            or any(f.over == "changes" for f in self.figures)
        )

    def only_tasks(self) -> bool:
        return all(p.task for p in self.problems)

    def timed(self) -> bool:
        """Has a metric that concurrent runs would spoil: one run at a time."""
        return any(m.quantity in quantities.TIMED for m in self.metrics)

    def shows_errors(self, problem: Problem) -> bool:
        shown = {m.quantity for m in self.metrics} | {f.quantity for f in self.figures}
        return problem.name in self.maps.problems or bool(shown & set(quantities.ERRORS))

    def wants_errors(self, problem: Problem) -> bool:
        """Errors are measured to be shown, and so that a small residual of something that is not
        the solution is seen; not for the latter where time is measured, since measuring them
        would count."""
        return self.shows_errors(problem) or (
            not self.timed() and any(m.quantity in quantities.OF_THE_SOLUTION for m in self.metrics)
        )

    def tuning_measure(self, budget: Budget) -> str:
        """What tuning chooses by, in words."""
        loss = (
            "loss" if self.only_tasks() else "held-out loss"
        )  # matrix problems hold no points out
        if budget.tuning_seeds == 1:
            return f"{loss} after {budget.tuning_steps} steps on a seed that is not reported"
        return (
            f"largest {loss} after {budget.tuning_steps} steps on {budget.tuning_seeds} seeds "
            "that are not reported"
        )

    def output_files(self) -> Mapping[str, str]:
        """Files that it may write into the output folder, and what they show. Raises LabError
        for two of one name."""
        files: dict[str, str] = {}

        def add(file: str, what: str) -> None:
            if file in files:
                raise LabError(
                    f"{files[file]} and {what} would both be written to {file}: "
                    "give one of them another name"
                )
            files[file] = what

        add(f"{self.name}.csv", "the table of values")
        add(f"{self.name}-grid.svg", "the map of what tuning tried")
        for problem in self.maps.problems:
            for variant in self.variants:
                add(
                    f"{self.name}-maps-{problem}-{variant.name}.svg",
                    f"the maps of '{problem}' with '{variant.name}'",
                )
        for figure in self.figures:
            add(f"{self.name}-{figure.name}.svg", f"the figure '{figure.name}'")
            if len(self.problems) > 1:
                for row in self.problems:
                    add(
                        f"{self.name}-{figure.name}-{row.name}.svg",
                        f"the panel '{row.name}' of the figure '{figure.name}'",
                    )
        return files
