#!/usr/bin/env python3
"""Ctrl-C at random moments: in a terminal, in a script, in a Python process, in a Jupyter kernel. Every run must be saved.

    tests/hostile/interrupts.py [--times N] [--ways terminal,script,python,jupyter] [--seconds S] [--seed N]

Prints how many of each ended as they should, and the longest wait. Needs the release build and NumPy; for Jupyter
python3-ipykernel, python3-jupyter-client and python3-numpy of Debian (it is left out otherwise).
"""
from __future__ import annotations

import argparse
import json
import os
import pty
import queue
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LATHER = os.environ.get("LATHER", str(ROOT / "build/release/bin/lather"))
LIMIT = 120.0  # seconds; longer is a hang

# What is interrupted: short steps, long ones (a factorization, products, a reference), many runs.
LONG = ["--set", "network.width=300", "--set", "network.depth=3", "--set", "training.points.interior=6000"]
COMMANDS = {
    "short steps": ["train", "heat-1d", "--optimizer", "adam", "--steps", "100000000"],
    "changing bases": ["train", "burgers", "--optimizer", "ss-esoap", "--steps", "100000000"],
    "line searches": ["train", "burgers", "--optimizer", "ss-broyden", "--steps", "100000000", "--set", "network.width=60"],
    "one long step": ["train", "heat-1d", "--optimizer", "lm", "--steps", "1000", *LONG],
    "a reference": ["train", "lid-driven-cavity", "--optimizer", "adam", "--steps", "100000000", "--set", "training.validate_every=1"],
}
PYTHON = {
    "short steps": "lather.Problem('heat-1d').train('adam', steps=10**8)",
    "line searches": "lather.Problem('burgers').train('ss-broyden', steps=10**8, network={'width': 60})",
    "one long step": "lather.Problem('heat-1d').train('lm', steps=1000, network={'width': 300, 'depth': 3}, "
                     "settings={'training.points.interior': 6000})",
}


