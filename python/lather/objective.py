"""The loss of a problem as a function: value, gradient, residuals, Jacobian products."""
from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

import numpy as np

from . import _library as c
from ._arguments import UINT64, LatherError, integer, text
from ._arrays import Borrowed, borrowed, doubles, on_cuda, reads, writes


class Objective:
    """A loss = sum of squared residuals r(x)^T r(x), all weights and means folded into r; J = dr/dx.

    ``Problem.objective()`` makes one. Arrays that are contiguous and float64 are read as they are; others are copied.
    What is written (``out``) must be such an array and share no memory with x.
    """

    def __init__(self, handle: c.Handle, owner: Any = None) -> None:
        self.size: int = c.size_of("objective_size", handle)
        self._handle, self._owner = handle, owner
        self._settings: bytes | None = None  # those of a problem's
        # What points it stands at, for pickling: the last seed, then the sets given since.
        self._points: tuple[int | None, dict[str, np.ndarray]] = (None, {})
        self._moving: dict[int, threading.Lock] = {}  # by process: one that a fork has copied is never released

    @property
    def residual_count(self) -> int:
        return c.size_of("objective_residual_count", self._handle)

    @property
    def info(self) -> dict[str, Any]:
        """Size, terms, point sets, and the blocks the parameters are made of."""
        return c.json_of("objective_info", self._handle)

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The parameters, block by block, for ``lather.Optimizer``."""
        return self.info["blocks"]

    def initialize(self, seed: int = 0) -> np.ndarray:
        """Parameters by a seed; points are drawn by it too."""
        seed = integer("seed", seed, *UINT64)
        x = np.empty(self.size)
        with self._lock():
            c.call("objective_initialize", self._handle, seed, writes(x, "x", x.shape))
            self._points = (seed, {})
        return x

    def set_points(self, name: str, points: Any) -> None:
        """Points of a set (``interior``, or a condition): one row per point."""
        name, rows = text("name", name), doubles(points, "points")
        if self._owner is None:
            raise LatherError("this objective is a function of yours; problems only have points")
        columns = len(self._owner.coordinates)
        if rows.ndim != 2 or rows.shape[1] != columns:
            raise LatherError(f"points: expected one row per point and {columns} columns, got shape {rows.shape}")
        with self._lock():
            c.call("objective_set_points", self._handle, name.encode(), len(rows), reads(rows, "points"))
            seed, sets = self._points
            self._points = (seed, {**sets, name: rows.copy()})

    def _lock(self) -> threading.Lock:
        return self._moving.setdefault(os.getpid(), threading.Lock())

    def value(self, x: Any) -> float:
        value = ctypes.c_double()
        c.call("objective_value", self._handle, self._x(x), ctypes.byref(value))
        return value.value

    def gradient(self, x: Any, out: Any = None) -> tuple[float, Any]:
        """Value and gradient. x and ``out`` on the GPU (PyTorch, CuPy) stay there if the objective has device="cuda"."""
        if on_cuda(x):
            return self._gradient_on_device(x, borrowed(x, "x"), out)
        given, value = self._x(x), ctypes.c_double()
        out = np.empty(self.size) if out is None else out
        c.call("objective_gradient", self._handle, given, ctypes.byref(value),
               writes(out, "out", (self.size,), besides=[given]))
        return value.value, out

    def _gradient_on_device(self, x: Any, seen: Borrowed, out: Any) -> tuple[float, Any]:
        if seen.dtype != np.float64 or seen.shape != (self.size,):
            raise LatherError(f"x: expected float64 of shape ({self.size},), got {seen.dtype} of shape {seen.shape}")
        if out is None:
            if not hasattr(x, "new_empty"):
                raise LatherError("out: expected an array on the GPU for the gradient")
            out = x.new_empty(self.size)
        value = ctypes.c_double()
        c.call("objective_gradient_on_device", self._handle, seen, ctypes.byref(value),
               writes(out, "out", (self.size,), "cuda", besides=[seen]), current_stream(x))
        return value.value, out

    def residuals(self, x: Any) -> np.ndarray:
        r = np.empty(self.residual_count)
        c.call("objective_residuals", self._handle, self._x(x), writes(r, "r", r.shape))
        return r

    def jacobian(self, x: Any, first: int = 0, count: int | None = None) -> np.ndarray:
        """Rows ``first`` to ``first + count`` of J; default: all of them."""
        total = self.residual_count
        first = integer("first", first, 0, total)
        count = total - first if count is None else integer("count", count, 0, total - first)
        rows = np.empty((count, self.size))
        c.call("objective_jacobian", self._handle, self._x(x), first, count, writes(rows, "rows", rows.shape))
        return rows

    def jacobian_times(self, x: Any, v: Any) -> np.ndarray:
        """J v, without forming J."""
        result = np.empty(self.residual_count)
        c.call("objective_jacobian_times", self._handle, self._x(x), reads(v, "v", (self.size,)),
               writes(result, "result", result.shape))
        return result

    def transposed_jacobian_times(self, x: Any, w: Any) -> np.ndarray:
        """J^T w, without forming J."""
        result = np.empty(self.size)
        c.call("objective_transposed_jacobian_times", self._handle, self._x(x), reads(w, "w", (self.residual_count,)),
               writes(result, "result", result.shape))
        return result

    def _x(self, x: Any) -> Borrowed:
        return reads(x, "x", (self.size,))

    def __reduce__(self) -> Any:
        """As its problem, settings and points, from which it is built again."""
        if self._settings is None:
            raise TypeError("an objective of a Python function cannot be pickled; pickle the function")
        return _again, (self._owner, self._settings, *self._points)

    def __repr__(self) -> str:
        return f"<lather.Objective of {self.size} parameters, {self.residual_count} residuals>"


def of_problem(problem: Any, settings: bytes) -> Objective:
    objective = Objective(c.Handle("objective", "objective_create", problem._handle, settings), problem)
    objective._settings = settings
    return objective


def _again(problem: Any, settings: bytes, seed: int | None, sets: dict[str, np.ndarray]) -> Objective:
    objective = of_problem(problem, settings)
    if seed is not None:
        objective.initialize(seed)
    for name, rows in sets.items():
        objective.set_points(name, rows)
    return objective


def current_stream(array: Any) -> int:
    """The stream that work on this array is ordered by: PyTorch's current one, else the default."""
    if type(array).__module__.split(".")[0] == "torch":
        import torch  # type: ignore[import-not-found]
        return torch.cuda.current_stream(array.device).cuda_stream
    return 0
