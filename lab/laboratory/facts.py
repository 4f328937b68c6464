"""What the runs of an experiment have shown, as tables: everything that verdicts and pages are
made of, apart from curves and maps.

    values.csv   a line for each run and metric, so that others can judge by rules of their own
    events.csv   what followed the changes of bases, over all seeds of a cell
    tuning.csv   what tuning tried and chose

A page's folder keeps them; verdicts from them are those from the runs themselves.
"""
from __future__ import annotations

import csv
import io
import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .experiment import Metric, Problem, Settings
from .measured import ABSENT, NOT_RUN, NOTES, Measured, Outcome, Ratio
from .plan import Cell, Plan

Key = tuple[str, str]  # problem, variant
UNLISTED_ERROR = Metric(
    "l2", "relative L² error of every run"
)  # of experiments that measure errors and list none

VALUES = (
    "experiment",
    "budget",
    "problem",
    "variant",
    "seed",
    "quantity",
    "metric",
    "value",
    "result",
)
EVENTS = ("experiment", "budget", "problem", "variant", "quantity", "value")
TUNING = ("experiment", "budget", "problem", "variant", "settings", "loss", "chosen")


@dataclass
class RunFacts:
    """One reported run."""

    status: str = NOT_RUN  # done, out of memory, failed, not run
    message: str = ""
    folder: Path | None = None
    seconds: float = 0
    environment: dict[str, Any] = field(default_factory=dict)

    def is_done(self) -> bool:
        return self.status == "done"


@dataclass
class TuningFacts:
    """What tuning tried in a cell, and what it chose."""

    losses: list[
        float
    ]  # of the candidates, on the worst of the tuning seeds; infinity: not a number at the end
    chosen: Settings
    edges: list[str]  # settings whose best value is the first or last that was tried

    def survives(self) -> bool:
        """A learning rate that nobody would choose says nothing about its method."""
        return any(map(math.isfinite, self.losses))


