"""Tables of what the runs have shown next to what the paper says."""
from __future__ import annotations

from collections.abc import Iterable

from .experiment import Experiment, Metric, PaperValue, Table
from .facts import Facts, number_text
from .measured import BETTER, LEVEL, UNKNOWN, WORSE, Measured, factor_text, percent_text
from .plan import last_word, short_text
from .rankings import judge_ranking
from .text_table import TextTable
from .verdicts import ANSWERS, ClaimVerdict, judge_claim

MOST_COLUMNS = 8  # with more variants a table does not fit on a page, and variants become rows

EVENT_COLUMNS = {
    "changes": "changes of bases",
    "rho": "off-diagonal ratio before",
    "rho_after_10": "off-diagonal ratio 10 steps later",
    "gradient_cosine": "cosine of gradients",
    "gradient_cosine_after_10": "cosine of gradients 10 steps later",
    "gamma": "gamma",
    "loss_after_1_median": "loss after 1 step / before",
    "loss_after_1": "loss after 1 step / before, worst tenth",
    "doubled_after_1": "loss more than doubled after 1 step",
    "loss_after_10_median": "loss after 10 steps / before",
    "loss_after_10": "loss after 10 steps / before, worst tenth",
}
TAU_COLUMNS = (
    "tau = 1",
    "tau = tau_min",
    "c ≤ 0",
    "tau below 0.3",
    "0.3 to 0.6",
    "0.6 to 0.9",
    "0.9 to 1",
    "above 1",
)


def says_nothing(row: Iterable[str]) -> bool:
    return all(cell in ("", "–") for cell in row)


def ratio_text(measured: Measured, paper: PaperValue | None) -> str:
    if not paper or not paper.value or not measured.is_known() or not measured.is_complete():
        return ""
    return f"{measured.centre() / paper.value:.2g}"


def values_table(facts: Facts) -> TextTable:
    """Three lines for each problem and metric: ours, the paper's, their ratio. A column per
    variant; if there are many, and no values from the paper, a row per variant."""
    plan, metrics = facts.plan, facts.plan.experiment.metrics
    if len(plan.variants) > MOST_COLUMNS and not any(m.paper for m in metrics):
        return variants_as_rows(facts)
    table = TextTable(["problem", "", *(v.label for v in plan.variants)])
    for problem in plan.problems:
        for metric in metrics:
            cells = [
                (
                    facts.measure(metric, problem.name, v.name)
                    if plan.has(problem.name, v.name)
                    else None,
                    metric.printed(problem.name, v.name),
                )
                for v in plan.variants
            ]
            ours = [m.text() if m else "" for m, _ in cells]
            paper = [p.words() if p else "" for _, p in cells]
            ratio = [ratio_text(m, p) if m else "" for m, p in cells]
            if says_nothing(ours) and says_nothing(paper):
                continue
            table.rows.append([plan.label(problem), metric.label, *ours])
            table.rows += [
                ["", name, *row]
                for name, row in (("paper", paper), ("ratio", ratio))
                if not says_nothing(row)
            ]
    return table


def variants_as_rows(facts: Facts) -> TextTable:
    plan = facts.plan
    columns = [(problem, metric) for problem in plan.problems for metric in plan.experiment.metrics]
    table = TextTable(["variant", *(f"{plan.label(p)}: {m.label}" for p, m in columns)])
    for variant in plan.variants:
        table.rows.append(
            [
                variant.label,
                *(
                    facts.measure(m, p.name, variant.name).text()
                    if plan.has(p.name, variant.name)
                    else ""
                    for p, m in columns
                ),
            ]
        )
    return table


def long_table(facts: Facts) -> TextTable:
    """One line for each problem, variant and metric, for other programs."""
    table = TextTable(
        [
            "experiment",
            "budget",
            "problem",
            "variant",
            "quantity",
            "metric",
            "mean",
            "standard_error",
            "median",
            "min",
            "max",
            "seeds",
            "result",
            "paper",
            "paper_deviation",
            "ratio",
        ]
    )
    for cell in facts.plan.cells:
        for metric in facts.plan.experiment.metrics:
            m, paper = facts.measured_in(cell, metric), metric.printed(*cell.key)
            numbers = (
                [
                    number_text(v)
                    for v in (
                        m.mean(),
                        m.standard_error(),
                        m.median(),
                        min(m.values),
                        max(m.values),
                    )
                ]
                if m.is_known()
                else [""] * 5
            )
            printed = (
                ["", ""]
                if not paper
                else [
                    paper.text if paper.value is None else number_text(paper.value),
                    "" if paper.deviation is None else number_text(paper.deviation),
                ]
            )
            table.rows.append(
                [
                    facts.plan.experiment.name,
                    facts.plan.budget_name,
                    *cell.key,
                    metric.quantity_text(),
                    metric.label,
                    *numbers,
                    str(len(m.values)),
                    m.text(),
                    *printed,
                    ratio_text(m, paper),
                ]
            )
    return table


def verdict_table(facts: Facts) -> TextTable:
    """One line for each problem and metric with a ranking: does it hold?"""
    table = TextTable(["problem", "metric", "the paper's ranking", "pairs of methods"])
    for metric in facts.plan.experiment.metrics:
        for problem in facts.plan.experiment.problems:
            if metric.ranked and problem.name in metric.paper:
                verdict = judge_ranking(facts, metric, problem.name)
                table.rows.append(
                    [facts.plan.label(problem), metric.label, verdict.words, verdict.pairs_text()]
                )
    return table


def checks_table(facts: Facts) -> TextTable:
    """One line for each claim: does it hold, and where?"""
    table = TextTable(["claim", "here", "where, and by what factor"])
    for check in facts.plan.experiment.checks:
        verdict = judge_claim(facts, check)
        table.rows.append([check.words(), verdict.text, verdict.evidence])
    return table


