"""What a call must not do silently: accept what its annotation excludes, compute with other numbers, change an array."""
from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import lather

NOT_NEGATIVE = {"seed", "seeds", "first", "count", "steps", "threads", "jobs", "samples", "patience", "seconds", "factor"}
WRITTEN = {"Objective.gradient": {"out"}, "Optimizer.step": {"x"}, "Optimizer.apply": {"tensors"}}
# Arrays in Objective's methods have known lengths, of these attributes.
LENGTHS = {"x": "size", "v": "size", "w": "residual_count"}


def _whole(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        return -2**63 <= (operator.index(value) if not isinstance(value, (float, np.floating)) else int(value)) < 2**64 and value == int(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _real(value: Any, name: str) -> bool:
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray, complex, np.complexfloating)):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and not np.ma.is_masked(value) and _real(np.asarray(value)[()], name)
    try:
        return name == "loss" or float(value) == float(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _admits(part: str, value: Any, name: str) -> bool:
    if part == "None":
        return value is None
    if part == "int":
        return _whole(value) and (name not in NOT_NEGATIVE or value >= 0)
    if part == "float":
        return _real(value, name) and (name not in NOT_NEGATIVE or value >= 0)
    if part == "bool":
        return isinstance(value, (bool, np.bool_))
    if part == "str":
        return isinstance(value, str) and "\0" not in value
    if part.startswith("os.PathLike"):
        return isinstance(value, os.PathLike) and "\0" not in os.fspath(value)
    if part.startswith("Iterable[int"):
        return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and (iter(value) is value or all(_admits("int", one, name) for one in value))
    for start, kind in (("Mapping", Mapping), ("Sequence", Sequence), ("dict", dict), ("bytes", (bytes, bytearray)), ("Run", lather.Run),
                        ("Problem", lather.Problem), ("Objective", lather.Objective)):
        if part.startswith(start):
            return isinstance(value, kind)
    if part.startswith(("Callable", "Callback")):
        return callable(value)
    return True


def absurd(target: str, name: str, annotation: str, value: Any, world: Any) -> bool:
    if target.startswith("Objective.") and name in LENGTHS:
        seen = value if isinstance(value, np.ndarray) else np.asarray(value)
        return seen.dtype.kind not in "fiu" or seen.shape != (getattr(world.objective, LENGTHS[name]),) or bool(np.ma.is_masked(seen))
    return not any(_admits(part, value, name) for part in annotation.strip("'").split(" | "))


def other_numbers(target: str, function: Any, given: dict[str, Any], result: Any, called: Any) -> list[str]:
    """The same call with plain copies of its arrays must give the same numbers."""
    arrays = [name for name in given if name in (*LENGTHS, "points") and isinstance(given[name], np.ndarray)]
    if target.split(".")[0] not in ("Objective", "Run") or not arrays:
        return []
    copies = {**given, **{name: np.array(given[name], dtype=np.float64, order="C") for name in arrays}}
    again = called(function, copies)
    flat, others = ([np.asarray(part) for part in _parts(one)] for one in (result, again))
    same = len(flat) == len(others) and all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(flat, others))
    return [] if same else ["other numbers than those of a plain copy"]


def _parts(result: Any) -> list[Any]:
    if isinstance(result, dict):
        return [result[key] for key in sorted(result)]
    return list(result) if isinstance(result, tuple) else [result] if isinstance(result, (float, np.ndarray)) else []


def changed(target: str, given: dict[str, Any], before: dict[str, bytes]) -> list[str]:
    found = []
    for name, content in before.items():
        if given[name].tobytes() != content and (name not in WRITTEN.get(target, ()) or not given[name].flags.writeable):
            found.append(f"{name}: the array was changed")
    return found
