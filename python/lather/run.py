"""Runs: training one, and what it has come to."""
from __future__ import annotations

import ctypes
import html
import json
import os
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _library as c
from ._arguments import LatherError, as_json, flag, function, mapping, optional, path, shown, text, texts, wrong_type
from ._arrays import doubles, reads, writes
from ._files import read_found, read_table, write_found
from .progress import Bar, Progress

Callback = Callable[[Progress], Any]


class Run:
    """A trained network with its history; ``Problem.train``, ``load`` and ``resume`` return one.

    Results are those of the best validated step; ``best=False`` asks for the last one.
    """

    def __init__(self, handle: c.Handle, summary: dict[str, Any] | None = None, owner: Any = None) -> None:
        self._handle, self._owner = handle, owner
        self.messages: list[str] = []  # what the training had to say
        self.interrupted = False  # by Ctrl-C
        self._info: dict[str, Any] = c.json_of("trainer_info", handle)
        optional(mapping, "summary", summary)
        self.messages += self._info["messages"]
        if summary is None and self.folder:
            file = Path(self.folder) / "summary.json"
            summary = json.loads(read_found(file)) if os.path.lexists(file) else None
        self.summary: dict[str, Any] = summary if summary is not None else self._measured(fine=False)

    # -- what it is ----------------------------------------------------------------------------------
    @property
    def folder(self) -> str:
        return self._info["folder"]

    @property
    def config(self) -> dict[str, Any]:
        """Everything the run depends on."""
        return self._info["config"]

    @property
    def step(self) -> int:
        return self._info["step"]

    @property
    def reason(self) -> str:
        """Why it ended: steps, target, time, patience, interrupted, converged, stalled or non_finite; "" while it runs."""
        return self.summary.get("reason", "")

    @property
    def message(self) -> str:
        """The same in a sentence."""
        return self.summary.get("message", "")

    @property
    def chosen(self) -> list[str]:
        """What Lather chose by the size of the problem or for the method, with reasons; empty where a recipe was used."""
        return self._info["chosen"]

    @property
    def coordinates(self) -> list[str]:
        return self._info["coordinates"]

    @property
    def fields(self) -> list[str]:
        return self._info["fields"]

    @property
    def domain(self) -> dict[str, tuple[float, float]]:
        return {name: tuple(ends) for name, ends in zip(self.coordinates, self._info["domain"])}

    @property
    def history(self) -> dict[str, np.ndarray]:
        """Columns of the history as arrays, NaN where a quantity was not measured: step, seconds, loss, ….

        ``run.frame()`` is the same as a pandas data frame.
        """
        return _history(Path(self.folder))

    def frame(self) -> Any:
        """The history as a pandas.DataFrame."""
        try:
            import pandas  # type: ignore[import-not-found,import-untyped]
        except ImportError as error:
            raise ImportError("run.frame() needs pandas; run.history is a dict of arrays") from error
        return pandas.DataFrame(self.history)

    # -- what it has come to -------------------------------------------------------------------------
    def _measured(self, fine: bool) -> dict[str, Any]:
        return c.json_of("trainer_summary", self._handle, int(fine))

    def errors(self, best: bool = True, norm: str = "l2") -> dict[str, float]:
        """Relative errors by field against the reference on the grid of ``lather eval``; empty where none is known.

        norm: ``l2`` or ``h1``.
        """
        if text("norm", norm) not in ("l2", "h1"):
            raise LatherError(f"norm '{norm}': expected l2 or h1")
        measured = self._measured(fine=True)["best" if flag("best", best) else "final"]
        return {field: value for field, value in measured[norm].items() if value is not None}

    def residuals(self, best: bool = True) -> dict[str, float]:
        """Root mean squares of the residuals at held-out points, by term."""
        return dict(self._measured(fine=False)["best" if flag("best", best) else "final"]["residuals"])

    @property
    def unknowns(self) -> dict[str, float]:
        """What was to be found along with the fields."""
        return {name: entry["value"] for name, entry in self.summary.get("unknowns", {}).items()}

    def parameters(self, best: bool = True) -> np.ndarray:
        """All weights in one array."""
        values = np.empty(c.size_of("trainer_size", self._handle))
        c.call("trainer_parameters", self._handle, int(flag("best", best)), writes(values, "values", values.shape))
        return values

    def predict(self, x: Any, derivatives: Sequence[str] = (), best: bool = True) -> dict[str, np.ndarray]:
        """Fields, and derivatives such as ``u_x`` or ``u_xxt``, at points.

        x: an array with one row per point and one column per coordinate, or a dict of equally shaped arrays by
        coordinate; results have the shape of one column.

        >>> import lather
        >>> run = lather.Problem("heat-1d").train("lm", steps=5)
        >>> x, t = np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 3))
        >>> values = run.predict({"x": x, "t": t}, derivatives=["u_x"])
        >>> sorted(values), values["u_x"].shape
        (['u', 'u_x'], (3, 5))
        """
        points, shape = self._points(x)
        names = [*self.fields, *texts("derivatives", [derivatives] if isinstance(derivatives, str) else derivatives)]
        for name in names:
            if not name.isidentifier():
                raise LatherError(f"derivatives: expected names such as u_x, got {shown(name)}")
        values = np.empty((len(points), len(names)))
        c.call("trainer_predict", self._handle, int(flag("best", best)), ",".join(names).encode(), len(points),
               reads(points, "points"), writes(values, "values", values.shape))
        return {name: values[:, k].reshape(shape) for k, name in enumerate(names)}

    def reference(self, x: Any) -> dict[str, np.ndarray]:
        """The true fields at points, where they are known."""
        points, shape = self._points(x)
        values = np.empty((len(points), len(self.fields)))
        c.call("trainer_reference", self._handle, len(points), reads(points, "points"), writes(values, "values", values.shape))
        return {name: values[:, k].reshape(shape) for k, name in enumerate(self.fields)
                if not np.isnan(values[:, k]).all()}

    def _points(self, x: Any) -> tuple[np.ndarray, tuple[int, ...]]:
        names = self.coordinates
        if isinstance(x, Mapping):
            if set(x) != set(names):
                raise LatherError(f"points: expected the coordinates {', '.join(names)}, got {', '.join(map(str, x))}")
            columns = np.broadcast_arrays(*(doubles(x[name], f"points, {name}") for name in names))
            return np.ascontiguousarray(np.stack([column.ravel() for column in columns], axis=1)), columns[0].shape
        points = doubles(x, "points")
        if points.ndim == 1 and len(names) == 1:
            points = points.reshape(-1, 1)
        if points.ndim != 2 or points.shape[1] != len(names):
            raise LatherError(f"points: expected one row per point and {len(names)} columns "
                              f"({', '.join(names)}), got shape {points.shape}")
        return points, (len(points),)

    # -- pictures ------------------------------------------------------------------------------------
    def plot(self) -> Any:
        """The error over time and the solution: with matplotlib where it is installed, else as SVG."""
        try:
            from matplotlib import pyplot  # type: ignore[import-not-found,import-untyped]
        except ImportError:
            return Picture(c.text_of("report_figure", c.text_list([self.folder]), 1))
        return _plot(self, pyplot)

    def report(self, file: str | os.PathLike[str] | None = None) -> Report:
        """The report page: shown inline in notebooks, ``.open()`` in a browser. Default: report.html in the folder."""
        return Report.of([self.folder], file, Path(self.folder))

    def resume(self, **limits: Any) -> Run:
        """Goes on; see ``lather.resume``."""
        return resume(self.folder, **limits)

    def __reduce__(self) -> Any:
        """As its folder, from which it is opened again."""
        if not self.folder:
            raise TypeError("a run without a folder cannot be pickled")
        return _again, (os.path.abspath(self.folder), self.messages, self.interrupted)

    def __repr__(self) -> str:
        errors = self.summary.get("best", {}).get("l2", {})
        shown = "".join(f", L2 error of {f} {v:.2e}" for f, v in errors.items() if v is not None)
        return (f"<lather.Run {self.config['problem']['name']} with {self.config['optimizer']['name']}: "
                f"step {self.step}{shown}; {self.message or 'not ended'}; {self.folder}>")