def claims_table(claims: list[tuple[Facts, str, ClaimVerdict]]) -> TextTable:
    """Of all experiments, in words, by verdict."""
    table = TextTable(["here", "claim", "where, and by what factor", "section"])
    for kind in ANSWERS:
        table.rows += [
            [verdict.text, words, verdict.evidence, facts.plan.experiment.title]
            for facts, words, verdict in claims
            if verdict.kind == kind
        ]
    return table


def settings_table(facts: Facts) -> TextTable:
    """What tuning has chosen, a column per problem, and where the best value is the first or
    last one tried."""
    plan = facts.plan
    paths = sorted({path for tuning in facts.tuning.values() for path in tuning.chosen})
    table = TextTable(
        [f"chosen by tuning: {', '.join(paths)}", *(plan.label(p) for p in plan.problems)]
    )

    def chosen(problem: str, variant: str) -> str:
        tuning = facts.tuning.get((problem, variant))
        return (
            ""
            if tuning is None
            else ", ".join(
                (f"{last_word(path)} " if len(paths) > 1 else "")
                + short_text(value)
                + (" (edge)" if path in tuning.edges else "")
                for path, value in tuning.chosen.items()
            )
        )

    for variant in plan.variants:
        row = [chosen(p.name, variant.name) for p in plan.problems]
        if any(row):
            table.rows.append([variant.label, *row])
    return table


def events_table(facts: Facts) -> TextTable:
    table = TextTable(["problem", "variant", *EVENT_COLUMNS.values()])
    for cell in facts.plan.cells if facts.plan.experiment.events else ():
        found = facts.events.get(cell.key, {})
        if found.get("changes"):
            table.rows.append(
                [
                    facts.plan.label(cell.problem),
                    cell.variant.label,
                    *(
                        ""
                        if quantity not in found
                        else percent_text(found[quantity])
                        if quantity == "doubled_after_1"
                        else f"{found[quantity]:.0f}"
                        if quantity == "changes"
                        else f"{found[quantity]:.3g}"
                        for quantity in EVENT_COLUMNS
                    ),
                ]
            )
    return table


def tau_table(facts: Facts) -> TextTable:
    """How large tau was, in shares of the steps of all layers that had a secant."""
    table = TextTable(["problem", "variant", *TAU_COLUMNS])
    for cell in facts.plan.cells if facts.plan.experiment.tau else ():
        if cell.key in facts.tau:
            table.rows.append(
                [
                    facts.plan.label(cell.problem),
                    cell.variant.label,
                    *(f"{100 * facts.tau[cell.key][name]:.1f} %" for name in TAU_COLUMNS),
                ]
            )
    return table


# -- tables that an experiment file asks for: variants compared with one of them
# ---------------------------


def comparison_table(facts: Facts, entry: Table) -> TextTable:
    """A row for each metric and variant, a column for each problem; for ranked metrics the ratio
    and what it says."""
    plan = facts.plan
    table = TextTable(
        [
            "",
            "",
            *(plan.label(p) for p in plan.problems),
            "over the row above" if entry.pairs else "over the first row",
            "",
        ]
    )
    for metric in plan.experiment.metrics:
        for row, variant in enumerate(entry.variants):
            values = [
                facts.measure(metric, p.name, variant).text() if plan.has(p.name, variant) else ""
                for p in plan.problems
            ]
            if says_nothing(values):  # a method without tau has no share of steps with tau = 1
                continue
            other, words = entry.compared_with(row), ["", ""]
            if metric.ranked and other != variant:
                ratio = facts.ratio(metric, variant, other)
                words = [ratio.text(), ratio.kind()]
            table.rows.append(
                [metric.label, plan.experiment.variant(variant).label, *values, *words]
            )
    return table


def comparison_count(experiment: Experiment) -> int:
    """The number of comparisons of ranked metrics in all tables."""
    rows = sum(len(t.variants) // 2 if t.pairs else len(t.variants) - 1 for t in experiment.tables)
    return rows * sum(m.ranked for m in experiment.metrics)


def findings(facts: Facts) -> list[str]:
    """What all tables say about their first variant, a sentence for each table and ranked
    metric, and which variants are better in every ranked metric."""
    experiment = facts.plan.experiment
    ranked = [m for m in experiment.metrics if m.ranked]
    if not experiment.tables or not ranked:
        return []
    sentences = [
        f"{t.title}, {m.label}: {sorted_words(facts, t, m)}."
        for t in experiment.tables
        for m in ranked
    ]
    better = [
        f"{experiment.variant(name).label} ({t.title})"
        for t in experiment.tables
        if not t.pairs
        for name in t.variants[1:]
        if all(facts.ratio(m, name, t.variants[0]).kind() == BETTER for m in ranked)
    ]
    return [
        *sentences,
        "Better than the first row of their table in every ranked metric "
        f"({', '.join(m.label for m in ranked)}): {', '.join(better) or 'none'}.",
    ]


def sorted_words(facts: Facts, entry: Table, metric: Metric) -> str:
    """ "better: a (0.80), b (0.90); level: c (1.10)"."""
    arms: dict[str, list[str]] = {}
    for row, name in enumerate(entry.variants):
        other = entry.compared_with(row)
        if other != name:
            ratio = facts.ratio(metric, name, other)
            arms.setdefault(ratio.kind(), []).append(
                f"{facts.plan.experiment.variant(name).label} "
                f"({factor_text(ratio.factor) if ratio.pairs else '–'})"
            )
    return "; ".join(
        f"{kind}: {', '.join(arms[kind])}"
        for kind in (BETTER, LEVEL, WORSE, UNKNOWN)
        if kind in arms
    )
