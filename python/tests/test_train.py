"""Training: results, callbacks, Ctrl-C, threads, resuming, comparisons."""
import os
import signal
import subprocess
import threading
import unittest
from pathlib import Path

import numpy as np

import lather
from common import InAFolder, decay


class Training(InAFolder):
    def test_a_run_and_what_it_has_come_to(self) -> None:
        run = decay().train(folder="one")
        self.assertEqual((run.step, run.reason), (12, "steps"))
        self.assertLess(run.errors()["u"], 1e-3)
        t = np.linspace(0, 1, 7)
        values = run.predict({"t": t}, derivatives=["u_t", "u_tt"])
        np.testing.assert_allclose(values["u"], np.exp(-t), atol=1e-3)
        np.testing.assert_allclose(values["u_t"], -np.exp(-t), atol=1e-2)
        np.testing.assert_array_equal(run.predict(t)["u"], values["u"])
        np.testing.assert_allclose(run.reference(t)["u"], np.exp(-t), rtol=1e-13)
        self.assertEqual(sorted(run.residuals()), ["decay", "start"])
        history = run.history
        self.assertEqual(list(history["step"]), list(range(1, 13)))
        self.assertLess(history["loss"][-1], history["loss"][0])
        self.assertEqual(run.parameters().shape, (lather.load("one").parameters().size,))
        with self.assertRaisesRegex(lather.LatherError, "u_x"):
            run.predict(t, derivatives=["u_x"])
        with self.assertRaisesRegex(ValueError, "coordinates t"):
            run.predict({"x": t})
        with self.assertRaisesRegex(ValueError, "1 columns"):
            run.predict(np.zeros((3, 2)))

    def test_it_is_the_run_of_the_c_interface_from_the_same_settings(self) -> None:
        first = decay().train(seed=4, threads=1)
        second = decay().train(seed=4, threads=1, callback=lambda progress: None)
        np.testing.assert_array_equal(first.parameters(), second.parameters())
        self.assertNotEqual(first.folder, second.folder)

    @unittest.skipUnless("LATHER_COMMAND" in os.environ, "LATHER_COMMAND is not set")
    def test_it_is_the_run_of_the_command_bit_for_bit(self) -> None:
        lather.Problem("burgers").train(steps=13, threads=1, seed=1, folder="python", settings={"training.reference": False})
        subprocess.run([os.environ["LATHER_COMMAND"], "train", "burgers", "--steps", "13", "--threads", "1", "--seed", "1", "--set",
                        "training.reference=false", "--quiet", "--out", "command"], check=True)
        self.assertEqual(Path("python/history.csv").read_text(), Path("command/history.csv").read_text())

    def test_a_callback_sees_every_recorded_step_and_may_stop(self) -> None:
        seen = []
        run = decay().train(callback=lambda p: seen.append(p.step) or p.step == 4)
        self.assertEqual(seen, [1, 2, 3, 4])
        self.assertEqual((run.step, run.reason), (4, "interrupted"))
        run = run.resume()
        self.assertEqual((run.step, run.reason), (12, "steps"))

    def test_an_exception_of_the_callback_is_raised_and_the_run_is_kept(self) -> None:
        def fail(progress: object) -> None:
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            decay().train(callback=fail, folder="kept")
        self.assertEqual(lather.load("kept").reason, "interrupted")

    def test_ctrl_c_keeps_the_run(self) -> None:
        run = decay().train(callback=lambda p: os.kill(os.getpid(), signal.SIGINT) if p.step == 3 else None)
        self.assertEqual(run.reason, "interrupted")
        self.assertTrue(run.interrupted)
        self.assertLess(run.step, 12)

    def test_two_threads_train_at_once(self) -> None:
        alone = [decay().train(seed=s, threads=1).parameters() for s in (1, 2)]
        together: dict[int, np.ndarray] = {}

        def work(seed: int) -> None:
            together[seed] = decay().train(seed=seed, threads=1, folder=f"thread-{seed}").parameters()
        workers = [threading.Thread(target=work, args=(s,)) for s in (1, 2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for seed in (1, 2):
            np.testing.assert_array_equal(together[seed], alone[seed - 1])

    def test_a_second_run_starts_from_the_first(self) -> None:
        first = decay().train()
        second = decay().train("lbfgs", start=first, steps=1, network={"width": 6, "depth": 1})
        self.assertLess(second.errors()["u"], 10 * first.errors()["u"])
        self.assertEqual(second.config["from"], str(Path(first.folder).resolve()))

    def test_pictures_and_pages(self) -> None:
        run = decay().train()
        self.assertTrue(run.plot() is not None)
        self.assertIn("<iframe", run.report()._repr_html_())
        self.assertTrue((Path(run.folder) / "report.html").exists())

    def test_comparisons_and_sweeps_go_on_in_their_folder(self) -> None:
        both = lather.compare(decay(), {"adam": {"learning_rate": 0.01}, "lm": {}}, seeds=2, steps=6, folder="both")
        self.assertEqual([len(group) for group in both.groups.values()], [2, 2])
        self.assertIn("| lm", both.table())
        self.assertEqual(both.best().config["optimizer"]["name"], "lm")
        stamps = {p: p.stat().st_mtime_ns for p in Path("both").glob("*/summary.json")}
        again = lather.compare(decay(), {"adam": {"learning_rate": 0.01}, "lm": {}}, seeds=2, steps=6, folder="both")
        self.assertEqual(str(again), str(both))
        self.assertEqual({p: p.stat().st_mtime_ns for p in Path("both").glob("*/summary.json")}, stamps)
        table = (Path("both") / "table.md").read_text()
        self.assertEqual(both.table(), table)  # the same files as those of the command
        with self.assertRaisesRegex(lather.LatherError, "other settings"):
            lather.compare(decay(), {"adam": {"learning_rate": 0.02}}, seeds=1, steps=6, folder="both")
        Path("full").mkdir()
        Path("full/notes.txt").write_text("mine")
        with self.assertRaisesRegex(ValueError, "notes.txt"):
            lather.compare(decay(), ["lm"], folder="full")
        twice = lather.compare(decay(), {"lm": {}, "slow": {"name": "adam", "learning_rate": 1e-4}}, seeds=[3], steps=2, jobs=2)
        self.assertEqual(twice.groups["slow"][0].config["optimizer"]["learning_rate"], 1e-4)
        self.assertTrue(str(twice.folder).startswith("runs/compare-decay"))

    def test_sweeps_are_those_of_the_command(self) -> None:
        def run(**more: object) -> lather.Sweep:
            return lather.sweep(decay(), {"network.width": [4, 5, 6], "optimizer": ["lm", "lbfgs"]}, metric="l2", samples=2,
                                steps=3, jobs=2, **more)
        swept = run()
        self.assertEqual((len(swept.points), len(swept.runs)), (4, 4))
        self.assertEqual([p.score for p in swept.points], sorted(p.score for p in swept.points))
        self.assertEqual(swept.folder, Path("runs/sweep-decay"))
        self.assertEqual(swept.table(), (swept.folder / "table.md").read_text())
        self.assertIn("<!", swept.page.read_text()[:2])
        self.assertEqual(swept.best().config["optimizer"]["name"], swept.points[0].optimizer)
        stamps = {p: p.stat().st_mtime_ns for p in swept.folder.glob("runs/*/summary.json")}
        self.assertEqual(len(stamps), 4)
        self.assertEqual(str(run()), str(swept))  # finished runs are not repeated
        self.assertEqual({p: p.stat().st_mtime_ns for p in swept.folder.glob("runs/*/summary.json")}, stamps)
        halved = lather.sweep(decay(), {"optimizer.initial_damping": {"low": 1e-4, "high": 1.0, "scale": "log", "count": 3}},
                              search="halving", rounds=2, steps=9, name="halved", optimizer="lm", settings={"network.width": 4})
        self.assertEqual(sorted(p.round for p in halved.points), [0, 0, 1])
        with self.assertRaisesRegex(lather.LatherError, "did you mean 'width'"):
            lather.sweep(decay(), {"network.widht": [4]}, steps=2, name="typo")
        self.assertFalse(Path("runs/sweep-typo").exists())
        with self.assertRaisesRegex(TypeError, "optimizers once"):
            lather.sweep(decay(), {"optimizer": ["lm"]}, optimizer="adam", steps=2)

    def test_ctrl_c_saves_a_sweep_and_the_same_call_goes_on(self) -> None:
        def interrupted() -> int:
            timer = threading.Timer(0.8, signal.raise_signal, [signal.SIGINT])
            timer.start()
            with self.assertRaisesRegex(KeyboardInterrupt, "goes on"):
                lather.sweep(decay(), {"network.width": [4, 5]}, optimizer="adam", steps=9_000_000, jobs=1, name="long")
            timer.join()
            [first] = Path("runs/sweep-long/runs").iterdir()
            return lather.load(first).step
        steps = interrupted()
        self.assertGreater(steps, 0)
        self.assertGreater(interrupted(), steps)


if __name__ == "__main__":
    unittest.main()
