"""Claims in words: do the runs show what the paper says?"""
from __future__ import annotations

import math
from dataclasses import dataclass

from . import quantities
from .contests import (
    FAILS,
    HOLDS,
    UNTESTED,
    WITHIN_ERROR,
    Contest,
    Verdict,
    contest,
    hardest,
    kind_of,
    labels_of,
    words_if_unsolved,
    words_without_values,
)
from .experiment import NO_BOUND, Check, Metric
from .facts import Facts
from .measured import FAILED, NOT_RUN, NOT_SOLVED, Measured, factor_text, percent_text


def range_text(check: Check, is_share: bool = False) -> str:
    """The bounds are those of the experiment file, not the paper's: the reader should see them."""
    unit, sign = (100, " %") if is_share else (1, "")
    low, high = f"{unit * check.low:g}", f"{unit * check.high:g}{sign}"
    if check.low == 0:
        return f"at most {high} counts"
    return f"{low}{sign} or more counts" if check.high >= NO_BOUND else f"{low} to {high} counts"


def kind_within(check: Check, low: float, high: float) -> str:
    """All of the interval lies in the range, or outside of it, or neither."""
    if low >= check.low and high <= check.high:
        return HOLDS
    return FAILS if high < check.low or low > check.high else WITHIN_ERROR


def judge_order(facts: Facts, metric: Metric, problem: str, contests: list[Contest]) -> Verdict:
    if words := words_if_unsolved(facts, metric, problem):
        return Verdict(words=words)
    kind = kind_of(contests)
    if kind == UNTESTED:
        return Verdict(words=words_without_values(metric))
    words = hardest(contests).text()
    if kind == WITHIN_ERROR and len(contests) > 1:
        words = f"from {labels_of(contests, True)}; {hardest([c for c in contests if c.is_open()]).text()}"
    if any(c.is_one_seed() for c in contests):
        words += ", one seed"
    return Verdict(kind, words)


def judge_factor(check: Check, rival: Contest) -> Verdict:
    """A range from 0 on is about being below: there a variant without a value in more seeds is
    behind, and one whose rival has none at all is not."""
    ratio, below = rival.ratio, check.low == 0
    behind = ratio.lost > ratio.other
    if below and (behind or (not ratio.pairs and ratio.other)):
        return Verdict(FAILS if behind else HOLDS, f"{rival.text()}; {range_text(check)}")
    if not ratio.pairs:
        return Verdict(words="no values")
    where = " where both have a value" if ratio.lost or ratio.other else ""
    words = f"{ratio.interval_text()} times {rival.other}{where}; {range_text(check)}"
    if ratio.lost or (ratio.other and not below):
        return Verdict(words=words)
    if ratio.pairs == 1:  # it has no interval
        return Verdict(kind_within(check, ratio.factor, ratio.factor), words + ", one seed")
    return Verdict(kind_within(check, ratio.low, ratio.high), words)


def judge_values(check: Check, measured: Measured) -> Verdict:
    """The variant's own values: their mean with its 95 % interval."""
    share = check.metric.quantity in quantities.SHARES
    if not measured.is_complete() or measured.count[NOT_SOLVED]:
        return Verdict(words=f"{measured.text()}; {range_text(check, share)}")

    def number(value: float) -> str:
        return percent_text(value) if share else f"{value:.2e}"

    low, high = measured.interval()
    low = max(low, 0.0)
    words = (
        f"{number(measured.mean())}, one seed"
        if measured.seeds < 2
        else f"{number(measured.mean())} ({number(low)} … {number(high)})"
    )
    return Verdict(kind_within(check, low, high), f"{words}; {range_text(check, share)}")


def judge_result(facts: Facts, check: Check, problem: str, measured: Measured) -> Verdict:
    """That a method misses a target says something where another reaches it."""
    if check.metric.quantity == "seconds_to_target" and not any(
        facts.measured_in(cell, check.metric).is_known()
        for cell in facts.plan.cells
        if cell.problem.name == problem
    ):
        return Verdict(words=words_without_values(check.metric))
    ended = not (measured.count[NOT_RUN] or measured.count[FAILED])
    return Verdict(
        (HOLDS if measured.text() == check.result else FAILS) if ended else UNTESTED,
        measured.text(),
    )


