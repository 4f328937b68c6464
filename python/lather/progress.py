"""Training as people watch it: a line that renews itself in terminals, a bar in notebooks, nothing elsewhere."""
from __future__ import annotations

import html
import math
import sys
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """Where a training stands; what a callback gets."""
    step: int
    steps: int
    stage: int
    stages: int
    loss: float
    gradient_norm: float
    residual: float  # at held-out points, as of the last validation; NaN if there was none
    l2: float  # relative error of the worst field, if a reference is known
    seconds: float
    steps_per_second: float
    seconds_left: float

    def __str__(self) -> str:
        text = f"step {self.step}/{self.steps}"
        if self.stages > 1:
            text += f" stage {self.stage + 1}/{self.stages}"
        text += f"  loss {self.loss:.2e}"
        if not math.isnan(self.residual):
            text += f"  residual {self.residual:.2e}"
        if not math.isnan(self.l2):
            text += f"  L2 {self.l2:.2e}"
        return text + f"  {self.steps_per_second:.1f} steps/s  {duration(self.seconds_left)} left"


def duration(seconds: float) -> str:
    """
    >>> duration(187), duration(3765), duration(float("inf"))
    ('3:07', '1:02:45', '?')
    """
    if not math.isfinite(seconds) or seconds < 0:
        return "?"
    whole = int(seconds + 0.5)
    if whole >= 3600:
        return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{whole // 60}:{whole % 60:02}"


def in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class Bar:
    """Shows progress where someone looks: `wanted` None decides by itself."""

    def __init__(self, wanted: bool | None) -> None:
        self._notebook = wanted is not False and in_notebook()
        self._line = not self._notebook and (wanted or (wanted is None and sys.stdout.isatty()))
        self._shown: Any = None
        self._last = 0.0

    def update(self, progress: Progress) -> None:
        now = time.monotonic()
        if not (self._notebook or self._line) or now - self._last < 0.2 and progress.step < progress.steps:
            return
        self._last = now
        if self._notebook:
            from IPython.display import HTML, display  # type: ignore[import-not-found]
            page = HTML(f"<progress value={progress.step} max={progress.steps}></progress> "
                        f"{html.escape(str(progress))}")
            if self._shown is None:
                self._shown = display(page, display_id=True)
            else:
                self._shown.update(page)
        else:
            self._shown = True
            print("\r\033[K" + str(progress)[:110], end="", flush=True)

    def close(self) -> None:
        if self._line and self._shown:
            print(flush=True)
