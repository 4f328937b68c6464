"""Runs the plans of experiments: chooses settings on seeds that are not reported, trains,
several runs at a time, and goes on where it stopped.

In an order that gives the broadest result if cut short: the experiments take turns, each gets
its first seed before any gets its second, and first seeds that must run alone come right after
the others.
"""
from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from . import run_files
from .collect import choose, judged_by
from .plan import Cell, MatrixRun, Plan, last_word, toml_text
from .run_files import number
from .runs import (
    CROWDED_OUT,
    ELSEWHERE,
    FAILED,
    KEEP_HISTORY,
    KEEP_MAPS,
    KEEP_SUMMARY,
    OUT_OF_MEMORY,
    RunRecord,
    RunStore,
)
from .task_queue import TaskQueue

# Priorities of runs; in each of them, cells take turns.
(
    CHOSEN_FIRST_SEED,
    TUNING,
    TUNING_ALONE,
    FIRST_SEED_ALONE,
    OTHER_SEEDS,
    OTHER_SEEDS_ALONE,
    TAKEN,
    CROWDED,
) = range(8)
SECONDS_BETWEEN_LOOKS = 0.5  # at a run that another process has


def rough_time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


@dataclass
class CellWork:
    """The work on one cell: tuning runs, then the choice, then the reported runs."""

    plan: Plan
    cell: Cell
    left: int = 0  # tuning runs that have not ended
    losses: list[float] = field(default_factory=list)
    all_tuned: bool = True  # none of them failed or was interrupted
    guard: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.tunings = self.plan.tunings(self.cell)
        self.left, self.losses = len(self.tunings), [0.0] * len(self.tunings)

    def tuned(self, index: int, record: RunRecord) -> bool:
        """Whether that was the last of them, and the choice can be made."""
        with self.guard:
            self.losses[index] = judged_by(record)
            self.all_tuned = self.all_tuned and record.is_result()
            self.left -= 1
            return self.left == 0 and self.all_tuned

    def chosen(self) -> dict[str, object]:
        return (
            choose(self.plan, self.cell, self.losses).chosen
            if self.tunings
            else self.cell.candidates[0]
        )


class WorkLeft:
    """How much longer it will take, judging by the runs so far: seconds per step, by experiment."""

    def __init__(self, plans: list[Plan], jobs: int) -> None:
        self._guard = threading.Lock()
        self.runs, self.ended = sum(plan.run_count() for plan in plans), 0
        self._left = {
            (id(plan), tuning): count
            for plan in plans
            for tuning, count in (
                (True, sum(len(plan.tunings(cell)) for cell in plan.cells)),
                (False, len(plan.cells) * plan.budget.seeds),
            )
        }
        self._taken = {id(plan): (0.0, 0) for plan in plans}  # seconds, steps
        self._plans, self._jobs = plans, jobs

    def has_ended(self, plan: Plan, tuning: bool, seconds: float | None) -> None:
        """None: it was there before."""
        with self._guard:
            self.ended += 1
            self._left[id(plan), tuning] -= 1
            if seconds is not None:
                steps = plan.budget.tuning_steps if tuning else plan.budget.steps
                before = self._taken[id(plan)]
                self._taken[id(plan)] = before[0] + seconds, before[1] + steps

    def seconds(self) -> float | None:
        """None until a run has ended here."""
        with self._guard:
            all_seconds, all_steps = map(sum, zip(*self._taken.values()))
            if not all_steps:
                return None
            left = 0.0
            for plan in self._plans:
                seconds, steps = self._taken[id(plan)]
                a_step = seconds / steps if steps else all_seconds / all_steps
                for tuning, steps, alone in (
                    (True, plan.budget.tuning_steps, plan.tunes_alone()),
                    (False, plan.budget.steps, plan.trains_alone()),
                ):
                    left += (
                        self._left[id(plan), tuning] * steps * a_step / (1 if alone else self._jobs)
                    )
            return left

    def text(self) -> str:
        seconds = self.seconds()
        return f"{self.ended}/{self.runs}" + (
            "" if seconds is None else f", {rough_time(seconds)} left"
        )


