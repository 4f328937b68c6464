"""Arrays of others: the one place that lends their memory to the library.

``borrowed`` sees an array as it is, through NumPy, PyTorch, the buffer protocol, __array_interface__,
__cuda_array_interface__ or DLPack. ``reads`` and ``writes`` lend an array to one call: what they return is passed in
place of an address, owns the memory, and so keeps it alive until the call returns. ``_library`` accepts nothing else.
"""
from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ._arguments import LatherError, wrong_type
from ._dlpack import CUDA as DLPACK_CUDA
from ._dlpack import from_dlpack

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


class Borrowed(NamedTuple):
    """Contiguous memory of an array, as an argument of the library; `owner` keeps it alive."""
    address: int
    shape: tuple[int, ...]
    dtype: np.dtype
    device: str  # "cpu" or "cuda"
    writable: bool
    owner: Any

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def end(self) -> int:
        return self.address + self.size * self.dtype.itemsize

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.address)


def borrowed(array: Any, name: str = "array") -> Borrowed:
    """The memory of an array of float64 or float32, without a copy.

    >>> import array
    >>> numbers = array.array("d", [1, 2, 3])
    >>> seen = borrowed(numbers)
    >>> seen.shape, str(seen.dtype), seen.address == numbers.buffer_info()[0], seen.writable
    ((3,), 'float64', True, True)
    """
    seen = _seen(array, name)
    if seen.dtype not in _FLOATS:
        raise TypeError(f"{name}: an array of {seen.dtype}: expected float64 or float32")
    if seen.address % seen.dtype.itemsize:
        raise LatherError(f"{name}: the array is not aligned; make a copy first")
    return seen


def _seen(array: Any, name: str) -> Borrowed:
    if isinstance(array, np.ndarray):
        return _of_numpy(array, name)
    if _is_torch(array):
        return _of_torch(array, name)
    if _has_cuda_interface(array):
        return _of_cuda(array, array.__cuda_array_interface__, name)
    if hasattr(array, "__array_interface__"):
        return _of_numpy(np.asarray(array), name)
    if hasattr(array, "__dlpack__"):
        tensor = from_dlpack(array, name)
        _require_contiguous(name, tensor.shape, tensor.strides, tensor.dtype.itemsize)
        return Borrowed(tensor.address, tensor.shape, tensor.dtype, tensor.device, tensor.writable, (array, tensor.capsule))
    try:
        buffer = memoryview(array)
    except TypeError:
        raise wrong_type(name, "an array", array) from None
    return _of_numpy(np.asarray(buffer), name)


def _of_numpy(array: np.ndarray, name: str) -> Borrowed:
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise LatherError(f"{name}: the array has masked values")
    _require_contiguous(name, array.shape, array.strides, array.itemsize)
    address, read_only = array.__array_interface__["data"]
    return Borrowed(address, array.shape, array.dtype, "cpu", not read_only, array)


def _of_torch(array: Any, name: str) -> Borrowed:
    torch = sys.modules["torch"]
    dtype = _FLOATS[0] if array.dtype is torch.float64 else _FLOATS[1] if array.dtype is torch.float32 else None
    if dtype is None:
        raise TypeError(f"{name}: a tensor of {array.dtype}: expected float64 or float32")
    device = array.device.type
    if device not in ("cpu", "cuda") or array.layout is not torch.strided or array.is_neg():
        raise TypeError(f"{name}: expected a dense tensor on cpu or cuda, got one on {device}, {array.layout}")
    if not array.is_contiguous():
        raise _not_contiguous(name)
    return Borrowed(array.data_ptr(), tuple(array.shape), dtype, device, True, array)


def _of_cuda(array: Any, interface: dict[str, Any], name: str) -> Borrowed:
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    _require_contiguous(name, shape, interface.get("strides"), dtype.itemsize)
    address, read_only = interface["data"]
    return Borrowed(address, shape, dtype, "cuda", not read_only, (array, interface))


