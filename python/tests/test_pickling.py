"""Problems, runs, objectives and optimizers travel to other processes and are the same there, bit for bit."""
import copy
import pickle
import unittest
from pathlib import Path

import numpy as np

import lather
from common import InAFolder, decay


def again(thing: object) -> object:
    return pickle.loads(pickle.dumps(thing))


class Pickling(InAFolder):
    def test_problems(self) -> None:
        t = np.linspace(0, 1, 5)
        Path("my.csv").write_text("t,s\n0.5,0.6\n")
        Path("mine.toml").write_text(decay().text)
        measured = {"domain": {"t": [0, 1]}, "coordinates": ["t"], "fields": ["u"], "equations": {"e": "u_t + u"}}
        for problem in (lather.Problem("heat-1d"), decay(), lather.Problem("mine.toml"), lather.Problem(decay().text),
                        lather.Problem(**measured, data={"seen": {"residual": "u - s", "points": {"t": t, "s": np.exp(-t)}}}),
                        lather.Problem(**measured, data={"seen": {"residual": "u - s", "file": "my.csv"}})):
            twin = again(problem)
            self.assertEqual(twin.describe(), problem.describe())
            one, other = problem.objective(), twin.objective()
            x = one.initialize(3)
            np.testing.assert_array_equal(other.initialize(3), x)
            self.assertEqual(other.value(x), one.value(x))

    def test_a_copy_outlives_the_files_of_the_first(self) -> None:
        t = np.linspace(0, 1, 5)
        problem = lather.Problem(coordinates=["t"], fields=["u"], domain={"t": [0, 1]}, equations={"e": "u_t + u"},
                                 data={"seen": {"residual": "u - s", "points": {"t": t, "s": np.exp(-t)}}})
        twin = again(problem)
        folder = problem._data_folder
        del problem
        self.assertFalse(Path(folder).exists())
        self.assertGreater(twin.objective().residual_count, 0)

    def test_runs(self) -> None:
        run = decay().train(steps=4, folder="run")
        twin = again(run)
        np.testing.assert_array_equal(twin.parameters(), run.parameters())
        self.assertEqual((twin.summary, twin.messages, twin.step), (run.summary, run.messages, run.step))
        both = lather.compare(decay(), ["lm"], seeds=1, steps=2)
        both.best()
        self.assertEqual(str(again(both)), str(both))
        packed = pickle.dumps(run)
        Path("run").rename("elsewhere")
        with self.assertRaisesRegex(lather.LatherError, "run"):
            pickle.loads(packed)

    def test_objectives(self) -> None:
        loss = decay().objective(network={"width": 5}, seed=3)
        x = np.linspace(-1, 1, loss.size)
        for change in (lambda: None, lambda: loss.initialize(7), lambda: loss.set_points("interior", np.random.default_rng(0).random((9, 1))),
                       lambda: loss.initialize(8)):
            change()
            for twin in (again(loss), copy.deepcopy(loss)):
                np.testing.assert_array_equal(twin.residuals(x), loss.residuals(x))
        with self.assertRaisesRegex(TypeError, "cannot be pickled"):
            pickle.dumps(loss._handle)

    def test_optimizers(self) -> None:
        rng = np.random.default_rng(1)
        gradients = rng.normal(size=(8, 3, 4))
        for name in ("adam", "ss-esoap", "muon"):
            W = rng.normal(size=(3, 4))
            method = lather.Optimizer({"name": name, "learning_rate": 0.1}, {"W": W.shape})
            method.set_rate_factor(0.5)
            for g in gradients[:4]:
                method.apply([(W, g)])
            V, twin = W.copy(), again(method)
            for g in gradients[4:]:
                method.apply([(W, g)])
                twin.apply([(V, g)])
            np.testing.assert_array_equal(V, W)
        loss = decay().objective()
        method, x = lather.Optimizer("lm", loss.blocks), loss.initialize(0)
        method.step(loss, x)
        y, twin, there = x.copy(), again(method), again(loss)
        method.step(loss, x)
        twin.step(there, y)
        np.testing.assert_array_equal(y, x)

    def test_errors(self) -> None:
        error = again(lather.LatherError("what was wrong"))
        self.assertEqual((type(error), str(error)), (lather.LatherError, "what was wrong"))


if __name__ == "__main__":
    unittest.main()
