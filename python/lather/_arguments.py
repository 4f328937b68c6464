"""What callers may pass. Each error says which argument it is about, what was expected and what was given."""
from __future__ import annotations

import json
import math
import operator
import os
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

INT64, UINT64 = (-2**63, 2**63 - 1), (0, 2**64 - 1)
_LONGEST = 1_000_000
DEEPEST = 32  # no setting is nested this deep; a list that contains itself is


class LatherError(ValueError):
    """What was wrong, where, what was expected, and the nearest valid name, in one message."""
    __module__ = "lather"


def shown(value: Any) -> str:
    """A value for a message: short, and without an error of its own."""
    try:
        return reprlib.repr(value)
    except Exception:  # noqa: BLE001 - a message must not fail
        return f"a value of type {type(value).__name__}"


def wrong_type(name: str, expected: str, value: Any) -> TypeError:
    return TypeError(f"{name}: expected {expected}, got {shown(value)}")


def integer(name: str, value: Any, low: int = INT64[0], high: int = INT64[1]) -> int:
    """
    >>> integer("steps", 1e3), integer("seed", np.uint8(7), *UINT64)
    (1000, 7)
    >>> integer("steps", 1.5)
    Traceback (most recent call last):
    lather.LatherError: steps: expected a whole number, got 1.5
    """
    if isinstance(value, (bool, np.bool_)):
        raise wrong_type(name, "a whole number", value)
    if isinstance(value, (float, np.floating)):
        if not float(value).is_integer():
            raise LatherError(f"{name}: expected a whole number, got {value}")
        value = int(value)
    try:
        whole = operator.index(value)
    except TypeError:
        raise wrong_type(name, "a whole number", value) from None
    if not low <= whole <= high:
        limit = f"of at least {low}" if whole < low else f"of at most {high}"
        raise LatherError(f"{name}: expected a whole number {limit}, got {shown(whole)}")
    return whole


def number(name: str, value: Any, low: float = -math.inf) -> float:
    """A real number; NaN is none unless ``low`` is NaN, which admits everything."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    not_real = (bool, np.bool_, str, bytes, bytearray, complex, np.complexfloating)
    if isinstance(value, not_real) or np.ma.is_masked(value) or getattr(value, "shape", ()) != ():
        raise wrong_type(name, "a number", value)
    try:
        result = float(value)
    except OverflowError:
        raise LatherError(f"{name}: {shown(value)} is too large") from None
    except TypeError:
        raise wrong_type(name, "a number", value) from None
    if not math.isnan(low) and not result >= low:
        raise LatherError(f"{name}: expected a number" + (f" of at least {low:g}" if low > -math.inf else "") +
                          f", got {result}")
    return result


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise wrong_type(name, "True or False", value)
    return bool(value)


def text(name: str, value: Any) -> str:
    """A text that C can hold: without the character NUL, at which it would end there."""
    if not isinstance(value, str):
        raise wrong_type(name, "a text", value)
    if "\0" in value:
        raise LatherError(f"{name}: {shown(value)} contains the character NUL")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise LatherError(f"{name}: {shown(value)} is not a text in Unicode") from None
    return str(value)


def path(name: str, value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise wrong_type(name, "a text or a path", value)
    return text(name, os.fspath(value))


def texts(name: str, value: Any) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise wrong_type(name, "a list of texts", value)
    return [text(f"{name}[{k}]", item) for k, item in enumerate(value)]


def mapping(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise wrong_type(name, "a dict", value)
    return {text(f"a key of {name}", key): item for key, item in value.items()}


def function(name: str, value: Any) -> Any:
    if not callable(value):
        raise wrong_type(name, "a function", value)
    return value


def optional(check: Any, name: str, value: Any, *limits: Any) -> Any:
    return None if value is None else check(name, value, *limits)


def listed(name: str, value: Sequence[Any]) -> Sequence[Any]:
    """A list for settings, and not one that would never end, such as range(10**15)."""
    if (isinstance(value, range) and value[_LONGEST:]) or len(value) > _LONGEST:
        raise LatherError(f"{name}: expected at most {_LONGEST} values, got {shown(value)}")
    return value


def plain(name: str, value: Any, depth: int = 0) -> Any:
    """As JSON has it: NumPy's numbers and arrays become Python's, infinity the text that Lather reads.

    >>> plain("optimizer", {"learning_rate": np.float32(0.5), "clip": {"limit": float("inf")}, "layers": (1, 2)})
    {'learning_rate': 0.5, 'clip': {'limit': 'inf'}, 'layers': [1, 2]}
    >>> plain("network", {"width": float("nan")})
    Traceback (most recent call last):
    lather.LatherError: network.width: NaN is no setting
    """
    if depth > DEEPEST:
        raise LatherError(f"{name[:60]}…: nested too deeply, or it contains itself")
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(name, value)
    if isinstance(value, int):
        return integer(name, value, INT64[0], UINT64[1])
    if isinstance(value, float):
        if math.isnan(value):
            raise LatherError(f"{name}: NaN is no setting")
        return ("inf" if value > 0 else "-inf") if math.isinf(value) else float(value)
    if isinstance(value, Mapping):
        return {key: plain(f"{name}.{key}", item, depth + 1) for key, item in mapping(name, value).items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [plain(f"{name}[{k}]", item, depth + 1) for k, item in enumerate(listed(name, value))]
    raise wrong_type(name, "a text, a number, a list or a dict", value)


def as_json(name: str, value: Any) -> bytes:
    return json.dumps(plain(name, value)).encode()
