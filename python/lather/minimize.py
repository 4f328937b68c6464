"""Any optimizer on a function of your own."""
from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _library as c
from ._arguments import LatherError, flag, function as callable_given, integer, mapping, number, shown, wrong_type
from ._arrays import doubles, host_array, memory
from .objective import Objective
from .optimizer import Optimizer, StepReport, blocks_of, json_blocks, named, optimizers


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
        self._keys = list(mapping("x0", x0)) if isinstance(x0, Mapping) else None
        self._single = self._keys is None and not isinstance(x0, (list, tuple))
        leaves = [x0] if self._single else ([x0[k] for k in self._keys] if self._keys is not None else list(x0))
        if not leaves:
            raise LatherError("x0: expected at least one array")
        libraries = {_library_of(leaf) for leaf in leaves}
        if len(libraries) > 1:
            raise TypeError(f"x0: arrays of different libraries: {', '.join(sorted(libraries))}")
        [self.library] = libraries
        self._names = ["x0"] if self._single else [f"x0[{key!r}]" for key in self._keys or range(len(leaves))]
        values = [doubles(leaf, name) for leaf, name in zip(leaves, self._names)]
        if self.library == "numpy":
            leaves = values
        for leaf, value, name in zip(leaves, values, self._names):
            if self.library != "numpy" and host_array(leaf).dtype.kind != "f":
                raise TypeError(f"{name}: an array of {leaf.dtype}: expected floating-point numbers")
            if value.size == 0:
                raise LatherError(f"{name}: expected at least one number, got shape {value.shape}")
        self.leaves = leaves
        self.shapes = [value.shape for value in values]
        self.flat = np.concatenate([value.ravel() for value in values])

    def blocks(self) -> list[dict[str, Any]]:
        names = self._keys if self._keys is not None else [f"x{k}" for k in range(len(self.shapes))]
        return [{"name": name, "shape": shape} for name, shape in zip(names, self.shapes)]

    def on_cuda(self) -> bool:
        return self.library == "torch" and all(leaf.is_cuda for leaf in self.leaves)

    def shared(self) -> bool:
        """Whether ``unflatten`` makes views."""
        return self.library == "numpy" or (self.library == "torch" and all(
            leaf.device.type == "cpu" and str(leaf.dtype) == "torch.float64" for leaf in self.leaves))

    def unflatten(self, flat: np.ndarray) -> Any:
        """Views of `flat` where the library allows it."""
        parts, at = [], 0
        for leaf, shape in zip(self.leaves, self.shapes):
            size = math.prod(shape)
            parts.append(self._like(leaf, flat[at:at + size].reshape(shape)))
            at += size
        return self.pack(parts)

    def _like(self, leaf: Any, values: np.ndarray) -> Any:
        if self.library == "torch":
            import torch  # type: ignore[import-not-found]
            return torch.from_numpy(values).to(device=leaf.device, dtype=leaf.dtype)
        if self.library == "jax":
            import jax.numpy as jnp  # type: ignore[import-not-found]
            return jnp.array(values, dtype=leaf.dtype)  # a copy: JAX assumes arrays are constant
        return values

    def pack(self, parts: list[Any]) -> Any:
        if self._single:
            return parts[0]
        return dict(zip(self._keys, parts)) if self._keys is not None else parts

    def parts(self, packed: Any, what: str) -> list[Any]:
        if self._single:
            parts = [packed]
        elif self._keys is None:
            if not isinstance(packed, (list, tuple)):
                raise wrong_type(what, "a list of arrays, as x0 is", packed)
            parts = list(packed)
        else:
            if not isinstance(packed, Mapping) or set(packed) != set(self._keys):
                given = ", ".join(map(str, packed)) if isinstance(packed, Mapping) else shown(packed)
                raise TypeError(f"{what}: expected a dict with the keys of x0, {', '.join(self._keys)}, got {given}")
            parts = [packed[key] for key in self._keys]
        if len(parts) != len(self.shapes):
            raise LatherError(f"{what}: expected {len(self.shapes)} arrays, as x0 has, got {len(parts)}")
        return parts

    def put(self, packed: Any, out: np.ndarray, what: str) -> None:
        at = 0
        for part, shape, name in zip(self.parts(packed, what), self.shapes, self._names):
            values = doubles(part, what)
            if values.shape != shape:
                raise LatherError(f"{what}: expected the shape of {name}, {shape}, got {values.shape}")
            out[at:at + values.size] = values.ravel()
            at += values.size


