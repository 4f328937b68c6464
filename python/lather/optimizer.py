"""Lather's optimizers by name."""
from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _library as c
from ._arguments import LatherError, as_json, integer, mapping, number, text, wrong_type
from ._arrays import Borrowed, borrowed, require_disjoint, require_writable, writes
from .objective import Objective, current_stream


def optimizers(name: str | None = None) -> dict[str, Any]:
    """All optimizers by name with summary, family and options; or one of them.

    >>> optimizers("adam")["family"]
    'first-order'
    >>> [option["name"] for option in optimizers("adam")["options"]][:3]
    ['learning_rate', 'beta1', 'beta2']
    """
    catalogue = c.json_of("optimizer_catalogue")
    if name is None:
        return catalogue
    if text("name", name) not in catalogue:
        Optimizer(name, {"x": (1,)})  # says which name is nearest
    return catalogue[name]


@dataclass(frozen=True)
class _Block:
    name: str
    shape: tuple[int, ...]
    matrix: bool
    role: str | None = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def fits(self, shape: tuple[int, ...]) -> bool:
        return shape == self.shape or shape == (self.size,)

    def entry(self) -> dict[str, Any]:
        role = {} if self.role is None else {"role": self.role}
        rows = self.shape[0] if self.shape else 1
        return {"name": self.name, **role, **({"rows": rows, "cols": self.size // rows} if self.matrix else {"size": self.size})}


def _block(name: str, given: Any) -> _Block:
    given = mapping(name, given)
    if "name" not in given:
        raise LatherError(f"{name}: expected a name and a shape")
    label = text(f"{name}.name", given["name"])
    role = None if "role" not in given else text(f"block '{label}', role", given["role"])
    if "shape" in given:
        shape = given["shape"]
        if isinstance(shape, (str, Mapping)) or not hasattr(shape, "__iter__"):
            raise wrong_type(f"block '{label}'", "a shape, such as (3, 4)", shape)
        shape = tuple(integer(f"block '{label}', shape", length, 1) for length in shape)
        return _Block(label, shape, len(shape) >= 2, role)
    if not {"rows", "cols", "matrix"} <= set(given):
        raise LatherError(f"block '{label}': expected a shape, or rows, cols and matrix")
    rows, cols = (integer(f"block '{label}', {key}", given[key], 1) for key in ("rows", "cols"))
    return _Block(label, (rows, cols) if given["matrix"] else (rows * cols,), bool(given["matrix"]), role)


def blocks_of(given: Any) -> list[_Block]:
    """Blocks of an Objective, or shapes by name: {"W": (3, 4), "b": (4,)}."""
    if isinstance(given, Mapping):
        given = [{"name": name, "shape": shape} for name, shape in given.items()]
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise wrong_type("blocks", "shapes by name, or a list of blocks", given)
    listed = [_block(f"blocks[{k}]", entry) for k, entry in enumerate(given)]
    integer("blocks, numbers in all", sum(block.size for block in listed), 1)
    return listed


def json_blocks(blocks: list[_Block]) -> bytes:
    return json.dumps([block.entry() for block in blocks]).encode()


def named(optimizer: Any) -> dict[str, Any]:
    """A name, or a dict with the name and options."""
    if isinstance(optimizer, str):
        return {"name": text("optimizer", optimizer)}
    if not isinstance(optimizer, Mapping):
        raise wrong_type("optimizer", "a name, or a dict such as {'name': 'adam', 'learning_rate': 1e-3}", optimizer)
    options = mapping("optimizer", optimizer)
    if "name" not in options:
        raise LatherError("optimizer: expected a name, as in {'name': 'adam', 'learning_rate': 1e-3}")
    return {**options, "name": text("optimizer", options["name"])}


class Optimizer:
    """One of Lather's optimizers for parameters of your own; ``minimize`` drives one.

    settings: a name, or a dict such as ``{"name": "soap", "learning_rate": 3e-3}``.
    blocks: what the parameters are made of, shapes by name (matrices have two dimensions or more).

    >>> import numpy as np
    >>> W = np.ones((2, 3))
    >>> adam = Optimizer({"name": "adam", "learning_rate": 0.1}, {"W": W.shape})
    >>> step = adam.apply([(W, 2 * W)])
    >>> bool(np.allclose(W, 0.9)), step.status
    (True, 'running')
    """

    def __init__(self, settings: str | Mapping[str, Any], blocks: Any, device: str = "cpu") -> None:
        if text("device", device) not in ("cpu", "cuda"):
            raise LatherError(f"device: expected cpu or cuda, got {device!r}")
        self.settings, self.device, self._blocks = named(settings), device, blocks_of(blocks)
        self._handle = c.Handle("optimizer", "optimizer_create", as_json("optimizer", self.settings), json_blocks(self._blocks),
                                c.CUDA if device == "cuda" else c.CPU)
        self.size: int = c.size_of("optimizer_size", self._handle)
        self._rate_factor = 1.0

    def step(self, objective: Objective, x: Any) -> StepReport:
        """One iteration on an objective; x (contiguous, float64) is changed in place."""
        if not isinstance(objective, Objective):
            raise wrong_type("objective", "a lather.Objective", objective)
        if objective.size != self.size:
            raise LatherError(f"objective: it has {objective.size} parameters, the optimizer was made for {self.size}")
        report = c.Step(size=ctypes.sizeof(c.Step))
        c.call("optimizer_step", self._handle, objective._handle, writes(x, "x", (self.size,)), ctypes.byref(report))
        return StepReport.of(report)

    def apply(self, tensors: Sequence[tuple[Any, Any]], loss: float = math.nan) -> StepReport:
        """One iteration by known gradients: pairs (parameter, gradient), in the order of the blocks.

        Parameters are changed in place, on the host or, with device="cuda", on the GPU. For first-order and Kronecker
        methods; the others choose by themselves where to ask for gradients.
        """
        loss = number("loss", loss, math.nan)
        pairs = self._pairs(tensors)
        stream = current_stream(pairs[0][0].owner) if self.device == "cuda" and pairs else 0
        report = c.Step(size=ctypes.sizeof(c.Step))
        c.call("optimizer_apply", self._handle, c.Tensors(pairs), len(pairs), loss, stream, ctypes.byref(report))
        return StepReport.of(report)

    def _pairs(self, tensors: Any) -> list[tuple[Borrowed, Borrowed]]:
        if not isinstance(tensors, Sequence) or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in tensors):
            raise wrong_type("tensors", "a list of pairs (parameter, gradient)", tensors)
        if len(tensors) != len(self._blocks):
            raise LatherError(f"tensors: {len(tensors)} pairs for an optimizer of {len(self._blocks)} blocks")
        pairs, written, read = [], {}, []
        for block, (parameter, gradient) in zip(self._blocks, tensors):
            name = f"block '{block.name}'"
            p, g = borrowed(parameter, name), borrowed(gradient, f"gradient of {name}")
            if p.device != self.device or g.device != self.device:
                raise LatherError(f"{name}: on {p.device}, its gradient on {g.device}, for an optimizer on {self.device}")
            if p.dtype != g.dtype or p.shape != g.shape:
                raise LatherError(f"{name}: a gradient of {g.dtype} {g.shape} for a parameter of {p.dtype} {p.shape}")
            if not block.fits(p.shape):
                raise LatherError(f"{name}: expected shape {block.shape}, got {p.shape}")
            require_writable(name, p)
            pairs.append((p, g))
            written[name if name not in written else f"{name}, number {len(pairs)}"] = p
            read.append(g)
        require_disjoint(written, read)
        return pairs

    def set_rate_factor(self, factor: float) -> None:
        """Multiplies the learning rate of the settings from the next step on."""
        factor = number("factor", factor, 0)
        c.call("optimizer_set_rate_factor", self._handle, factor)
        self._rate_factor = factor

    def objective_changed(self) -> None:
        """Tells the optimizer that the function is another one now (new points, another batch)."""
        c.call("optimizer_objective_changed", self._handle)

    @property
    def info(self) -> dict[str, Any]:
        """memory_bytes, and what the last step has to say about each block."""
        return c.json_of("optimizer_info", self._handle)

    def save(self) -> bytes:
        """Everything needed to go on bit for bit, on either device."""
        data, count = ctypes.c_void_p(), ctypes.c_uint64()
        c.call("optimizer_save", self._handle, ctypes.byref(data), ctypes.byref(count))
        return ctypes.string_at(data, count.value)

    def load(self, state: bytes) -> None:
        if not isinstance(state, (bytes, bytearray)):
            raise wrong_type("state", "the bytes that save() returned", state)
        c.call("optimizer_load", self._handle, bytes(state), len(state))

    def __reduce__(self) -> Any:
        """As its settings, blocks and state, from which it goes on bit for bit."""
        return _again, (self.settings, [vars(block) for block in self._blocks], self.device, self._rate_factor, self.save())


@dataclass
class StepReport:
    """How a step went; ``status`` is running, converged, stalled or non_finite."""
    loss: float
    gradient_norm: float
    step_norm: float
    evaluations: int
    status: str
    message: str

    @classmethod
    def of(cls, s: Any) -> StepReport:
        return cls(s.loss, s.gradient_norm, s.step_norm, s.evaluations, c.STATUS_NAMES[s.status],
                   (s.message or b"").decode("utf-8", "replace"))


def _again(settings: Any, blocks: Any, device: str, rate_factor: float, state: bytes) -> Optimizer:
    optimizer = Optimizer(settings, [{k: v for k, v in block.items() if v is not None} for block in blocks], device)
    optimizer.set_rate_factor(rate_factor)
    optimizer.load(state)
    return optimizer
