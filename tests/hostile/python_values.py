"""Values that a caller may pass by mistake or malice, each with a label that repeats it. `draw` makes a new one every time."""
from __future__ import annotations

import array
import datetime
import decimal
import fractions
import math
import pathlib
import random
import tempfile
from typing import Any

import numpy as np


class Evil(Exception):
    """Raised by objects below: it may pass through."""


class Raises:
    """Fails whatever it is asked."""

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise Evil()
    __index__ = __float__ = __len__ = __iter__ = __getitem__ = __fspath__ = __array__ = __call__ = __repr__ = __bool__ = __contains__ = _fail


class Lies:
    """Says that it is an array, or a number, and is not."""
    shape, dtype, ndim, size = (3,), np.dtype(float), 1, 3
    __array_interface__ = {"shape": (3,), "typestr": "<f8", "data": b"short", "version": 3}

    def __index__(self) -> Any:
        return "1"

    def __dlpack__(self, **_: Any) -> Any:
        return None

    def __dlpack_device__(self) -> Any:
        return (1, 0)


class NumberLike(float):
    def __float__(self) -> float:
        return math.nan


def nested(depth: int, kind: type) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if kind is dict else [value]
    return value


def in_itself(kind: type) -> Any:
    value: Any = kind()
    value.update(a=value) if kind is dict else value.append(value)
    return value


NUMBERS = ["0", "1", "-1", "2", "3", "2**31 - 1", "2**31", "2**32", "2**63 - 1", "2**63", "2**64 - 1", "2**64", "-2**63", "-2**63 - 1", "10**400",
           "-10**5000", "1.0", "1.5", "-0.0", "0.1", "1e3", "1e300", "5e-324", "math.nan", "math.inf", "-math.inf", "1j", "True", "False",
           "np.float32(1.5)", "np.float64('nan')", "np.int8(-1)", "np.uint64(2**64 - 1)", "np.bool_(True)", "np.longdouble('1e4000')",
           "np.complex128(1)", "decimal.Decimal('1.5')", "decimal.Decimal('NaN')", "fractions.Fraction(1, 3)", "NumberLike(1.0)", "np.array(2)",
           "np.array([2])", "np.array(1j)", "np.datetime64('2020-01-01')", "datetime.date(2020, 1, 1)"]
TEXTS = [r"''", r"'\0'", r"'adam\0'", r"'with\0nul'", r"'a' * 300", r"'a' * 5000", r"'\ud800'", r"'\udc80'", r"'é\u202e\x1b[2J'", "'../up'", "'/dev/null'",
         "'/nowhere/at/all'", "'%s%n'", "'nan'", "'1'", "'None'", r"'\n'", "'a,b'", "'u_x,u_t'", "'[x]'", "'{}'", "b''", "b'adam'", r"b'\0'", "bytearray(b'adam')",
         "pathlib.Path('.')", "pathlib.Path('new/folder')", r"pathlib.Path('with\0nul')", "'network.width'", "'l2=nan'", "'l2=1e-3'", "'cuda'", "'float32'"]
LISTS = ["[]", "()", "{}", "set()", "{1, 2}", "[None]", "[[]]", "[[1.0], [1.0, 2.0]]", "[1, 'a']", "[0]", "[1.5]", "[-1]", "[2**64]", "[True]", "['adam']", "['']",
         "[math.nan]", "{'': 0}", "{1: 2}", "{None: None}", "{'a': 1, 'a.b': 2}", "{'name': 1}", "{'name': 'adam'}", "{'name': 'lm', 'x': 1}", "{'l2': math.nan}",
         "{'l2': 1e-3}", "{'width': 3}", "{'width': 2**70}", "{'width': -1}", "{'width': 1.5}", "{'width': True}", "{'width': None}", "{'width': range(10**15)}", "{'network.width': [3, 4]}",
         "{'network.width': []}", "{'network.width': {'low': 1, 'high': math.inf}}", "{'points': math.nan}", "{'a': b'b'}", "{'a': object()}",
         "{'x': 0.5, 't': 0.5}", "{'x': [1.0, 2.0], 't': [1.0, 2.0, 3.0]}", "{'W': (0, 3)}", "{'W': (2**40, 2**40)}", "{'W': (-1,)}", "{'W': (2, 3)}",
         "range(3)", "range(10**15)", "(i for i in range(3))", "in_itself(list)", "in_itself(dict)", "nested(20, dict)", "nested(900, list)", "nested(900, dict)",
         "[0.0] * 25", "[(np.ones(3), np.ones(3))]", "[np.ones(3), np.ones((2, 2))]", "{'a': np.ones(2), 'b': np.ones(())}", "[{'name': 'a', 'size': 3}]",
         "[{'name': 'a', 'shape': (2,)}]", "[{'name': 'lm'}]", "('t = 0', 'u')", "{'c': ('t = 0', 'u - 1')}", "{'e': 'u_t'}", "{'e': {'points': {'t': [1, 2], 's': [1j]}}}"]