def _library_of(leaf: Any) -> str:
    name = type(leaf).__module__.split(".")[0]
    return {"torch": "torch", "jax": "jax", "jaxlib": "jax"}.get(name, "numpy")


def _torch_gradient(function: Callable[[Any], Any], parameters: _Parameters, x: Any) -> tuple[float, Any]:
    """A function of PyTorch that returns its value alone is differentiated by PyTorch."""
    leaves = [leaf.detach().requires_grad_(True) for leaf in parameters.parts(x, "x")]
    result = function(parameters.pack(leaves))
    if isinstance(result, tuple):
        return result
    if not hasattr(result, "detach"):
        raise wrong_type("the function's result", "a tensor, or a pair of value and gradient", result)
    import torch  # type: ignore[import-not-found]
    return result.detach(), parameters.pack(list(torch.autograd.grad(result, leaves)))


class _Callbacks:
    """A Python function behind the C interface. Its exceptions pass through C++ as a status and are raised after it.

    The function gets x as an array of its own, which it may keep; what it returns is checked before it is used.
    """

    def __init__(self, parameters: _Parameters, function: Any, residuals: Any, jacobian: Any, in_place: bool) -> None:
        self.error: BaseException | None = None
        self._p, self._n = parameters, len(parameters.flat)
        self._function, self._residuals, self._jacobian, self._in_place = function, residuals, jacobian, in_place
        self.struct = c.Function(size=ctypes.sizeof(c.Function))
        if function is not None:
            self.struct.value = c.VALUE(self._value)
        if residuals is not None:
            self._count = self._first_residuals()
            self.struct.residual_count = self._count
            self.struct.residuals = c.RESIDUALS(self._put_residuals)
            self.struct.jacobian = c.JACOBIAN(self._put_rows)
            self._rows: tuple[bytes, np.ndarray] | None = None

    def _guard(self, work: Callable[[], None]) -> int:
        return c.called_back(lambda: work() or 0, self._failed)

    def _failed(self, error: BaseException) -> None:
        self.error = error

    def _x(self, address: int) -> Any:
        return self._p.unflatten(memory(address, (self._n,)).copy())

    def _value(self, _user: Any, x: int, value: Any, gradient: int | None) -> int:
        def work() -> None:
            if self._in_place:
                target = np.full(self._n, np.nan)  # what the function leaves unwritten is no gradient
                value[0] = _value(self._function(self._x(x), self._p.unflatten(target)))
                if gradient:
                    memory(gradient, (self._n,))[:] = target
                return
            evaluate = _torch_gradient if self._p.library == "torch" else lambda f, _p, at: f(at)
            result = evaluate(self._function, self._p, self._x(x))
            if not isinstance(result, tuple) or len(result) != 2:
                raise wrong_type("the function's result", "a pair of value and gradient", result)
            value[0] = _value(result[0])
            if gradient:
                self._p.put(result[1], memory(gradient, (self._n,)), "gradient")
        return self._guard(work)

    def _first_residuals(self) -> int:
        values = doubles(self._residuals(self._p.unflatten(self._p.flat.copy())), "residuals")
        if values.ndim != 1 or values.size == 0:
            raise LatherError(f"residuals: expected an array of one dimension, got shape {values.shape}")
        return values.size

    def _put_residuals(self, _user: Any, x: int, r: int) -> int:
        def work() -> None:
            memory(r, (self._count,))[:] = doubles(self._residuals(self._x(x)), "residuals", (self._count,))
        return self._guard(work)

    def _put_rows(self, _user: Any, x: int, first: int, count: int, rows: int) -> int:
        def work() -> None:
            at = ctypes.string_at(x, 8 * self._n)
            if self._rows is None or self._rows[0] != at:  # all rows of one point are asked for piece by piece
                self._rows = (at, self._whole_jacobian(self._jacobian(self._x(x))))
            memory(rows, (count, self._n))[:] = self._rows[1][first:first + count]
        return self._guard(work)

    def _whole_jacobian(self, given: Any) -> np.ndarray:
        """One row per residual; for a single x0 that is no vector, rows may have its shape."""
        J, shape = doubles(given, "jacobian"), (self._count, self._n)
        if J.shape != shape and (len(self._p.shapes) > 1 or J.shape != (self._count, *self._p.shapes[0])):
            raise LatherError(f"jacobian: expected shape {shape}, one row per residual and one column per parameter, got {J.shape}" +
                              ("; it is transposed" if J.shape == shape[::-1] else ""))
        return J.reshape(shape).copy()


