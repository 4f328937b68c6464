"""What the campaigns in Python share: options, the seed of the day, findings, the line at the end.

    campaign = Campaign("run folders", cases=300)
    while campaign.more():
        chance = campaign.chance()              # a random.Random of this case alone
        ...
        campaign.crash("status -11 of lather eval", "what it was given")    # or hang(), silent()
    campaign.end()
"""
from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections import Counter
from typing import Any, Sequence

CRASH_STATUS = -1  # subprocess: ended by a signal


class Campaign:
    """Cases 0, 1, … until there have been enough, or the seconds are over. Case K of seed N is the same everywhere."""

    def __init__(self, name: str, cases: int, **more: Any) -> None:
        parser = argparse.ArgumentParser(description=name, **more)
        parser.add_argument("--seed", type=int, default=int(time.time()) // 86400, help="default: a new one every day")
        parser.add_argument("--cases", type=int, default=cases)
        parser.add_argument("--seconds", type=float, help="as long as this, instead of a number of cases")
        parser.add_argument("--case", type=int, help="this one alone")
        self.name, self.options = name, parser.parse_args()
        self.number, self.done, self.findings = -1, 0, Counter()
        self._begin = time.monotonic()

    def more(self) -> bool:
        options = self.options
        if self.findings.total() >= 50:  # something is wrong with everything
            return False
        if options.case is not None:
            self.number, self.done = options.case, self.done + 1
            return self.done == 1
        self.number, self.done = self.number + 1, self.number + 1
        return time.monotonic() - self._begin < options.seconds if options.seconds else self.number < options.cases

    def chance(self) -> random.Random:
        return random.Random(f"{self.name} {self.options.seed} {self.number}")

    def _found(self, kind: str, what: str, given: str) -> None:
        self.findings[kind] += 1
        if self.findings[kind] <= 10:
            print(f"{kind}: {what}\n  given: {given}\n  repeat: {sys.argv[0]} --seed {self.options.seed} --case {self.number}", flush=True)

    def crash(self, what: str, given: str) -> None:
        self._found("crashes", what, given)

    def hang(self, what: str, given: str) -> None:
        self._found("hangs", what, given)

    def silent(self, what: str, given: str) -> None:
        self._found("silent errors", what, given)

    def run(self, command: Sequence[str], limit: float = 60, **more: Any) -> subprocess.CompletedProcess[bytes] | None:
        """Runs a command; a signal or a hang is a finding, and None is returned."""
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, **more)
        except subprocess.TimeoutExpired:
            return self.hang(f"no end after {limit:.0f} s", repr(command))
        except ValueError:  # a NUL in an argument: no shell could pass it either
            return None
        # 128 + N is what a shell, or a sanitizer, makes of a signal; 23 is a leak, 66 what ThreadSanitizer finds.
        if done.returncode < 0 or b"Sanitizer" in done.stderr or b"runtime error" in done.stderr:
            return self.crash(f"status {done.returncode}: {done.stderr[-2000:].decode(errors='replace')}", repr(command))
        return done

    def end(self) -> None:
        count = self.findings
        print(f"{self.name}: {self.done} cases, {count['crashes']} crashes, {count['hangs']} hangs, {count['silent errors']} silent errors, "
              f"seed {self.options.seed}, {time.monotonic() - self._begin:.0f} s", flush=True)
        sys.exit(1 if count else 0)


def lather() -> str:
    """The command, as CTest names it."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.environ.get("LATHER_COMMAND", os.path.join(here, "../../build/release/bin/lather"))
