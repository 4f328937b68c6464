"""liblather.so through ctypes: signatures, structures, errors. The GIL is released while a function of it runs."""
from __future__ import annotations

import ctypes
import json
import os
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p
from pathlib import Path
from typing import Any

API_VERSION = 1
OK, INVALID, OUT_OF_MEMORY, CALLBACK, FAILED = range(5)
RUNNING, CONVERGED, STALLED, NON_FINITE = range(4)
STATUS_NAMES = ("running", "converged", "stalled", "non_finite")
CPU, CUDA = 0, 1
FLOAT64, FLOAT32 = 0, 1


class LatherError(ValueError):
    """What was wrong, where, what was expected, and the nearest valid name, in one message."""
    __module__ = "lather"


class Step(Structure):
    _fields_ = [("size", c_uint64), ("loss", c_double), ("gradient_norm", c_double), ("step_norm", c_double),
                ("steps", c_int64), ("evaluations", c_int64), ("basis_updates", c_int64), ("status", c_int64),
                ("message", c_char_p)]


class Tensor(Structure):
    _fields_ = [("parameter", c_void_p), ("gradient", c_void_p), ("type", c_int64)]


class ProgressStruct(Structure):
    _fields_ = [("size", c_uint64), ("step", c_int64), ("steps", c_int64), ("stage", c_int64),
                ("stages", c_int64), ("loss", c_double), ("gradient_norm", c_double), ("residual", c_double),
                ("l2", c_double), ("seconds", c_double), ("steps_per_second", c_double),
                ("seconds_left", c_double), ("recorded", c_int64)]


DOUBLES = c_void_p  # addresses of arrays of double
VALUE = CFUNCTYPE(c_int32, c_void_p, DOUBLES, POINTER(c_double), DOUBLES)
RESIDUALS = CFUNCTYPE(c_int32, c_void_p, DOUBLES, DOUBLES)
JACOBIAN = CFUNCTYPE(c_int32, c_void_p, DOUBLES, c_uint64, c_uint64, DOUBLES)
PROGRESS = CFUNCTYPE(c_int32, c_void_p, POINTER(ProgressStruct))
MESSAGE = CFUNCTYPE(None, c_void_p, c_char_p)


class Function(Structure):
    _fields_ = [("size", c_uint64), ("user", c_void_p), ("value", VALUE), ("residual_count", c_uint64),
                ("residuals", RESIDUALS), ("jacobian", JACOBIAN)]


class RunsWatcher(Structure):
    _fields_ = [("size", c_uint64), ("user", c_void_p), ("message", MESSAGE), ("stop", POINTER(c_int32))]


class Watcher(Structure):
    _fields_ = [("size", c_uint64), ("user", c_void_p), ("progress", PROGRESS), ("message", MESSAGE),
                ("interval", c_double)]


_handle, _text, _texts = c_void_p, POINTER(c_char_p), POINTER(c_char_p)
_out = POINTER(c_void_p)
_SIGNATURES = {
    "environment": [_text],
    "problem_names": [_text],
    "problem_open": [c_char_p, _out],
    "problem_from_text": [c_char_p, c_char_p, _out],
    "problem_info": [_handle, _text],
    "optimizer_catalogue": [_text],
    "optimizer_create": [c_char_p, c_char_p, c_int32, _out],
    "optimizer_step": [_handle, _handle, DOUBLES, POINTER(Step)],
    "optimizer_apply": [_handle, POINTER(Tensor), c_uint64, c_double, c_void_p, POINTER(Step)],
    "optimizer_set_rate_factor": [_handle, c_double],
    "optimizer_objective_changed": [_handle],
    "optimizer_info": [_handle, _text],
    "optimizer_save": [_handle, POINTER(c_void_p), POINTER(c_uint64)],
    "optimizer_load": [_handle, c_char_p, c_uint64],
    "objective_create": [_handle, c_char_p, _out],
    "objective_from_function": [POINTER(Function), c_char_p, _out],
    "objective_info": [_handle, _text],
    "objective_initialize": [_handle, c_uint64, DOUBLES],
    "objective_set_points": [_handle, c_char_p, c_uint64, DOUBLES],
    "objective_value": [_handle, DOUBLES, POINTER(c_double)],
    "objective_gradient": [_handle, DOUBLES, POINTER(c_double), DOUBLES],
    "objective_gradient_on_device": [_handle, DOUBLES, POINTER(c_double), DOUBLES, c_void_p],
    "objective_residuals": [_handle, DOUBLES, DOUBLES],
    "objective_jacobian": [_handle, DOUBLES, c_uint64, c_uint64, DOUBLES],
    "objective_jacobian_times": [_handle, DOUBLES, DOUBLES, DOUBLES],
    "objective_transposed_jacobian_times": [_handle, DOUBLES, DOUBLES, DOUBLES],
    "trainer_create": [_handle, c_char_p, c_char_p, c_char_p, _out],
    "trainer_create_or_resume": [_handle, c_char_p, c_char_p, _out],
    "trainer_resume": [c_char_p, c_char_p, _out],
    "trainer_open": [c_char_p, _out],
    "trainer_info": [_handle, _text],
    "trainer_step": [_handle, c_int64, POINTER(Step)],
    "trainer_run": [_handle, POINTER(Watcher), _text],
    "trainer_summary": [_handle, c_int32, _text],
    "trainer_parameters": [_handle, c_int32, DOUBLES],
    "trainer_predict": [_handle, c_int32, c_char_p, c_uint64, DOUBLES, DOUBLES],
    "trainer_reference": [_handle, c_uint64, DOUBLES, DOUBLES],
    "trainer_save": [_handle, c_char_p],
    "trainer_load": [_handle, c_char_p],
    "sweep": [_handle, c_char_p, c_char_p, c_char_p, POINTER(RunsWatcher), _text],
    "compare": [_handle, c_char_p, c_char_p, c_char_p, c_char_p, POINTER(RunsWatcher), _text],
    "report_page": [_texts, c_uint64, _text],
    "report_figure": [_texts, c_uint64, _text],
    "report_table": [c_char_p, c_int32, _text],
}
_SIZES = ["optimizer_size", "objective_size", "objective_residual_count", "trainer_size"]
_FREES = ["problem_free", "optimizer_free", "objective_free", "trainer_free"]