def judge_events(check: Check, events: dict[str, float]) -> Verdict:
    found = events.get(check.events, math.nan)
    if math.isnan(found):
        return Verdict(words="no log of changes of bases was kept, or there were none")
    share = check.events == "doubled_after_1"
    if share:
        words = f"{percent_text(found)} of changes more than double the loss in one step"
    elif check.events.startswith("loss"):
        words = f"{factor_text(found)} times the loss before, in the worst tenth of changes"
    else:
        at_change = events[check.events.removesuffix("_after_10")]
        words = f"{found:.2g} ten steps after the median change, {at_change:.2g} at it"
    return Verdict(kind_within(check, found, found), f"{words}; {range_text(check, share)}")


def judge_on(facts: Facts, check: Check, problem: str) -> Verdict:
    """A claim in words, on one problem: the words say what was found there."""
    experiment, metric = facts.plan.experiment, check.metric
    others = [*check.below, *filter(None, [check.over])]
    here = [other for other in others if facts.plan.has(problem, other)]
    missing = [experiment.variant(other).label for other in others if other not in here]
    if not facts.plan.has(problem, check.variant) or (missing and not here):
        return Verdict(words="not part of this budget")
    named = [check.variant, *here]
    if any(facts.measure(metric, problem, name).rank_value() is None for name in named):
        return Verdict(words="runs are missing")
    untuned = [
        experiment.variant(name).label for name in named if not facts.survives_tuning(problem, name)
    ]
    if untuned:
        return Verdict(words=f"all that tuning tried diverges: {', '.join(untuned)}")
    own = facts.measure(metric, problem, check.variant)
    if check.result:
        return judge_result(facts, check, problem, own)
    if check.events:
        return judge_events(check, facts.events.get((problem, check.variant), {}))
    if not others:
        return judge_values(check, own)
    contests = [contest(facts, metric, problem, check.variant, other) for other in here]
    verdict = (
        judge_factor(check, contests[0])
        if check.over
        else judge_order(facts, metric, problem, contests)
    )
    if missing:
        verdict.words += f", without {', '.join(missing)}"
        verdict.partly = True
    return verdict


@dataclass
class ClaimVerdict:
    """A claim over all its problems."""

    text: str  # holds, holds where tested, holds in part, cannot tell, does not hold, not tested
    evidence: str  # "holds on Burgers (0.50 times SOAP); cannot tell on Wave (1.10 times Muon)"

    @property
    def kind(self) -> str:
        return HOLDS if self.text == "holds where tested" else self.text


# In the order in which a page lists them, and the answers to a claim's question.
ANSWERS = {
    HOLDS: "Yes",
    "holds in part": "Not everywhere",
    "does not hold": "No",
    "cannot tell": "Open",
    "not tested": "Not tested",
}


def judge_claim(facts: Facts, check: Check) -> ClaimVerdict:
    if check.not_tested:
        return ClaimVerdict("not tested", check.not_tested)
    found: dict[str, list[str]] = {}
    partly = False
    for name in check.problems:
        verdict = judge_on(facts, check, name)
        partly = partly or verdict.partly or verdict.kind == UNTESTED
        found.setdefault(verdict.kind, []).append(f"{full_label(facts, name)} ({verdict.words})")
    if HOLDS in found:
        text = (
            "holds in part"
            if WITHIN_ERROR in found or FAILS in found
            else "holds where tested"
            if partly
            else HOLDS
        )
    else:
        text = (
            "does not hold"
            if FAILS in found
            else "cannot tell"
            if WITHIN_ERROR in found
            else "not tested"
        )
    headings = {
        HOLDS: "holds on",
        WITHIN_ERROR: "cannot tell on",
        FAILS: "does not hold on",
        UNTESTED: "not tested on",
    }
    return ClaimVerdict(
        text,
        "; ".join(
            f"{words} {', '.join(found[kind])}" for kind, words in headings.items() if kind in found
        ),
    )


def full_label(facts: Facts, name: str) -> str:
    """Labels of rows may continue the one above, as "… starting at zero" does "teacher with a
    margin": a sentence needs both."""
    rows = facts.plan.experiment.problems
    at = next(i for i, row in enumerate(rows) if row.name == name)
    label = facts.plan.label(rows[at])
    if not label.startswith("… "):
        return label
    while at and rows[at].label.startswith("… "):
        at -= 1
    return f"{rows[at].label}, {label.removeprefix('… ')}"
