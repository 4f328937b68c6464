"""Problem files from Python values."""
from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._arguments import DEEPEST, INT64, LatherError, integer, listed, text, wrong_type


def _value(value: Any, where: str, depth: int = 0) -> str:
    if depth > DEEPEST:
        raise LatherError(f"{where[:60]}…: nested too deeply, or it contains itself")
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(text(where, value), ensure_ascii=False)
    if isinstance(value, (int, np.integer)):
        return str(integer(where, value, *INT64))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if not math.isfinite(number):
            raise LatherError(f"{where}: {number} is not a number that a problem can hold")
        return repr(number)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k, where)} = {_value(v, f'{where}.{k}', depth + 1)}" for k, v in value.items()) + "}"
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (bytes, bytearray, memoryview)):
        return "[" + ", ".join(_value(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(listed(where, value))) + "]"
    raise wrong_type(where, "a text, a number, a list or a dict", value)


def _key(key: Any, where: str) -> str:
    text(f"a key of {where}", key)
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else json.dumps(key)


def dumps(tree: Mapping[str, Any]) -> str:
    """
    >>> print(dumps({"name": "heat", "domain": {"x": [0, 1]}, "equation": [{"name": "heat", "residual": "u_t - u_xx"}]}))
    name = "heat"
    [domain]
    x = [0, 1]
    [[equation]]
    name = "heat"
    residual = "u_t - u_xx"
    <BLANKLINE>
    """
    lines, tables = [], []
    for key, value in tree.items():
        is_list = isinstance(value, (list, tuple)) and value and all(isinstance(v, Mapping) for v in value)
        if isinstance(value, Mapping):
            tables.append(f"[{_key(key, 'the problem')}]")
            tables += [f"{_key(k, key)} = {_value(v, f'{key}.{k}')}" for k, v in value.items()]
        elif is_list:
            for item in value:
                tables.append(f"[[{_key(key, 'the problem')}]]")
                tables += [f"{_key(k, key)} = {_value(v, f'{key}.{k}')}" for k, v in item.items()]
        else:
            lines.append(f"{_key(key, 'the problem')} = {_value(value, key)}")
    return "\n".join(lines + tables) + "\n"
