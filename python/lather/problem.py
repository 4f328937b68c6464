"""A PDE with its conditions and data: from a bundled problem, a file, a text, or Python values."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _toml
from ._library import Handle, encoded, json_of
from .objective import Objective
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
        for name, value in items.items():
            if isinstance(value, str):
                value = {short: value}
            elif isinstance(value, tuple) and len(value) == 2:
                value = {"where": value[0], "residual": value[1]}
            elif not isinstance(value, Mapping):
                raise TypeError(f"{what} '{name}': expected a text, a pair (where, residual) or a dict")
            listed.append({"name": name, **value})
        return listed
    return [dict(item) for item in items]


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
                 equations: Any = None, conditions: Any = None, data: Any = None, folder: str | None = None,
                 **tables: Any) -> None:
        self._data_folder: str | None = None  # lives as long as the problem
        if source is not None:
            if equations is not None or conditions is not None or data is not None or tables:
                raise TypeError("give a problem as source or in parts, not both")
            text = os.fspath(source)
            if "\n" in text:
                self._handle = Handle("problem", "problem_from_text", encoded(text),
                                      encoded(os.path.join(folder or "", (name or "problem"))))
            else:
                self._handle = Handle("problem", "problem_open", encoded(text))
        else:
            tree: dict[str, Any] = {"name": name or "problem", **tables}
            if equations is not None:
                tree["equation"] = _named_list(equations, "residual", "equation")
            if conditions is not None:
                tree["condition"] = _named_list(conditions, "residual", "condition")
            if data is not None:
                tree["data"] = [self._with_file(item) for item in _named_list(data, "residual", "data")]
            self._handle = Handle("problem", "problem_from_text", encoded(_toml.dumps(tree)),
                                  encoded(os.path.join(folder or "", tree["name"])))
        self.info: dict[str, Any] = json_of("problem_info", self._handle.pointer)

    def _with_file(self, item: dict[str, Any]) -> dict[str, Any]:
        """Arrays of data become a CSV file, which a run copies into its folder."""
        points = item.pop("points", None)
        if points is None:
            return item
        if self._data_folder is None:
            self._data_folder = tempfile.mkdtemp(prefix="lather-data-")
            weakref.finalize(self, shutil.rmtree, self._data_folder, ignore_errors=True)
        names = list(points)
        columns = [np.asarray(points[key], dtype=np.float64).ravel() for key in names]
        if len({len(column) for column in columns}) != 1:
            lengths = ", ".join(f"{key} {len(column)}" for key, column in zip(names, columns))
            raise ValueError(f"data '{item['name']}': columns differ in length: {lengths}")
        file = Path(self._data_folder) / f"{item['name']}.csv"
        rows = "".join(",".join(repr(float(v)) for v in row) + "\n" for row in zip(*columns))
        file.write_text(",".join(names) + "\n" + rows)
        return {**item, "file": str(file)}

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
        wanted = _settings(optimizer, network, training, parameters, settings)
        wanted.update(_limits(steps, seconds, target, patience))
        wanted.update(device=device, precision=precision, seed=seed, threads=threads)
        if recipe is not None:
            wanted["recipe"] = recipe
        return train(self._handle, wanted, folder, start, callback, progress, owner=self)

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
        wanted = _settings(optimizer, network, training, parameters, settings)
        wanted.update(device=device, precision=precision, seed=seed, threads=threads)
        if recipe is not None:
            wanted["recipe"] = recipe
        return Objective(Handle("objective", "objective_create", self._handle.pointer,
                                json.dumps(wanted).encode()), owner=self)


def _limits(steps: int | None, seconds: float | None, target: Any, patience: int | None) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if steps is not None:
        limits["steps"] = int(steps)
    if seconds is not None:
        limits["seconds"] = float(seconds)
    if patience:
        limits["patience"] = int(patience)
    if isinstance(target, Mapping):
        if len(target) != 1:
            raise ValueError("target: expected one metric, as in {'l2': 1e-6}")
        [(metric, value)] = target.items()
        target = f"{metric}={value!r}"
    if target is not None:
        limits["target"] = target
    return limits


def _settings(optimizer: Any, network: Any, training: Any, parameters: Any, more: Any) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    wanted: dict[str, Any] = {}
    if isinstance(optimizer, Mapping):
        options = dict(optimizer)
        if "name" not in options:
            raise ValueError("optimizer: expected a name, as in {'name': 'adam', 'learning_rate': 1e-3}")
        wanted["optimizer"] = options.pop("name")
        changes["optimizer"] = options
    elif optimizer is not None:
        wanted["optimizer"] = optimizer
    for key, value in (("network", network), ("training", training), ("parameters", parameters)):
        if value:
            changes[key] = _plain(value)
    if more:
        changes.update(_plain(more))
    if changes:
        wanted["set"] = changes
    return wanted


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as those of JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