class Tally:
    def __init__(self, way: str) -> None:
        self.way, self.waits, self.faults = way, {}, []

    def add(self, what: str, wait: float, fault: str = "") -> None:
        self.waits.setdefault(what, []).append(wait)
        if fault:
            self.faults.append(f"  {self.way}, {what}: {fault}")

    def show(self) -> None:
        waits = [(wait, what) for what, list_ in self.waits.items() for wait in list_]
        longest, what = max(waits, default=(float("nan"), "nothing"))
        median = sorted(wait for wait, _ in waits)[len(waits) // 2] if waits else float("nan")
        print(f"{self.way}: {len(waits) - len(self.faults)} of {len(waits)}, longest wait {longest:.2f} s ({what}), "
              f"median {median:.2f} s", *self.faults, sep="\n", flush=True)


def is_saved(run: Path) -> str:
    try:
        summary = json.loads((run / "summary.json").read_text())
    except (OSError, ValueError) as error:
        return f"no summary: {error}"
    if summary["reason"] != "interrupted":
        return f"it ended for another reason: {summary['reason']}"
    return "" if list((run / "checkpoints").glob("*.checkpoint")) else "no checkpoint"


def training_has_begun(run: Path) -> None:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and not ((run / "timing.csv").exists() and (run / "timing.csv").stat().st_size):
        time.sleep(0.005)
    time.sleep(random.uniform(0, 1.5))


def in_a_terminal(command: list[str], run: Path) -> tuple[float, str]:
    child, terminal = pty.fork()
    if child == 0:
        os.execv(LATHER, [LATHER, *command, "--out", str(run)])
    os.set_blocking(terminal, False)
    shown = b""

    def read() -> None:
        nonlocal shown
        while select.select([terminal], [], [], 0.002)[0]:
            try:
                more = os.read(terminal, 1 << 16)
            except OSError:
                return
            if not more:
                return
            shown += more
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and not ((run / "timing.csv").exists() and (run / "timing.csv").stat().st_size):
        read()
    until = time.monotonic() + random.uniform(0, 1.5)
    while time.monotonic() < until:
        read()
    began = time.monotonic()
    os.write(terminal, b"\x03")
    while True:
        read()
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended or time.monotonic() - began > LIMIT:
            break
    wait = time.monotonic() - began
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return wait, "it did not end"
    read()
    os.close(terminal)
    if os.waitstatus_to_exitcode(status) != 130:
        return wait, f"status {os.waitstatus_to_exitcode(status)}: {shown[-300:]!r}"
    return wait, is_saved(run) or ("" if b"resume with: lather train --resume" in shown else "no word of how to resume")


def in_a_script(command: list[str], run: Path) -> tuple[float, str]:
    process = subprocess.Popen([LATHER, *command, "--out", str(run)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    training_has_begun(run)
    began = time.monotonic()
    process.send_signal(random.choice([signal.SIGINT, signal.SIGTERM]))
    try:
        _, words = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return LIMIT, "it did not end"
    wait = time.monotonic() - began
    return wait, f"status {process.returncode}: {words[-300:]!r}" if process.returncode != 130 else is_saved(run)


def in_python(call: str, run: Path) -> tuple[float, str]:
    program = f"import lather\nrun = {call[:-1]}, folder={str(run)!r})\nprint('returned', run.reason, run.interrupted)"
    process = subprocess.Popen([sys.executable, "-B", "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    training_has_begun(run)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        shown, words = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return LIMIT, "it did not end"
    wait = time.monotonic() - began
    if words or "returned interrupted True" not in shown:
        return wait, f"{shown[-200:]!r} {words[-300:]!r}"
    return wait, is_saved(run)


class Kernel:
    def __init__(self) -> None:
        from jupyter_client import KernelManager  # type: ignore[import-not-found,import-untyped]
        self.manager = KernelManager()
        self.manager.start_kernel(env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)

    def run(self, call: str, run: Path) -> tuple[float, str]:
        cell = f"import lather\nrun = {call[:-1]}, folder={str(run)!r}, progress=False)\nprint('returned', run.reason, run.interrupted)"
        request, shown = self.client.execute(cell), ""
        training_has_begun(run)
        began = time.monotonic()
        self.manager.interrupt_kernel()
        while time.monotonic() - began < LIMIT:
            try:
                message = self.client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            shown += content.get("text", "") + content.get("ename", "")
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                wait = time.monotonic() - began
                return wait, is_saved(run) if "returned interrupted True" in shown else repr(shown[-300:])
        return LIMIT, "the cell did not end"

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def campaign(way: str, cases: dict, one, times: int, seconds: float, work: Path) -> Tally:
    tally, began = Tally(way), time.monotonic()
    for k in range(times):
        what = list(cases)[k % len(cases)]
        run = work / f"run-{k}"
        tally.add(what, *one(cases[what], run))
        shutil.rmtree(run, ignore_errors=True)
        if time.monotonic() - began > seconds:
            break
    tally.show()
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100, help="of each way")
    parser.add_argument("--ways", default="terminal,script,python,jupyter")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="in all, at most")
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86400)
    asked = parser.parse_args()
    random.seed(asked.seed)
    ways, tallies = asked.ways.split(","), []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(work / "cache")  # so that the reference is computed
        for way in ways:
            words, cases, one = {"terminal": ("in a terminal", COMMANDS, in_a_terminal), "script": ("in a script", COMMANDS, in_a_script),
                                 "python": ("in a Python process", PYTHON, in_python), "jupyter": ("in a Jupyter kernel", PYTHON, None)}[way]
            kernel = None
            if way == "jupyter":
                try:
                    kernel = Kernel()
                except ImportError as error:
                    print(f"in a Jupyter kernel: left out ({error})")
                    continue
                one = kernel.run
            try:
                tallies.append(campaign(words, cases, one, asked.times, asked.seconds / len(ways), work))
            finally:
                if kernel:
                    kernel.close()
    cases = sum(len(waits) for tally in tallies for waits in tally.waits.values())
    faults = [fault for tally in tallies for fault in tally.faults]
    hangs = sum("did not end" in fault for fault in faults)
    print(f"interrupts: {cases} cases, 0 crashes, {hangs} hangs, {len(faults) - hangs} silent errors, seed {asked.seed}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
