"""A PDE with its conditions and data: from a bundled problem, a file, a text, or Python values."""
from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _toml
from ._arguments import UINT64, LatherError, as_json, integer, mapping, number, optional, path, plain, text, wrong_type
from ._arrays import doubles
from ._library import Handle, encoded, json_of
from .objective import Objective, of_problem
from .optimizer import named
from .run import Callback, Run, train


def problems() -> list[str]:
    """Names of the problems that come along, and of those in the folders of $LATHER_PROBLEMS.

    >>> "burgers" in problems()
    True
    """
    return json_of("problem_names")


def _named_list(items: Any, short: str, what: str) -> list[dict[str, Any]]:
    """{"heat": "u_t - u_xx"}, {"heat": {"residual": …}}, [{"name": …}, …] or one text: a list of tables."""
    if isinstance(items, str):
        items = {what: items}
    if isinstance(items, Mapping):
        listed = []
        for name, value in mapping(what, items).items():
            if isinstance(value, str):
                value = {short: value}
            elif isinstance(value, tuple) and len(value) == 2:
                value = {"where": value[0], "residual": value[1]}
            elif not isinstance(value, Mapping):
                raise wrong_type(f"{what} '{name}'", "a text, a pair (where, residual) or a dict", value)
            listed.append({"name": name, **value})
        return listed
    if not isinstance(items, (list, tuple)):
        raise wrong_type(what, "a dict by name, or a list of dicts", items)
    return [mapping(f"{what} {k}", item) for k, item in enumerate(items)]


