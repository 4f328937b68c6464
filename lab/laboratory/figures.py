"""Pictures: curves of methods side by side, what tuning tried, maps of the solution."""
from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import run_files
from .collect import WORST_TENTH, quantile
from .experiment import Experiment, Figure, Variant
from .facts import Facts, RunFacts
from .frames import STYLE, finish, panels, pyplot, save
from .maps import Picture, draw_maps
from .measured import Measured
from .quantities import AXIS_NAMES
from .tuning_map import draw_tuning, tried, tuning_caption

BEFORE, AFTER = 5, 20  # steps around a change of bases

COLOURS = ("#2c5f8a", "#c8702a", "#3d8b52", "#c23b32", "#7b5aa6", "#8a6a2f", "#c75d9b", "#5f6670")
USUAL = {
    "adam": 0,
    "muon": 1,
    "soap": 2,
    "purifying-shampoo": 4,
    "ss-esoap": 3,
    "lbfgs": 5,
    "kfac": 5,
    "ntk": 6,
    "ss-bfgs": 6,
    "multiadam": 7,
    "ss-broyden": 7,
}  # two that share a colour are in no figure of the paper together


# -- colours: a variant has the same one in all figures of an experiment, a usual method in all
# experiments ------


def method_colours(experiment: Experiment) -> dict[str, int]:
    colours: dict[str, int] = {}

    def taken(variant: str) -> set[int]:
        """By the variants that this one is drawn with, so far."""
        return {
            colour
            for other, colour in colours.items()
            if any(f.draws(variant) and f.draws(other) for f in experiment.figures)
        }

    def claim(variant: Variant, method: str) -> None:
        if (
            variant.name not in colours
            and method in USUAL
            and USUAL[method] not in taken(variant.name)
        ):
            colours[variant.name] = USUAL[method]

    for variant in experiment.variants:
        claim(variant, variant.name)
    for variant in experiment.variants:
        claim(variant, variant.optimizer)
    for variant in experiment.variants:
        if variant.name not in colours:
            used = taken(variant.name)
            colours[variant.name] = next(i for i in range(len(used) + 1) if i not in used)
    return colours


