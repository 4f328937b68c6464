"""Panels beside each other with one title and one legend, as SVG and PDF."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402

from .maps import Picture  # noqa: E402

STYLE = Path(__file__).parent / "templates" / "figures.mplstyle"
COLUMNS, PANEL = 4, (3.0, 2.5)  # panels beside each other; inches


def panels(titles: Sequence[str], columns: int = COLUMNS) -> tuple[Any, list[Any]]:
    across = min(columns, len(titles))
    down = -(-len(titles) // across)
    width = PANEL[0] * across if len(titles) > 1 else 1.7 * PANEL[0]
    figure, axes = pyplot.subplots(
        down, across, squeeze=False, figsize=(width, PANEL[1] * down + 0.9)
    )
    for axis, title in zip(axes.flat, titles):
        axis.set_title(title, wrap=True)
    for axis in list(axes.flat)[len(titles) :]:
        axis.remove()
    return figure, list(axes.flat)[: len(titles)]


def finish(figure: Any, title: str, legend: list[tuple[Any, str]]) -> Any:
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    figure.set_figwidth(max(figure.get_figwidth(), 0.09 * len(title) + 0.2))
    if legend:
        handles, labels = zip(*legend)
        longest = max(map(len, labels))
        per_row = max(1, int(figure.get_figwidth() * 13 / (longest + 6)))
        figure.legend(
            handles, labels, loc="lower left", ncols=min(len(labels), per_row), fontsize=8.5
        )
        rows = -(-len(labels) // per_row)
        figure.tight_layout(rect=(0, 0.18 * rows / figure.get_figheight() + 0.02, 1, 1))
    else:
        figure.tight_layout()
    return figure


def save(figure: Any, folder: Path, name: str, caption: str, whole: bool = True) -> Picture:
    """As SVG and as PDF, for LaTeX."""
    folder.mkdir(parents=True, exist_ok=True)
    with pyplot.style.context(STYLE):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None})
    pyplot.close(figure)
    return Picture(name, caption, folder / f"{name}.svg", whole)
