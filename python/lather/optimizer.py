"""Lather's optimizers by name."""
from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _library as c
from ._arrays import view
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
    if name not in catalogue:
        Optimizer(name, {"x": (1,)})  # says which name is nearest
    return catalogue[name]


def json_settings(settings: Mapping[str, Any]) -> bytes:
    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(k): plain(v) for k, v in value.items()}
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return [plain(v) for v in value] if isinstance(value, (list, tuple, np.ndarray)) else value
    return json.dumps(plain(settings)).encode()


def json_blocks(blocks: Any) -> bytes:
    """Blocks of an Objective, or shapes by name: {"W": (3, 4), "b": (4,)}."""
    if isinstance(blocks, Mapping):
        blocks = [{"name": name, "shape": shape} for name, shape in blocks.items()]
    listed = []
    for block in blocks:
        entry = {"name": str(block["name"])}
        if "role" in block:
            entry["role"] = block["role"]
        shape = tuple(block["shape"]) if "shape" in block else None
        matrix = len(shape) >= 2 if shape is not None else block["matrix"]
        rows = int(shape[0]) if shape else int(block.get("rows", 1))
        size = int(np.prod(shape)) if shape is not None else int(block["rows"] * block["cols"])
        entry.update({"rows": rows, "cols": size // rows} if matrix else {"size": size})
        listed.append(entry)
    return json.dumps(listed).encode()


class Optimizer:
    """One of Lather's optimizers for parameters of your own; ``minimize`` drives one.

    settings: a name, or a dict such as ``{"name": "soap", "learning_rate": 3e-3}``.
    blocks: what the parameters are made of, shapes by name (matrices have two dimensions or more).

    >>> W = np.ones((2, 3))
    >>> adam = Optimizer({"name": "adam", "learning_rate": 0.1}, {"W": W.shape})
    >>> step = adam.apply([(W, 2 * W)])
    >>> bool(np.allclose(W, 0.9)), step.status
    (True, 'running')
    """

    def __init__(self, settings: str | Mapping[str, Any], blocks: Any, device: str = "cpu") -> None:
        if device not in ("cpu", "cuda"):
            raise ValueError(f"device '{device}': expected cpu or cuda")
        self.settings = {"name": settings} if isinstance(settings, str) else dict(settings)
        self.device = device
        self._handle = c.Handle("optimizer", "optimizer_create", json_settings(self.settings), json_blocks(blocks),
                                c.CUDA if device == "cuda" else c.CPU)
        self.size: int = c.library.lather_optimizer_size(self._handle.pointer)
        self._report = c.Step(size=ctypes.sizeof(c.Step))
        self._tensors: Any = None

    def step(self, objective: Objective, x: np.ndarray) -> StepReport:
        """One iteration on an objective; x (contiguous, float64) is changed in place."""
        seen = view(x)
        if seen.device != "cpu" or seen.dtype != np.float64 or seen.shape != (self.size,):
            raise ValueError(f"x: expected a float64 array of shape ({self.size},)")
        c.call("optimizer_step", self._handle.pointer, objective._handle.pointer, seen.pointer,
               ctypes.byref(self._report))
        return StepReport.of(self._report)

    def apply(self, tensors: Sequence[tuple[Any, Any]], loss: float = math.nan) -> StepReport:
        """One iteration by known gradients: pairs (parameter, gradient), in the order of the blocks.

        Parameters are changed in place, on the host or, with device="cuda", on the GPU. For first-order and Kronecker
        methods; the others choose by themselves where to ask for gradients.
        """
        listed = []
        for parameter, gradient in tensors:
            p, g = view(parameter), view(gradient)
            if p.device != self.device or g.device != self.device:
                raise ValueError(f"tensors on {p.device} and {g.device} for an optimizer on {self.device}")
            if p.dtype != g.dtype or p.shape != g.shape:
                raise ValueError(f"a gradient of {g.dtype} {g.shape} for a parameter of {p.dtype} {p.shape}")
            listed.append((p.pointer, g.pointer, c.FLOAT32 if p.dtype == np.float32 else c.FLOAT64))
        stream = current_stream(tensors[0][0]) if self.device == "cuda" and tensors else 0
        return self.apply_pointers(listed, loss, stream)

    def apply_pointers(self, tensors: Sequence[tuple[int, int, int]], loss: float = math.nan,
                       stream: int = 0) -> StepReport:
        """As ``apply``, with addresses and types (0: float64, 1: float32) of contiguous blocks."""
        if self._tensors is None or len(self._tensors) != len(tensors):
            self._tensors = (c.Tensor * len(tensors))()
        for slot, (parameter, gradient, kind) in zip(self._tensors, tensors):
            slot.parameter, slot.gradient, slot.type = parameter, gradient, kind
        c.call("optimizer_apply", self._handle.pointer, self._tensors, len(tensors), loss, stream,
               ctypes.byref(self._report))
        return StepReport.of(self._report)

    def set_rate_factor(self, factor: float) -> None:
        """Multiplies the learning rate of the settings from the next step on."""
        c.call("optimizer_set_rate_factor", self._handle.pointer, factor)

    def objective_changed(self) -> None:
        """Tells the optimizer that the function is another one now (new points, another batch)."""
        c.call("optimizer_objective_changed", self._handle.pointer)

    @property
    def info(self) -> dict[str, Any]:
        """memory_bytes, and what the last step has to say about each block."""
        return c.json_of("optimizer_info", self._handle.pointer)

    def save(self) -> bytes:
        """Everything needed to go on bit for bit, on either device."""
        data, count = ctypes.c_void_p(), ctypes.c_uint64()
        c.call("optimizer_save", self._handle.pointer, ctypes.byref(data), ctypes.byref(count))
        return ctypes.string_at(data, count.value)

    def load(self, state: bytes) -> None:
        c.call("optimizer_load", self._handle.pointer, state, len(state))


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