@dataclass
class Facts:
    plan: Plan
    outcomes: dict[tuple[str, str, str], list[Outcome]] = field(
        default_factory=dict
    )  # by cell and metric's label
    events: dict[Key, dict[str, float]] = field(default_factory=dict)
    tuning: dict[Key, TuningFacts] = field(default_factory=dict)
    runs: dict[Key, list[RunFacts]] = field(default_factory=dict)
    tau: dict[Key, dict[str, float]] = field(
        default_factory=dict
    )  # shares of steps, see tables.tau_table
    failures: list[tuple[Cell, str]] = field(
        default_factory=list
    )  # of tuning runs: nothing is chosen without them

    def metrics(self) -> list[Metric]:
        """Those of the experiment, and the error where it is measured only to see what a
        residual belongs to."""
        experiment = self.plan.experiment
        listed = any(m.quantity == "l2" for m in experiment.metrics)
        wanted = not listed and any(
            experiment.wants_errors(p) for p in experiment.problems if not p.task
        )
        return [*experiment.metrics, UNLISTED_ERROR] if wanted else experiment.metrics

    def error_metric(self) -> Metric | None:
        return next((m for m in self.metrics() if m.quantity == "l2"), None)

    def measure(self, metric: Metric, problem: str, variant: str) -> Measured:
        missing = [Outcome(notes=frozenset({NOT_RUN}))] * self.plan.budget.seeds
        return Measured(self.outcomes.get((problem, variant, metric.label), missing))

    def ratio(
        self, metric: Metric, variant: str, other: str, problems: Iterable[Problem] | None = None
    ) -> Ratio:
        """On all problems together, or on these."""
        pairs: list[tuple[Outcome, Outcome]] = []
        for problem in self.plan.problems if problems is None else problems:
            if self.plan.has(problem.name, variant) and self.plan.has(problem.name, other):
                pairs += zip(
                    self.measure(metric, problem.name, variant).outcomes,
                    self.measure(metric, problem.name, other).outcomes,
                )
        return Ratio.of(pairs)

    def survives_tuning(self, problem: str, variant: str) -> bool:
        tuning = self.tuning.get((problem, variant))
        return tuning is None or tuning.survives()

    def is_complete(self) -> bool:
        """Every run has ended, and none has failed."""
        return all(
            run.status in ("done", "out of memory")
            for cell in self.plan.cells
            for run in self.runs.get(cell.key, [RunFacts()])
        )

    def failure_count(self) -> int:
        return len(self.failures) + sum(
            run.status == "failed" for runs in self.runs.values() for run in runs
        )

    def measured_in(self, cell: Cell, metric: Metric) -> Measured:
        return self.measure(metric, *cell.key)


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number, without ".0"."""
    return repr(float(value)).removesuffix(".0")


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def write_atomically(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)


def value_rows(facts: Facts) -> list[list[str]]:
    plan, rows = facts.plan, []
    for cell in plan.cells:
        measured = {metric.label: facts.measured_in(cell, metric) for metric in facts.metrics()}
        for seed in range(plan.budget.seeds):
            for metric in facts.metrics():
                one = Measured(measured[metric.label].outcomes[seed : seed + 1])
                rows.append(
                    [
                        plan.experiment.name,
                        plan.budget_name,
                        *cell.key,
                        str(seed + 1),
                        metric.quantity_text(),
                        metric.label,
                        number_text(one.mean()) if one.is_known() else "",
                        one.text(),
                    ]
                )
    return rows


def save(all_facts: list[Facts], folder: Path) -> None:
    """Writes values.csv, and events.csv and tuning.csv where there is something to say."""
    write_atomically(
        folder / "values.csv", csv_text(VALUES, (row for f in all_facts for row in value_rows(f)))
    )
    events = [
        [f.plan.experiment.name, f.plan.budget_name, *key, quantity, number_text(value)]
        for f in all_facts
        for key, found in f.events.items()
        for quantity, value in found.items()
    ]
    tuning = [
        [
            f.plan.experiment.name,
            f.plan.budget_name,
            *cell.key,
            json.dumps(candidate),
            number_text(loss),
            "yes" if candidate == f.tuning[cell.key].chosen else "",
        ]
        for f in all_facts
        for cell in f.plan.cells
        if cell.key in f.tuning
        for candidate, loss in zip(cell.candidates, f.tuning[cell.key].losses)
    ]
    for name, header, rows in (("events.csv", EVENTS, events), ("tuning.csv", TUNING, tuning)):
        if rows:
            write_atomically(folder / name, csv_text(header, rows))


def _rows_of(file: Path, plan: Plan) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            row
            for row in csv.DictReader(lines)
            if row["experiment"] == plan.experiment.name and row["budget"] == plan.budget_name
        ]


def load(plan: Plan, folder: Path) -> Facts:
    """From the tables of a page. What they do not have counts as not run."""
    facts = Facts(plan)
    by_seed: dict[tuple[str, str, str], dict[int, Outcome]] = defaultdict(dict)
    for row in _rows_of(folder / "values.csv", plan):
        notes = {note for note in row["result"].split("; ") if note in NOTES}
        if row["result"] == "–":
            notes.add(ABSENT)
        by_seed[row["problem"], row["variant"], row["metric"]][int(row["seed"])] = Outcome(
            float(row["value"]) if row["value"] else math.nan, frozenset(notes)
        )
    for label, outcomes in by_seed.items():
        facts.outcomes[label] = [
            outcomes.get(seed, Outcome(notes=frozenset({NOT_RUN})))
            for seed in range(1, plan.budget.seeds + 1)
        ]
        facts.runs[label[:2]] = [RunFacts(_status_of(o)) for o in facts.outcomes[label]]
    for row in _rows_of(folder / "events.csv", plan):
        facts.events.setdefault((row["problem"], row["variant"]), {})[row["quantity"]] = float(
            row["value"]
        )
    losses: dict[Key, dict[str, float]] = defaultdict(dict)
    chosen: dict[Key, Settings] = {}
    for row in _rows_of(folder / "tuning.csv", plan):
        key = row["problem"], row["variant"]
        losses[key][row["settings"]] = float(row["loss"])
        if row["chosen"]:
            chosen[key] = json.loads(row["settings"])
    for cell in plan.cells:
        if cell.key in chosen:
            facts.tuning[cell.key] = TuningFacts(
                [
                    losses[cell.key].get(json.dumps(candidate), math.inf)
                    for candidate in cell.candidates
                ],
                chosen[cell.key],
                plan.edges(cell, chosen[cell.key]),
            )
    return facts


def _status_of(outcome: Outcome) -> str:
    return next((note for note in (*NOTES[:1], *NOTES[-2:]) if note in outcome.notes), "done")
