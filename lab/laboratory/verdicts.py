"""Do the runs show what the paper prints or says?"""
from __future__ import annotations

import math
from dataclasses import dataclass, field

from . import quantities
from .experiment import NO_BOUND, Check, Metric, Variant
from .facts import Facts
from .measured import (BETTER, FAILED, LEVEL, NOT_RUN, NOT_SOLVED, UNKNOWN, WORSE, Measured, Ratio, factor_text,
                       percent_text)

HOLDS, WITHIN_ERROR, FAILS, UNTESTED = "holds", "within error", "fails", "untested"
UNSOLVED = 0.5  # above this relative L² error a problem is not solved, and a residual belongs to something else


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
        return (f"{self.agreeing} in its order, {self.level} not told apart, "
                f"{self.pairs - self.agreeing - self.level} reversed")


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
    """The label of another variant in a sentence about this one, without the part that both have: "Adam, decayed"
    beside "SS-eSOAP, decayed" is "Adam"."""
    _, comma, shared = variant.label.rpartition(", ")
    return other.label.removesuffix(comma + shared) if comma else other.label


def contest(facts: Facts, metric: Metric, problem: str, variant: str, other: str) -> Contest:
    experiment = facts.plan.experiment
    return Contest(label_beside(experiment.variant(variant), experiment.variant(other)),
                   facts.ratio(metric, variant, other, [experiment.problem(problem)]))


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
    found = [measured.centre() for cell in facts.plan.cells if cell.problem.name == problem
             and (measured := facts.measured_in(cell, error)).is_known()]
    if len(found) < 2 or not min(found) > UNSOLVED:
        return ""
    return f"no method solves it here: the best relative L² error is {min(found):.2f}"


def words_without_values(metric: Metric) -> str:
    if metric.quantity == "seconds_to_target":
        return "no method reaches it"
    return "no method has a value" + (" and solves the problem" if metric.quantity in quantities.RESIDUALS else "")


# -- the paper's rankings ---------------------------------------------------------------------------------


@dataclass
class Entrant:
    """A method that both the paper and the runs have: all of its runs have ended."""
    variant: str
    paper: float
    is_known: bool


def entrants_of(facts: Facts, metric: Metric, problem: str) -> list[Entrant]:
    entrants = []
    for cell in facts.plan.cells:
        printed = metric.printed(*cell.key)
        if cell.problem.name != problem or printed is None or not facts.survives_tuning(*cell.key):
            continue
        ours, paper = facts.measured_in(cell, metric), printed.rank()
        if ours.rank_value() is not None and paper is not None:
            entrants.append(Entrant(cell.variant.name, paper, ours.is_known()))
    return entrants


def judge_ranking(facts: Facts, metric: Metric, problem: str) -> Verdict:
    """The paper's leader by its numbers: it leads here with 95 % confidence, is level with others, or is behind one of
    them. With one seed, the smaller value leads."""
    if not metric.ranked or problem not in metric.paper:
        return Verdict(words="the paper prints no ranking")
    entrants = entrants_of(facts, metric, problem)
    ranks = {name: rank for name, value in sorted(metric.paper[problem].items())
             if (rank := value.rank()) is not None and rank < math.inf}
    leader = min(ranks, key=ranks.__getitem__, default="")
    if len(entrants) < 2 or leader not in {e.variant for e in entrants}:
        return Verdict(words="not tested")
    if not any(e.is_known for e in entrants):
        return Verdict(words="no method has a value")
    if words := words_if_unsolved(facts, metric, problem):
        return Verdict(words=words)
    verdict = Verdict()
    count_pairs(facts, metric, problem, entrants, verdict)
    contests = [contest(facts, metric, problem, leader, e.variant) for e in entrants if e.variant != leader]
    verdict.kind = kind_of(contests)
    label = facts.plan.experiment.variant(leader).label
    if verdict.kind == UNTESTED:
        verdict.words = words_without_values(metric)
        return verdict
    if verdict.kind == HOLDS:
        verdict.words = f"{label} leads, as in the paper"
    elif verdict.kind == WITHIN_ERROR:
        verdict.words = f"{label} leads in the paper; here the seeds cannot tell it from {labels_of(contests, True)}"
    else:
        verdict.words = (f"{label} leads in the paper; here it is behind {labels_of(contests, False)} "
                         f"({hardest(contests).text()})")
    if any(c.is_one_seed() for c in contests):
        verdict.words += " (one seed)"
    return verdict


def count_pairs(facts: Facts, metric: Metric, problem: str, entrants: list[Entrant], verdict: Verdict) -> None:
    for i, one in enumerate(entrants):
        for another in entrants[:i]:
            if one.paper == another.paper:
                continue
            ahead, behind = sorted((one, another), key=lambda e: e.paper)
            kind = contest(facts, metric, problem, ahead.variant, behind.variant).kind
            verdict.pairs += 1
            verdict.agreeing += kind == BETTER
            verdict.level += kind in (LEVEL, UNKNOWN)


def labels_of(contests: list[Contest], is_open: bool) -> str:
    """Of those that the seeds cannot tell from the variant, or of those it is behind."""
    return ", ".join(c.other for c in contests if (c.is_open() if is_open else c.kind == WORSE))


# -- claims in words --------------------------------------------------------------------------------------


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
    """A range from 0 on is about being below: there a variant without a value in more seeds is behind, and one whose
    rival has none at all is not."""
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
    words = f"{number(measured.mean())}, one seed" if measured.seeds < 2 else \
        f"{number(measured.mean())} ({number(low)} … {number(high)})"
    return Verdict(kind_within(check, low, high), f"{words}; {range_text(check, share)}")


def judge_result(facts: Facts, check: Check, problem: str, measured: Measured) -> Verdict:
    """That a method misses a target says something where another reaches it."""
    if check.metric.quantity == "seconds_to_target" and not any(
            facts.measured_in(cell, check.metric).is_known() for cell in facts.plan.cells
            if cell.problem.name == problem):
        return Verdict(words=words_without_values(check.metric))
    ended = not (measured.count[NOT_RUN] or measured.count[FAILED])
    return Verdict((HOLDS if measured.text() == check.result else FAILS) if ended else UNTESTED, measured.text())


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
    untuned = [experiment.variant(name).label for name in named if not facts.survives_tuning(problem, name)]
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
    verdict = judge_factor(check, contests[0]) if check.over else judge_order(facts, metric, problem, contests)
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
ANSWERS = {HOLDS: "Yes", "holds in part": "Not everywhere", "does not hold": "No", "cannot tell": "Open",
           "not tested": "Not tested"}


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
        text = "holds in part" if WITHIN_ERROR in found or FAILS in found else \
            "holds where tested" if partly else HOLDS
    else:
        text = "does not hold" if FAILS in found else "cannot tell" if WITHIN_ERROR in found else "not tested"
    headings = {HOLDS: "holds on", WITHIN_ERROR: "cannot tell on", FAILS: "does not hold on", UNTESTED: "not tested on"}
    return ClaimVerdict(text, "; ".join(f"{words} {', '.join(found[kind])}"
                                        for kind, words in headings.items() if kind in found))


def full_label(facts: Facts, name: str) -> str:
    """Labels of rows may continue the one above, as "… starting at zero" does "teacher with a margin": a sentence
    needs both."""
    rows = facts.plan.experiment.problems
    at = next(i for i, row in enumerate(rows) if row.name == name)
    label = facts.plan.label(rows[at])
    if not label.startswith("… "):
        return label
    while at and rows[at].label.startswith("… "):
        at -= 1
    return f"{rows[at].label}, {label.removeprefix('… ')}"
