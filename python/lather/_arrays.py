"""Arrays of others without copies: the buffer protocol, __array_interface__, __cuda_array_interface__ and DLPack."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class View:
    """Memory of someone else's; `owner` keeps it alive."""
    pointer: int
    shape: tuple[int, ...]
    dtype: np.dtype
    device: str  # "cpu" or "cuda"
    owner: Any


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_DL_CPU, _DL_CUDA, _DL_FLOAT = 1, 2, 2


def _from_dlpack(array: Any) -> View:
    capsule = array.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # A DLManagedTensor begins with its DLTensor. The capsule keeps its name, so that it frees the tensor itself.
    t = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    if t.code != _DL_FLOAT or t.lanes != 1 or t.bits not in (32, 64):
        raise TypeError("expected an array of float64 or float32")
    if t.device_type not in (_DL_CPU, _DL_CUDA):
        raise TypeError(f"an array on a device of DLPack type {t.device_type}: expected CPU or CUDA")
    shape = tuple(t.shape[i] for i in range(t.ndim))
    dtype = np.dtype(f"float{t.bits}")
    if t.strides:
        _require_contiguous(shape, [t.strides[i] * dtype.itemsize for i in range(t.ndim)], dtype)
    return View((t.data or 0) + t.byte_offset, shape, dtype, "cuda" if t.device_type == _DL_CUDA else "cpu",
                (array, capsule))


def _require_contiguous(shape: Any, strides: Any, dtype: np.dtype) -> None:
    step = dtype.itemsize
    for length, stride in zip(reversed(shape), reversed(list(strides))):
        if length > 1 and stride != step:
            raise ValueError("expected a contiguous (row-major) array; make a contiguous copy first")
        step *= length


def _from_interface(array: Any, interface: dict[str, Any], device: str) -> View:
    dtype = np.dtype(interface["typestr"])
    if dtype not in (np.float64, np.float32):
        raise TypeError(f"an array of {dtype}: expected float64 or float32")
    shape = tuple(interface["shape"])
    if interface.get("strides") is not None:
        _require_contiguous(shape, interface["strides"], dtype)
    return View(interface["data"][0], shape, dtype, device, array)


def view(array: Any) -> View:
    """The memory of an array of NumPy, PyTorch, JAX, CuPy, … or of anything with the buffer protocol.

    >>> import array
    >>> numbers = array.array("d", [1, 2, 3])
    >>> seen = view(numbers)
    >>> seen.shape, str(seen.dtype), seen.pointer == numbers.buffer_info()[0]
    ((3,), 'float64', True)
    """
    if isinstance(array, np.ndarray):
        return _from_interface(array, array.__array_interface__, "cpu")
    if getattr(array, "requires_grad", False) and hasattr(array, "detach"):
        array = array.detach()
    if hasattr(array, "__cuda_array_interface__") and _on_cuda(array):
        return _from_interface(array, array.__cuda_array_interface__, "cuda")
    if hasattr(array, "__array_interface__"):
        return _from_interface(array, array.__array_interface__, "cpu")
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(array)
    seen = np.asarray(memoryview(array))
    return _from_interface(seen, seen.__array_interface__, "cpu")


def _on_cuda(array: Any) -> bool:
    # PyTorch's tensors on the host have the attribute, but raise when it is read.
    try:
        return array.__cuda_array_interface__ is not None
    except (AttributeError, TypeError, RuntimeError):
        return False


def host_array(array: Any) -> np.ndarray:
    """As a NumPy array, sharing memory where it lies on the host."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):
        return array.detach().cpu().numpy()
    return np.asarray(array)


def doubles(array: Any, name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """A contiguous float64 array; the very same one if it is so already."""
    result = np.ascontiguousarray(host_array(array), dtype=np.float64)
    if shape is not None and result.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {result.shape}")
    return result


def numpy_at(address: int, shape: tuple[int, ...]) -> np.ndarray:
    """Memory of the library as an array, without a copy."""
    count = int(np.prod(shape))
    buffer = (ctypes.c_double * count).from_address(address)
    return np.frombuffer(buffer, dtype=np.float64).reshape(shape)