def on_cuda(array: Any) -> bool:
    if _is_torch(array):
        return array.device.type == "cuda"
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return _has_cuda_interface(array)
    return tuple(array.__dlpack_device__())[0] == DLPACK_CUDA


def _has_cuda_interface(array: Any) -> bool:
    return getattr(array, "__cuda_array_interface__", None) is not None


def _is_torch(array: Any) -> bool:
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(array, tensor)


def _not_contiguous(name: str) -> LatherError:
    return LatherError(f"{name}: expected a contiguous (row-major) array; make a contiguous copy first")


def _require_contiguous(name: str, shape: tuple[int, ...], strides: Any, step: int) -> None:
    if strides is None or 0 in shape:
        return
    for length, stride in zip(reversed(shape), reversed(list(strides))):
        if length > 1 and stride != step:
            raise _not_contiguous(name)
        step *= length


def host_array(array: Any, name: str = "array") -> np.ndarray:
    """As a NumPy array, sharing memory where it lies on the host."""
    if isinstance(array, np.ndarray):
        return array
    if _is_torch(array):
        return array.detach().cpu().numpy()
    try:
        if hasattr(array, "__dlpack__") and not hasattr(array, "__array__"):
            return np.from_dlpack(array)
        return np.asarray(array)
    except (BufferError, RuntimeError) as error:  # what another library says to this
        raise wrong_type(name, f"an array on the host ({error})", array) from None
    except ValueError as error:  # lists of different lengths
        raise LatherError(f"{name}: {error}") from None


def doubles(array: Any, name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """A contiguous float64 array of this machine's byte order; the very same one if it is so already."""
    given = host_array(array, name)
    if given.dtype.kind not in "fiu":
        raise wrong_type(name, "real numbers", array)
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        raise LatherError(f"{name}: the array has masked values")
    if shape is not None and given.shape != shape:
        raise LatherError(f"{name}: expected shape {shape}, got {given.shape}")
    return np.require(np.asarray(given), np.float64, ["C", "A"])


def reads(array: Any, name: str, shape: tuple[int, ...] | None = None) -> Borrowed:
    """An array whose numbers the library reads: lent as it is where it can be, else as a copy."""
    return _of_numpy(doubles(array, name, shape), name)


def writes(array: Any, name: str, shape: tuple[int, ...], device: str = "cpu", besides: Iterable[Borrowed] = ()) -> Borrowed:
    """A float64 array that the library fills. It is never copied, and must not be `besides`, which the library reads."""
    seen = borrowed(array, name)
    if seen.device != device or seen.dtype != np.float64 or seen.shape != shape:
        raise LatherError(f"{name}: expected float64 of shape {shape} on {device}, got {seen.dtype} of shape {seen.shape} on {seen.device}")
    require_writable(name, seen)
    require_disjoint({name: seen}, besides)
    return seen


def require_writable(name: str, seen: Borrowed) -> None:
    if not seen.writable:
        raise LatherError(f"{name}: the array is read-only, and its numbers would be changed; make a copy first")


def require_disjoint(written: dict[str, Borrowed], read: Iterable[Borrowed]) -> None:
    """Refuses memory that is written and used for something else as well."""
    pieces = [(seen.address, seen.end, name) for name, seen in written.items()]
    pieces += [(seen.address, seen.end, "") for seen in read]
    reached, above = 0, ""  # the highest end so far, and whose it is
    for begin, end, name in sorted(piece for piece in pieces if piece[0] < piece[1]):
        if begin < reached and (name or above):
            raise LatherError(f"{name or above}: its memory overlaps that of another argument; make a copy first")
        if end > reached:
            reached, above = end, name


def memory(address: int, shape: tuple[int, ...]) -> np.ndarray:
    """Memory of the library, for the time of a callback: no view of it may outlive that."""
    buffer = (ctypes.c_double * math.prod(shape)).from_address(address)
    return np.frombuffer(buffer, dtype=np.float64).reshape(shape)
