"""The runs that an experiment asks for within a budget."""
from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .experiment import (
    TUNING_SEED,
    Budget,
    Experiment,
    LabError,
    Problem,
    Settings,
    Variant,
    is_wanted,
)
from .toml_tables import unknown

# History lines and validations per run: enough for a curve, few enough for hundreds of runs.
HISTORY_LINES, VALIDATIONS, TASK_POINTS = 200, 50, 30


@dataclass(frozen=True)
class Training:
    """One run of `lather train`, on one thread: its numbers depend on this and on the problem's
    files alone."""

    problem: str  # a name or a file
    recipe: str
    optimizer: str
    settings: tuple[tuple[str, str], ...]  # by path, values as TOML, sorted
    seed: int
    steps: int
    seconds: float
    device: str

    def measures_errors(self) -> bool:
        return ("training.reference", "false") not in self.settings


@dataclass(frozen=True)
class MatrixRun:
    """One run on a matrix problem."""

    task: str
    size: str
    settings: str  # of the problem, as JSON; likewise the optimizer's
    optimizer: str
    steps: int
    record: int
    also: tuple[int, ...]  # steps that are recorded too
    seed: int


RunSpec = Training | MatrixRun


@dataclass
class Cell:
    """A method on a problem."""

    problem: Problem
    variant: Variant
    candidates: list[Settings]  # points of the grid; one: nothing is searched

    @property
    def key(self) -> tuple[str, str]:
        return self.problem.name, self.variant.name


def toml_text(value: Any) -> str:
    """A value as TOML, which for numbers, texts and lists of them is JSON."""
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return json.dumps(value, ensure_ascii=False)


def short_text(value: Any) -> str:
    return value if isinstance(value, str) else toml_text(value)


def last_word(path: str) -> str:
    return path.rsplit(".", 1)[-1]