class Problem:
    """A PDE, its domain, conditions and data.

    ``Problem("burgers")`` is a bundled problem, ``Problem("my_pde.toml")`` a file, ``Problem(text)`` the text of one
    (anything with a line feed). Or write it here; keys are those of problem files, lists of tables may be dicts by name:

    >>> problem = Problem(
    ...     name="heat", coordinates=["x", "t"], fields=["u"], domain={"x": [0, 1], "t": [0, 1]},
    ...     equations={"heat": "u_t - nu*u_xx"}, parameters={"nu": 0.1},
    ...     conditions={"start": ("t = 0", "u - sin(pi*x)"), "walls": (["x = 0", "x = 1"], "u")})
    >>> problem.coordinates, problem.fields, problem.terms
    (['x', 't'], ['u'], ['heat', 'start', 'walls'])

    ``data={"sensors": {"residual": "u - u_seen", "points": {"x": …, "t": …, "u_seen": …}}}`` takes arrays; with
    ``"file"`` instead of ``"points"`` a CSV file. A mistake is a ``LatherError`` that names its place:

    >>> Problem(coordinates=["x"], fields=["u"], domain={"x": [0, 1]}, equations={"e": "u_xx - f"})
    Traceback (most recent call last):
    lather.LatherError: problem:...: unknown name 'f'...
    """

    def __init__(self, source: str | os.PathLike[str] | None = None, /, *, name: str | None = None,
                 equations: Any = None, conditions: Any = None, data: Any = None,
                 folder: str | os.PathLike[str] | None = None,
                 **tables: Any) -> None:
        self._data_folder: str | None = None  # lives as long as the problem
        name, folder = optional(text, "name", name), optional(path, "folder", folder) or ""
        if source is not None:
            if equations is not None or conditions is not None or data is not None or tables:
                raise TypeError("give a problem as source or in parts, not both")
            given = path("source", source)
            if "\n" in given:
                self._read(given, os.path.join(folder, name or "problem"))
            else:
                self._own(Handle("problem", "problem_open", encoded("source", given)))
        else:
            tree: dict[str, Any] = {"name": name or "problem", **tables}
            if equations is not None:
                tree["equation"] = _named_list(equations, "residual", "equation")
            if conditions is not None:
                tree["condition"] = _named_list(conditions, "residual", "condition")
            if data is not None:
                tree["data"] = [self._with_file(item) for item in _named_list(data, "residual", "data")]
            self._read(_toml.dumps(tree), os.path.join(folder, tree["name"]))

    def _read(self, source: str, file: str) -> None:
        self._own(Handle("problem", "problem_from_text", encoded("the problem", source), encoded("its file", file)))

    def _own(self, handle: Handle) -> None:
        self._handle = handle
        self.info: dict[str, Any] = json_of("problem_info", handle)

    def _with_file(self, item: dict[str, Any]) -> dict[str, Any]:
        """Arrays of data become a CSV file, which a run copies into its folder."""
        points = item.pop("points", None)
        if points is None:
            return item
        name = text("the name of data", item.get("name"))
        if name in ("", ".", "..") or "/" in name:
            raise LatherError(f"data '{name}': expected a name that a file may have")
        columns = {key: doubles(column, f"data '{name}', {key}").ravel()
                   for key, column in mapping(f"data '{name}', points", points).items()}
        if len({len(column) for column in columns.values()}) != 1:
            lengths = ", ".join(f"{key} {len(column)}" for key, column in columns.items())
            raise LatherError(f"data '{name}': columns differ in length: {lengths}")
        rows = "".join(",".join(map(repr, row)) + "\n" for row in zip(*(column.tolist() for column in columns.values())))
        return {**item, "file": self._keep(f"{name}.csv", ",".join(columns) + "\n" + rows)}

    def _keep(self, name: str, content: str) -> str:
        if self._data_folder is None:
            self._data_folder = tempfile.mkdtemp(prefix="lather-data-")
            weakref.finalize(self, shutil.rmtree, self._data_folder, ignore_errors=True)
        file = Path(self._data_folder) / name
        file.write_text(content, encoding="utf-8")
        return str(file)

    def __reduce__(self) -> Any:
        """As its text, with the arrays it was given."""
        kept = sorted(Path(self._data_folder).iterdir()) if self._data_folder is not None else []
        return _again, (self.text, os.path.abspath(self.info["file"]), self._data_folder,
                        {file.name: file.read_text(encoding="utf-8") for file in kept})

    @property
    def name(self) -> str:
        return self.info["name"]

    @property
    def text(self) -> str:
        """The problem file."""
        return self.info["text"]

    @property
    def coordinates(self) -> list[str]:
        return self.info["coordinates"]

    @property
    def domain(self) -> dict[str, tuple[float, float]]:
        return {name: tuple(ends) for name, ends in zip(self.coordinates, self.info["domain"])}

    @property
    def fields(self) -> list[str]:
        return self.info["fields"]

    @property
    def terms(self) -> list[str]:
        """Names of the equations, conditions and data, in the order of the loss."""
        return self.info["terms"]

    @property
    def unknowns(self) -> dict[str, dict[str, float]]:
        return self.info["unknowns"]

    @property
    def recipes(self) -> list[str]:
        return self.info["recipes"]

    def describe(self) -> str:
        """What Lather understood, in words: ``print(problem.describe())``."""
        return self.info["description"]

    def __repr__(self) -> str:
        return f"<lather.Problem {self.name}: {', '.join(self.fields)} of ({', '.join(self.coordinates)})>"

    def train(self, optimizer: str | Mapping[str, Any] | None = None, *, steps: int | None = None,
              seconds: float | None = None, target: str | Mapping[str, float] | None = None, patience: int = 0,
              recipe: str | None = None, device: str = "cpu", precision: str = "float64", seed: int = 0,
              threads: int = 0, network: Mapping[str, Any] | None = None,
              training: Mapping[str, Any] | None = None, parameters: Mapping[str, Any] | None = None,
              settings: Mapping[str, Any] | None = None, folder: str | os.PathLike[str] | None = None,
              start: str | os.PathLike[str] | Run | None = None, callback: Callback | None = None,
              progress: bool | None = None) -> Run:
        """Trains a network and returns the run.

        optimizer   a name (``lather.optimizers()``), or a dict with options: ``{"name": "adam", "learning_rate": 1e-3}``
        steps, seconds, target ("l2=1e-6" or {"l2": 1e-6}), patience   when to stop
        recipe      of the problem file: quick, best, paper, …
        network, training, parameters, settings   changes, as ``--set`` makes them: ``network={"width": 64}``,
                    ``settings={"training.points.interior": 4096}``
        folder      the run folder; default: runs/PROBLEM-OPTIMIZER-SEED-N
        start       a run whose best network is the starting point
        callback    called with a ``Progress`` after every recorded step; ``return True`` ends the run
        progress    a progress bar; default: in terminals and notebooks

        Ctrl-C ends the training, keeps what was reached and returns the run; ``lather.resume`` goes on with it.

        >>> run = Problem("heat-1d").train("lm", steps=12, seed=1)
        >>> run.reason, run.step
        ('steps', 12)
        """
        wanted = _settings(optimizer, network, training, parameters, settings, recipe)
        wanted.update(_limits(steps, seconds, target, patience), **_computing(device, precision, seed, threads))
        return train(self._handle, as_json("settings", wanted), folder, start, callback, progress, owner=self)

    def objective(self, optimizer: str | Mapping[str, Any] | None = None, *, recipe: str | None = None,
                  device: str = "cpu", precision: str = "float64", seed: int = 0, threads: int = 0,
                  network: Mapping[str, Any] | None = None, training: Mapping[str, Any] | None = None,
                  parameters: Mapping[str, Any] | None = None,
                  settings: Mapping[str, Any] | None = None) -> Objective:
        """The loss with its gradient, residuals and Jacobian products, at the points a run would begin with.

        >>> import numpy as np
        >>> loss = Problem("heat-1d").objective(network={"width": 8})
        >>> x = loss.initialize(seed=1)
        >>> value, gradient = loss.gradient(x)
        >>> bool(np.isclose(value, np.sum(loss.residuals(x) ** 2)))
        True
        """
        wanted = _settings(optimizer, network, training, parameters, settings, recipe)
        wanted.update(_computing(device, precision, seed, threads))
        return of_problem(self, as_json("settings", wanted))


