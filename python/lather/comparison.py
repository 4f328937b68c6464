"""Several trainings side by side."""
from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _library as c
from .problem import Problem, _limits, _plain, _settings
from .run import Report, Run, train_in


class Comparison:
    """Runs in groups; ``print(comparison)`` is the table: mean ± deviation over the seeds of a group."""

    def __init__(self, folder: Path, groups: dict[str, list[Run]]) -> None:
        self.folder, self.groups = folder, groups

    @property
    def runs(self) -> list[Run]:
        return [run for group in self.groups.values() for run in group]

    def table(self, last: bool = False) -> str:
        """Markdown; at the best validated step, or at the last one."""
        groups = [{"name": name, "summaries": [run.summary for run in runs]} for name, runs in self.groups.items()]
        return c.text_of("report_table", json.dumps(groups).encode(), int(last))

    def best(self) -> Run:
        """The run with the smallest error, or residual where no reference is known."""
        def key(run: Run) -> float:
            figures = run.summary["best"]
            errors = [v for v in figures["l2"].values() if v is not None]
            value = max(errors) if errors else figures["residual"]
            return float("inf") if value is None or np.isnan(value) else value
        return min(self.runs, key=key)

    def report(self, file: str | os.PathLike[str] | None = None) -> Report:
        return Report.of([run.folder for run in self.runs], Path(file) if file else self.folder / "report.html")

    def __str__(self) -> str:
        return self.table()

    def _repr_markdown_(self) -> str:
        return self.table()


def _folder(given: Any, kind: str, problem: Problem) -> Path:
    if given is not None:
        folder = Path(given)
    else:
        number = 1
        while (folder := Path("runs") / f"{kind}-{problem.name}-{number}").exists():
            number += 1
    folder.mkdir(parents=True, exist_ok=True)
    others = [p.name for p in folder.iterdir()]
    if others and not any((folder / name / "config.json").exists() for name in others):
        raise ValueError(f"the folder '{folder}' is neither empty nor that of a {kind} (it holds '{others[0]}')")
    return folder


def _train_all(problem: Problem, folder: Path, plan: dict[str, list[tuple[str, dict[str, Any]]]],
               progress: bool | None) -> Comparison:
    groups: dict[str, list[Run]] = {}
    for group, members in plan.items():
        groups[group] = []
        for name, settings in members:
            run = train_in(problem._handle, settings, folder / name, None, progress, owner=problem)
            groups[group].append(run)
            if run.reason == "interrupted":
                raise KeyboardInterrupt(f"interrupted; the same call with folder={str(folder)!r} goes on")
    return Comparison(folder, groups)


def compare(problem: Problem | str, optimizers: Sequence[str] | Mapping[str, Mapping[str, Any]] = ("adam", "soap", "ss-esoap"),
            *, seeds: int | Iterable[int] = 3, folder: str | os.PathLike[str] | None = None,
            steps: int | None = None, seconds: float | None = None, target: Any = None, recipe: str | None = None,
            device: str = "cpu", threads: int = 0, progress: bool | None = None,
            settings: Mapping[str, Any] | None = None) -> Comparison:
    """Trains with several optimizers and seeds, one after the other, and tabulates.

    optimizers: names, or options by name: ``{"adam": {"learning_rate": 3e-3}, "lm": {}}``. The folder may hold an earlier
    call: what has ended is taken as it is, what was interrupted goes on.

    >>> both = compare("heat-1d", ["adam", "lm"], seeds=1, steps=5)
    >>> list(both.groups), "adam" in both.table()
    (['adam', 'lm'], True)
    """
    problem = Problem(problem) if isinstance(problem, str) else problem
    chosen = optimizers if isinstance(optimizers, Mapping) else {name: {} for name in optimizers}
    every = _of_every_run(_limits(steps, seconds, target, 0), device, threads, recipe)
    plan: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for name, options in chosen.items():
        plan[name] = []
        for seed in range(seeds) if isinstance(seeds, int) else seeds:
            wanted = _settings({"name": name, **options}, None, None, None, settings)
            wanted.update(every, seed=int(seed))
            plan[name].append((f"{name}-{seed}", wanted))
    return _train_all(problem, _folder(folder, "compare", problem), plan, progress)


def sweep(problem: Problem | str, grid: Mapping[str, Sequence[Any]], *, samples: int | None = None, seed: int = 0,
          seeds: int | Iterable[int] = 1, optimizer: str | Mapping[str, Any] | None = None,
          folder: str | os.PathLike[str] | None = None, steps: int | None = None, seconds: float | None = None,
          target: Any = None, recipe: str | None = None, device: str = "cpu", threads: int = 0,
          progress: bool | None = None) -> Comparison:
    """Trains with every combination of settings, or with ``samples`` of them drawn at random, one after the other.

    grid: values by path, as ``--set`` knows them: ``{"network.width": [16, 32], "optimizer.learning_rate": [1e-3, 3e-3]}``;
    the path "optimizer" takes names. Resumable by folder, as ``compare``.

    >>> swept = sweep("heat-1d", {"network.width": [6, 8]}, steps=5)
    >>> list(swept.groups)
    ['network.width=6', 'network.width=8']
    """
    problem = Problem(problem) if isinstance(problem, str) else problem
    points = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    if samples is not None and samples < len(points):
        drawn = np.random.default_rng(seed).choice(len(points), size=samples, replace=False)
        points = [points[i] for i in sorted(drawn)]
    every = _of_every_run(_limits(steps, seconds, target, 0), device, threads, recipe)
    plan: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for number, point in enumerate(points):
        label = ", ".join(f"{path}={value}" for path, value in point.items())
        changes = {path: _plain(value) for path, value in point.items() if path != "optimizer"}
        plan[label] = []
        for run_seed in range(seeds) if isinstance(seeds, int) else seeds:
            wanted = _settings(point.get("optimizer", optimizer), None, None, None, None)
            merged = _flat(wanted.pop("set", {}))
            merged.update(changes)
            if merged:
                wanted["set"] = merged
            wanted.update(every, seed=int(run_seed))
            plan[label].append((f"{number:03}-{run_seed}", wanted))
    return _train_all(problem, _folder(folder, "sweep", problem), plan, progress)


def _of_every_run(limits: dict[str, Any], device: str, threads: int, recipe: str | None) -> dict[str, Any]:
    return {**limits, "device": device, "threads": threads, **({} if recipe is None else {"recipe": recipe})}


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat
