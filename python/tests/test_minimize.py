"""Functions of one's own, and arrays of others."""
import traceback
import unittest

import numpy as np

import lather
from common import Foreign
from lather._arrays import borrowed


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

    def test_what_a_function_keeps_stays_as_it_was(self) -> None:
        kept = []

        def function(x, gradient):
            kept.append((x, x.copy()))
            value, gradient[:] = quartic(x)
            x[:] = 7  # its own
            kept[-1] += (value,)
            return value
        for name in ("adam", "lbfgs", "ss-broyden"):
            result = lather.minimize(function, np.zeros(5), name, steps=4, in_place=True)
            copied = lather.minimize(quartic, np.zeros(5), name, steps=4)
            np.testing.assert_array_equal(result.x, copied.x)
        self.assertEqual(len({id(x) for x, _, _ in kept}), len(kept))
        for x, _, _ in kept:
            np.testing.assert_array_equal(x, np.full(5, 7.0))

    def test_results_of_another_form_are_refused(self) -> None:
        A, b = np.array([[1.0, 2], [3, 4], [5, 7]]), np.array([1.0, 2, 3])

        def fit(residuals=lambda p: A @ p - b, jacobian=lambda p: A):
            return lather.minimize(None, np.zeros(2), "lm", steps=20, residuals=residuals, jacobian=jacobian)
        np.testing.assert_allclose(fit().x, np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-6)
        wrong_jacobians = {"it is transposed": A.T, "3, 2": A[:2], "got (6,)": A.ravel(), "real numbers": A + 1j, "jacobian": None}
        for words, J in wrong_jacobians.items():
            with self.assertRaises((TypeError, lather.LatherError)) as caught:
                fit(jacobian=lambda p: J)
            self.assertIn(words, str(caught.exception))
        for r in (b[:, None], np.zeros(0), 3.0, b + 1j, None, "r", [[1.0], [2.0, 3.0]]):
            with self.assertRaisesRegex((TypeError, lather.LatherError), "^residuals: "):
                fit(residuals=lambda p: r)
        lengths = iter([3, 2])
        with self.assertRaisesRegex(lather.LatherError, r"residuals: expected shape \(3,\), got \(2,\)"):
            fit(residuals=lambda p: np.zeros(next(lengths)))
        wide = lather.minimize(None, np.zeros((2, 1)), "lm", steps=20, residuals=lambda p: A @ p[:, 0] - b,
                               jacobian=lambda p: A.reshape(3, 2, 1))  # rows in the shape of x0
        np.testing.assert_allclose(wide.x.ravel(), fit().x)

        g = np.zeros(2)
        for returned in (None, 1.0, (1.0,), [1.0, g], (1.0, g, g), (None, g), ("1", g), (1j, g), (np.complex128(1), g), (np.array(1j), g),
                         (True, g), (g, g), (1.0, None), (1.0, g[None]), (1.0, 0.0), (1.0, g + 1j), (1.0, g > 0), (1.0, ["a", "b"])):
            with self.assertRaises((TypeError, lather.LatherError), msg=repr(returned)):
                lather.minimize(lambda x: returned, np.ones(2), "lbfgs")
        for returned in (None, (1.0, g), 1j):
            with self.assertRaisesRegex(TypeError, "the function's result|the function's value"):
                lather.minimize(lambda x, out: returned, np.ones(2), "lbfgs", in_place=True)
        two = {"a": np.ones(2), "b": np.ones(1)}
        for returned in (g, {"a": g}, {"a": g, "c": g}, [g, g], {"a": g, "b": g}):
            with self.assertRaisesRegex((TypeError, lather.LatherError), "^gradient: "):
                lather.minimize(lambda x: (0.0, returned), two, "adam")
        for one in (2.0, np.float32(2), np.array(2.0), np.array([2.0]), 2):
            self.assertEqual(lather.minimize(lambda x: (one, g), np.ones(2), "lbfgs").value, 2)

    def test_what_is_not_finite_ends_it(self) -> None:
        g = np.zeros(2)
        for value, gradient in ((np.nan, g), (np.inf, g), (1.0, g + np.nan), (1.0, np.array([np.inf, 0]))):
            for name in ("adam", "lbfgs", "ss-broyden", "soap"):
                result = lather.minimize(lambda x: (value, gradient), np.ones(2), name, steps=3)
                self.assertEqual((result.status, list(result.x)), ("non_finite", [1, 1]), (name, value, gradient))
        forgotten = lather.minimize(lambda x, out: 1.0, np.ones(2), "adam", in_place=True)  # it writes no gradient
        self.assertEqual(forgotten.status, "non_finite")

    def test_a_start_of_another_form_is_refused(self) -> None:
        for x0 in (np.ones(2) + 1j, None, "x", [], {}, np.zeros((0, 3)), {"a": np.ones(2), "b": None}, [[1.0], ["a"]], {1: np.ones(2)}, b"12345678"):
            with self.assertRaisesRegex((TypeError, lather.LatherError), "x0"):
                lather.minimize(quartic, x0, "adam")

    def test_an_exception_passes_through(self) -> None:
        def fail(x):
            raise ZeroDivisionError("mine")
        for name in ("adam", "lbfgs"):
            try:
                lather.minimize(fail, np.zeros(2), name)
                self.fail("it did not raise")
            except ZeroDivisionError as error:
                self.assertIn("in fail", "".join(traceback.format_tb(error.__traceback__)))
        for mine in (KeyboardInterrupt, SystemExit, StopIteration, MemoryError, lather.LatherError):
            def stop(x):
                raise mine("mine")
            for given in ({"residuals": stop, "jacobian": stop}, {"residuals": lambda x: x, "jacobian": stop}):
                with self.assertRaisesRegex(mine, "mine"):
                    lather.minimize(None, np.zeros(2), "lm", **given)
            with self.assertRaisesRegex(mine, "mine"):
                lather.minimize(quartic, np.zeros(2), "adam", callback=lambda step, report: stop(0))
        with self.assertRaisesRegex(ValueError, "shape of x0"):
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
        base = np.arange(6.0).reshape(2, 3)
        for array in (base, memoryview(base), Foreign(base)):
            seen = borrowed(array)
            self.assertEqual((seen.address, seen.shape, str(seen.dtype), seen.device),
                             (base.ctypes.data, (2, 3), "float64", "cpu"))
        with self.assertRaisesRegex(ValueError, "contiguous"):
            borrowed(base.T)
        with self.assertRaisesRegex(ValueError, "contiguous"):
            borrowed(Foreign(base.T))
        with self.assertRaisesRegex(TypeError, "int64"):
            borrowed(np.arange(3))


if __name__ == "__main__":
    unittest.main()
