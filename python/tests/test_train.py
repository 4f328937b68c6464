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
        swept = lather.sweep(decay(), {"network.width": [4, 5, 6], "optimizer": ["lm", "lbfgs"]}, samples=3, steps=3)
        self.assertEqual(len(swept.runs), 3)
        with self.assertRaisesRegex(lather.LatherError, "other settings"):
            lather.compare(decay(), {"adam": {"learning_rate": 0.02}}, seeds=1, steps=6, folder="both")
        Path("full").mkdir()
        Path("full/notes.txt").write_text("mine")
        with self.assertRaisesRegex(ValueError, "notes.txt"):
            lather.compare(decay(), ["lm"], folder="full")


if __name__ == "__main__":
    unittest.main()
