"""Runs: nothing is repeated, what was interrupted is resumed, several processes share a folder."""
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from common import LAB, SMALL, Case, read_text, replaced, unittest

from laboratory import programs
from laboratory.collect import collect
from laboratory.facts import UNLISTED_ERROR
from laboratory.measured import FAILED, OUT_OF_MEMORY
from laboratory.plan import Plan
from laboratory.reproduce import Reproduction
from laboratory.runs import (
    CROWDED_OUT,
    DONE,
    ELSEWHERE,
    INTERRUPTED,
    KEEP_HISTORY,
    RunStore,
    claimed,
    thinned,
)
from laboratory.task_queue import TaskQueue

MATRIX = """
[[problem]]
name = "matrix"
task = "quadratic"
settings.task.size = "small"
"""


def histories(out):
    return {
        file.parent.name: file.read_text()
        for file in sorted((out / "runs").glob("*/history.jsonl"))
    }


def ended(out):
    return {
        file: file.stat().st_mtime_ns
        for file in (out / "runs").glob("*/summary.json")
        if json.loads(file.read_text()).get("reason") != "interrupted"
    }


class Reproduce(Case):
    def plan(self, text=SMALL, budget="quick"):
        return Plan(read_text(text), budget)

    def run_in(self, name, plans, jobs=2, stop_at=None):
        """The lines it says; `stop_at`: it is stopped when so many have been said."""
        out, lines = self.folder / name, []

        def say(words):
            lines.append(words)
            if stop_at is not None and len(lines) >= stop_at:
                reproduction.stop()

        reproduction = Reproduction(plans, RunStore(out), jobs, say=say)
        reproduction.run()
        return lines

    def complete(self, name, plan):
        return collect(plan, RunStore(self.folder / name)).is_complete()

    def test_histories_side_by_side_are_those_of_runs_alone_and_nothing_is_repeated(self):
        plan = self.plan()
        lines = self.run_in("alone", [plan], jobs=1)
        self.assertEqual(len(lines), plan.run_count())
        self.assertIn("[1/8", lines[0])
        self.run_in("together", [plan], jobs=4)
        self.assertTrue(self.complete("alone", plan) and self.complete("together", plan))
        self.assertEqual(
            len(histories(self.folder / "alone")), 4
        )  # of seeds; those of tuning keep none
        self.assertEqual(histories(self.folder / "alone"), histories(self.folder / "together"))
        self.assertEqual(self.run_in("alone", [plan]), [])

    def test_what_was_stopped_goes_on_without_repeating_what_is_done(self):
        plan = self.plan()
        self.run_in("whole", [plan])
        self.run_in("parts", [plan], jobs=1, stop_at=3)
        before = ended(self.folder / "parts")
        self.assertTrue(before)
        self.assertFalse(self.complete("parts", plan))
        self.run_in("parts", [plan])
        self.assertTrue(self.complete("parts", plan))
        self.assertEqual(histories(self.folder / "parts"), histories(self.folder / "whole"))
        after = ended(self.folder / "parts")
        self.assertEqual({file: after[file] for file in before}, before)

    def test_two_share_a_folder(self):
        plan, other = self.plan(), self.plan()
        self.run_in("alone", [plan])
        threads = [
            threading.Thread(target=self.run_in, args=("shared", [p])) for p in (plan, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(self.complete("shared", plan))
        self.assertEqual(histories(self.folder / "alone"), histories(self.folder / "shared"))

    def test_after_kill_9_it_goes_on(self):
        text = replaced(
            SMALL, "steps = 20", "steps = 400\nseeds = 3\nsettings.training.checkpoint_every = 50"
        )
        plan = self.plan(text, "short")
        (self.folder / "small.toml").write_text(text)
        command = [
            sys.executable,
            str(LAB / "reproduce"),
            "small.toml",
            "--budget",
            "short",
            "--quiet",
            "--out",
            "killed",
        ]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        while process.poll() is None and not ended(self.folder / "killed"):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = ended(self.folder / "killed")
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        after = ended(self.folder / "killed")
        self.assertEqual({file: after[file] for file in before}, before)
        self.run_in("whole", [plan])
        self.assertEqual(histories(self.folder / "killed"), histories(self.folder / "whole"))
        self.assertTrue((self.folder / "killed" / "index.html").stat().st_size > 10000)

    def test_an_interrupted_run_whose_checkpoint_is_damaged_starts_over(self):
        text = replaced(
            SMALL, "steps = 20", "steps = 3000\nsettings.training.checkpoint_every = 20"
        )
        plan = self.plan(text, "short")
        for seed in range(1, 9):  # until one is interrupted before it has ended
            store, spec = RunStore(self.folder / "cut"), plan.run(plan.cells[0], {}, seed)
            threading.Timer(0.1, store.stop).start()
            if store.run(spec, False, KEEP_HISTORY, False).status == INTERRUPTED and list(
                store.folder.glob("*/checkpoints/*")
            ):
                break
        checkpoints = list(store.folder.glob("*/checkpoints/*"))
        self.assertEqual(len(checkpoints), 1)
        checkpoints[0].write_bytes(b"LATHERCK and no more")
        record = RunStore(self.folder / "cut").run(spec, False, KEEP_HISTORY, False)
        self.assertEqual(record.status, DONE)
        self.assertIn("it starts over", record.notes[0])

    def test_every_experiment_has_its_first_seed_before_any_has_its_second(self):
        texts = [
            replaced(SMALL, 'name = "small"', f'name = "{name}"').replace(
                "steps = 20", "steps = 20\nseeds = 2"
            )
            for name in ("first", "second")
        ]
        texts[1] = texts[1].replace("network.width = 6", "network.width = 5")
        lines = self.run_in("out", [self.plan(text, "short") for text in texts], jobs=1)
        self.assertEqual([line.split("seed ")[1][0] for line in lines], list("11112222"))

    def test_runs_that_two_experiments_need_are_shared_and_timed_ones_stand_alone(self):
        other = replaced(SMALL, 'name = "small"', 'name = "other"')
        timed = replaced(
            replaced(SMALL, 'name = "small"', 'name = "timed"'),
            'quantity = "l2"',
            'quantity = "seconds"',
        )
        plans = [self.plan(text, "short") for text in (SMALL, other, timed)]
        lines = self.run_in("out", plans, jobs=2)
        self.assertEqual(len(lines), 4)
        names = sorted(file.parent.name for file in ended(self.folder / "out"))
        self.assertEqual(sum(name.endswith("-alone") for name in names), 2)
        self.assertEqual(len(names), 4)

    def test_runs_with_a_time_limit_are_alone_and_so_is_their_tuning(self):
        plan = self.plan(replaced(SMALL, "tuning_steps = 15", "tuning_steps = 15\ntime_limit = 60"))
        running, most = [], []

        class Counting(RunStore):
            def run(self, *arguments):
                running.append(1)
                most.append(len(running))
                record = super().run(*arguments)
                running.pop()
                return record

        Reproduction([plan], Counting(self.folder / "limited"), 3).run()
        self.assertTrue(self.complete("limited", plan))
        self.assertEqual((len(most), max(most)), (plan.run_count(), 1))
        names = [folder.name for folder in (self.folder / "limited" / "runs").glob("heat-*")]
        self.assertTrue(all(name.endswith("-alone") for name in names))

    def test_matrix_problems_are_rows_too(self):
        row = '[[problem]]\nname = "heat-1d"\nlabel = "Heat"\n'
        text = replaced(SMALL, row, row + MATRIX).replace("[settings]", "[unused]")
        settings = text[text.index("[unused]") : text.index("[[problem]]")]
        text = text.replace(settings, "").replace('quantity = "l2"', 'quantity = "task.gap"')
        text = replaced(
            text,
            'label = "Heat"',
            'label = "Heat"\n'
            + "\n".join(f"settings.{line}" for line in settings.splitlines()[1:] if line),
        )
        plan = self.plan(text)
        self.run_in("out", [plan])
        facts = collect(plan, RunStore(self.folder / "out"))
        self.assertTrue(facts.is_complete())
        gap = plan.experiment.metrics[1]
        self.assertEqual(len(facts.measure(gap, "matrix", "adam").values), 2)
        self.assertEqual(facts.measure(gap, "heat-1d", "adam").text(), "–")

    def test_a_setting_is_as_good_as_on_the_worst_of_the_tuning_seeds(self):
        plan = self.plan(
            replaced(SMALL, "tuning_steps = 15", "tuning_steps = 15\ntuning_seeds = 2")
        )
        self.run_in("out", [plan])
        facts = collect(plan, RunStore(self.folder / "out"))
        tuning = facts.tuning["heat-1d", "adam"]
        self.assertEqual(
            tuning.losses.index(min(tuning.losses)), plan.cells[0].candidates.index(tuning.chosen)
        )
        self.assertEqual(len(list((self.folder / "out" / "runs").glob("*-adam-100[01]-*"))), 8)

    def test_errors_are_measured_where_they_are_not_listed(self):
        plan = self.plan(replaced(SMALL, '[[metric]]\nquantity = "l2"\n', ""), "short")
        self.run_in("out", [plan])
        facts = collect(plan, RunStore(self.folder / "out"))
        self.assertTrue(facts.measure(UNLISTED_ERROR, "heat-1d", "adam").is_known())


class Store(Case):
    def spec(self, seed=1):
        plan = Plan(read_text(SMALL), "short")
        return plan.run(plan.cells[1], {}, seed)

    def program(self, script):
        """Takes the place of `lather train`."""
        file = self.folder / "program"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        before = os.environ.get("LATHER_COMMAND")
        os.environ["LATHER_COMMAND"] = str(file)
        programs.program.cache_clear()

        def restore():
            os.environ.pop("LATHER_COMMAND")
            if before:
                os.environ["LATHER_COMMAND"] = before
            programs.program.cache_clear()

        self.addCleanup(restore)

    def test_out_of_memory_is_a_result_and_an_error_is_tried_again(self):
        store = RunStore(self.folder)
        self.program("echo 'lather: needs 3e5 GiB' >&2; exit 4")
        self.assertEqual(
            store.run(self.spec(), False, KEEP_HISTORY, has_company=True).status, CROWDED_OUT
        )
        record = store.run(self.spec(), False, KEEP_HISTORY, has_company=False)
        self.assertEqual((record.status, record.message), (OUT_OF_MEMORY, "needs 3e5 GiB"))
        self.assertTrue(store.run(self.spec(), False, KEEP_HISTORY, False).was_there)
        self.program("echo 'lather: the disk is full' >&2; exit 2")
        self.assertEqual(store.run(self.spec(2), False, KEEP_HISTORY, False).status, FAILED)
        self.assertEqual(store.find(self.spec(2), False).message, "the disk is full")
        self.program("kill -9 $$")
        self.assertIn("SIGKILL", store.run(self.spec(2), False, KEEP_HISTORY, False).message)

    def test_a_run_that_another_process_has_is_left_to_it(self):
        store = RunStore(self.folder)
        with claimed(store.folder / ".locks" / store.folder_of(self.spec(), False).name) as lock:
            self.assertIsNotNone(lock)
            self.assertEqual(store.run(self.spec(), False, KEEP_HISTORY, False).status, ELSEWHERE)

    def test_a_damaged_file_costs_its_run_alone(self):
        store = RunStore(self.folder)
        self.assertEqual(store.run(self.spec(), False, KEEP_HISTORY, False).status, DONE)
        (store.folder_of(self.spec(), False) / "summary.json").write_text('{"reason": "st')
        self.assertEqual(store.find(self.spec(), False).status, INTERRUPTED)
        self.assertEqual(store.run(self.spec(), False, KEEP_HISTORY, False).status, DONE)

    def test_the_identity_of_a_run_is_what_its_files_say_and_not_where_they_are(self):
        def folder_with(place, data):
            folder = self.folder / place
            folder.mkdir()
            text = programs.problem_called("heat-1d").text
            text += '\n[[data]]\nname = "seen"\nfile = "seen.csv"\nresidual = "u - v"\n'
            (folder / "heat.toml").write_text(text)
            (folder / "seen.csv").write_text(data)
            e = read_text(replaced(SMALL, 'label = "Heat"', f'problem = "{folder}/heat.toml"'))
            plan = Plan(e, "short")
            return RunStore(Path()).folder_of(plan.run(plan.cells[0], {}, 1), False)

        data = "x,t,v\n0.5,0.5,0.1\n"
        self.assertEqual(folder_with("a", data), folder_with("b", data))
        self.assertNotEqual(folder_with("c", data), folder_with("d", data.replace("0.1", "0.2")))

    def test_a_training_of_the_package_in_this_process_is_that_of_the_command(self):
        spec = self.spec()
        here = self.folder / "here"
        self.assertEqual(programs.train_here(spec, here, False, lambda: False)[0], 0)
        store = RunStore(self.folder)
        there = store.run(spec, False, KEEP_HISTORY, False).folder
        self.assertEqual(
            (here / "history.jsonl").read_text(), (there / "history.jsonl").read_text()
        )
        cut = self.folder / "cut"
        self.assertEqual(programs.train_here(spec, cut, False, lambda: True)[0], 130)
        self.assertEqual(programs.train_here(spec, cut, True, lambda: False)[0], 0)
        self.assertEqual((cut / "history.jsonl").read_text(), (there / "history.jsonl").read_text())

    def test_fields_are_thinned_to_what_a_map_shows(self):
        axis = [i / 128 for i in range(129)]
        fields = {
            "coordinates": ["x", "t"],
            "axes": [axis, [0, 1, 2]],
            "step": 3,
            "arrays": {"u": [x + t for x in axis for t in (0, 1, 2)], "residual.heat": [0.0] * 387},
        }
        fields["arrays"]["u"][0] = None
        kept = thinned(fields)
        self.assertEqual([len(a) for a in kept["axes"]], [65, 3])
        self.assertEqual(list(kept["arrays"]), ["u"])
        self.assertEqual(kept["arrays"]["u"][:4], [None, 1, 2, 0.015625])
        self.assertEqual(kept["arrays"]["u"][-1], 3)


class Queue(Case):
    def test_a_task_alone_waits_for_the_others_and_has_none_beside_it(self):
        queue, running, beside, order = TaskQueue(), [], [], []

        def task(name):
            def work():
                running.append(name)
                beside.append((name, set(running)))
                time.sleep(0.01)
                running.remove(name)
                order.append(name)

            return work

        for k in range(6):
            queue.add(1, task(f"usual {k}"))
        queue.add(2, task("alone"), alone=True)
        queue.add(3, task("later"))
        queue.run(3)
        self.assertEqual(len(order), 8)
        self.assertEqual(order[6:], ["alone", "later"])
        self.assertIn(("alone", {"alone"}), beside)

    def test_an_exception_is_raised_after_the_others_have_ended(self):
        queue = TaskQueue()
        queue.add(1, lambda: 1 / 0)
        with self.assertRaises(ZeroDivisionError):
            queue.run(2)

    def test_stopping_drops_what_waits(self):
        queue, done = TaskQueue(), []
        queue.add(1, lambda: (done.append(1), queue.stop()))
        queue.add(2, lambda: done.append(2), alone=True)
        queue.run(1)
        self.assertEqual(done, [1])


if __name__ == "__main__":
    unittest.main()