OTHERS = ["None", "object()", "Raises()", "Lies()", "int", "Exception()", "random", "lambda *a: None", "lambda *a: 1/0", "print", "type('X', (), {})", "NotImplemented", "...",
          "memoryview(b'12345678')", "memoryview(np.ones(3))", "array.array('d', [1, 2, 3])", "array.array('i', [1, 2])", "slice(3)"]
DTYPES = ["f8", "f8", "f8", "f4", "f2", "g", "i8", "u1", "c16", "?", "S3", "U3", "O", "M8[s]", "V4", ">f8"]
KEEP = ["", "", "", "read-only", "strided", "reversed", "fortran", "misaligned", "masked", "matrix", "memory map", "0-strided"]


def draw(chance: random.Random, sizes: list[int], depth: int = 0) -> tuple[str, Any]:
    """A label and a value; `sizes` are lengths that are likely to be right."""
    kind = chance.choice(["number", "number", "text", "list", "other", "array", "array", "function"])
    if kind == "array":
        return draw_array(chance, sizes)
    if kind == "function" and depth < 2:
        label, value = draw(chance, sizes, depth + 1)
        if chance.random() < 0.5:
            return f"lambda *a: (1.0, {label})", lambda *_: (1.0, value)
        return f"lambda *a: {label}", lambda *_: value
    label = chance.choice({"number": NUMBERS, "text": TEXTS, "list": LISTS}.get(kind, OTHERS))
    return label, eval(label)  # noqa: S307 - the texts above


def draw_array(chance: random.Random, sizes: list[int]) -> tuple[str, Any]:
    n = chance.choice(sizes)
    shape = chance.choice([(n,), (n,), (n,), (n, 1), (1, n), (n - 1,), (n + 1,), (0,), (), (0, 3), (3, 2), (2, 3), (2, n), (n, 2), (1,)])
    dtype, keep = chance.choice(DTYPES), chance.choice(KEEP)
    numbers = np.random.default_rng(chance.randrange(2**32)).uniform(-1, 1, shape)
    if chance.random() < 0.1 and numbers.size:
        numbers.flat[0] = chance.choice([math.nan, math.inf, 1e308])
    with np.errstate(all="ignore"):
        values = np.ones(shape).astype(dtype) if dtype in ("?", "S3", "U3", "M8[s]", "V4", "u1") else numbers.astype(dtype)
    return f"array of {dtype} {shape} {keep}".strip(), laid_out(values, keep)


def laid_out(values: np.ndarray, keep: str) -> Any:
    if keep == "read-only":
        values.flags.writeable = False
    elif keep == "strided" and values.ndim:
        values = np.repeat(values, 2, axis=-1)[..., ::2]
    elif keep == "reversed" and values.ndim:
        values = values[::-1].copy()[::-1]
    elif keep == "fortran":
        values = np.asfortranarray(values)
    elif keep == "misaligned" and values.dtype.kind not in "O":
        values = np.frombuffer(bytearray(b"\0" + values.tobytes()), np.uint8)[1:].view(values.dtype).reshape(values.shape)
    elif keep == "masked" and values.size and values.dtype.kind in "fiu":
        values = np.ma.masked_array(values, mask=np.arange(values.size).reshape(values.shape) == 0)
    elif keep == "matrix" and values.ndim == 2:
        values = np.asmatrix(values)
    elif keep == "memory map" and values.size and values.dtype.kind not in "O":
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            np.save(file, values)
            file.flush()
            values = np.load(file.name, mmap_mode="r")
    elif keep == "0-strided":
        values = np.broadcast_to(values, values.shape) if values.size == 0 else np.broadcast_to(values.flat[0], values.shape)
    return values
