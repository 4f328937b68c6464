"""What arrays the library reads and writes: every layout gives the same numbers, and what must not be changed is refused."""
import array
import ctypes
import re
import tempfile
import unittest
from pathlib import Path

import numpy as np

import lather
from common import Foreign
from lather._arrays import borrowed
from lather._dlpack import _Versioned

PACKAGE = Path(lather.__file__).parent


def copies(x: np.ndarray) -> dict:
    """The same numbers in forms that must be copied to be read."""
    strided = np.repeat(x, 2)
    misaligned = np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    return {"list": x.tolist(), "strided": strided[::2], "byte order": x.astype(">f8"), "reversed": x[::-1].copy()[::-1],
            "misaligned": misaligned, "buffer": array.array("d", x), "tuple": tuple(x), "DLPack": Foreign(x),
            "objects that keep nothing": x.astype(np.longdouble)}


class Reading(unittest.TestCase):
    def setUp(self) -> None:
        # More than a kilobyte each: freed memory of that size is soon used again.
        self.loss = lather.Problem("heat-1d").objective(network={"width": 20, "depth": 2}, training={"points.interior": 200})
        self.x = self.loss.initialize(1)

    def test_every_form_of_an_array_gives_the_same_numbers(self) -> None:
        loss, x = self.loss, self.x
        v, w = np.sin(np.arange(loss.size)), np.cos(np.arange(loss.residual_count))
        calls = {"value": (loss.value, x), "gradient": (lambda a: loss.gradient(a)[1], x), "residuals": (loss.residuals, x),
                 "jacobian": (lambda a: loss.jacobian(a, 3, 5), x), "J(x)v": (lambda a: loss.jacobian_times(a, v), x),
                 "Jv": (lambda a: loss.jacobian_times(x, a), v), "J(x)^T w": (lambda a: loss.transposed_jacobian_times(a, w), x),
                 "J^T w": (lambda a: loss.transposed_jacobian_times(x, a), w)}
        for what, (call, given) in calls.items():
            expected = call(given)
            for form, copy in copies(given).items():
                np.testing.assert_array_equal(call(copy), expected, f"{what} of {form}")
        rounded = x.astype(np.float32)
        self.assertEqual(loss.value(rounded), loss.value(rounded.astype(float)))
        self.assertEqual(loss.value(np.ones(loss.size, int)), loss.value(np.ones(loss.size)))

    def test_what_is_no_array_of_real_numbers_is_refused(self) -> None:
        masked = np.ma.masked_array(self.x, mask=np.arange(self.x.size) == 3)
        for wrong in (self.x + 1j, self.x > 0, None, "x", {}, [[1.0], [1.0, 2.0]], self.x[:-1], self.x.reshape(1, -1),
                      np.array(["1"] * self.x.size), self.x.astype(object), masked, []):
            with self.assertRaisesRegex((TypeError, lather.LatherError), "^x: "):
                self.loss.value(wrong)

    def test_predictions_ask_for_as_many_columns_as_there_is_room_for(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run = lather.Problem("heat-1d").train("lm", steps=1, folder=folder + "/run")
            for names in (["u_x,u_t"], [""], ["u_x "], "u_x,u_t", [1], None, {"u_x": 1}):
                with self.assertRaisesRegex((TypeError, lather.LatherError), "derivatives"):
                    run.predict(np.zeros((3, 2)), names)
            points = np.random.default_rng(0).random((40, 2))
            expected = run.predict(points)["u"]
            for form in (points.tolist(), np.asfortranarray(points), {"x": list(points[:, 0]), "t": points[:, 1]}):
                np.testing.assert_array_equal(run.predict(form)["u"], expected)
            with self.assertRaisesRegex(TypeError, "real numbers"):
                run.predict({"x": [0.5 + 1j], "t": 0.5})


class Writing(unittest.TestCase):
    def setUp(self) -> None:
        self.loss = lather.Problem("heat-1d").objective(network={"width": 6})
        self.x = self.loss.initialize(0)
        self.adam = lather.Optimizer("adam", {"W": (3, 4), "b": (4,)})

    def unwritable(self, x: np.ndarray) -> dict:
        read_only = x.copy()
        read_only.flags.writeable = False
        np.save(self.folder + "/x.npy", x)
        strided = np.empty((*x.shape, 2))[..., 0]
        return {"writeable=False": read_only, "memory map": np.load(self.folder + "/x.npy", mmap_mode="r"),
                "bytes": memoryview(x.tobytes()).cast("d"), "a view of it": read_only[:], "strided": strided,
                "float32": x.astype(np.float32), "byte order": x.astype(">f8"), "list": x.tolist(), "None": None,
                "too short": x[:-1].copy(), "DLPack, read-only": Constant(x), "DLPack, a copy": Constant(x, flags=2),
                "DLPack of NumPy": Foreign(read_only), "JAX": type("Array", (Foreign,), {"__module__": "jaxlib.xla_extension"})(x.copy())}

    def test_what_cannot_be_written_is_refused(self) -> None:
        lbfgs = lather.Optimizer("lbfgs", self.loss.blocks)
        with tempfile.TemporaryDirectory() as self.folder:
            for form, given in self.unwritable(self.x).items():
                if form != "None":
                    with self.assertRaisesRegex((TypeError, lather.LatherError), "^out: ", msg=form):
                        self.loss.gradient(self.x, out=given)
                with self.assertRaisesRegex((TypeError, lather.LatherError), "^x: ", msg=form):
                    lbfgs.step(self.loss, given)
            b = np.ones(4)
            for form, given in self.unwritable(np.ones((3, 4))).items():
                with self.assertRaises((TypeError, lather.LatherError), msg=form):
                    self.adam.apply([(given, np.ones((3, 4))), (b, b.copy())])
            np.testing.assert_array_equal(b, np.ones(4))

    def test_sizes_are_those_of_the_blocks(self) -> None:
        W, b = np.ones((3, 4)), np.ones(4)
        for pairs in ([(np.ones(1), np.ones(1)), (b, b.copy())], [(W, W.copy())], [(W.T.copy(), W.T.copy()), (b, b.copy())],
                      [(W, np.ones((4, 3))), (b, b.copy())], [(W, W.copy()), (b, b.copy()), (b, b.copy())], [W, b], None, [(W,), (b,)]):
            with self.assertRaises((TypeError, lather.LatherError)):
                self.adam.apply(pairs)
        self.adam.apply([(W.reshape(12), np.ones(12)), (b, b.copy())])  # flat memory of a matrix is that matrix
        self.assertLess(W.max(), 1)
        for name in ("lm", "lbfgs", "adam"):
            with self.assertRaisesRegex(lather.LatherError, "made for 3"):
                lather.Optimizer(name, {"x": (3,)}).step(self.loss, np.ones(3))

    def test_memory_has_one_use_in_a_call(self) -> None:
        W, b, room = np.ones((3, 4)), np.ones(4), np.ones(20)
        for pairs in ([(W, W), (b, b.copy())], [(W, W.copy()), (W[0], b)], [(room[:12], W.ravel()), (room[8:12], b)],
                      [(room[:12], room[4:16]), (b, b.copy())]):
            with self.assertRaisesRegex(lather.LatherError, "overlap"):
                self.adam.apply(pairs)
        for x, out in ((self.x, self.x), (np.ones(2 * self.x.size)[:self.x.size],) * 2):
            with self.assertRaisesRegex(lather.LatherError, "overlap"):
                self.loss.gradient(x, out=out)
        self.adam.apply([(W, np.ones((3, 4))), (b, W[1] * 0 + 1)])
        self.adam.apply([(W, room[:12].reshape(3, 4)), (b, room[:4])])  # gradients may share memory

    def test_one_place_lends_memory(self) -> None:
        for file in PACKAGE.glob("*.py"):
            if file.name not in ("_arrays.py", "_dlpack.py"):
                found = re.findall(r"\.ctypes\b|data_as|data_ptr|from_address|__array_interface__|\bDOUBLES\b", file.read_text())
                self.assertEqual(found, [], f"{file.name} takes addresses of arrays by itself")
        call = lather._library.call
        x, value = self.x, ctypes.c_double()
        handle = self.loss._handle
        for wrong in (x.__array_interface__["data"][0], x, None, x.tobytes(), ctypes.c_void_p(0)):
            with self.assertRaisesRegex(TypeError, "expected an array"):
                call("objective_value", handle, wrong, ctypes.byref(value))
        for wrong in (-1, 2**64, 1.0, True, None, ctypes.c_uint64(3)):
            with self.assertRaisesRegex(TypeError, "whole number from 0"):
                call("objective_initialize", handle, wrong, borrowed(x))
        for wrong in (None, 0, handle._as_parameter_, lather.Problem("heat-1d")._handle):
            with self.assertRaisesRegex(TypeError, "the library's objective"):
                call("objective_initialize", wrong, 0, borrowed(x))
        with self.assertRaisesRegex(TypeError, "NUL"):
            call("objective_set_points", handle, b"inter\0ior", 1, borrowed(x))


class Constant:
    """An array whose DLPack capsule, of version 1, says by its flags that it must not be written."""

    def __init__(self, values: np.ndarray, flags: int = 1) -> None:
        self._values, tensor = values.copy(), _Versioned(major=1, flags=flags)
        t = tensor.tensor
        t.data, t.device_type, t.ndim, t.code, t.bits, t.lanes = self._values.__array_interface__["data"][0], 1, values.ndim, 2, 64, 1
        self._shape = (ctypes.c_int64 * values.ndim)(*values.shape)
        t.shape, self._tensor = self._shape, tensor

    def __dlpack__(self, *, max_version: object = None) -> object:
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self._tensor), b"dltensor_versioned", None)

    def __dlpack_device__(self) -> tuple:
        return (1, 0)


if __name__ == "__main__":
    unittest.main()
