#!/usr/bin/env python3
"""What Python and a live view cost a training, as CPU time of the process that trains: the median of the ratios of pairs.
Other programs on the machine change the CPU time by several per cent, so on one that is not quiet Python and the command
train at the same time.

    python3 bench/overheads.py python     # lather.Problem(…).train(…) beside `lather train`, at the same time
    python3 bench/overheads.py watch      # `lather train` with `lather watch` and a client, beside `lather train` alone

Options: --pairs 7, --steps 300, --problem burgers, --optimizer ss-esoap.
"""
import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND = ROOT / "build/release/bin/lather"

TRAIN_IN_PYTHON = """
import sys, time
sys.path.insert(0, sys.argv[1])
import lather
problem, optimizer, steps, folder = sys.argv[2:6]
problem = lather.Problem(problem)
before = time.process_time()
problem.train(optimizer, steps=int(steps), threads=1, seed=1, folder=folder, progress=False,
              settings={"training.checkpoint_seconds": 10})
print(time.process_time() - before)
"""


def cpu_seconds(process: subprocess.Popen) -> float:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{process.args} ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def by_command(a: argparse.Namespace, folder: Path) -> subprocess.Popen:
    return subprocess.Popen([COMMAND, "train", a.problem, "--optimizer", a.optimizer, "--steps", str(a.steps), "--threads", "1",
                             "--seed", "1", "--set", "training.checkpoint_seconds=10", "--quiet", "--out", folder],
                            stdout=subprocess.DEVNULL)


def by_python(a: argparse.Namespace, folder: Path) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", TRAIN_IN_PYTHON, ROOT / "python", a.problem, a.optimizer, str(a.steps), folder],
                            stdout=subprocess.PIPE, text=True)


def both(a: argparse.Namespace, folder: Path, python_first: bool) -> tuple[float, float]:
    begin = [lambda: by_command(a, folder / "command"), lambda: by_python(a, folder / "python")]
    folder.mkdir()
    if python_first:
        python, command = begin[1](), begin[0]()
    else:
        command, python = begin[0](), begin[1]()
    alone = cpu_seconds(command)
    out, _ = python.communicate()
    if python.returncode != 0:
        sys.exit("the training in Python failed")
    return alone, float(out.split()[-1])


class Client(threading.Thread):
    """Follows one run as the page does: all server-sent events, read as they come."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port, self.bytes = port, 0

    def run(self) -> None:
        run = None
        while run is None:
            with socket.create_connection(("127.0.0.1", self.port)) as s:
                s.sendall(f"GET /runs HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n".encode())
                text = b""
                while part := s.recv(65536):
                    text += part
            listed = json.loads(text.split(b"\r\n\r\n", 1)[1])
            listed = listed["runs"] if isinstance(listed, dict) else listed
            run = listed[0]["id"] if listed else None
            time.sleep(0.2)
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(f"GET /events?run={run} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
            while part := s.recv(65536):
                self.bytes += len(part)


def with_viewer(a: argparse.Namespace, folder: Path) -> tuple[float, float, int]:
    """CPU seconds of the training, the viewer's share of one core, and what the client got."""
    folder.mkdir()
    watch = subprocess.Popen([COMMAND, "watch", folder, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        port = int(re.search(r"127\.0\.0\.1:(\d+)", watch.stdout.readline()).group(1))
        client = Client(port)
        client.start()
        began = time.monotonic()
        trained = cpu_seconds(by_command(a, folder / "run"))
        time.sleep(1)
        ticks = Path(f"/proc/{watch.pid}/stat").read_text().rsplit(")", 1)[1].split()
        used = (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
        return trained, used / (time.monotonic() - began), client.bytes
    finally:
        watch.terminate()
        watch.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["python", "watch"])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--problem", default="burgers")
    parser.add_argument("--optimizer", default="ss-esoap")
    a = parser.parse_args()
    plain, other, viewer = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(a.pairs):
            if a.what == "python":
                alone, python = both(a, Path(folder) / str(pair), pair % 2 == 1)
                plain.append(alone)
                other.append(python)
            for which in () if a.what == "python" else (0, 1) if pair % 2 == 0 else (1, 0):
                place = Path(folder) / f"{pair}-{which}"
                if which == 0:
                    plain.append(cpu_seconds(by_command(a, place)))
                else:
                    trained, watched, received = with_viewer(a, place)
                    other.append(trained)
                    viewer.append(watched)
                    if received == 0:
                        sys.exit("the client received nothing")
            print(f"{plain[-1]:.3f} s alone, {other[-1]:.3f} s {a.what}, ratio {other[-1] / plain[-1]:.4f}"
                  + (f", viewer {100 * viewer[-1]:.2f} % of a core" if viewer else ""), flush=True)
    print(f"median ratio {statistics.median(y / x for x, y in zip(plain, other)):.4f} ({a.pairs} pairs, "
          f"{statistics.median(plain):.2f} s of CPU time each)"
          + (f"; the viewer took {100 * statistics.median(viewer):.2f} % of a core" if viewer else ""))


if __name__ == "__main__":
    main()
