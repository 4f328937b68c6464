"""What tuning tried, as a map of held-out losses."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm

from .facts import Facts, TuningFacts
from .frames import finish, panels, pyplot
from .plan import Cell, last_word, toml_text

DECADES = 3  # of held-out losses between the darkest and the lightest field


def tried(facts: Facts) -> list[tuple[Cell, TuningFacts]]:
    return [(cell, facts.tuning[cell.key]) for cell in facts.plan.cells if cell.key in facts.tuning]


def draw_tuning(facts: Facts) -> Any:
    """A row per method and further axes, a column per value of the axis that most methods
    search, the choice framed."""
    plan, cells = facts.plan, tried(facts)
    searched = [path for cell, _ in cells for path in cell.candidates[0]]
    axis_path = max(dict.fromkeys(searched), key=searched.count)
    columns = sorted(
        {cell_value(c, axis_path) for cell, _ in cells for c in cell.candidates},
        key=lambda text: (float(text) if is_number(text) else math.inf, text),
    )

    def row_name(cell: Cell, candidate: dict[str, Any]) -> str:
        return ", ".join(
            [
                cell.variant.label,
                *(f"{last_word(p)} {toml_text(v)}" for p, v in candidate.items() if p != axis_path),
            ]
        )

    rows = list(dict.fromkeys(row_name(cell, c) for cell, _ in cells for c in cell.candidates))
    problems = [p for p in plan.problems if any(cell.problem is p for cell, _ in cells)]
    across = max(1, min(len(problems), 14 // (len(columns) + 2) or 1))
    drawing, axes = panels([plan.label(p) for p in problems], across)
    name_room = max(map(len, rows)) * 0.068
    drawing.set_size_inches(
        across * (0.62 * len(columns) + 0.4) + name_room,
        -(-len(problems) // across) * (0.24 * len(rows) + 0.95) + 0.5,
    )
    for k, (axis, problem) in enumerate(zip(axes, problems)):
        values = np.full((len(rows), len(columns)), np.nan)
        framed, no_value = [], []
        for cell, tuning in cells:
            if cell.problem is not problem:
                continue
            for candidate, loss in zip(cell.candidates, tuning.losses):
                at = rows.index(row_name(cell, candidate)), columns.index(
                    cell_value(candidate, axis_path)
                )
                values[at] = loss
                framed += [at] if candidate == tuning.chosen else []
                no_value += [at] if not math.isfinite(loss) else []
        draw_fields(axis, values, framed, no_value)
        axis.set_xticks(range(len(columns)), columns)
        axis.set_yticks(range(len(rows)), rows if k % across == 0 else [])
        axis.set_xlabel(last_word(axis_path))
    return finish(drawing, tuning_caption(facts), [])


def draw_fields(
    axis: Any, values: np.ndarray, framed: list[tuple[int, int]], no_value: list[tuple[int, int]]
) -> None:
    good = values[np.isfinite(values) & (values > 0)]
    best = float(good.min()) if good.size else 1.0
    shown = np.clip(np.where(np.isfinite(values), values, np.nan), best, best * 10**DECADES)
    axis.imshow(shown, norm=LogNorm(best, best * 10**DECADES), cmap="viridis", aspect="auto")
    axis.grid(False)
    axis.tick_params(length=0)
    for (row, column), value in np.ndenumerate(values):
        if math.isfinite(value):
            light = value > best * 10 ** (0.55 * DECADES)
            axis.text(
                column,
                row,
                f"{value:.1e}",
                ha="center",
                va="center",
                fontsize=7,
                color="#14161a" if light else "#ffffff",
            )
    for row, column in no_value:
        axis.text(column, row, "no value", ha="center", va="center", fontsize=7, color="#6a6f78")
    for row, column in framed:
        axis.add_patch(
            pyplot.Rectangle(
                (column - 0.5, row - 0.5),
                1,
                1,
                fill=False,
                edgecolor="#d03a2b",
                linewidth=2,
                clip_on=False,
            )
        )


def tuning_caption(facts: Facts) -> str:
    return f"{facts.plan.experiment.tuning_measure(facts.plan.budget)}; framed: chosen"


def cell_value(candidate: dict[str, Any], path: str) -> str:
    return toml_text(candidate[path]) if path in candidate else ""


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
