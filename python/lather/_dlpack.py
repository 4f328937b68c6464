"""DLPack: how most array libraries show each other their memory. https://dmlc.github.io/dlpack/latest/c_api.html"""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


CUDA = 2
_DEVICES = {1: "cpu", CUDA: "cuda"}
_FLOAT = 2
_READ_ONLY, _IS_COPY = 1, 2
# Arrays of these are constants, and their capsules of the old form cannot say so.
_CONSTANT = ("jax", "jaxlib")


@dataclass(frozen=True)
class Tensor:
    address: int
    shape: tuple[int, ...]
    strides: list[int] | None  # in bytes
    dtype: np.dtype
    device: str
    writable: bool
    capsule: Any  # keeps its name, and therefore frees the tensor itself


def from_dlpack(array: Any, name: str) -> Tensor:
    try:
        capsule = _capsule(array)
    except BufferError as error:
        raise TypeError(f"{name}: {error}") from None
    writable = type(array).__module__.split(".")[0] not in _CONSTANT
    versioned = _content(capsule, b"dltensor_versioned", _Versioned)
    if versioned is not None:
        if versioned.major != 1:
            raise TypeError(f"{name}: DLPack of version {versioned.major}: expected 1")
        writable = not versioned.flags & (_READ_ONLY | _IS_COPY)
        t = versioned.tensor
    else:
        t = _content(capsule, b"dltensor", _Tensor)  # a DLManagedTensor begins with its DLTensor
        if t is None:
            raise TypeError(f"{name}: its __dlpack__() returned no tensor")
    if t.code != _FLOAT or t.lanes != 1 or t.bits not in (32, 64):
        raise TypeError(f"{name}: expected an array of float64 or float32")
    if t.device_type not in _DEVICES:
        raise TypeError(f"{name}: an array on a device of DLPack type {t.device_type}: expected CPU or CUDA")
    dtype = np.dtype(f"float{t.bits}")
    strides = [t.strides[i] * dtype.itemsize for i in range(t.ndim)] if t.strides else None
    return Tensor((t.data or 0) + t.byte_offset, tuple(t.shape[i] for i in range(t.ndim)), strides, dtype,
                  _DEVICES[t.device_type], writable, capsule)


def _capsule(array: Any) -> Any:
    try:
        return array.__dlpack__(max_version=(1, 0))
    except TypeError:  # an exporter from before version 1
        return array.__dlpack__()


def _content(capsule: Any, name: bytes, kind: Any) -> Any:
    valid = ctypes.pythonapi.PyCapsule_IsValid
    valid.restype, valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    if not valid(capsule, name):
        return None
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, name), ctypes.POINTER(kind)).contents