def _find() -> str:
    chosen = os.environ.get("LATHER_LIBRARY")
    if chosen:
        return chosen
    here = Path(__file__).resolve().parent
    # In the package, or in a build of the source tree this file belongs to.
    places = [here / "liblather.so", here.parents[1] / "build/release/lib/liblather.so"]
    for place in places:
        if place.exists():
            return str(place)
    raise ImportError("liblather.so was not found in " + " or ".join(map(str, places)) +
                      "; build it (cmake --build --preset release --target lather_shared) or set LATHER_LIBRARY")


def _load() -> ctypes.CDLL:
    path = _find()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"cannot load {path}: {error}") from error
    found = library.lather_api_version()
    if found != API_VERSION:
        raise ImportError(f"{path} has version {found} of the C interface, this package needs {API_VERSION}")
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, "lather_" + name)
        function.argtypes, function.restype = arguments, c_int32
    for name in _SIZES:
        function = getattr(library, "lather_" + name)
        function.argtypes, function.restype = [_handle], c_uint64
    for name in _FREES + ["trainer_stop"]:
        function = getattr(library, "lather_" + name)
        function.argtypes, function.restype = [_handle], None
    for name in ("version", "last_error"):
        getattr(library, "lather_" + name).restype = c_char_p
    return library


# Problems travel with the package; those of $LATHER_PROBLEMS come first.
_bundled = Path(__file__).resolve().parent / "problems"
if _bundled.is_dir():
    os.environ["LATHER_PROBLEMS"] = ":".join(filter(None, [os.environ.get("LATHER_PROBLEMS"), str(_bundled)]))
library = _load()


def call(name: str, *arguments: Any) -> None:
    """Calls lather_NAME and raises what it says was wrong."""
    status = getattr(library, "lather_" + name)(*arguments)
    if status == OK:
        return
    message = library.lather_last_error().decode("utf-8", "replace")
    raise {OUT_OF_MEMORY: MemoryError, FAILED: RuntimeError}.get(status, LatherError)(message)


def text_of(name: str, *arguments: Any) -> str:
    text = c_char_p()
    call(name, *arguments, ctypes.byref(text))
    return (text.value or b"").decode("utf-8")


def json_of(name: str, *arguments: Any) -> Any:
    return json.loads(text_of(name, *arguments))


class Handle:
    """Owns one object of the library."""

    def __init__(self, kind: str, function: str, *arguments: Any) -> None:
        self._free = getattr(library, f"lather_{kind}_free")
        self.pointer = c_void_p()
        call(function, *arguments, ctypes.byref(self.pointer))

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self._free(self.pointer)
            self.pointer = c_void_p()


def encoded(text: str | os.PathLike[str] | None) -> bytes | None:
    return None if text is None else os.fspath(text).encode("utf-8", "surrogateescape")


def text_list(texts: list[str]) -> Any:
    return (c_char_p * len(texts))(*map(encoded, texts))


def version() -> str:
    """The version of the library, such as ``0.1.0``."""
    return library.lather_version().decode()


def environment() -> dict[str, Any]:
    """The library, its build, the machine: what ``lather doctor`` prints.

    >>> sorted(environment())[:4]
    ['build', 'commit', 'compiler', 'cores']
    """
    return json_of("environment")
