"""The page about a reproduction, as Markdown and as HTML: templates/ has its words, this file
what they are filled with."""
from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from . import tables
from .facts import Facts
from .maps import Picture
from .measured import FAILED, OUT_OF_MEMORY
from .plan import short_text
from .rankings import judge_ranking
from .text_table import TextTable
from .verdicts import ANSWERS, ClaimVerdict, judge_claim

LONG_CELL = 40  # sentences are wrapped, numbers are not
RANKINGS = {
    "holds": "holds",
    "within error": "level",
    "fails": "does not hold",
    "untested": "not tested",
}


@dataclass
class Section:
    """What the page says about one experiment."""

    facts: Facts
    pictures: list[Picture] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # about pictures that could not be drawn

    def __post_init__(self) -> None:
        plan = self.facts.plan
        self.experiment, self.budget, self.budget_name = (
            plan.experiment,
            plan.budget,
            plan.budget_name,
        )
        self.claims: list[tuple[Any, ClaimVerdict]] = [
            (c, judge_claim(self.facts, c)) for c in self.experiment.checks
        ]
        self.tables = tables
        self.tuning_measure = self.experiment.tuning_measure(self.budget)

    @property
    def changed(self) -> list[str]:
        settings = [*self.experiment.settings.items(), *self.budget.settings.items()]
        return [f"`{path}` = {short_text(value)}" for path, value in settings]

    def environments(self) -> list[dict[str, Any]]:
        return [
            run.environment for runs in self.facts.runs.values() for run in runs if run.environment
        ]

    def on_gpu(self) -> bool:
        return (
            self.facts.plan.device == "cuda"
            and any(e.get("gpus") for e in self.environments())
            and not self.experiment.only_tasks()
        )

    @property
    def machine(self) -> str:
        """As the runs recorded it: they may have come from several machines and commits."""
        environments = self.environments()
        if not environments:
            return "no run has ended yet"
        machines = sorted(
            {
                e["gpus"][0] if self.on_gpu() and e.get("gpus") else e.get("cpu", "")
                for e in environments
            }
        )
        versions, commits = (
            sorted({e.get(key, "") for e in environments}) for key in ("version", "commit")
        )
        return (
            f"{', '.join(machines)}; Lather {', '.join(versions)}, "
            f"commit{'' if len(commits) == 1 else 's'} "
            f"{', '.join(commits)}"
        )

    @property
    def command(self) -> str:
        return f"lab/reproduce {self.experiment.name} --budget {self.budget_name}" + (
            " --device cuda" if self.on_gpu() else ""
        )

    @property
    def failures(self) -> list[str]:
        notes = [
            f"{cell.problem.label} with {cell.variant.label}, tuning: {message}"
            for cell, message in self.facts.failures
        ]
        notes += [
            f"{cell.problem.label} with {cell.variant.label}: {run.message}"
            for cell in self.facts.plan.cells
            for run in self.facts.runs.get(cell.key, [])
            if run.status in (FAILED, OUT_OF_MEMORY) and run.message
        ]
        return sorted(set(notes))

    def missing(self) -> str:
        """ "K-FAC: 4 of 18 (Boussinesq with K-FAC, …)"."""
        here = [
            (
                cell,
                sum(
                    run.status not in ("done", OUT_OF_MEMORY)
                    for run in self.facts.runs.get(cell.key, [])
                ),
            )
            for cell in self.facts.plan.cells
        ]
        cells = [f"{cell.problem.label} with {cell.variant.label}" for cell, n in here if n]
        total = len(here) * self.budget.seeds
        return (
            f"{self.experiment.title}: {sum(n for _, n in here)} of {total} ({', '.join(cells)})"
            if cells
            else ""
        )

    def rankings(self) -> list[str] | None:
        """For experiments with numbers from the paper and no claims in words."""
        if self.experiment.checks:
            return None
        kinds = [
            judge_ranking(self.facts, m, problem).kind
            for m in self.experiment.metrics
            if m.ranked
            for problem in m.paper
        ]
        parts = [
            f"{words} {kinds.count(kind)}" for kind, words in RANKINGS.items() if kind in kinds
        ]
        here = ", ".join(parts) or (
            self.experiment.conclusion if self.facts.is_complete() else "runs are missing"
        )
        return [self.experiment.title, self.experiment.claim, here]


