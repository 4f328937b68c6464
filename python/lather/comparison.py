"""Many trainings: what ``lather compare`` and ``lather sweep`` do, by the same code, in the same folders."""
from __future__ import annotations

import ctypes
import itertools
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import _library as c
from . import _toml
from ._arguments import (INT64, UINT64, LatherError, as_json, flag, integer, mapping, optional, plain, shown, text, texts,
                         wrong_type)
from .optimizer import named
from .problem import Problem, _limits, _settings
from .run import Report, Run, load


class Comparison:
    """Runs in groups; ``print(comparison)`` is the table: mean ± deviation over the seeds of a group."""

    def __init__(self, result: dict[str, Any]) -> None:
        if not isinstance(result, dict) or not {"folder", "complete"} <= set(result):
            raise wrong_type("result", "what compare() or sweep() has come to", result)
        self._result = result
        self.folder = Path(result["folder"])
        self._loaded: dict[str, Run] = {}

    def _folders(self) -> dict[str, list[str]]:
        return {group["name"]: group["runs"] for group in self._result["groups"]}

    def _run(self, folder: str) -> Run:
        if folder not in self._loaded:
            self._loaded[folder] = load(folder)
        return self._loaded[folder]

    @property
    def groups(self) -> dict[str, list[Run]]:
        """Runs by group, one per seed."""
        return {name: [self._run(folder) for folder in folders] for name, folders in self._folders().items()}

    @property
    def runs(self) -> list[Run]:
        return [run for group in self.groups.values() for run in group]

    def table(self, last: bool = False) -> str:
        """Markdown; at the best validated step, or at the last one."""
        groups = [{"name": name, "summaries": [run.summary for run in runs]} for name, runs in self.groups.items()]
        return c.text_of("report_table", json.dumps(groups).encode(), int(flag("last", last)))

    def best(self) -> Run:
        """The run with the smallest error, or residual where no reference is known."""
        def key(run: Run) -> float:
            figures = run.summary["best"]
            errors = [v for v in figures["l2"].values() if v is not None]
            value = max(errors) if errors else figures["residual"]
            return float("inf") if value is None or np.isnan(value) else value
        return min(self.runs, key=key)

    def report(self, file: str | os.PathLike[str] | None = None) -> Report:
        folders = [folder for group in self._folders().values() for folder in group]
        return Report.of(folders, file, self.folder)

    def __str__(self) -> str:
        return self.table()

    def _repr_markdown_(self) -> str:
        return self.table()


@dataclass(frozen=True)
class Point:
    """One combination of a sweep."""
    label: str
    optimizer: str                        # "" if the sweep leaves it to the recipe
    values: dict[str, str]                # by path, as given to --set
    score: float                          # of the metric, over the seeds; infinite if a run has none
    round: int                            # the last one of successive halving it took part in
    runs: list[str] = field(repr=False)   # folders, one per seed


class Sweep(Comparison):
    """A sweep, best point first; ``print(sweep)`` is the ranking, ``sweep.page`` the page that plots it."""

    @property
    def page(self) -> Path:
        return Path(self._result["page"])

    @property
    def points(self) -> list[Point]:
        return [Point(p["label"], p["optimizer"], p["values"], float("inf") if p["score"] is None else p["score"],
                      p["round"], p["runs"]) for p in self._result["points"]]

    def _folders(self) -> dict[str, list[str]]:
        return {point["label"]: point["runs"] for point in self._result["points"]}

    def table(self, last: bool = False) -> str:
        """The ranking, as table.md has it."""
        if flag("last", last):
            raise LatherError("a sweep is ranked at the best step")
        return self._result["table"]

    def best(self) -> Run:
        """The first run of the best point."""
        return self._run(self.points[0].runs[0])


class _Watch:
    """Lines of the library on the screen; Ctrl-C asks all runs to save and end."""

    def __init__(self, progress: bool | None) -> None:
        self._show = sys.stderr.isatty() if progress is None else progress
        self.struct = c.RunsWatcher(size=ctypes.sizeof(c.RunsWatcher), message=c.MESSAGE(self._message))

    def _message(self, _user: Any, text: bytes) -> None:
        if self._show:
            print(text.decode("utf-8", "replace"), file=sys.stderr, flush=True)

    def call(self, name: str, *arguments: Any) -> dict[str, Any]:
        result = c.json_of(name, *arguments, ctypes.byref(self.struct))
        if not result["complete"]:
            raise KeyboardInterrupt(f"interrupted and saved; the same call with folder={result['folder']!r} goes on")
        return result


