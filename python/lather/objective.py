"""The loss of a problem as a function: value, gradient, residuals, Jacobian products."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import _library as c
from ._arrays import doubles, view


class Objective:
    """A loss = sum of squared residuals r(x)^T r(x), all weights and means folded into r; J = dr/dx.

    ``Problem.objective()`` makes one. Arrays that are contiguous and float64 are used as they are; others are copied.
    """

    def __init__(self, handle: c.Handle, owner: Any = None) -> None:
        self._handle, self._owner = handle, owner
        self.size: int = c.library.lather_objective_size(handle.pointer)

    @property
    def residual_count(self) -> int:
        return c.library.lather_objective_residual_count(self._handle.pointer)

    @property
    def info(self) -> dict[str, Any]:
        """Size, terms, point sets, and the blocks the parameters are made of."""
        return c.json_of("objective_info", self._handle.pointer)

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The parameters, block by block, for ``lather.Optimizer``."""
        return self.info["blocks"]

    def initialize(self, seed: int = 0) -> np.ndarray:
        """Parameters by a seed; points are drawn by it too."""
        x = np.empty(self.size)
        c.call("objective_initialize", self._handle.pointer, seed, x.ctypes.data)
        return x

    def set_points(self, name: str, points: Any) -> None:
        """Points of a set (``interior``, or a condition): one row per point."""
        rows = doubles(points, "points")
        if rows.ndim != 2 or rows.shape[1] != len(self._owner.coordinates):
            raise ValueError(f"points: expected {len(self._owner.coordinates)} columns, got shape {rows.shape}")
        c.call("objective_set_points", self._handle.pointer, name.encode(), len(rows), rows.ctypes.data)

    def value(self, x: Any) -> float:
        value = ctypes.c_double()
        c.call("objective_value", self._handle.pointer, self._x(x).ctypes.data, ctypes.byref(value))
        return value.value

    def gradient(self, x: Any, out: Any = None) -> tuple[float, Any]:
        """Value and gradient. x and ``out`` on the GPU (PyTorch, CuPy) stay there if the objective has device="cuda"."""
        value = ctypes.c_double()
        if out is not None or not isinstance(x, np.ndarray):
            seen = view(x)
            if seen.device == "cuda":
                return self._gradient_on_device(x, seen, out)
        given = self._x(x)
        if out is None:
            out = np.empty(self.size)
        target = view(out)
        if target.dtype != np.float64 or target.shape != (self.size,):
            raise ValueError(f"out: expected float64 of shape ({self.size},)")
        c.call("objective_gradient", self._handle.pointer, given.ctypes.data, ctypes.byref(value), target.pointer)
        return value.value, out

    def _gradient_on_device(self, x: Any, seen: Any, out: Any) -> tuple[float, Any]:
        if out is None:
            if not hasattr(x, "new_empty"):
                raise ValueError("out: expected an array on the GPU for the gradient")
            out = x.new_empty(self.size)
        target = view(out)
        for name, array in (("x", seen), ("out", target)):
            if array.device != "cuda" or array.dtype != np.float64 or array.shape != (self.size,):
                raise ValueError(f"{name}: expected float64 of shape ({self.size},) on the GPU")
        value = ctypes.c_double()
        c.call("objective_gradient_on_device", self._handle.pointer, seen.pointer, ctypes.byref(value),
               target.pointer, current_stream(x))
        return value.value, out

    def residuals(self, x: Any) -> np.ndarray:
        r = np.empty(self.residual_count)
        c.call("objective_residuals", self._handle.pointer, self._x(x).ctypes.data, r.ctypes.data)
        return r

    def jacobian(self, x: Any, first: int = 0, count: int | None = None) -> np.ndarray:
        """Rows ``first`` to ``first + count`` of J; default: all of them."""
        count = self.residual_count - first if count is None else count
        rows = np.empty((count, self.size))
        c.call("objective_jacobian", self._handle.pointer, self._x(x).ctypes.data, first, count, rows.ctypes.data)
        return rows

    def jacobian_times(self, x: Any, v: Any) -> np.ndarray:
        """J v, without forming J."""
        result = np.empty(self.residual_count)
        c.call("objective_jacobian_times", self._handle.pointer, self._x(x).ctypes.data,
               doubles(v, "v", (self.size,)).ctypes.data, result.ctypes.data)
        return result

    def transposed_jacobian_times(self, x: Any, w: Any) -> np.ndarray:
        """J^T w, without forming J."""
        result = np.empty(self.size)
        c.call("objective_transposed_jacobian_times", self._handle.pointer, self._x(x).ctypes.data,
               doubles(w, "w", (self.residual_count,)).ctypes.data, result.ctypes.data)
        return result

    def _x(self, x: Any) -> np.ndarray:
        return doubles(x, "x", (self.size,))

    def __repr__(self) -> str:
        return f"<lather.Objective of {self.size} parameters, {self.residual_count} residuals>"


def current_stream(array: Any) -> int:
    """The stream that work on this array is ordered by: PyTorch's current one, else the default."""
    if type(array).__module__.split(".")[0] == "torch":
        import torch  # type: ignore[import-not-found]
        return torch.cuda.current_stream(array.device).cuda_stream
    return 0
