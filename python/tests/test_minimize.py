"""Functions of one's own, and arrays of others."""
import unittest

import numpy as np

import lather
from lather._arrays import view


def quartic(x):
    """sum (x - 1)^2 + (x - 1)^4 and its gradient."""
    d = x - 1
    return float(np.sum(d**2 + d**4)), 2 * d + 4 * d**3


class Minimize(unittest.TestCase):
    def test_every_optimizer_goes_down(self) -> None:
        for name, entry in lather.optimizers().items():
            x0 = {"W": np.linspace(-1, 2, 12).reshape(3, 4), "b": np.array([3.0, -2.0])}
            flat = np.concatenate([x0["W"].ravel(), x0["b"]])
            if entry["needs_residuals"]:
                if name not in ("lm", "engd", "anagram", "spring"):  # the others need a network's structure
                    continue
                result = lather.minimize(None, x0, name, steps=30,
                                         residuals=lambda x: np.concatenate([x["W"].ravel(), x["b"]]) - 1,
                                         jacobian=lambda x: np.eye(14))
                before = float(np.sum((flat - 1)**2))
            else:
                def function(x):
                    parts = {key: quartic(value) for key, value in x.items()}
                    return sum(v for v, _ in parts.values()), {key: g for key, (_, g) in parts.items()}
                result = lather.minimize(function, x0, {"name": name}, steps=30)
                before = quartic(flat)[0]
            self.assertEqual(result.x["W"].shape, (3, 4), name)
            self.assertLess(result.value, before, name)

    def test_x_and_gradient_are_the_optimizers_own_memory(self) -> None:
        addresses = []

        def function(x, gradient):
            addresses.append((x.ctypes.data, gradient.ctypes.data))
            value, gradient[:] = quartic(x)
            return value
        result = lather.minimize(function, np.zeros(5), "adam", steps=4, in_place=True)
        self.assertEqual(len(set(addresses[:4])), 1)
        copied = lather.minimize(quartic, np.zeros(5), "adam", steps=4)
        np.testing.assert_array_equal(result.x, copied.x)

    def test_an_exception_passes_through(self) -> None:
        def fail(x):
            raise ZeroDivisionError("mine")
        for name in ("adam", "lbfgs"):
            with self.assertRaisesRegex(ZeroDivisionError, "mine"):
                lather.minimize(fail, np.zeros(2), name)
        with self.assertRaisesRegex(ValueError, "shapes of x0"):
            lather.minimize(lambda x: (0.0, np.zeros(3)), np.zeros(2), "adam")
        with self.assertRaisesRegex(TypeError, "pair"):
            lather.minimize(lambda x: 0.0, np.zeros(2), "adam")
        with self.assertRaisesRegex(lather.LatherError, "residuals"):
            lather.minimize(quartic, np.zeros(2), "lm")

    def test_the_loss_of_a_problem_is_an_objective(self) -> None:
        loss = lather.Problem("heat-1d").objective(network={"width": 6}, seed=2)
        x = loss.initialize(2)
        value, gradient = loss.gradient(x)
        out = np.empty_like(x)
        self.assertIs(loss.gradient(x, out=out)[1], out)
        np.testing.assert_array_equal(out, gradient)
        v = np.sin(np.arange(loss.size))
        J = loss.jacobian(x)
        np.testing.assert_allclose(loss.jacobian_times(x, v), J @ v, atol=1e-10)
        np.testing.assert_allclose(gradient, 2 * J.T @ loss.residuals(x), atol=1e-9)
        method = lather.Optimizer("lm", loss.blocks)
        for _ in range(5):
            method.step(loss, x)
        self.assertLess(loss.value(x), 0.1 * value)

    def test_views_share_memory(self) -> None:
        class Only:
            """An array with DLPack and nothing else."""
            def __init__(self, array):
                self._array = array

            def __dlpack__(self, **options):
                return self._array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self._array.__dlpack_device__()
        base = np.arange(6.0).reshape(2, 3)
        for array in (base, memoryview(base), Only(base)):
            seen = view(array)
            self.assertEqual((seen.pointer, seen.shape, str(seen.dtype), seen.device),
                             (base.ctypes.data, (2, 3), "float64", "cpu"))
        with self.assertRaisesRegex(ValueError, "contiguous"):
            view(base.T)
        with self.assertRaisesRegex(ValueError, "contiguous"):
            view(Only(base.T))
        with self.assertRaisesRegex(TypeError, "int64"):
            view(np.arange(3))


if __name__ == "__main__":
    unittest.main()