def compare(problem: Problem | str, optimizers: Sequence[str] | Mapping[str, Mapping[str, Any]] = ("adam", "soap", "ss-esoap"),
            *, seeds: int | Iterable[int] = 3, folder: str | os.PathLike[str] | None = None,
            steps: int | None = None, seconds: float | None = None, target: Any = None, equal_time: bool = False,
            recipe: str | None = None, device: str = "cpu", threads: int = 0, jobs: int = 1,
            progress: bool | None = None, settings: Mapping[str, Any] | None = None) -> Comparison:
    """Trains with several optimizers and seeds and tabulates, as ``lather compare`` does.

    optimizers  names, or options by label: ``{"adam": {"learning_rate": 3e-3}, "lm": {}}``; a label that is not the name
                of an optimizer says it: ``{"slow": {"name": "adam", "learning_rate": 1e-4}}``
    equal_time  every run trains for ``seconds``, whatever its steps cost
    jobs        trainings side by side, one thread each; 1: one after the other, with all threads
    settings    of all runs, as ``--set`` makes them

    The folder (default: runs/compare-PROBLEM-N) may hold an earlier call: what has ended is taken as it is, what was
    interrupted goes on. Ctrl-C saves all runs.

    >>> both = compare("heat-1d", ["adam", "lm"], seeds=1, steps=5)
    >>> list(both.groups), "adam" in both.table()
    (['adam', 'lm'], True)
    """
    problem, how = _problem(problem), {"seeds": _seeds(seeds), "jobs": integer("jobs", jobs, 1), "equal_time": flag("equal_time", equal_time)}
    chosen = mapping("optimizers", optimizers) if isinstance(optimizers, Mapping) else {
        name: {} for name in texts("optimizers", optimizers)}
    contestants = []
    for label, given in chosen.items():
        options = plain(f"optimizers.{label}", mapping(f"optimizers.{label}", given))
        contestants.append({"name": text("name", options.pop("name", label)), "label": label, "set": {"optimizer": options}})
    wanted = _settings(None, None, None, None, settings, recipe)
    wanted.update(_limits(steps, seconds, target, None), device=text("device", device), threads=integer("threads", threads, 0))
    return Comparison(_Watch(optional(flag, "progress", progress)).call(
        "compare", problem._handle, as_json("optimizers", contestants), as_json("settings", wanted),
        c.encoded("folder", folder), as_json("options", how)))


