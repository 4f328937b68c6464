"""liblather.so through ctypes: signatures, structures, errors. The GIL is released while a function of it runs."""
from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import threading
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from ._arguments import INT64, UINT64, LatherError, path, wrong_type
from ._arrays import Borrowed

API_VERSION = 2
OK, INVALID, OUT_OF_MEMORY, CALLBACK, FAILED, INTERRUPTED = range(6)
RUNNING, CONVERGED, STALLED, NON_FINITE = range(4)
STATUS_NAMES = ("running", "converged", "stalled", "non_finite")
CPU, CUDA = 0, 1
FLOAT64, FLOAT32 = 0, 1


class Step(Structure):
    _fields_ = [("size", c_uint64), ("loss", c_double), ("gradient_norm", c_double), ("step_norm", c_double),
                ("steps", c_int64), ("evaluations", c_int64), ("basis_updates", c_int64), ("status", c_int64),
                ("message", c_char_p)]


class _Tensor(Structure):
    _fields_ = [("parameter", c_void_p), ("gradient", c_void_p), ("type", c_int64), ("count", c_uint64)]


class Tensors:
    """Pairs (parameter, gradient) for optimizer_apply; it keeps their memory alive."""

    def __init__(self, pairs: list[tuple[Borrowed, Borrowed]]) -> None:
        self._pairs = pairs
        self._as_parameter_ = (_Tensor * len(pairs))(*(
            (p.address, g.address, FLOAT32 if p.dtype.itemsize == 4 else FLOAT64, math.prod(p.shape))
            for p, g in pairs))


class ProgressStruct(Structure):
    _fields_ = [("size", c_uint64), ("step", c_int64), ("steps", c_int64), ("stage", c_int64),
                ("stages", c_int64), ("loss", c_double), ("gradient_norm", c_double), ("residual", c_double),
                ("l2", c_double), ("seconds", c_double), ("steps_per_second", c_double),
                ("seconds_left", c_double), ("recorded", c_int64)]


# What functions of Python get from the library: addresses of its arrays of double.
_address = c_void_p
VALUE = CFUNCTYPE(c_int32, c_void_p, _address, POINTER(c_double), _address)
RESIDUALS = CFUNCTYPE(c_int32, c_void_p, _address, _address)
JACOBIAN = CFUNCTYPE(c_int32, c_void_p, _address, c_uint64, c_uint64, _address)
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


class _Argument:
    """The type of a parameter of a C function that takes what `accepts` says and nothing else: no raw address, and no
    number that C would cut to fit. ctypes keeps arguments alive until the call returns."""

    def __init__(self, expected: str, accepts: Any, convert: Any = lambda value: value) -> None:
        self._expected, self._accepts, self._convert = expected, accepts, convert

    def from_param(self, value: Any) -> Any:
        if not self._accepts(value):
            raise wrong_type("argument", self._expected, value)
        return self._convert(value)


def _whole(kind: Any, low: int, high: int) -> _Argument:
    return _Argument(f"a whole number from {low} to {high}", lambda v: type(v) is int and low <= v <= high, kind)


def _object(kind: str) -> _Argument:
    return _Argument(f"the library's {kind}", lambda v: isinstance(v, Handle) and v.kind == kind)