def line_style(colour: int) -> dict[str, Any]:
    """Beyond the palette, its colours return dashed, dotted, …"""
    styles = ("-", "--", ":", "-.")
    return {
        "color": COLOURS[colour % len(COLOURS)],
        "linestyle": styles[colour // len(COLOURS) % len(styles)],
    }


# -- curves over steps, seconds, changes of bases
# ----------------------------------------------------------------


def draw_seeds(axis: Any, runs: Iterable[RunFacts], figure: Figure, style: dict[str, Any]) -> int:
    """One curve of the seeds that did not diverge: geometric mean, smallest and largest at each
    step that all of them have, at their mean time. Those that diverged are thin, up to where
    they leave the panel. Returns how many these are."""
    good: list[dict[float, run_files.CurvePoint]] = []
    diverged = 0
    for run in runs:
        if not run.is_done() or run.folder is None:
            continue
        curve = run_files.curve_of(run.folder, figure.quantity)
        if run_files.has_diverged(run_files.read_summary(run.folder) or {}):
            diverged += 1
            places = [p for p in curve if p.value >= 0]
            axis.plot(
                [place_of(p, figure) for p in places],
                [p.value for p in places],
                **{**style, "linewidth": 0.7, "linestyle": (0, (2, 2)), "gid": "diverged"},
            )
        elif curve:
            good.append({p.step: p for p in curve})
    rows = (
        [[curve[step] for curve in good] for step in good[0] if all(step in c for c in good)]
        if good
        else []
    )
    rows = [
        row for row in rows if all(p.value >= 0 and math.isfinite(place_of(p, figure)) for p in row)
    ]
    if rows:
        x = [float(np.mean([place_of(p, figure) for p in row])) for row in rows]
        values = np.array([[p.value for p in row] for row in rows])
        with np.errstate(divide="ignore"):
            axis.plot(x, np.exp(np.log(values).mean(axis=1)), linewidth=1.5, **style)
        if len(good) > 1:
            axis.fill_between(
                x,
                values.min(axis=1),
                values.max(axis=1),
                color=style["color"],
                alpha=0.15,
                linewidth=0,
            )
    return diverged


def place_of(point: run_files.CurvePoint, figure: Figure) -> float:
    return point.seconds if figure.over == "seconds" else point.step


def limit_to_good(axis: Any) -> None:
    """Diverged seeds set no scale."""
    values = np.concatenate(
        [
            np.asarray(line.get_ydata(), dtype=float)
            for line in axis.lines
            if line.get_gid() != "diverged"
        ]
        or [np.array([])]
    )
    values = values[np.isfinite(values) & (values > 0)]
    if len(values):
        axis.set_ylim(values.min() / 2, values.max() * 2)


def loss_ratios(folder: Path) -> dict[int, list[float]]:
    """Losses divided by that at a change of bases, by how many steps later they are."""
    losses = {p.step: p.value for p in run_files.curve_of(folder, "training_loss")}
    ratios: dict[int, list[float]] = defaultdict(list)
    # Several layers may change their bases in one step, which counts once.
    for step in {run_files.number(event, "step") for event in run_files.changes_of_bases(folder)}:
        if losses.get(step, 0) > 0:
            for k in range(-BEFORE, AFTER + 1):
                if step + k in losses:
                    ratios[k].append(losses[step + k] / losses[step])
    return ratios


def draw_changes(axis: Any, runs: Iterable[RunFacts], style: dict[str, Any]) -> int:
    """What nine tenths of all changes lie below. Returns how many there are."""
    ratios: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        for k, values in (loss_ratios(run.folder) if run.is_done() and run.folder else {}).items():
            ratios[k] += values
    places = sorted(ratios)
    axis.plot(places, [quantile(ratios[k], WORST_TENTH) for k in places], linewidth=1.5, **style)
    return len(ratios[0])


def draw_curves(facts: Facts, figure: Figure, problems: Sequence[Any]) -> Any:
    plan, colours = facts.plan, method_colours(facts.plan.experiment)
    variants = [v for v in plan.variants if figure.draws(v.name)]
    drawing, axes = panels([plan.label(p) for p in problems])
    counts: dict[str, int] = defaultdict(int)
    for axis, problem in zip(axes, problems):
        for variant in variants:
            runs, style = facts.runs.get((problem.name, variant.name), []), line_style(
                colours[variant.name]
            )
            counts[variant.name] += (
                draw_changes(axis, runs, style)
                if figure.over == "changes"
                else draw_seeds(axis, runs, figure, style)
            )
        axis.set_yscale("log", nonpositive="clip")
        limit_to_good(axis)
        axis.set_xlabel({"changes": "steps after a change of basis"}.get(figure.over, figure.over))
    axes[0].set_ylabel(
        "loss / loss at the change,\nnine tenths of all changes lie below"
        if figure.over == "changes"
        else AXIS_NAMES.get(
            figure.quantity, figure.quantity.removeprefix("task.").replace("_", " ")
        )
    )

    def label(variant: Variant) -> str:
        n = counts[variant.name]
        if figure.over == "changes":
            return f"{variant.label} ({n} changes)"
        return variant.label + (f" ({n} seed{'' if n == 1 else 's'} diverged)" if n else "")

    handles = [(pyplot.Line2D([], [], **line_style(colours[v.name])), label(v)) for v in variants]
    return finish(drawing, figure.title or plan.experiment.title, handles)


# -- a metric over a setting
# ---------------------------------------------------------------------------------------


def draw_over_setting(facts: Facts, figure: Figure) -> Any:
    """One point per problem; where a method has no value its curve ends with a cross, and the
    legend says why."""
    plan, colours, metric = facts.plan, method_colours(facts.plan.experiment), figure.metric
    assert metric is not None
    places = sorted(
        ((plan.budget.number_set(p, figure.over) or 0.0, p) for p in plan.problems),
        key=lambda pair: pair[0],
    )
    drawing, [axis] = panels([""])
    drawing.set_size_inches(6.5, 4)
    legend = []
    for variant in (v for v in plan.variants if figure.draws(v.name)):
        style, missing = line_style(colours[variant.name]), defaultdict(list)
        points: list[tuple[float, Measured | None]] = []
        for x, problem in places:
            measured = (
                facts.measure(metric, problem.name, variant.name)
                if plan.has(problem.name, variant.name)
                else None
            )
            shown = measured is not None and measured.is_known() and min(measured.values) >= 0
            points.append((x, measured if shown else None))
            if not shown:
                reason = (
                    "not run"
                    if measured is None
                    else "negative"
                    if measured.is_known()
                    else measured.text()
                )
                missing[reason].append(f"{x:g}")
        y = [m.centre() if m else math.nan for _, m in points]
        x_all = [x for x, _ in points]
        axis.plot(x_all, y, marker="o", markersize=4, linewidth=1.5, **style)
        axis.fill_between(
            x_all,
            [min(m.values) if m else math.nan for _, m in points],
            [max(m.values) if m else math.nan for _, m in points],
            color=style["color"],
            alpha=0.15,
        )
        for (x, m), (_, following) in zip(points, points[1:]):
            if m and not following:
                axis.plot([x], [m.centre()], marker="x", markersize=9, color=style["color"])
        reasons = "; ".join(f"{reason} at {', '.join(at)}" for reason, at in missing.items())
        legend.append(
            (
                pyplot.Line2D([], [], marker="o", markersize=4, **style),
                variant.label + (f" ({reasons})" if reasons else ""),
            )
        )
    axis.set(xscale="log", yscale="log", xlabel=figure.over.replace(".", " "), ylabel=metric.label)
    axis.set_xticks([x for x, _ in places], [f"{x:g}" for x, _ in places])
    axis.minorticks_off()
    return finish(drawing, figure.title or plan.experiment.title, legend)


# -- all of them -----------------------------------------------------------------------------------
# ----------------


def draw_all(facts: Facts, folder: Path, drawn: dict[Path, str]) -> tuple[list[Picture], list[str]]:
    plan, name, pictures = facts.plan, facts.plan.experiment.name, list[Picture]()
    with pyplot.style.context(STYLE):
        if tried(facts):
            pictures.append(
                save(
                    draw_tuning(facts),
                    folder,
                    f"{name}-grid",
                    f"What tuning tried: {tuning_caption(facts)}",
                )
            )
        for figure in plan.experiment.figures:
            if figure.over_setting():
                pictures.append(
                    save(
                        draw_over_setting(facts, figure),
                        folder,
                        f"{name}-{figure.name}",
                        figure.title,
                    )
                )
                continue
            pictures.append(
                save(
                    draw_curves(facts, figure, plan.problems),
                    folder,
                    f"{name}-{figure.name}",
                    figure.title,
                )
            )
            for problem in plan.problems if len(plan.problems) > 1 else ():
                pictures.append(
                    save(
                        draw_curves(facts, figure, [problem]),
                        folder,
                        f"{name}-{figure.name}-{problem.name}",
                        figure.title,
                        whole=False,
                    )
                )
    maps, notes = draw_maps(facts, folder, drawn)
    return pictures + maps, notes