def _again(source: str, file: str, data_folder: str | None, kept: dict[str, str]) -> Problem:
    problem = Problem.__new__(Problem)
    problem._data_folder = None
    for name, content in kept.items():
        problem._keep(name, content)
    if kept:
        source = source.replace(data_folder, problem._data_folder)
    problem._read(source, file)
    return problem


def _computing(device: Any, precision: Any, seed: Any, threads: Any) -> dict[str, Any]:
    return {"device": text("device", device), "precision": text("precision", precision),
            "seed": integer("seed", seed, *UINT64), "threads": integer("threads", threads, 0)}


def _limits(steps: Any, seconds: Any, target: Any, patience: Any) -> dict[str, Any]:
    if isinstance(target, Mapping):
        if len(target) != 1:
            raise LatherError("target: expected one metric, as in {'l2': 1e-6}")
        [(metric, value)] = mapping("target", target).items()
        target = f"{metric}={number('target', value)!r}"
    limits = {"steps": optional(integer, "steps", steps, 1), "seconds": optional(number, "seconds", seconds, 0),
              "target": optional(text, "target", target), "patience": optional(integer, "patience", patience, 0)}
    return {name: limit for name, limit in limits.items() if limit is not None}


def _settings(optimizer: Any, network: Any, training: Any, parameters: Any, more: Any, recipe: Any) -> dict[str, Any]:
    wanted: dict[str, Any] = {} if recipe is None else {"recipe": text("recipe", recipe)}
    changes: dict[str, Any] = {}
    if optimizer is not None:
        options = named(optimizer)
        wanted["optimizer"] = options.pop("name")
        changes["optimizer"] = plain("optimizer", options)
    for key, value in (("network", network), ("training", training), ("parameters", parameters)):
        if value is not None:
            changes[key] = plain(key, mapping(key, value))
    more = {} if more is None else plain("settings", mapping("settings", more))
    for key in more:
        if changes.get(key):
            raise LatherError(f"settings: '{key}' is given twice; give its values in one place")
    changes = {key: value for key, value in {**changes, **more}.items() if value != {}}
    return {**wanted, "set": changes} if changes else wanted