_problem, _optimizer, _objective, _trainer = map(_object, ("problem", "optimizer", "objective", "trainer"))
_int32, _int64, _uint64 = _whole(c_int32, -2**31, 2**31 - 1), _whole(c_int64, *INT64), _whole(c_uint64, *UINT64)
_double = _Argument("a number", lambda v: type(v) is float, c_double)
_string = _Argument("a text without NUL, encoded, or None", lambda v: v is None or type(v) is bytes and b"\0" not in v, c_char_p)
_bytes = _Argument("bytes", lambda v: type(v) is bytes, c_char_p)
_reads = _Argument("an array", lambda v: isinstance(v, Borrowed))
_writes = _Argument("an array that may be changed", lambda v: isinstance(v, Borrowed) and v.writable)
_tensors = _Argument("tensors", lambda v: isinstance(v, Tensors))
_stream = _Argument("the address of a stream", lambda v: type(v) is int and 0 <= v <= UINT64[1], c_void_p)
_text, _texts, _out = POINTER(c_char_p), POINTER(c_char_p), POINTER(c_void_p)
_SIGNATURES = {
    "environment": [_text],
    "problem_names": [_text],
    "problem_open": [_string, _out],
    "problem_from_text": [_string, _string, _out],
    "problem_info": [_problem, _text],
    "optimizer_catalogue": [_text],
    "optimizer_create": [_string, _string, _int32, _out],
    "optimizer_step": [_optimizer, _objective, _writes, POINTER(Step)],
    "optimizer_apply": [_optimizer, _tensors, _uint64, _double, _stream, POINTER(Step)],
    "optimizer_set_rate_factor": [_optimizer, _double],
    "optimizer_objective_changed": [_optimizer],
    "optimizer_info": [_optimizer, _text],
    "optimizer_save": [_optimizer, POINTER(c_void_p), POINTER(c_uint64)],
    "optimizer_load": [_optimizer, _bytes, _uint64],
    "objective_create": [_problem, _string, _out],
    "objective_from_function": [POINTER(Function), _string, _out],
    "objective_info": [_objective, _text],
    "objective_initialize": [_objective, _uint64, _writes],
    "objective_set_points": [_objective, _string, _uint64, _reads],
    "objective_value": [_objective, _reads, POINTER(c_double)],
    "objective_gradient": [_objective, _reads, POINTER(c_double), _writes],
    "objective_gradient_on_device": [_objective, _reads, POINTER(c_double), _writes, _stream],
    "objective_residuals": [_objective, _reads, _writes],
    "objective_jacobian": [_objective, _reads, _uint64, _uint64, _writes],
    "objective_jacobian_times": [_objective, _reads, _reads, _writes],
    "objective_transposed_jacobian_times": [_objective, _reads, _reads, _writes],
    "trainer_create": [_problem, _string, _string, _string, _out],
    "trainer_create_or_resume": [_problem, _string, _string, _out],
    "trainer_resume": [_string, _string, _out],
    "trainer_open": [_string, _out],
    "trainer_info": [_trainer, _text],
    "trainer_step": [_trainer, _int64, POINTER(Step)],
    "trainer_run": [_trainer, POINTER(Watcher), _text],
    "trainer_summary": [_trainer, _int32, _text],
    "trainer_parameters": [_trainer, _int32, _writes],
    "trainer_predict": [_trainer, _int32, _string, _uint64, _reads, _writes],
    "trainer_reference": [_trainer, _uint64, _reads, _writes],
    "trainer_save": [_trainer, _string],
    "trainer_load": [_trainer, _string],
    "sweep": [_problem, _string, _string, _string, POINTER(RunsWatcher), _text],
    "compare": [_problem, _string, _string, _string, _string, POINTER(RunsWatcher), _text],
    "report_page": [_texts, _uint64, _text],
    "report_figure": [_texts, _uint64, _text],
    "report_table": [_string, _int32, _text],
}
_SIZES = {"optimizer_size": _optimizer, "objective_size": _objective, "objective_residual_count": _objective,
          "trainer_size": _trainer}
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
    for name in ("catch_interrupts", "release_interrupts", "interrupted"):
        getattr(library, "lather_" + name).argtypes = []
    for name, kind in _SIZES.items():
        function = getattr(library, "lather_" + name)
        function.argtypes, function.restype = [kind], c_uint64
    for name in _FREES:
        function = getattr(library, "lather_" + name)
        function.argtypes, function.restype = [c_void_p], None
    library.lather_trainer_stop.argtypes, library.lather_trainer_stop.restype = [_trainer], None
    for name in ("version", "last_error"):
        getattr(library, "lather_" + name).restype = c_char_p
    return library


