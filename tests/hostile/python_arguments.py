#!/usr/bin/env python3
"""Every public function and method of the Python package, its signature read by `inspect`, with arguments of every kind.

Most arguments of a case are good and one or two are not. An argument is refused by a TypeError, a ValueError (LatherError)
or an OSError, or it works. Findings: crashes and hangs; other exceptions; accepted values that the annotation of the
parameter does not admit; numbers that differ from those of a plain float64 copy; arrays that a call must not have changed.

    PYTHONPATH=python python3 tests/hostile/python_arguments.py --cases 10000 --seed 1

Cases run in a worker, a process that is replaced when it dies and every few hundred cases.
"""
from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from typing import Any

LIMIT = 60.0  # seconds of a call: far more than any takes
CASES_OF_A_WORKER = 400


def environment() -> dict[str, str]:
    """AddressSanitizer in a program without C++ looks for libstdc++ when it starts, and ends it at the first exception if there is none."""
    preload = os.environ.get("LD_PRELOAD", "")
    return {**os.environ, "LD_PRELOAD": f"{preload}:libstdc++.so.6"} if "libasan" in preload else dict(os.environ)


class Worker:
    def __init__(self, seed: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lather-hostile-")
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen([sys.executable, __file__.replace("python_arguments", "python_worker"), str(seed)], cwd=self._folder.name,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, bufsize=0, env=environment())
        self.cases = 0

    def ask(self, case: int) -> tuple[str, dict[str, Any] | None]:
        """The call, and what came of it; None if nothing did."""
        self.cases += 1
        try:
            self._process.stdin.write(f"{case}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            return "(before the case)", None
        call = self._line(LIMIT)
        outcome = self._line(LIMIT) if call else ""
        return call or "(before the call)", json.loads(outcome) if outcome else None

    def _line(self, limit: float) -> str:
        ready, _, _ = select.select([self._process.stdout], [], [], limit)
        return self._process.stdout.readline().decode("utf-8", "replace").strip() if ready else ""

    def end(self) -> tuple[int | None, str]:
        """Its status, None if it had to be killed, and the end of what it said."""
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            status: int | None = self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            status = None
        self._process.stdout.close()
        self._log.seek(0)
        said = self._log.read().decode("utf-8", "replace")
        self._folder.cleanup()
        return status, said


def main() -> None:
    from campaign import Campaign
    campaign, worker = Campaign("python arguments", cases=2000), None
    while campaign.more():
        if worker is not None and worker.cases >= CASES_OF_A_WORKER:
            end(campaign, worker)
            worker = None
        worker = worker or Worker(campaign.options.seed)
        call, outcome = worker.ask(campaign.number)
        if outcome is None:
            status, said = worker.end()
            worker = None
            if status is None:
                campaign.hang(f"no answer in {LIMIT:.0f} s", call)
            else:
                campaign.crash(f"status {status}: {said[-3000:]}", call)
            continue
        for finding in outcome["findings"]:
            campaign.silent(finding, call)
    if worker is not None:
        end(campaign, worker)
    campaign.end()


def end(campaign: Any, worker: Worker) -> None:
    """What a sanitizer says without ending the process is a finding, too."""
    said = worker.end()[1]
    if "runtime error" in said or "ERROR: AddressSanitizer" in said:
        campaign.crash(said[-3000:], f"the last {worker.cases} cases")


if __name__ == "__main__":
    main()