def spread_over(values: list[Any], count: int) -> list[Any]:
    """`count` of them, evenly spaced, ends included; 0: all."""
    if count == 0 or count >= len(values):
        return values
    if count == 1:
        return [values[len(values) // 2]]
    return [values[i * (len(values) - 1) // (count - 1)] for i in range(count)]


def nested(settings: Settings) -> dict[str, Any]:
    """{"schedule.rate": 0.99} as {"schedule": {"rate": 0.99}}."""
    tree: dict[str, Any] = {}
    for path, value in settings.items():
        *above, last = path.split(".")
        place = tree
        for key in above:
            place = place.setdefault(key, {})
        place[last] = "inf" if isinstance(value, float) and math.isinf(value) else value
    return tree


@dataclass
class Plan:
    experiment: Experiment
    budget_name: str
    device: str = "cpu"

    @cached_property
    def budget(self) -> Budget:
        if self.budget_name not in self.experiment.budgets:
            raise LabError(
                unknown(
                    f"budget of the experiment {self.experiment.name}",
                    self.budget_name,
                    self.experiment.budgets,
                )
            )
        return self.experiment.budgets[self.budget_name]

    @cached_property
    def cells(self) -> list[Cell]:
        return [
            Cell(problem, variant, self._candidates(variant))
            for problem in self.experiment.problems
            for variant in self.experiment.variants
            if self.budget.runs(problem, variant)
        ]

    @cached_property
    def problems(self) -> list[Problem]:
        """Those that have a cell, in the order of the file; likewise variants."""
        return [
            p for p in self.experiment.problems if any(cell.problem is p for cell in self.cells)
        ]

    @cached_property
    def variants(self) -> list[Variant]:
        return [
            v for v in self.experiment.variants if any(cell.variant is v for cell in self.cells)
        ]

    def has(self, problem: str, variant: str) -> bool:
        return any(cell.key == (problem, variant) for cell in self.cells)

    def _axes(self, variant: Variant) -> dict[str, list[Any]]:
        if not self.budget.tuning_steps:
            return {}
        return {
            path: spread_over(values, self.budget.grid_values)
            for path, values in variant.grid.items()
            if is_wanted(self.budget.axes, path)
        }

    def _candidates(self, variant: Variant) -> list[Settings]:
        axes = self._axes(variant)
        return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]

    def edges(self, cell: Cell, chosen: Settings) -> list[str]:
        """Axes whose chosen value is the first or last that was tried: the search is not
        finished there."""
        return [
            path
            for path, values in self._axes(cell.variant).items()
            if len(values) > 1 and chosen.get(path) in (values[0], values[-1])
        ]

    def tunes_alone(self) -> bool:
        """Whether runs would end, or be measured, otherwise beside others."""
        return self.budget.time_limit > 0

    def trains_alone(self) -> bool:
        return self.tunes_alone() or self.experiment.timed()

    def tunings(self, cell: Cell) -> list[tuple[int, int]]:
        """Every candidate on every tuning seed: (candidate, seed), all of the first seed, then
        of the second, …"""
        if len(cell.candidates) < 2:
            return []
        return [
            (candidate, TUNING_SEED + k)
            for k in range(self.budget.tuning_seeds)
            for candidate in range(len(cell.candidates))
        ]

    def run_count(self) -> int:
        """At most: finished ones count too."""
        return sum(len(self.tunings(cell)) + self.budget.seeds for cell in self.cells)

    def label(self, problem: Problem) -> str:
        """Includes what the budget sets instead of the problem's own settings: "width 256 [here:
        width 64]"."""
        instead = self.budget.problem.get(problem.name, {})
        changed = [
            f"{last_word(path)} {toml_text(instead[path])}"
            for path, own in problem.settings.items()
            if path in instead and instead[path] != own
        ]
        return f"{problem.label} [here: {', '.join(changed)}]" if changed else problem.label

    def settings(self, cell: Cell, chosen: Settings) -> Settings:
        """What applies to a cell; later settings override earlier ones."""
        budget, problem, variant = self.budget, cell.problem, cell.variant
        return {
            **self.experiment.settings,
            **budget.settings,
            **problem.settings,
            **variant.settings,
            **budget.problem.get(problem.name, {}),
            **budget.variant.get(variant.name, {}),
            **chosen,
        }

    def tuning_run(self, cell: Cell, tuning: tuple[int, int]) -> RunSpec:
        candidate, seed = tuning
        return self._spec(
            cell, cell.candidates[candidate], seed, self.budget.tuning_steps, tuning=True
        )

    def run(self, cell: Cell, chosen: Settings, seed: int) -> RunSpec:
        return self._spec(cell, chosen, seed, self.budget.steps, tuning=False)

    def _spec(self, cell: Cell, chosen: Settings, seed: int, steps: int, tuning: bool) -> RunSpec:
        settings = self.settings(cell, chosen)
        if cell.problem.task:
            return self._matrix_run(cell, settings, seed, steps)
        settings.setdefault("training.validate_every", max(1, steps // VALIDATIONS))
        settings.setdefault("training.record_every", max(1, steps // HISTORY_LINES))
        if tuning or not self.experiment.wants_errors(cell.problem):
            settings["training.reference"] = False  # settings are chosen by the held-out loss
        if tuning:
            settings["training.record_every"] = settings["training.validate_every"]
        problem = cell.variant.instead.get(cell.problem.name, cell.problem.problem)
        return Training(
            problem,
            self.experiment.recipe,
            cell.variant.optimizer,
            tuple(sorted((path, toml_text(value)) for path, value in settings.items())),
            seed,
            steps,
            self.budget.time_limit,
            self.device,
        )

    def _matrix_run(self, cell: Cell, settings: Settings, seed: int, steps: int) -> MatrixRun:
        parts: dict[str, Settings] = {"optimizer": {"name": cell.variant.optimizer}, "task": {}}
        for path, value in settings.items():
            owner, _, key = path.partition(".")
            if owner not in parts:
                raise LabError(
                    f"{self._place(cell)}: {path}: a matrix problem has settings optimizer.… and "
                    "task.… "
                    "only"
                )
            if path == "task.seed":
                raise LabError(
                    f"{self._place(cell)}: task.seed: the seed of a matrix problem is that of "
                    "the run, 1, "
                    "2, … up to `seeds`"
                )
            parts[owner][key] = value
        size = parts["task"].pop("size", "paper")
        if size not in ("paper", "small"):
            raise LabError(
                f"{self._place(cell)}: {unknown('task.size', str(size), ('paper', 'small'))}"
            )
        also = {m.step for m in self.experiment.metrics if 0 < m.step < steps}
        return MatrixRun(
            cell.problem.task,
            size,
            json.dumps(parts["task"], sort_keys=True),
            json.dumps(nested(parts["optimizer"]), sort_keys=True),
            steps,
            max(1, steps // TASK_POINTS),
            tuple(sorted(also)),
            seed,
        )

    def _place(self, cell: Cell) -> str:
        return f"{self.experiment.name}: {cell.problem.name} with {cell.variant.name}"

    def specs_to_check(self) -> Iterator[tuple[str, RunSpec, bool]]:
        """One run of every cell, and one for every value of every grid, searched in this budget
        or not; those of the optimizer are the same on every problem and tried on the first.
        With the place that a mistake belongs to, and whether it can only be one of the
        optimizer's."""
        seen: set[str] = set()
        for cell in self.cells:
            yield self._place(cell), self.run(cell, {}, 1), False
            first = cell.variant.name not in seen
            seen.add(cell.variant.name)
            point = {path: values[-1] for path, values in cell.variant.grid.items()}
            for path, values in cell.variant.grid.items():
                for value in values if first or not path.startswith("optimizer.") else ():
                    yield (
                        f"{self._place(cell)}: grid.{path} = {toml_text(value)}",
                        self.run(cell, {**point, path: value}, 1),
                        path.startswith("optimizer."),
                    )
