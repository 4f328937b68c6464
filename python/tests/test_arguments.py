"""Arguments of another kind are refused, each by name, with what was expected: nothing is cut, wrapped or ignored."""
import math
import unittest
from pathlib import Path

import numpy as np

import lather
from common import InAFolder, decay


class Arguments(InAFolder):
    def refuse(self, name: str, wrong: list, call) -> None:
        for value in wrong:
            with self.assertRaises((TypeError, lather.LatherError), msg=f"{name}={value!r}") as caught:
                call(value)
            self.assertIn(name, str(caught.exception), f"{name}={value!r}")

    def test_whole_numbers(self) -> None:
        problem = decay()
        loss = problem.objective()
        x = loss.initialize(2**64 - 1)
        never = [-1, 2**64, 10**400, 1.5, math.nan, math.inf, True, "1", b"1", 1j, np.bool_(True), np.array([1, 2]), [], {}]
        self.refuse("seed", [*never, None], loss.initialize)
        self.refuse("first", [*never, None, loss.residual_count + 1], lambda v: loss.jacobian(x, first=v))
        self.refuse("count", never, lambda v: loss.jacobian(x, 1, v))
        self.refuse("count", [loss.residual_count], lambda v: loss.jacobian(x, 1, v))
        self.refuse("seed", never, lambda v: problem.train(seed=v))
        self.refuse("threads", never, lambda v: problem.train(threads=v))
        self.refuse("steps", [*never, 0], lambda v: problem.train(steps=v))
        self.refuse("patience", never, lambda v: problem.train(patience=v))
        self.refuse("steps", [*never, 0], lambda v: lather.minimize(lambda p: (0.0, p), np.ones(2), steps=v))
        self.refuse("seeds", [-1, 2**64, 1.5, math.nan, True, "1", b"1", 1j, 0, [], {}, [1.5], [-1], ["a"], [[]], range(10**30)], lambda v: lather.compare(problem, ["lm"], seeds=v))
        self.refuse("jobs", never, lambda v: lather.compare(problem, ["lm"], jobs=v))
        self.refuse("samples", never, lambda v: lather.sweep(problem, {"network.width": [3]}, samples=v))
        self.refuse("shape", [(0, 3), (-1,), (2.5,), (True,), ("2",), (2**63,)], lambda v: lather.Optimizer("adam", {"x": v}))
        self.refuse("blocks", [(2**40, 2**40)], lambda v: lather.Optimizer("adam", {"x": v}))
        for same in (2, 2.0, np.int8(2), np.uint64(2), np.float32(2), np.array(2)):
            np.testing.assert_array_equal(loss.initialize(same), loss.initialize(2))
        self.assertFalse(Path("runs").exists())  # none of them left a folder behind

    def test_numbers(self) -> None:
        problem, adam = decay(), lather.Optimizer("adam", {"x": (1,)})
        never = ["1", b"1", True, 1j, np.complex128(1), np.array(1j), None, [], np.ones(2), 10**400, np.ma.masked]
        self.refuse("factor", [*never, math.nan, -1, math.inf], adam.set_rate_factor)
        self.refuse("loss", never, lambda v: adam.apply([(np.ones(1), np.ones(1))], v))
        self.refuse("seconds", [v for v in never if v is not None] + [math.nan, -1], lambda v: problem.train(seconds=v))
        self.refuse("target", [{}, {"l2": math.nan}, {"l2": "1"}, {"l2": 1, "h1": 1}, {1: 1}, 1], lambda v: problem.train(target=v))

    def test_yes_and_no(self) -> None:
        run, never = decay().train(steps=1), [0, 1, "no", None, [], np.ones(2)]
        self.refuse("best", never, lambda v: run.parameters(best=v))
        self.refuse("best", never, lambda v: run.predict([0.5], best=v))
        self.refuse("best", never, lambda v: run.errors(best=v))
        self.refuse("in_place", never, lambda v: lather.minimize(lambda p: (0.0, p), np.ones(2), in_place=v))
        self.refuse("progress", [v for v in never if v is not None], lambda v: decay().train(progress=v))
        self.refuse("equal_time", never, lambda v: lather.compare(decay(), ["lm"], equal_time=v))

    def test_texts_and_folders(self) -> None:
        problem = decay()
        never = ["with\0nul", b"runs", 1, ["a"], "\ud800", object()]
        self.refuse("folder", [*never, Path("with\0nul")], lambda v: problem.train(folder=v))
        self.refuse("start", never, lambda v: problem.train(start=v))
        self.refuse("folder", [*never, None, "nowhere"], lather.load)
        self.refuse("folder", [*never, None], lather.resume)
        self.refuse("folder", never, lambda v: lather.compare(problem, ["lm"], folder=v))
        self.refuse("file", never, lambda v: problem.train(steps=1).report(v))
        self.refuse("source", never, lather.Problem)
        self.refuse("name", never, lambda v: lather.sweep(problem, {"network.width": [3]}, name=v))
        self.refuse("device", [*never, None], lambda v: problem.objective(device=v))
        self.refuse("recipe", never, lambda v: problem.objective(recipe=v))
        self.refuse("optimizer", ["with\0nul", 1, [], {}, {"name": 1}, {"name": "adam", 1: 2}], lambda v: problem.objective(v))
        self.refuse("optimizer", [None, 1, [], {}, b"adam"], lambda v: lather.Optimizer(v, {"x": (1,)}))
        self.refuse("optimizers", ["lm", [1], None, {"lm": 1}], lambda v: lather.compare(problem, v))
        self.assertEqual([p.name for p in Path().iterdir()], ["runs"])
        long = "a" * 5000  # longer than the system's names may be
        for call in (lather.load, lather.Problem, lambda v: problem.train(steps=1, folder=v), lambda v: problem.train(start=v)):
            with self.assertRaisesRegex(ValueError, "a"):
                call(long)

    def test_settings(self) -> None:
        problem = decay()
        itself: dict = {}
        itself["a"] = itself
        cases = [({"width": math.nan}, "network.width"), ({"width": b"8"}, "network.width"), ({"width": object()}, "network.width"),
                 ({"width": {1, 2}}, "network.width"), ({"width": 2**64}, "network.width"), ({"width": range(10**30)}, "network.width"), ({1: 2}, "network"), ([("width", 8)], "network"),
                 (8, "network"), ([], "network"), (itself, "contains itself"), ({"width": 1.5}, "width"), ({"width": True}, "width"), ({"width": 1j}, "network.width")]
        for network, words in cases:
            with self.assertRaises((TypeError, lather.LatherError), msg=repr(words)) as caught:
                problem.objective(network=network)
            self.assertIn(words, str(caught.exception))
        with self.assertRaisesRegex(lather.LatherError, "'network' is given twice"):
            problem.objective(network={"width": 8}, settings={"network": {"depth": 2}})
        self.refuse("settings", [[], "", np.zeros(0), 0], lambda v: lather.sweep(problem, {"network.width": [3]}, settings=v))
        for axes in ({"network.width": [4], "network": 3}, {"network": 3, "network.width": [4]}, {1: [2]}, {"a": itself}, [1], "network.width"):
            with self.assertRaises((TypeError, lather.LatherError)):
                lather.sweep(problem, axes, steps=1)
        for tables in ({"title": itself}, {"title": math.nan}, {"title": b"x"}, {"title": 2**64}, {"title": "a\0b"}, {"title": range(10**15)}, {"network": {1: 2}}):
            with self.assertRaises((TypeError, lather.LatherError)):
                decay(**tables) if "network" not in tables else lather.Problem(name="x", **tables)
        np.testing.assert_array_equal(problem.objective(network={"width": np.int64(8)}).initialize(1),
                                      problem.objective(network={"width": 8}).initialize(1))

    def test_functions_and_objects(self) -> None:
        problem = decay()
        self.refuse("callback", [1, "f", []], lambda v: problem.train(callback=v))
        self.refuse("callback", [1, "f", []], lambda v: lather.minimize(lambda p: (0.0, p), np.ones(2), callback=v))
        for name in ("function", "residuals", "jacobian"):
            given = {"residuals": abs, "jacobian": abs} if name != "function" else {}
            self.refuse(name, [1, "f", []], lambda v: lather.minimize(**{"function": None, **given, name: v}, x0=np.ones(2)))
        self.refuse("problem", [None, 1, [], problem.objective()], lambda v: lather.compare(v, ["lm"]))
        self.refuse("objective", [None, 1, problem], lambda v: lather.Optimizer("lm", {"x": (2,)}).step(v, np.ones(2)))
        self.refuse("state", [None, "state", 3], lather.Optimizer("adam", {"x": (2,)}).load)
        self.refuse("data", [3, {"a": 1}, [1]], lambda v: lather.Problem(name="x", data=v))
        self.refuse("data", ["..", "a/b", ""], lambda v: lather.Problem(name="x", data={v: {"residual": "u", "points": {"t": [0.0]}}}))
        for made_otherwise in (lather.Objective, lather.Run, lather.Comparison, lather.Sweep):
            for wrong in (None, 0, {}, problem._handle):
                with self.assertRaises(TypeError):
                    made_otherwise(wrong)


if __name__ == "__main__":
    unittest.main()
