"""Problem files from Python values."""
from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def _value(value: Any, where: str) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"{where}: {number} is not a number that a problem can hold")
        return repr(number)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_value(v, f'{where}.{k}')}" for k, v in value.items()) + "}"
    if isinstance(value, (Sequence, np.ndarray)):
        return "[" + ", ".join(_value(v, f"{where}[{i}]") for i, v in enumerate(value)) + "]"
    raise TypeError(f"{where}: expected a text, a number, a list or a dict, got {type(value).__name__}")


def _key(key: str) -> str:
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
            tables.append(f"[{_key(key)}]")
            tables += [f"{_key(k)} = {_value(v, f'{key}.{k}')}" for k, v in value.items()]
        elif is_list:
            for item in value:
                tables.append(f"[[{_key(key)}]]")
                tables += [f"{_key(k)} = {_value(v, f'{key}.{k}')}" for k, v in item.items()]
        else:
            lines.append(f"{_key(key)} = {_value(value, key)}")
    return "\n".join(lines + tables) + "\n"