@dataclass
class Page:
    sections: list[Section]
    command: str

    @property
    def is_study(self) -> bool:
        """An experiment that corresponds to nothing in the paper has its own kind of page."""
        return len(self.sections) == 1 and self.sections[0].experiment.is_study()

    @property
    def budgets(self) -> set[str]:
        return {section.budget_name for section in self.sections}

    def claims(self) -> list[tuple[Section, Any, ClaimVerdict]]:
        return [
            (section, check, verdict)
            for section in self.sections
            for check, verdict in section.claims
        ]

    def counts(self, wanted: str) -> dict[str, int]:
        """Of the paper's claims, those of them on matrix problems, or ours: how many there are
        of each verdict."""
        kinds = [
            verdict.kind
            for section, check, verdict in self.claims()
            if check.ours == (wanted == "ours")
            and (wanted != "matrix" or section.experiment.only_tasks())
        ]
        return {kind: kinds.count(kind) for kind in ANSWERS}

    def answers(self) -> list[tuple[str, str, str]]:
        return [
            (check.question, ANSWERS[verdict.kind], verdict.evidence)
            for _, check, verdict in self.claims()
            if check.question
        ]

    def claims_table(self) -> TextTable:
        return tables.claims_table(
            [(s.facts, check.words(), verdict) for s, check, verdict in self.claims()]
        )

    def rankings_table(self) -> TextTable:
        return TextTable(
            ["section", "the paper says", "here (problems and metrics)"],
            [row for section in self.sections if (row := section.rankings())],
        )

    def effort(self) -> tuple[int, float]:
        """Reported runs and their hours; those of two sections count once."""
        runs = {
            run.folder: run.seconds
            for section in self.sections
            for runs in section.facts.runs.values()
            for run in runs
            if run.is_done() and run.folder
        }
        return len(runs), sum(runs.values()) / 3600

    def missing(self) -> list[str]:
        return [words for section in self.sections if (words := section.missing())]

    def markdown(self, pictures: str) -> str:
        """Pictures are files in this folder beside the page."""
        environment = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
            autoescape=False,
        )
        text = environment.get_template("page.md").render(page=self, pictures=pictures)
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    def html(self) -> str:
        """Self-contained."""
        drawings = {
            f"{p.name}.svg": p.svg.read_text(encoding="utf-8")
            for s in self.sections
            for p in s.pictures
        }
        style = (Path(__file__).parent / "templates" / "page.css").read_text(encoding="utf-8")
        return html_of(self.markdown("figures"), drawings, style)


def html_words(text: str) -> str:
    """**bold**, `code` and [links](…)."""
    text = html.escape(text, quote=False)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', text)


def html_table(lines: list[str]) -> str:
    rows = [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines
    ]
    out = [
        '<div class="wide"><table>',
        "<tr>" + "".join(f"<th>{html_words(c)}</th>" for c in rows[0]) + "</tr>",
    ]
    out += [
        "<tr>"
        + "".join(
            f'<td{" class=words" if len(c) > LONG_CELL else ""}>{html_words(c)}</td>' for c in row
        )
        + "</tr>"
        for row in rows[2:]
    ]
    return "\n".join([*out, "</table></div>"])


def html_block(block: str, drawings: dict[str, str]) -> str:
    if heading := re.match(r"(#+) (.*)", block):
        level = len(heading[1])
        return f"<h{level}>{html_words(heading[2])}</h{level}>"
    if picture := re.fullmatch(r"!\[(.*)\]\((.*)\)", block):
        drawing = re.sub(r"^.*?(?=<svg)", "", drawings.get(Path(picture[2]).name, ""), flags=re.S)
        return f"<figure>{drawing}<figcaption>{html_words(picture[1])}</figcaption></figure>"
    if block.startswith("|"):
        return html_table(block.splitlines())
    if block.startswith("    "):
        return f"<pre>{html.escape(block.strip())}</pre>"
    return f"<p>{html_words(block)}</p>"


def html_of(markdown: str, drawings: dict[str, str], style: str) -> str:
    """Of what our own pages have: headings, paragraphs, tables, pictures, commands."""
    blocks = re.split(r"\n\n+", markdown.rstrip("\n"))
    title = html.escape(blocks[0].lstrip("# "))
    body = "\n".join(html_block(block, drawings) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{title}</title><link rel="icon" href="data:,">'
        f"<style>\n{style}</style></head>\n<body>\n{body}\n</body>\n</html>\n"
    )
