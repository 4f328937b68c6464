"""Numbers of runs, and by what factor one method is better than another."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from scipy import stats  # type: ignore[import-untyped]

# What a run may have to say beside its number or instead of it, in the order in which a table says
# it.
OUT_OF_MEMORY, DIVERGED, NOT_SOLVED, CUT_OFF = (
    "out of memory",
    "diverged",
    "not solved",
    "cut off by the time limit",
)
MISSED, ABSENT, FAILED, NOT_RUN = "did not reach it", "without a value", "failed", "not run"
NOTES = (OUT_OF_MEMORY, DIVERGED, NOT_SOLVED, CUT_OFF, MISSED, ABSENT, FAILED, NOT_RUN)

WIDE_SPREAD = (
    10  # from here on a mean is dominated by its largest value, and a standard error says nothing
)
LEAST = 1e-300  # an exact zero counts as the smallest value, not as a missing one


@dataclass(frozen=True)
class Outcome:
    """One metric of one run."""

    value: float = math.nan
    notes: frozenset[str] = frozenset()

    def has_ended(self) -> bool:
        return not self.notes & {FAILED, NOT_RUN}

    def compared(self) -> float:
        """Not a number also where a residual belongs to something else than the solution."""
        return math.nan if NOT_SOLVED in self.notes else self.value


@dataclass
class Measured:
    """One metric of one cell, over its seeds."""

    outcomes: list[Outcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seeds = len(self.outcomes)
        self.values = [o.value for o in self.outcomes if math.isfinite(o.value)]
        self.count = Counter(note for o in self.outcomes for note in o.notes)

    def is_known(self) -> bool:
        return bool(self.values)

    def is_complete(self) -> bool:
        return len(self.values) == self.seeds

    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    def standard_error(self) -> float:
        """0 for one value."""
        n = len(self.values)
        return (
            math.sqrt(sum((v - self.mean()) ** 2 for v in self.values) / (n - 1) / n)
            if n > 1
            else 0
        )

    def median(self) -> float:
        ordered, n = sorted(self.values), len(self.values)
        return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2

    def is_spread(self) -> bool:
        """The largest value is more than ten times the smallest: a mean says nothing."""
        return (
            len(self.values) > 1
            and min(self.values) > 0
            and max(self.values) > WIDE_SPREAD * min(self.values)
        )

    def centre(self) -> float:
        return self.median() if self.is_spread() else self.mean()

    def interval(self) -> tuple[float, float]:
        """95 % around the mean (Student's t); of one value, the value."""
        mean, reach = self.mean(), half_width(self.values)
        return mean - reach, mean + reach

    def rank_value(self) -> float | None:
        """The geometric mean if every seed has a value, infinity if one has none or has not
        solved its problem; None if runs are missing or nothing was measured."""
        tested = self.is_known() or any(
            self.count[note] for note in (OUT_OF_MEMORY, DIVERGED, MISSED)
        )
        if self.count[NOT_RUN] or self.count[FAILED] or not tested:
            return None
        if not self.is_complete() or self.count[NOT_SOLVED]:
            return math.inf
        if min(self.values) <= 0:
            return self.mean()
        return math.exp(sum(map(math.log, self.values)) / len(self.values))

    def text(self) -> str:
        """ "1.23e-04 ± 2.1e-05", "median 1.20e-04 (3.0e-05 … 2.1e-01)", "3.00e-05 and 2.10e-01",
        "out of memory", …"""
        parts = [self._numbers()] if self.is_known() else []
        for note in NOTES:
            n = self.count[note]
            if n and not (note == ABSENT and n == self.seeds):  # else it is not recorded at all
                parts.append(note if n == self.seeds else f"{n} of {self.seeds} {note}")
        return "; ".join(parts) or "–"

    def _numbers(self) -> str:
        low, high = min(self.values), max(self.values)
        if self.is_spread():
            return (
                f"{low:.2e} and {high:.2e}"
                if len(self.values) == 2  # their median is their mean
                else f"median {self.median():.2e} ({low:.1e} … {high:.1e})"
            )
        return f"{self.mean():.2e}" + (
            f" ± {self.standard_error():.1e}" if len(self.values) > 1 else ""
        )


@cache
def _student(freedom: int) -> float:
    return float(stats.t.ppf(0.975, freedom))


def half_width(values: list[float]) -> float:
    """Of the 95 % interval around the mean; 0 for one value."""
    return (
        _student(len(values) - 1) * Measured([Outcome(v) for v in values]).standard_error()
        if len(values) > 1
        else 0
    )


def exp(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < 709 else math.inf


def factor_text(factor: float) -> str:
    return f"{factor:.2f}" if 0.1 <= factor < 10 else f"{factor:.2g}"


def percent_text(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.2g} %"


BETTER, LEVEL, WORSE, UNKNOWN = "better", "level", "worse", "not known"


@dataclass
class Ratio:
    """Values of one variant divided by those of another with the same problem and seed: their
    geometric mean, and the 95 % interval around it (Student's t of their logarithms:
    residuals spread over orders of magnitude, and seeds are few)."""

    factor: float = 1
    low: float = 0
    high: float = 0
    pairs: int = 0  # of runs that have ended, in which both have a value
    ahead: int = 0  # of these, in which this one has the smaller
    lost: int = 0  # in which only the other has one
    other: int = 0  # in which only this one has one

    @classmethod
    def of(cls, pairs: Iterable[tuple[Outcome, Outcome]]) -> Ratio:
        ratio, logarithms = cls(), list[float]()
        for mine, theirs in pairs:
            if not (mine.has_ended() and theirs.has_ended()):
                continue
            a, b = mine.compared(), theirs.compared()
            has_a, has_b = math.isfinite(a) and a >= 0, math.isfinite(b) and b >= 0
            if has_a and has_b:
                logarithms.append(math.log(max(a, LEAST)) - math.log(max(b, LEAST)))
            ratio.lost += has_b and not has_a
            ratio.other += has_a and not has_b
        ratio.pairs, ratio.ahead = len(logarithms), sum(v < 0 for v in logarithms)
        if logarithms:
            mean, reach = sum(logarithms) / len(logarithms), half_width(logarithms)
            ratio.factor, ratio.low, ratio.high = exp(mean), exp(mean - reach), exp(mean + reach)
        return ratio

    def kind(self) -> str:
        """Smaller values are better; level: 1 is in the interval; unknown from fewer than two
        pairs."""
        if self.lost != self.other:
            return WORSE if self.lost > self.other else BETTER
        if self.pairs < 2:
            return UNKNOWN
        return BETTER if self.high < 1 else WORSE if self.low > 1 else LEVEL

    def interval_text(self) -> str:
        """ "0.82 (0.70 … 0.96)"."""
        if self.pairs < 2:
            return factor_text(self.factor) if self.pairs else "–"
        return f"{factor_text(self.factor)} ({factor_text(self.low)} … {factor_text(self.high)})"

    def text(self) -> str:
        """Likewise, and how many seeds have no value."""
        text = self.interval_text()
        if self.lost:
            text += f"; {self.lost} of {self.pairs + self.lost} have no value"
        if self.other:
            text += f"; {self.other} of {self.pairs + self.other} have one where the other has none"
        return text
