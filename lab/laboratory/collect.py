"""From run folders to facts."""
from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

from . import run_files
from .experiment import Metric
from .facts import Facts, RunFacts, TuningFacts
from .measured import (
    ABSENT,
    CUT_OFF,
    DIVERGED,
    FAILED,
    MISSED,
    NOT_RUN,
    NOT_SOLVED,
    OUT_OF_MEMORY,
    Outcome,
)
from .plan import Cell, Plan
from .quantities import RESIDUALS, is_of_the_end
from .runs import DONE, RunRecord, RunStore
from .tables import TAU_COLUMNS

SPIKE = 2  # times the loss before, after one step
MEDIAN, WORST_TENTH = 0.5, 0.9


def collect(plan: Plan, store: RunStore) -> Facts:
    """What the runs have shown so far, without running anything."""
    facts = Facts(plan)
    for cell in plan.cells:
        tuned = collect_tuning(facts, cell, store)
        records = [
            store.find(plan.run(cell, tuned, seed), plan.trains_alone())
            if tuned is not None
            else RunRecord()
            for seed in range(1, plan.budget.seeds + 1)
        ]
        summaries = [
            run_files.read_summary(r.folder) if r.status == DONE and r.folder else None
            for r in records
        ]
        for metric in facts.metrics():
            facts.outcomes[(*cell.key, metric.label)] = [
                outcome_of(metric, record, summary, plan.experiment.best)
                for record, summary in zip(records, summaries)
            ]
        facts.runs[cell.key] = [
            run_facts(record, summary) for record, summary in zip(records, summaries)
        ]
        done = [run.folder for run in facts.runs[cell.key] if run.folder and run.is_done()]
        if plan.experiment.reads_events() and (events := event_facts(done)):
            facts.events[cell.key] = events
        if plan.experiment.tau and (tau := tau_facts([s for s in summaries if s])):
            facts.tau[cell.key] = tau
    return facts


def judged_by(record: RunRecord) -> float:
    """The held-out loss at the last step: settings are chosen by it. Not a number: worse than
    any."""
    summary = run_files.read_summary(record.folder) if record.folder else None
    if summary is None or summary.get("reason") == "non_finite":
        return math.inf
    loss = run_files.number(summary.get("final"), "validation_loss")
    return loss if math.isfinite(loss) else math.inf


def choose(plan: Plan, cell: Cell, losses: list[float]) -> TuningFacts:
    """A candidate is as good as on the worst of its seeds: one that only survives some of them
    is not chosen."""
    worst = [-math.inf] * len(cell.candidates)
    for (candidate, _), loss in zip(plan.tunings(cell), losses):
        worst[candidate] = max(worst[candidate], loss)
    chosen = cell.candidates[worst.index(min(worst))]
    return TuningFacts(worst, chosen, plan.edges(cell, chosen))


def collect_tuning(facts: Facts, cell: Cell, store: RunStore) -> dict[str, Any] | None:
    """The chosen settings; None if runs are missing."""
    plan = facts.plan
    if not plan.tunings(cell):
        return cell.candidates[0]
    records = [
        store.find(plan.tuning_run(cell, tuning), plan.tunes_alone())
        for tuning in plan.tunings(cell)
    ]
    facts.failures += [(cell, record.message) for record in records if record.status == FAILED]
    if not all(record.is_result() for record in records):
        return None
    facts.tuning[cell.key] = choose(plan, cell, [judged_by(record) for record in records])
    return facts.tuning[cell.key].chosen


def outcome_of(
    metric: Metric, record: RunRecord, summary: dict[str, Any] | None, best: bool
) -> Outcome:
    if summary is None:
        note = record.status if record.status in (OUT_OF_MEMORY, FAILED) else NOT_RUN
        return Outcome(notes=frozenset({note}))
    diverged = run_files.has_diverged(summary)
    of_the_end = is_of_the_end(metric.quantity)
    value = (
        math.nan
        if diverged and of_the_end and not best
        else run_files.value_of(metric, summary, record.folder or Path(), best)
    )
    notes = {CUT_OFF} if of_the_end and summary.get("reason") == "time" else set[str]()
    if math.isfinite(value):
        if metric.quantity in RESIDUALS and run_files.is_unsolved(summary, best):
            notes.add(NOT_SOLVED)
        return Outcome(value, frozenset(notes))
    notes.add(
        MISSED if metric.quantity == "seconds_to_target" else DIVERGED if diverged else ABSENT
    )
    return Outcome(math.nan, frozenset(notes))


def run_facts(record: RunRecord, summary: dict[str, Any] | None) -> RunFacts:
    environment = (
        run_files.read_json(record.folder / "environment.json")
        if summary and record.folder
        else None
    )
    return RunFacts(
        record.status,
        record.message,
        record.folder,
        (summary or {}).get("seconds", 0.0),
        environment if isinstance(environment, dict) else {},
    )


def quantile(values: list[float], share: float) -> float:
    """The smallest value that this share of them does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1] if values else math.nan


def event_facts(folders: list[Path]) -> dict[str, float]:
    """Over all seeds. Losses after a change are relative to the loss before it."""
    found: dict[str, list[float]] = defaultdict(list)
    for folder in folders:
        for event in run_files.changes_of_bases(folder):
            # Infinity is written as a word; what is not known is left out.
            known = {
                key: float(v) if isinstance(v, (int, float)) else math.inf
                for key, v in event.items()
            }
            if rho := [known[key] for key in ("rho_left", "rho_right") if key in known]:
                found["rho"].append(max(rho))
            for key in ("gamma", "gradient_cosine", "rho_after_10", "gradient_cosine_after_10"):
                if key in known:
                    found[key].append(known[key])
            loss = known.get("loss", 0)
            for key in ("loss_after_1", "loss_after_10"):
                if key in known and 0 < loss < math.inf:
                    found[key].append(known[key] / loss)
    if not found["rho"]:
        return {}
    facts = {"changes": float(len(found["rho"]))}
    facts |= {
        key: quantile(found[key], MEDIAN)
        for key in ("rho", "rho_after_10", "gradient_cosine", "gradient_cosine_after_10", "gamma")
    }
    for key in ("loss_after_1", "loss_after_10"):
        facts |= {
            f"{key}_median": quantile(found[key], MEDIAN),
            key: quantile(found[key], WORST_TENTH),
        }
    after = found["loss_after_1"]
    facts["doubled_after_1"] = sum(v > SPIKE for v in after) / len(after) if after else math.nan
    return {key: value for key, value in facts.items() if not math.isnan(value)}


def tau_facts(summaries: list[dict[str, Any]]) -> dict[str, float]:
    """Weighted by steps: layers differ in how many of their steps had a secant."""
    sums = [sum(column) for column in zip(*(run_files.tau_parts(s) for s in summaries))]
    if not sums or not sums[0]:
        return {}
    steps, at_one, at_least, no_curvature, *parts = sums
    shares = [
        at_one,
        at_least,
        no_curvature,
        sum(parts[:3]),
        sum(parts[3:6]),
        sum(parts[6:9]),
        parts[9],
        parts[10],
    ]
    return {name: share / steps for name, share in zip(TAU_COLUMNS, shares)}
