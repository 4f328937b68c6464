"""Maps of the solution that a run found, drawn by `lather report`."""
from __future__ import annotations

import math
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import programs, run_files
from .facts import Facts, RunFacts
from .plan import Cell
from .quantities import ERRORS


@dataclass
class Picture:
    name: str
    caption: str
    svg: Path
    whole: bool = True  # False: a panel of another one, for papers


def best_cell(facts: Facts, problem: str) -> tuple[Cell | None, str]:
    """The variant with the lowest value in the table, of those with a result in every seed, and
    what it is best by: the first error among the metrics or the first ranked one."""
    metrics = facts.plan.experiment.metrics
    metric = next(
        (m for m in metrics if m.quantity in ERRORS), next((m for m in metrics if m.ranked), None)
    )
    found = [
        (m.centre(), m.rank_value(), cell)
        for cell in facts.plan.cells
        if metric
        and cell.problem.name == problem
        and (m := facts.measured_in(cell, metric)).is_known()
    ]
    complete = [entry for entry in found if entry[1] is not None and math.isfinite(entry[1])]
    if not metric or not complete:
        return None, ""
    lowest, _, cell = min(complete, key=lambda entry: entry[0])
    more = ", of those with a result in every seed" if min(e[0] for e in found) < lowest else ""
    return cell, f"the best here by {metric.label} in the table{more}"


def draw_maps(
    facts: Facts, folder: Path, drawn: dict[Path, str]
) -> tuple[list[Picture], list[str]]:
    """Reference, prediction and error of seed 1, drawn by `lather report`; and what could not be
    drawn. `drawn`: runs that other sections of the page have."""
    plan, pictures, notes = facts.plan, list[Picture](), list[str]()
    for problem in plan.problems:
        if problem.name not in plan.experiment.maps.problems:
            continue
        best, words = best_cell(facts, problem.name)
        wanted = next(
            (c for c in plan.cells if c.key == (problem.name, plan.experiment.maps.variant)), None
        )
        cells = [(best, words)] if best else []
        if wanted and wanted is not best:
            cells.append((wanted, ""))
        for cell, which in cells:
            what = f"{plan.label(problem)} with {cell.variant.label}" + (
                f" ({which})" if which else ""
            )
            run = facts.runs.get(cell.key, [RunFacts()])[0]
            if not run.is_done() or run.folder is None:
                notes.append(f"No maps of {what}: its run has not ended.")
            elif run.folder in drawn:
                notes.append(
                    f'Maps of {what}: see "{drawn[run.folder]}", which has them of the same run.'
                )
            elif fault := draw_map(
                run.folder, folder / f"{plan.experiment.name}-maps-{'-'.join(cell.key)}"
            ):
                notes.append(f"No maps of {what}: {fault}")
            else:
                name = f"{plan.experiment.name}-maps-{'-'.join(cell.key)}"
                pictures.append(
                    Picture(
                        name,
                        f"{what}: reference, prediction and its error, seed 1, "
                        f"{numbers_of(run.folder)}",
                        folder / f"{name}.svg",
                    )
                )
                drawn[run.folder] = plan.experiment.title
    return pictures, notes


def draw_map(run: Path, file: Path) -> str:
    """As SVG and PDF; returns why it could not be drawn."""
    if not (run / "fields.json").exists():
        return f"{run} kept no fields; without this folder the same command trains it again."
    with tempfile.TemporaryDirectory() as scratch:
        for ending in (".svg", ".pdf"):
            done = subprocess.run(
                [
                    programs.lather_command(),
                    "report",
                    str(run),
                    "--out",
                    f"{scratch}/page.html",
                    "--figure",
                    f"{file}{ending}",
                    "--panel",
                    "maps",
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                return done.stderr.strip().removeprefix("lather: ")
    return ""


def numbers_of(run: Path) -> str:
    """For the parameters that the maps show: those of the best held-out step."""
    best = (run_files.read_summary(run) or {}).get("best", {})
    errors = [
        f", relative L² error of {field} {error:.2e}"
        for field, error in best.get("l2", {}).items()
        if error is not None
    ]
    return f"best held-out step {best.get('step')}" + "".join(errors)
