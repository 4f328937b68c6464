"""One method against others on a problem: what verdicts are made of."""
from __future__ import annotations

from dataclasses import dataclass, field

from . import quantities
from .experiment import Metric, Variant
from .facts import Facts
from .measured import BETTER, LEVEL, UNKNOWN, WORSE, Ratio, factor_text

HOLDS, WITHIN_ERROR, FAILS, UNTESTED = "holds", "within error", "fails", "untested"
# above this relative L² error a problem is not solved, and a residual belongs to something else
UNSOLVED = 0.5


@dataclass
class Verdict:
    """For one problem and metric."""

    kind: str = UNTESTED
    words: str = ""
    partly: bool = False  # this budget lacks some of the methods a claim names
    pairs: int = 0  # of methods of which the paper and the runs have both values; of these,
    agreeing: int = 0
    level: int = 0  # the seeds cannot tell

    def pairs_text(self) -> str:
        if not self.pairs:
            return ""
        return (
            f"{self.agreeing} in its order, {self.level} not told apart, "
            f"{self.pairs - self.agreeing - self.level} reversed"
        )


@dataclass
class Contest:
    """One variant against another on a problem."""

    other: str  # its label
    ratio: Ratio
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        self.kind = self.ratio.kind()
        if self.is_one_seed():  # the smaller value leads
            factor = self.ratio.factor
            self.kind = BETTER if factor < 1 else WORSE if factor > 1 else LEVEL

    def is_one_seed(self) -> bool:
        return self.ratio.pairs == 1 and self.ratio.lost == self.ratio.other

    def is_open(self) -> bool:
        return self.kind in (LEVEL, UNKNOWN)

    def badness(self) -> tuple[bool, int, float]:
        """How badly the variant does: behind, then by seeds without a value, then by the factor."""
        return self.kind == WORSE, self.ratio.lost - self.ratio.other, self.ratio.factor

    def text(self) -> str:
        ratio = self.ratio
        if ratio.lost > ratio.other:
            return f"{seeds_text(ratio.lost)} without a value"
        if ratio.lost < ratio.other:
            return f"{self.other} has {seeds_text(ratio.other)} without a value"
        text = f"{factor_text(ratio.factor)} times {self.other}"
        if self.kind == LEVEL and ratio.pairs > 1:
            text += f", lower in {ratio.ahead} of {ratio.pairs} seeds"
        return text


def seeds_text(count: int) -> str:
    return f"{count} seed{'' if count == 1 else 's'}"


def label_beside(variant: Variant, other: Variant) -> str:
    """The label of another variant in a sentence about this one, without the part that both
    have: "Adam, decayed" beside "SS-eSOAP, decayed" is "Adam"."""
    _, comma, shared = variant.label.rpartition(", ")
    return other.label.removesuffix(comma + shared) if comma else other.label


def contest(facts: Facts, metric: Metric, problem: str, variant: str, other: str) -> Contest:
    experiment = facts.plan.experiment
    return Contest(
        label_beside(experiment.variant(variant), experiment.variant(other)),
        facts.ratio(metric, variant, other, [experiment.problem(problem)]),
    )


def hardest(contests: list[Contest]) -> Contest:
    return max(contests, key=Contest.badness)


def kind_of(contests: list[Contest]) -> str:
    """Ahead of all, behind at least one, or neither."""
    kinds = {c.kind for c in contests}
    if WORSE in kinds:
        return FAILS
    if kinds == {UNKNOWN}:
        return UNTESTED
    return HOLDS if kinds == {BETTER} else WITHIN_ERROR


def words_if_unsolved(facts: Facts, metric: Metric, problem: str) -> str:
    """Where no method solves the problem, the order of residuals is not judged."""
    error = facts.error_metric()
    if metric.quantity not in quantities.OF_THE_SOLUTION or error is None:
        return ""
    found = [
        measured.centre()
        for cell in facts.plan.cells
        if cell.problem.name == problem and (measured := facts.measured_in(cell, error)).is_known()
    ]
    if len(found) < 2 or not min(found) > UNSOLVED:
        return ""
    return f"no method solves it here: the best relative L² error is {min(found):.2f}"


def words_without_values(metric: Metric) -> str:
    if metric.quantity == "seconds_to_target":
        return "no method reaches it"
    return "no method has a value" + (
        " and solves the problem" if metric.quantity in quantities.RESIDUALS else ""
    )


def labels_of(contests: list[Contest], is_open: bool) -> str:
    """Of those that the seeds cannot tell from the variant, or of those it is behind."""
    return ", ".join(c.other for c in contests if (c.is_open() if is_open else c.kind == WORSE))