def _value(given: Any) -> float:
    """One number, or an array of one; it need not be finite."""
    shape = getattr(given, "shape", ())
    if shape and math.prod(shape) == 1 and hasattr(given, "reshape"):
        given = given.reshape(())
    return number("the function's value", given, math.nan)


def minimize(function: Callable[..., Any] | None, x0: Any, optimizer: str | Mapping[str, Any] = "lbfgs", *,
             steps: int = 1000, residuals: Callable[[Any], Any] | None = None,
             jacobian: Callable[[Any], Any] | None = None, in_place: bool = False,
             callback: Callable[[int, StepReport], Any] | None = None) -> MinimizeResult:
    """Minimizes a function of your own with any of Lather's optimizers.

    function    f(x) -> (value, gradient); x and gradient have the form of x0: one array, or a list or dict of arrays,
                of NumPy, PyTorch or JAX (``jax.value_and_grad(f)``). A PyTorch function may return its value alone.
    in_place    f(x, gradient) -> value instead: the gradient is written into the array
    residuals, jacobian   r(x) and dr/dx for least-squares methods ("lm", …) on the sum of r^2; function may then be None
    callback    called as callback(step, report); ``return True`` ends it

    A value or gradient that is not finite ends it with the status non_finite; an exception of a function is raised as it is.
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
    given = {"function": function, "residuals": residuals, "jacobian": jacobian, "callback": callback}
    for name in (name for name, one in given.items() if one is not None):
        callable_given(name, given[name])
    steps, in_place, settings = integer("steps", steps, 1), flag("in_place", in_place), named(optimizer)
    parameters = _Parameters(x0)
    if in_place and not parameters.shared():
        raise TypeError("in_place: expected x0 of NumPy, or of PyTorch on the CPU in float64, whose memory can be written")
    known = optimizers().get(settings["name"], {})
    by_gradient = known.get("family") in ("first-order", "kronecker")
    if parameters.on_cuda() and by_gradient and not in_place and function is not None:
        return _minimize_on_cuda(function, parameters, settings, steps, callback)
    callbacks = _Callbacks(parameters, function, residuals, jacobian, in_place)
    blocks = parameters.blocks()
    objective = Objective(c.Handle("objective", "objective_from_function", ctypes.byref(callbacks.struct),
                                   json_blocks(blocks_of(blocks))))
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
        return _value(value), [g.contiguous() for g in parameters.parts(gradient, "gradient")]

    def advance() -> StepReport:
        value, gradients = evaluate()
        return method.apply(list(zip(leaves, gradients)), value)

    report, taken = _loop(advance, steps, history, callback)
    return MinimizeResult(parameters.pack(leaves), evaluate()[0], report.status, report.message, taken, history)
