"""Does the paper's leader, by its numbers, also lead here?"""
from __future__ import annotations

import math
from dataclasses import dataclass

from .contests import (
    HOLDS,
    UNTESTED,
    WITHIN_ERROR,
    Verdict,
    contest,
    hardest,
    kind_of,
    labels_of,
    words_if_unsolved,
    words_without_values,
)
from .experiment import Metric
from .facts import Facts
from .measured import BETTER, LEVEL, UNKNOWN


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
    """The paper's leader by its numbers: it leads here with 95 % confidence, is level with
    others, or is behind one of them. With one seed, the smaller value leads."""
    if not metric.ranked or problem not in metric.paper:
        return Verdict(words="the paper prints no ranking")
    entrants = entrants_of(facts, metric, problem)
    ranks = {
        name: rank
        for name, value in sorted(metric.paper[problem].items())
        if (rank := value.rank()) is not None and rank < math.inf
    }
    leader = min(ranks, key=ranks.__getitem__, default="")
    if len(entrants) < 2 or leader not in {e.variant for e in entrants}:
        return Verdict(words="not tested")
    if not any(e.is_known for e in entrants):
        return Verdict(words="no method has a value")
    if words := words_if_unsolved(facts, metric, problem):
        return Verdict(words=words)
    verdict = Verdict()
    count_pairs(facts, metric, problem, entrants, verdict)
    contests = [
        contest(facts, metric, problem, leader, e.variant) for e in entrants if e.variant != leader
    ]
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
        verdict.words = (
            f"{label} leads in the paper; here it is behind {labels_of(contests, False)} "
            f"({hardest(contests).text()})"
        )
    if any(c.is_one_seed() for c in contests):
        verdict.words += " (one seed)"
    return verdict


def count_pairs(
    facts: Facts, metric: Metric, problem: str, entrants: list[Entrant], verdict: Verdict
) -> None:
    for i, one in enumerate(entrants):
        for another in entrants[:i]:
            if one.paper == another.paper:
                continue
            ahead, behind = sorted((one, another), key=lambda e: e.paper)
            kind = contest(facts, metric, problem, ahead.variant, behind.variant).kind
            verdict.pairs += 1
            verdict.agreeing += kind == BETTER
            verdict.level += kind in (LEVEL, UNKNOWN)