class Reproduction:
    def __init__(
        self,
        plans: list[Plan],
        store: RunStore,
        jobs: int,
        times_runs: bool = True,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`times_runs`: otherwise runs that must be alone are left to another process."""
        self._plans, self._store, self._jobs = plans, store, jobs
        self._times_runs, self._say, self._saying = times_runs, say, threading.Lock()
        self._queue, self._stopped = TaskQueue(), False
        self.left = WorkLeft(plans, jobs)
        for plan in plans:
            if plan.experiment.reads_events():
                self._keep_logs(plan)

    def _keep_logs(self, plan: Plan) -> None:
        """Whatever the tuning may choose: another experiment may come first with a run that this
        one reads the log of."""
        for cell in plan.cells:
            for candidate in cell.candidates:
                for seed in range(1, plan.budget.seeds + 1):
                    self._store.keep_whole_log_of(
                        plan.run(cell, candidate, seed), plan.trains_alone()
                    )

    def stop(self) -> None:
        """Saves what is running and ends; may be called by a signal handler."""
        self._stopped = True
        self._queue.stop()
        self._store.stop()

    def run(self) -> None:
        for work in self._in_turn():
            for index in range(len(work.tunings)):
                self._add_tuning(work, index)
            if not work.tunings:
                self._add_seeds(work)
        self._queue.run(self._jobs)

    def _in_turn(self) -> Iterator[CellWork]:
        """The first cell of every experiment, then the second ones, …"""
        for cells in itertools.zip_longest(
            *([CellWork(plan, cell) for cell in plan.cells] for plan in self._plans)
        ):
            yield from (work for work in cells if work is not None)

    def _add_tuning(
        self, work: CellWork, index: int, priority: int | None = None, alone: bool | None = None
    ) -> None:
        plan = work.plan
        exclusive = plan.tunes_alone() if alone is None else alone
        if exclusive and not self._times_runs:
            return
        candidate, seed = work.tunings[index]
        words = ", ".join(
            f"{last_word(path)} {toml_text(v)}"
            for path, v in work.cell.candidates[candidate].items()
        )
        which = (
            f"tuning on seed {seed}, {words}"
            if plan.budget.tuning_seeds > 1
            else f"tuning, {words}"
        )

        def task() -> None:
            start = time.monotonic()
            record = self._store.run(
                plan.tuning_run(work.cell, work.tunings[index]),
                plan.tunes_alone(),
                KEEP_SUMMARY,
                self._jobs > 1 and not exclusive,
            )
            if self._again(record, exclusive, lambda p, a: self._add_tuning(work, index, p, a)):
                return
            complete = work.tuned(index, record)
            self._tell(work, True, which, record, time.monotonic() - start)
            if complete:
                self._add_seeds(work)

        self._queue.add(
            (TUNING_ALONE if exclusive else TUNING) if priority is None else priority,
            task,
            exclusive,
        )

    def _add_seeds(self, work: CellWork) -> None:
        for seed in range(1, work.plan.budget.seeds + 1):
            alone = work.plan.trains_alone()
            if seed == 1:
                self._add_seed(
                    work,
                    seed,
                    FIRST_SEED_ALONE if alone else CHOSEN_FIRST_SEED if work.tunings else TUNING,
                    alone,
                )
            else:
                self._add_seed(work, seed, OTHER_SEEDS_ALONE if alone else OTHER_SEEDS, alone)

    def _add_seed(self, work: CellWork, seed: int, priority: int, alone: bool) -> None:
        plan = work.plan
        if alone and not self._times_runs:
            return

        def task() -> None:
            start, spec = time.monotonic(), plan.run(work.cell, work.chosen(), seed)
            pictured = seed == 1 and not isinstance(spec, MatrixRun) and spec.measures_errors()
            record = self._store.run(
                spec,
                plan.trains_alone(),
                KEEP_MAPS if pictured else KEEP_HISTORY,
                self._jobs > 1 and not alone,
            )
            if not self._again(record, alone, lambda p, a: self._add_seed(work, seed, p, a)):
                self._tell(work, False, f"seed {seed}", record, time.monotonic() - start)

        self._queue.add(priority, task, alone)

    def _again(self, record: RunRecord, alone: bool, add: Callable[[int, bool], None]) -> bool:
        """A run that another process has is done there, or can be taken over, after the tasks
        waiting here. One that found no memory is repeated alone, after all of them."""
        if record.status == CROWDED_OUT:
            add(CROWDED, True)
        elif record.status == ELSEWHERE and not self._stopped:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            add(TAKEN, alone)
        return record.status in (CROWDED_OUT, ELSEWHERE)

    def _tell(
        self, work: CellWork, tuning: bool, which: str, record: RunRecord, seconds: float
    ) -> None:
        if record.has_ended():
            self.left.has_ended(work.plan, tuning, None if record.was_there else seconds)
        if record.was_there:
            return
        words = "; ".join([words_of(record), *record.notes])
        with self._saying:
            self._say(
                f"[{self.left.text()}] {work.plan.experiment.name}: {work.cell.problem.name} with "
                f"{work.cell.variant.name}, {which}: {words}"
            )


def words_of(record: RunRecord) -> str:
    if record.status in (OUT_OF_MEMORY, FAILED):
        return f"{record.status}: {record.message}"
    summary = run_files.read_summary(record.folder) if record.folder else None
    if summary is None:
        return record.status
    final = summary.get("final", {})
    name, value = (
        ("gap" if "gap" in final["task"] else "loss", number(final, "validation_loss"))
        if "task" in final
        else ("residual", number(final, "residual"))
    )
    shown = f"{value:.2e}" if value == value else "not a number"
    return f"{summary.get('reason', '')}, {name} {shown}, {summary.get('seconds', 0.0):.1f} s"