# Problems travel with the package; those of $LATHER_PROBLEMS come first.
_bundled = Path(__file__).resolve().parent / "problems"
if _bundled.is_dir():
    os.environ["LATHER_PROBLEMS"] = ":".join(filter(None, [os.environ.get("LATHER_PROBLEMS"), str(_bundled)]))
library = _load()


# Ctrl-C. Python notes a signal and handles it in the main thread when Python code runs again, which may be long after
# a call of the library began, or while a callback is entered, where an exception would be lost. So while a call runs in
# the main thread the library itself catches SIGINT, ends the call and says so; in callbacks Python catches it again.
# A handler of the user's is left alone.
def _python_handles_interrupts() -> bool:
    return (threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler)


def _nothing() -> None:
    """Where a signal that Python has noted is handled: at the latest on entering a function."""


def _call(name: str, *arguments: Any) -> Any:
    catches, unheeded = _python_handles_interrupts(), 0
    try:
        if catches:
            library.lather_catch_interrupts()
            _nothing()
        status = getattr(library, "lather_" + name)(*arguments)
    except ctypes.ArgumentError as error:
        raise TypeError(f"lather_{name}: {error}") from None
    finally:
        if catches:
            unheeded = library.lather_release_interrupts()
    if unheeded:
        raise KeyboardInterrupt
    return status


def call(name: str, *arguments: Any) -> None:
    """Calls lather_NAME and raises what it says was wrong."""
    status = _call(name, *arguments)
    if status == OK:
        return
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    message = library.lather_last_error().decode("utf-8", "replace")
    raise {OUT_OF_MEMORY: MemoryError, FAILED: RuntimeError}.get(status, LatherError)(message)


def called_back(work: Callable[[], int], failed: Callable[[BaseException], None]) -> int:
    """What a callback returns: work(), in which Ctrl-C raises KeyboardInterrupt; 1 after an exception, given to failed."""
    catches = _python_handles_interrupts()
    try:
        try:
            if catches and library.lather_release_interrupts():
                raise KeyboardInterrupt
            return work()
        finally:
            if catches:
                library.lather_catch_interrupts()
                _nothing()
    except BaseException as error:  # noqa: BLE001 - raised again when the library has returned
        failed(error)
        return 1


def text_of(name: str, *arguments: Any) -> str:
    text = c_char_p()
    call(name, *arguments, ctypes.byref(text))
    return (text.value or b"").decode("utf-8")


def json_of(name: str, *arguments: Any) -> Any:
    return json.loads(text_of(name, *arguments))


def size_of(name: str, handle: Handle) -> int:
    return _call(name, handle)


class Handle:
    """Owns one object of the library, and is what functions of the library take in its place."""

    def __init__(self, kind: str, function: str, *arguments: Any) -> None:
        self.kind = kind
        self._free = getattr(library, f"lather_{kind}_free")
        self._as_parameter_ = c_void_p()
        call(function, *arguments, ctypes.byref(self._as_parameter_))

    def __reduce__(self) -> Any:
        raise TypeError(f"this {self.kind} belongs to the process that made it; it cannot be pickled or copied")

    def __del__(self) -> None:
        if getattr(self, "_as_parameter_", None):
            self._free(self._as_parameter_)
            self._as_parameter_ = c_void_p()


def encoded(name: str, text: str | os.PathLike[str] | None) -> bytes | None:
    return None if text is None else path(name, text).encode("utf-8", "surrogateescape")


def text_list(texts: list[str]) -> Any:
    return (c_char_p * len(texts))(*(encoded("a folder", text) for text in texts))


def version() -> str:
    """The version of the library, such as ``0.1.0``."""
    return library.lather_version().decode()


def environment() -> dict[str, Any]:
    """The library, its build, the machine: what ``lather doctor`` prints.

    >>> sorted(environment())[:4]
    ['build', 'commit', 'compiler', 'cores']
    """
    return json_of("environment")
