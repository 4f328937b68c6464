"""Ctrl-C ends every call, wherever it meets it: what was trained is saved, nothing is ignored, nothing is lost."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import lather
from common import InAFolder, decay

LONG = 30.0  # seconds; what is not interrupted takes longer


def after(seconds: float, work: Callable[[], Any]) -> tuple[Any, float]:
    """work() with a Ctrl-C from outside after so many seconds; its result or KeyboardInterrupt, and how long it took then."""
    sender = subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -INT {os.getpid()}"])
    began = time.monotonic()
    try:
        result = work()
    except KeyboardInterrupt as error:
        result = error
    waited = time.monotonic() - began - seconds
    sender.wait()
    return result, waited


class Interrupts(InAFolder):
    def assert_ends(self, work: Callable[[], Any], seconds: float = 0.3) -> None:
        result, waited = after(seconds, work)
        self.assertIsInstance(result, KeyboardInterrupt)
        self.assertLess(waited, LONG)

    def test_training_is_saved_and_returned(self) -> None:
        for k in range(4):
            run, waited = after(0.2 + 0.07 * k, lambda: decay().train("adam", steps=10**8, threads=1))
            self.assertLess(waited, LONG)
            self.assertEqual((run.reason, run.interrupted), ("interrupted", True))
            self.assertGreater(run.step, 0)
            further, waited = after(0.2, run.resume)
            self.assertLess(waited, LONG)
            self.assertTrue(further.interrupted)
            self.assertGreaterEqual(further.step, run.step)

    def test_one_long_step_is_broken_off_and_not_taken(self) -> None:
        heat = lather.Problem("heat-1d")
        run, waited = after(1.0, lambda: heat.train("lm", steps=5, network={"width": 300, "depth": 3},
                                                    settings={"training.points.interior": 8000}))
        if isinstance(run, KeyboardInterrupt):
            return  # before the training began
        self.assertLess(waited, LONG)
        self.assertEqual((run.reason, run.interrupted), ("interrupted", True))

    def test_a_callback_is_interrupted_like_other_python_code(self) -> None:
        def wait(progress: object) -> None:
            time.sleep(LONG)
        run, waited = after(0.5, lambda: decay().train(steps=5, callback=wait))
        self.assertLess(waited, LONG - 1)
        self.assertTrue(run.interrupted)
        self.assertEqual(run.step, 1)

    def test_comparisons_and_sweeps_say_how_to_go_on(self) -> None:
        for work in (lambda: lather.compare(decay(), ["adam"], seeds=1, steps=10**8, folder="compared"),
                     lambda: lather.sweep(decay(), {"network.width": [4, 5]}, optimizer="adam", steps=10**8, name="long")):
            stopped, waited = after(0.6, work)
            self.assertIsInstance(stopped, KeyboardInterrupt)
            self.assertIn("goes on", str(stopped))
            self.assertLess(waited, LONG)

    def test_functions_of_the_user_s_and_of_problems(self) -> None:
        def slow(x: np.ndarray) -> tuple[float, np.ndarray]:
            return float(x @ x), 2e-9 * x
        self.assert_ends(lambda: lather.minimize(slow, np.ones(50), {"name": "adam", "learning_rate": 1e-12}, steps=10**9))
        loss = decay().objective(network={"width": 20, "depth": 3})
        x = loss.initialize(0)

        def loop() -> None:
            while True:
                loss.gradient(x)
        self.assert_ends(loop)
        method = lather.Optimizer("adam", loss.blocks)

        def steps() -> None:
            while True:
                method.step(loss, x)
        self.assert_ends(steps)
        self.assertTrue(np.isfinite(loss.value(x)))  # and everything goes on working

    def test_predictions_and_references(self) -> None:
        run = decay().train(steps=2, network={"width": 200, "depth": 4}, settings={"training.points.interior": 10})
        t = np.linspace(0, 1, 4_000_000)
        self.assert_ends(lambda: run.predict({"t": t}, derivatives=["u_tt"]))
        self.assertEqual(run.predict({"t": t[:3]})["u"].shape, (3,))

    def test_a_handler_of_the_user_s_is_left_alone(self) -> None:
        seen: list[int] = []
        before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
        try:
            run, _ = after(0.3, lambda: decay().train("adam", seconds=1.0, steps=10**8))
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual((run.reason, seen), ("time", [signal.SIGINT]))

    def test_a_thread_that_is_not_the_main_one_trains_on(self) -> None:
        runs: list[Any] = []
        thread = threading.Thread(target=lambda: runs.append(decay().train("adam", seconds=1.0, steps=10**8)))

        def wait() -> None:
            thread.start()
            time.sleep(LONG)
        self.assert_ends(wait)
        thread.join()
        self.assertEqual(runs[0].reason, "time")

    def test_nothing_is_printed_about_ignored_exceptions(self) -> None:
        program = textwrap.dedent("""
            import os, threading, time, numpy, lather
            from common import decay
            def interrupt(times):
                for _ in range(times):
                    time.sleep(0.05)
                    os.kill(os.getpid(), 2)
            def bowl(x):
                return float(x @ x), 2e-9 * x
            done = 0
            while done < 8:
                thread = threading.Thread(target=interrupt, args=(1,))
                thread.start()
                try:
                    lather.minimize(bowl, numpy.ones(3), {"name": "sgd", "learning_rate": 1e-12}, steps=10**9)
                except KeyboardInterrupt:
                    done += 1
                thread.join()
            print("done", done)
        """)
        ended = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, timeout=300)
        self.assertEqual((ended.stdout, ended.stderr, ended.returncode), ("done 8\n", "", 0))


if __name__ == "__main__":
    unittest.main()
