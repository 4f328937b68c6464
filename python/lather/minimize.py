"""Any optimizer on a function of your own."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _library as c
from ._arrays import host_array, numpy_at
from .objective import Objective
from .optimizer import Optimizer, StepReport, json_blocks, optimizers


@dataclass
class MinimizeResult:
    """What ``minimize`` has come to: x (in the form of x0), its value, why it ended."""
    x: Any
    value: float
    status: str
    message: str
    steps: int
    history: list[float] = field(repr=False, default_factory=list)


class _Parameters:
    """x0 as one flat array and back: an array, or a list or dict of arrays, of NumPy, PyTorch or JAX."""

    def __init__(self, x0: Any) -> None:
        self._keys = list(x0) if isinstance(x0, Mapping) else None
        self._single = self._keys is None and not isinstance(x0, (list, tuple))
        leaves = [x0] if self._single else ([x0[k] for k in self._keys] if self._keys is not None else list(x0))
        if not leaves:
            raise ValueError("x0: expected at least one array")
        self.library = type(leaves[0]).__module__.split(".")[0]
        if self.library not in ("torch", "jax", "jaxlib"):
            leaves = [np.asarray(leaf, dtype=np.float64) for leaf in leaves]
            self.library = "numpy"
        self.leaves = leaves
        self.shapes = [tuple(leaf.shape) for leaf in leaves]
        self.flat = np.concatenate([host_array(leaf).astype(np.float64).ravel() for leaf in leaves])

    def blocks(self) -> list[dict[str, Any]]:
        names = self._keys if self._keys is not None else [f"x{k}" for k in range(len(self.shapes))]
        return [{"name": str(name), "shape": shape} for name, shape in zip(names, self.shapes)]

    def on_cuda(self) -> bool:
        return self.library == "torch" and all(leaf.is_cuda for leaf in self.leaves)

    def unflatten(self, flat: np.ndarray) -> Any:
        """Views of `flat` where the library allows it."""
        parts, at = [], 0
        for leaf, shape in zip(self.leaves, self.shapes):
            size = int(np.prod(shape))
            parts.append(self._like(leaf, flat[at:at + size].reshape(shape)))
            at += size
        return self.pack(parts)

    def _like(self, leaf: Any, values: np.ndarray) -> Any:
        if self.library == "torch":
            import torch  # type: ignore[import-not-found]
            return torch.from_numpy(values).to(device=leaf.device, dtype=leaf.dtype)
        if self.library in ("jax", "jaxlib"):
            import jax.numpy as jnp  # type: ignore[import-not-found]
            return jnp.array(values, dtype=leaf.dtype)  # a copy: JAX assumes arrays are constant
        return values

    def pack(self, parts: list[Any]) -> Any:
        if self._single:
            return parts[0]
        return dict(zip(self._keys, parts)) if self._keys is not None else parts

    def parts(self, packed: Any, what: str) -> list[Any]:
        parts = [packed] if self._single else (
            [packed[k] for k in self._keys] if self._keys is not None else list(packed))
        if [tuple(np.shape(p)) for p in parts] != self.shapes:
            raise ValueError(f"{what}: expected the shapes of x0, {self.shapes}, got {[tuple(np.shape(p)) for p in parts]}")
        return parts

    def put(self, packed: Any, out: np.ndarray, what: str) -> None:
        at = 0
        for part in self.parts(packed, what):
            values = host_array(part)
            out[at:at + values.size] = values.ravel()
            at += values.size


def _torch_gradient(function: Callable[[Any], Any], parameters: _Parameters, x: Any) -> tuple[float, Any]:
    """A function of PyTorch that returns its value alone is differentiated by PyTorch."""
    leaves = [leaf.detach().requires_grad_(True) for leaf in parameters.parts(x, "x")]
    result = function(parameters.pack(leaves))
    if isinstance(result, tuple):
        return result
    import torch  # type: ignore[import-not-found]
    return result.detach(), parameters.pack(list(torch.autograd.grad(result, leaves)))


class _Callbacks:
    """A Python function behind the C interface. Its exceptions pass through C++ as a status and are raised after it."""

    def __init__(self, parameters: _Parameters, function: Any, residuals: Any, jacobian: Any, in_place: bool) -> None:
        self.error: BaseException | None = None
        self._p, self._n = parameters, len(parameters.flat)
        self._function, self._residuals, self._jacobian, self._in_place = function, residuals, jacobian, in_place
        self.struct = c.Function(size=ctypes.sizeof(c.Function))
        if function is not None:
            self.struct.value = c.VALUE(self._value)
        if residuals is not None:
            self._count = len(host_array(residuals(parameters.unflatten(parameters.flat))))
            self.struct.residual_count = self._count
            self.struct.residuals = c.RESIDUALS(self._put_residuals)
            self.struct.jacobian = c.JACOBIAN(self._put_rows)
            self._rows: tuple[bytes, np.ndarray] | None = None

    def _guard(self, work: Callable[[], None]) -> int:
        try:
            work()
            return 0
        except BaseException as error:  # noqa: BLE001 - raised again when the library has returned
            self.error = error
            return 1

    def _x(self, address: int) -> Any:
        return self._p.unflatten(numpy_at(address, (self._n,)))

    def _value(self, _user: Any, x: int, value: Any, gradient: int | None) -> int:
        def work() -> None:
            out = numpy_at(gradient, (self._n,)) if gradient else None
            if self._in_place:
                target = out if out is not None else np.empty(self._n)
                value[0] = float(self._function(self._x(x), self._p.unflatten(target)))
                return
            evaluate = _torch_gradient if self._p.library == "torch" else lambda f, _p, at: f(at)
            result = evaluate(self._function, self._p, self._x(x))
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError("the function must return a pair: value and gradient")
            value[0] = float(result[0])
            if out is not None:
                self._p.put(result[1], out, "gradient")
        return self._guard(work)

    def _put_residuals(self, _user: Any, x: int, r: int) -> int:
        def work() -> None:
            values = host_array(self._residuals(self._x(x)))
            if values.shape != (self._count,):
                raise ValueError(f"residuals: expected shape ({self._count},), got {values.shape}")
            numpy_at(r, (self._count,))[:] = values
        return self._guard(work)

    def _put_rows(self, _user: Any, x: int, first: int, count: int, rows: int) -> int:
        def work() -> None:
            at = ctypes.string_at(x, 8 * self._n)
            if self._rows is None or self._rows[0] != at:  # all rows of one point are asked for piece by piece
                whole = host_array(self._jacobian(self._x(x))).reshape(self._count, -1)
                if whole.shape != (self._count, self._n):
                    raise ValueError(f"jacobian: expected shape ({self._count}, {self._n}), got {whole.shape}")
                self._rows = (at, np.array(whole, dtype=np.float64))
            numpy_at(rows, (count, self._n))[:] = self._rows[1][first:first + count]
        return self._guard(work)


def minimize(function: Callable[..., Any] | None, x0: Any, optimizer: str | Mapping[str, Any] = "lbfgs", *,
             steps: int = 1000, residuals: Callable[[Any], Any] | None = None,
             jacobian: Callable[[Any], Any] | None = None, in_place: bool = False,
             callback: Callable[[int, StepReport], Any] | None = None) -> MinimizeResult:
    """Minimizes a function of your own with any of Lather's optimizers.

    function    f(x) -> (value, gradient); x and gradient have the form of x0: one array, or a list or dict of arrays,
                of NumPy, PyTorch or JAX (``jax.value_and_grad(f)``). A PyTorch function may return its value alone.
                NumPy arrays are views of the optimizer's own memory: copy what you keep.
    in_place    f(x, gradient) -> value instead: the gradient is written into the array, nothing is copied
    residuals, jacobian   r(x) and dr/dx for least-squares methods ("lm", …) on the sum of r^2; function may then be None
    callback    called as callback(step, report); ``return True`` ends it

    Matrices in x0 are matrices for Kronecker methods. Tensors on the GPU stay there with first-order and Kronecker methods.

    >>> def rosenbrock(x):
    ...     a, b = 10 * (x[1] - x[0]**2), 1 - x[0]
    ...     return a*a + b*b, np.array([-40 * a * x[0] - 2 * b, 20 * a])
    >>> result = minimize(rosenbrock, np.array([-1.2, 1.0]))
    >>> bool(np.allclose(result.x, 1)), result.value < 1e-18
    (True, True)
    """
    if (residuals is None) != (jacobian is None):
        raise TypeError("give residuals and jacobian together")
    if function is None and residuals is None:
        raise TypeError("give a function, or residuals and jacobian")
    parameters = _Parameters(x0)
    settings = {"name": optimizer} if isinstance(optimizer, str) else dict(optimizer)
    known = optimizers().get(settings.get("name", ""), {})
    by_gradient = known.get("family") in ("first-order", "kronecker")
    if parameters.on_cuda() and by_gradient and not in_place and function is not None:
        return _minimize_on_cuda(function, parameters, settings, steps, callback)
    callbacks = _Callbacks(parameters, function, residuals, jacobian, in_place)
    blocks = parameters.blocks()
    objective = Objective(c.Handle("objective", "objective_from_function", ctypes.byref(callbacks.struct),
                                   json_blocks(blocks)), owner=callbacks)
    method = Optimizer(settings, blocks)
    x = parameters.flat.copy()
    history: list[float] = []

    def advance() -> StepReport:
        try:
            return method.step(objective, x)
        except c.LatherError:
            if callbacks.error is not None:
                raise callbacks.error from None
            raise

    report, taken = _loop(advance, steps, history, callback)
    try:
        value = objective.value(x)
    except c.LatherError:
        raise (callbacks.error or RuntimeError("the function failed")) from None
    return MinimizeResult(parameters.unflatten(x), value, report.status, report.message, taken, history)


def _loop(advance: Callable[[], StepReport], steps: int, history: list[float],
          callback: Callable[[int, StepReport], Any] | None) -> tuple[StepReport, int]:
    if steps < 1:
        raise ValueError(f"steps = {steps}: expected at least one")
    for taken in range(1, steps + 1):
        report = advance()
        history.append(report.loss)
        if report.status != "running" or (callback is not None and callback(taken, report)):
            break
    return report, taken


def _minimize_on_cuda(function: Any, parameters: _Parameters, settings: dict[str, Any], steps: int,
                      callback: Any) -> MinimizeResult:
    leaves = [leaf.detach().clone().contiguous() for leaf in parameters.leaves]
    method = Optimizer(settings, parameters.blocks(), device="cuda")
    history: list[float] = []

    def evaluate() -> tuple[float, list[Any]]:
        value, gradient = _torch_gradient(function, parameters, parameters.pack(leaves))
        return float(value), [g.contiguous() for g in parameters.parts(gradient, "gradient")]

    def advance() -> StepReport:
        value, gradients = evaluate()
        return method.apply(list(zip(leaves, gradients)), value)

    report, taken = _loop(advance, steps, history, callback)
    return MinimizeResult(parameters.pack(leaves), evaluate()[0], report.status, report.message, taken, history)
