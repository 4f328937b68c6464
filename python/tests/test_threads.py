"""One object used by several threads, and by other processes: by fork, by spawn, in pools."""
import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading
import unittest

import numpy as np

import lather
from common import InAFolder, decay

try:
    import joblib
except ImportError:
    joblib = None

THREADS, CALLS = 4, 25


def loss_of_problem(threads: int) -> lather.Objective:
    return lather.Problem("heat-1d").objective(network={"width": 16}, training={"points.interior": 200}, threads=threads)


def everything(loss: lather.Objective, x: np.ndarray) -> list:
    value, gradient = loss.gradient(x)
    return [value, gradient, loss.residuals(x), loss.jacobian_times(x, gradient)]


def value_of(loss: lather.Objective, x: np.ndarray) -> float:
    return loss.value(x)


def prediction_of(run: lather.Run, t: float) -> float:
    return float(run.predict([t])["u"][0])


def trained(seed: int) -> bytes:
    return decay().train(seed=seed, threads=1, folder=f"run-{os.getpid()}-{seed}").parameters().tobytes()


def mistake(name: str) -> None:
    lather.Problem(name)


def inherited(number: int) -> tuple:
    loss, run, x = SHARED
    return everything(loss, x * number), run.predict([0.1 * number])["u"].tolist()


SHARED: tuple = ()


def together(work) -> None:
    """Runs work(k) in several threads at once and passes on what they raise."""
    errors: list = []
    gate = threading.Barrier(THREADS)

    def run(k: int) -> None:
        try:
            gate.wait()
            work(k)
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)
    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


class Threads(InAFolder):
    def test_an_objective(self) -> None:
        for threads in (1, 2):
            loss = loss_of_problem(threads)
            points = [loss.initialize(0) * (1 + 0.1 * k) for k in range(THREADS)]
            alone = [everything(loss, x) for x in points]

            def work(k: int) -> None:
                for _ in range(CALLS):
                    for seen, expected in zip(everything(loss, points[k]), alone[k]):
                        np.testing.assert_array_equal(seen, expected)
            together(work)

    def test_a_run(self) -> None:
        run = decay().train(steps=3)
        t = np.linspace(0, 1, 50)
        alone = run.predict(t, ["u_t"])

        def work(k: int) -> None:
            for _ in range(CALLS):
                seen = run.predict(t, ["u_t"])
                for name, values in alone.items():
                    np.testing.assert_array_equal(seen[name], values)
                run.parameters(), run.residuals(), run.reference(t)
        together(work)

    def test_an_optimizer(self) -> None:
        W = [np.ones((20, 30)) for _ in range(THREADS)]
        sgd = lather.Optimizer({"name": "sgd", "momentum": 0, "learning_rate": 0.5}, {"W": (20, 30)})

        def work(k: int) -> None:
            for _ in range(CALLS):
                report = sgd.apply([(W[k], np.ones((20, 30)))], loss=k)
                self.assertEqual(report.loss, k)  # the report is that of this thread's step
                sgd.info, sgd.save()
        together(work)
        for one in W:
            np.testing.assert_array_equal(one, 1 - 0.5 * CALLS)

    def test_steps_and_values_of_one_objective(self) -> None:
        loss = loss_of_problem(2)
        x = loss.initialize(0)
        value = loss.value(x)
        starts = [x.copy() for _ in range(THREADS)]
        methods = [lather.Optimizer("lbfgs", loss.blocks) for _ in range(THREADS)]

        def work(k: int) -> None:
            for _ in range(3):
                methods[k].step(loss, starts[k])
                self.assertEqual(loss.value(x), value)
        together(work)
        for one in starts:
            np.testing.assert_array_equal(one, starts[0])
        self.assertLess(loss.value(starts[0]), value)

    def test_a_pool_of_threads(self) -> None:
        loss = loss_of_problem(2)
        x = loss.initialize(0)
        expected = [loss.value(x * k) for k in range(8)]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            self.assertEqual(list(pool.map(lambda k: loss.value(x * k), range(8))), expected)

    def test_more_threads_than_the_system_gives(self) -> None:
        program = ("import resource, lather\n"
                   "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
                   "loss = lather.Problem('heat-1d').objective(threads=4000)\n"
                   "print(loss.value(loss.initialize(0)))")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        self.assertGreater(float(done.stdout or 0), 0, done.stderr)


class Processes(InAFolder):
    def test_what_a_fork_inherits(self) -> None:
        global SHARED
        loss = loss_of_problem(2)
        SHARED = loss, decay().train(steps=3), loss.initialize(0)
        expected = [inherited(k) for k in range(4)]
        with multiprocessing.get_context("fork").Pool(2) as pool:
            seen = pool.map_async(inherited, range(4)).get(timeout=60)
        for one, other in zip(seen, expected):
            self.assertEqual(one[1], other[1])
            for a, b in zip(one[0], other[0]):
                np.testing.assert_array_equal(a, b)
        self.assertEqual(inherited(1)[1], expected[1][1])  # the parent goes on

    def test_pools(self) -> None:
        loss, run = loss_of_problem(2), decay().train(steps=3)
        x = loss.initialize(0)
        values, predictions = [loss.value(x * k) for k in range(3)], [prediction_of(run, t) for t in (0.0, 0.5)]
        alone = [decay().train(seed=s, threads=1).parameters().tobytes() for s in (1, 2)]
        for method in ("fork", "spawn"):
            with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
                self.assertEqual(list(pool.map(value_of, [loss] * 3, [x * k for k in range(3)], timeout=120)), values, method)
                self.assertEqual(list(pool.map(prediction_of, [run] * 2, [0.0, 0.5], timeout=120)), predictions, method)
                self.assertEqual(list(pool.map(trained, (1, 2), timeout=120)), alone, method)
                with self.assertRaisesRegex(lather.LatherError, "did you mean 'burgers'"):
                    pool.submit(mistake, "burgerz").result(timeout=120)

    @unittest.skipIf(joblib is None, "joblib is not installed")
    def test_joblib(self) -> None:
        loss = loss_of_problem(2)
        x = loss.initialize(0)
        expected = [loss.value(x * k) for k in range(4)]
        for backend in ("loky", "threading", "multiprocessing"):
            seen = joblib.Parallel(n_jobs=2, backend=backend, timeout=120)(joblib.delayed(value_of)(loss, x * k) for k in range(4))
            self.assertEqual(seen, expected, backend)


if __name__ == "__main__":
    unittest.main()
