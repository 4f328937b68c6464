"""Problems from names, files, texts and Python values; mistakes and their words."""
import unittest
from pathlib import Path

import numpy as np

import lather
from common import InAFolder, decay


class Problems(InAFolder):
    def test_the_same_problem_in_four_forms(self) -> None:
        by_name = lather.Problem("heat-1d")
        Path("mine.toml").write_text(by_name.text)
        for other in (lather.Problem("mine.toml"), lather.Problem(Path("mine.toml")), lather.Problem(by_name.text)):
            self.assertEqual(other.describe(), by_name.describe())
        self.assertEqual(by_name.domain, {"x": (0, 1), "t": (0, 1)})
        self.assertIn("quick", by_name.recipes)

    def test_python_values_become_a_file(self) -> None:
        problem = decay(parameters={"k": np.float64(2.5)}, title='with "quotes" and \\')
        self.assertIn("k = 2.5", problem.text)
        again = lather.Problem(problem.text)
        self.assertEqual(again.describe(), problem.describe())

    def test_mistakes_are_named(self) -> None:
        cases = [
            (lambda: lather.Problem("burgerz"), "did you mean 'burgers'"),
            (lambda: lather.Problem("no/such/file.toml"), "no/such/file.toml"),
            (lambda: lather.Problem(coordinate=["x"]), "coordinate"),
            (lambda: decay().train(optimizer="adm"), "did you mean 'adam'"),
            (lambda: decay().train(optimizer={"name": "adam", "learning_rte": 1}), "did you mean 'learning_rate'"),
            (lambda: decay().train(network={"widht": 3}), "did you mean 'width'"),
            (lambda: decay().train(steps=0), "steps"),
            (lambda: decay().train(device="gpu"), "gpu"),
            (lambda: decay().train(target="l3=1e-3"), "l3"),
            (lambda: decay().train(recipe="quik"), "quik"),
            (lambda: lather.load("nowhere"), "nowhere"),
            (lambda: lather.optimizers("soup"), "did you mean 'soap'"),
            (lambda: lather.Optimizer("adam", {"x": (0,)}), "'x'"),
        ]
        for mistake, words in cases:
            with self.assertRaises(lather.LatherError) as caught:
                mistake()
            self.assertIn(words, str(caught.exception))
        self.assertFalse(Path("runs").exists())  # none of them left a folder behind

    def test_arrays_of_data_find_a_number(self) -> None:
        t = np.linspace(0, 1, 21)
        problem = lather.Problem(
            coordinates=["t"], fields=["u"], domain={"t": [0, 1]}, unknown={"k": {"initial": 0.5, "known": 1.5}},
            equations={"decay": "u_t + k*u"}, network={"width": 8, "depth": 1},
            data={"seen": {"residual": "u - u_seen", "points": {"t": t, "u_seen": np.exp(-1.5 * t)}}})
        run = problem.train("lm", steps=40, folder="found")
        self.assertAlmostEqual(run.unknowns["k"], 1.5, places=4)
        self.assertTrue(Path("found/data/seen.csv").exists())
        with self.assertRaisesRegex(ValueError, "differ in length"):
            lather.Problem(coordinates=["t"], fields=["u"], domain={"t": [0, 1]},
                           data={"seen": {"residual": "u - v", "points": {"t": t, "v": t[1:]}}})


if __name__ == "__main__":
    unittest.main()