class Picture:
    """An SVG; notebooks show it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, file: str | os.PathLike[str]) -> None:
        Path(file).write_text(self.svg, encoding="utf-8")


class Report:
    """A page about runs; it needs no network."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, runs: list[str], file: str | os.PathLike[str] | None, folder: Path) -> Report:
        """To a file of the caller's choice, which may be a link or a device, or to report.html in the folder."""
        place = folder / "report.html" if file is None else Path(path("file", file))
        page = c.text_of("report_page", c.text_list(runs), len(runs))
        if file is None:
            write_found(place, page)
        else:
            place.write_text(page, encoding="utf-8")
        return cls(place)

    def open(self) -> None:
        webbrowser.open(self.path.resolve().as_uri())

    def _repr_html_(self) -> str:
        page = html.escape(self.path.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:720px;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<lather report: {self.path}>"


def _history(folder: Path) -> dict[str, np.ndarray]:
    names, rows = read_table(folder / "history.csv")
    columns = {}
    for k, name in enumerate(names):
        texts = [row[k] for row in rows]
        try:
            columns[name] = np.array([float(text) if text else np.nan for text in texts])
        except ValueError:
            columns[name] = np.array(texts)
    timing = {row[0]: row[1] for row in read_table(folder / "timing.csv")[1] if len(row) > 1}
    columns["seconds"] = np.array([float(timing.get(row[0], "nan")) for row in rows])
    if "step" in columns:
        columns["step"] = columns["step"].astype(np.int64)
    return columns


def _plot(run: Run, pyplot: Any) -> Any:
    history, fields = run.history, run.fields
    flat = len(run.coordinates) <= 2
    figure, axes = pyplot.subplots(1, 2 if flat else 1, figsize=(11 if flat else 6, 4), squeeze=False)
    for name, values in history.items():
        measured = ~np.isnan(values) if values.dtype == np.float64 else np.zeros(len(values), bool)
        if (name == "loss" or name.startswith(("l2", "residual"))) and measured.any():
            axes[0, 0].semilogy(history["seconds"][measured], values[measured], label=name)
    axes[0, 0].set_xlabel("seconds")
    axes[0, 0].legend()
    if flat:
        grids = [np.linspace(*run.domain[name], 201) for name in run.coordinates]
        values = run.predict(dict(zip(run.coordinates, np.meshgrid(*grids, indexing="ij"))))[fields[0]]
        if len(grids) == 1:
            axes[0, 1].plot(grids[0], values)
        else:
            figure.colorbar(axes[0, 1].pcolormesh(grids[1], grids[0], values, shading="auto"))
            axes[0, 1].set(xlabel=run.coordinates[1], ylabel=run.coordinates[0])
        axes[0, 1].set_title(fields[0])
    figure.tight_layout()
    return figure


class _Watch:
    """Callbacks of one training. An exception of the user's stops the run, which is saved, and is raised after it."""

    def __init__(self, callback: Callback | None, progress: bool | None) -> None:
        self._callback, self._bar = callback, Bar(progress)
        self.error: BaseException | None = None
        self.interrupted = False
        self.messages: list[str] = []
        self.struct = c.Watcher(size=ctypes.sizeof(c.Watcher), progress=c.PROGRESS(self._progress),
                                message=c.MESSAGE(self._message), interval=0.2)

    def _progress(self, _user: Any, pointer: Any) -> int:
        def work() -> int:
            p = pointer.contents
            now = Progress(p.step, p.steps, p.stage, p.stages, p.loss, p.gradient_norm, p.residual, p.l2, p.seconds,
                           p.steps_per_second, p.seconds_left)
            self._bar.update(now)
            return int(bool(p.recorded and self._callback is not None and self._callback(now)))
        return c.called_back(work, self._failed)

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.interrupted = True
        elif self.error is None:
            self.error = error

    def _message(self, _user: Any, text: bytes) -> None:
        self.messages.append(text.decode("utf-8", "replace"))

    def close(self) -> None:
        self._bar.close()


def _run(handle: c.Handle, callback: Callback | None, progress: bool | None, owner: Any = None) -> Run:
    watch = _Watch(callback, progress)
    text = ctypes.c_char_p()
    try:
        c.call("trainer_run", handle, ctypes.byref(watch.struct), ctypes.byref(text))
        watch.interrupted = watch.interrupted or bool(c.library.lather_interrupted())
        summary = json.loads((text.value or b"{}").decode("utf-8"))
    finally:
        watch.close()
    if watch.error is not None:
        raise watch.error
    run = Run(handle, summary, owner)
    run.messages, run.interrupted = run.messages + watch.messages, watch.interrupted
    if run.reason == "interrupted" and watch.interrupted:
        print(f"interrupted at step {run.step} and saved; go on with lather.resume({run.folder!r})")
    return run


def train(problem: c.Handle, settings: bytes, folder: Any, start: Any, callback: Callback | None,
          progress: bool | None, owner: Any = None) -> Run:
    _check_watcher(callback, progress)
    source = start.folder if isinstance(start, Run) else start
    handle = c.Handle("trainer", "trainer_create", problem, settings,
                      c.encoded("folder", folder if folder is not None else ""), c.encoded("start", source))
    return _run(handle, callback, progress, owner)


def _check_watcher(callback: Any, progress: Any) -> None:
    optional(function, "callback", callback)
    optional(flag, "progress", progress)


def load(folder: str | os.PathLike[str]) -> Run:
    """A run from its folder, also while it runs elsewhere: the state of its newest checkpoint.

    >>> import lather
    >>> run = lather.Problem("heat-1d").train("lm", steps=5, folder="runs/for-load")
    >>> lather.load("runs/for-load").step
    5
    """
    return Run(c.Handle("trainer", "trainer_open", _given(folder)))


def _given(folder: Any) -> bytes:
    if folder is None:
        raise wrong_type("folder", "the folder of a run", folder)
    return c.encoded("folder", folder)


def _again(folder: str, messages: list[str], interrupted: bool) -> Run:
    run = load(folder)
    run.messages, run.interrupted = messages, interrupted
    return run


def resume(folder: str | os.PathLike[str], *, steps: int | None = None, seconds: float | None = None,
           target: str | Mapping[str, float] | None = None, patience: int | None = None,
           callback: Callback | None = None, progress: bool | None = None) -> Run:
    """Goes on with a run, bit for bit, under new limits."""
    from .problem import _limits
    limits = as_json("limits", _limits(steps, seconds, target, patience))
    _check_watcher(callback, progress)
    return _run(c.Handle("trainer", "trainer_resume", _given(folder), limits), callback, progress)