def sweep(problem: Problem | str, axes: Mapping[str, Any] | None = None, *, search: str | None = None,
          samples: int | None = None, seed: int = 0, seeds: int | Iterable[int] = 1, metric: str = "residual",
          optimizer: str | Mapping[str, Any] | None = None, optimizers: Sequence[Mapping[str, Any]] = (),
          name: str | None = None, folder: str | os.PathLike[str] | None = None, steps: int | None = None,
          seconds: float | None = None, recipe: str | None = None, device: str = "cpu", jobs: int = 0,
          progress: bool | None = None, settings: Mapping[str, Any] | None = None, **more: Any) -> Sweep:
    """Trains over values of settings, several runs at once, and ranks them, as ``lather sweep`` does.

    axes        values by path, as ``--set`` knows them: ``{"network.width": [16, 32]}``, or a range:
                ``{"optimizer.learning_rate": {"low": 1e-4, "high": 1e-2, "scale": "log"}}``; the path "optimizer" takes
                names
    search      "grid", "random" (default with ``samples``), "halving"; samples, seed: how many are drawn, and how
    metric      what is ranked at the best step: residual, loss, l2, h1
    optimizer   of all runs; optimizers: several, each with ``name``, ``label``, ``settings`` and ``axes`` of its own
    jobs        trainings side by side, one thread each; 0: one per core
    more        further keys of a sweep file (docs/sweeps.md): factor, rounds, keep

    The folder (default: runs/sweep-NAME, the name of the problem) may hold an earlier call: finished runs are not
    repeated, interrupted ones go on. Ctrl-C saves all runs.

    >>> swept = sweep("heat-1d", {"network.width": [6, 8]}, optimizer="lm", steps=5)
    >>> sorted(swept.groups), swept.page.name
    (['lm, width 6', 'lm, width 8'], 'index.html')
    """
    problem, varied = _problem(problem), mapping("axes", {} if axes is None else axes)
    tables = [mapping("optimizers", one) for one in _list("optimizers", optimizers)]
    names = varied.pop("optimizer", None)
    if sum(given is not None for given in (names, optimizer)) + bool(tables) > 1:
        raise TypeError("give the optimizers once: as axes['optimizer'], as optimizer or as optimizers")
    if names is not None:
        tables = [{"name": one} for one in texts("axes['optimizer']", names)]
    elif optimizer is not None:
        options = named(optimizer)
        tables = [{"name": options.pop("name"), "settings": {f"optimizer.{key}": v for key, v in options.items()}}]
    tree: dict[str, Any] = {"name": optional(text, "name", name) or problem.name, "metric": text("metric", metric),
                            "search": optional(text, "search", search) or ("random" if samples is not None else "grid"),
                            "seeds": _seeds(seeds), "seed": integer("seed", seed, *INT64) or None,
                            "recipe": optional(text, "recipe", recipe), "samples": optional(integer, "samples", samples, 1)}
    limits = _limits(steps, seconds, None, None)
    tree.update(steps=limits.get("steps"), time=limits.get("seconds"), **more)
    tree = {key: value for key, value in tree.items() if value is not None}
    for table in tables:
        for key in ("settings", "axes"):
            if key in table:
                table[key] = _nested(f"optimizers.{key}", table[key])
    for key, given in (("settings", settings), ("axes", varied)):
        nested = {} if given is None else _nested(key, given)
        if nested:
            tree[key] = nested
    if tables:
        tree["optimizer"] = tables
    how = {"jobs": integer("jobs", jobs, 0), "device": text("device", device)}
    return Sweep(_Watch(optional(flag, "progress", progress)).call(
        "sweep", problem._handle, _toml.dumps(tree).encode(), c.encoded("folder", folder), as_json("options", how)))


def _problem(given: Any) -> Problem:
    if isinstance(given, str):
        return Problem(given)
    if not isinstance(given, Problem):
        raise wrong_type("problem", "a lather.Problem, or the name of one", given)
    return given


def _list(name: str, given: Any) -> list[Any]:
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Sequence):
        raise wrong_type(name, "a list", given)
    return list(given)


_MOST_SEEDS = 10_000  # a number of runs that nobody means is a mistake


def _seeds(seeds: Any) -> list[int]:
    """A number of seeds, or a list of them."""
    if isinstance(seeds, (str, bytes)) or not isinstance(seeds, Iterable):
        return list(range(integer("seeds", seeds, 1, _MOST_SEEDS)))
    listed = [integer("seeds", seed, *UINT64) for seed in itertools.islice(seeds, _MOST_SEEDS + 1)]
    if not 0 < len(listed) <= _MOST_SEEDS:
        raise LatherError(f"seeds: expected at least one and at most {_MOST_SEEDS}, got {shown(seeds)}")
    return listed


def _nested(name: str, paths: Any) -> dict[str, Any]:
    """{"network.width": 8} as {"network": {"width": 8}}, which TOML means by a dotted key."""
    tree: dict[str, Any] = {}
    for path, value in mapping(name, paths).items():
        *above, last = path.split(".")
        place = tree
        for key in above:
            place = place.setdefault(key, {})
            if not isinstance(place, dict):
                raise LatherError(f"{name}: '{path}' goes on below a value")
        value = plain(f"{name}.{path}", value)
        if isinstance(value, dict) and isinstance(place.get(last), dict):
            place[last].update(value)
        elif last in place:
            raise LatherError(f"{name}: '{path}' is given twice")
        else:
            place[last] = value
    return tree
