"""Pictures: curves of methods side by side, what tuning tried, maps of the solution."""
from __future__ import annotations

import math
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import numpy as np  # noqa: E402
from matplotlib import pyplot  # noqa: E402
from matplotlib.colors import LogNorm  # noqa: E402

from . import programs, run_files  # noqa: E402
from .collect import WORST_TENTH, quantile  # noqa: E402
from .experiment import Experiment, Figure, Variant  # noqa: E402
from .facts import Facts, RunFacts, TuningFacts  # noqa: E402
from .measured import Measured  # noqa: E402
from .plan import Cell, last_word, toml_text  # noqa: E402
from .quantities import AXIS_NAMES, ERRORS  # noqa: E402

STYLE = {"svg.fonttype": "none", "svg.hashsalt": "lather", "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 8, "axes.grid": True,
         "grid.color": "#e4e6ea", "grid.linewidth": 0.6, "axes.axisbelow": True, "axes.spines.top": False,
         "axes.spines.right": False, "legend.frameon": False, "path.simplify_threshold": 0.3}
COLUMNS, PANEL = 4, (3.0, 2.5)  # panels beside each other; inches
BEFORE, AFTER = 5, 20  # steps around a change of bases
DECADES = 3  # of held-out losses between the darkest and the lightest field

COLOURS = ("#2c5f8a", "#c8702a", "#3d8b52", "#c23b32", "#7b5aa6", "#8a6a2f", "#c75d9b", "#5f6670")
USUAL = {"adam": 0, "muon": 1, "soap": 2, "purifying-shampoo": 4, "ss-esoap": 3, "lbfgs": 5, "kfac": 5, "ntk": 6,
         "ss-bfgs": 6, "multiadam": 7, "ss-broyden": 7}  # two that share a colour are in no figure of the paper together


@dataclass
class Picture:
    name: str
    caption: str
    svg: Path
    whole: bool = True  # False: a panel of another one, for papers


# -- colours: a variant has the same one in all figures of an experiment, a usual method in all experiments ------


def method_colours(experiment: Experiment) -> dict[str, int]:
    colours: dict[str, int] = {}

    def taken(variant: str) -> set[int]:
        """By the variants that this one is drawn with, so far."""
        return {colour for other, colour in colours.items()
                if any(f.draws(variant) and f.draws(other) for f in experiment.figures)}

    def claim(variant: Variant, method: str) -> None:
        if variant.name not in colours and method in USUAL and USUAL[method] not in taken(variant.name):
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
    return {"color": COLOURS[colour % len(COLOURS)], "linestyle": styles[colour // len(COLOURS) % len(styles)]}


# -- frames ----------------------------------------------------------------------------------------------------


def panels(titles: Sequence[str], columns: int = COLUMNS) -> tuple[Any, list[Any]]:
    across = min(columns, len(titles))
    down = -(-len(titles) // across)
    width = PANEL[0] * across if len(titles) > 1 else 1.7 * PANEL[0]
    figure, axes = pyplot.subplots(down, across, squeeze=False, figsize=(width, PANEL[1] * down + 0.9))
    for axis, title in zip(axes.flat, titles):
        axis.set_title(title, wrap=True)
    for axis in list(axes.flat)[len(titles):]:
        axis.remove()
    return figure, list(axes.flat)[:len(titles)]


def finish(figure: Any, title: str, legend: list[tuple[Any, str]]) -> Any:
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    figure.set_figwidth(max(figure.get_figwidth(), 0.09 * len(title) + 0.2))
    if legend:
        handles, labels = zip(*legend)
        longest = max(map(len, labels))
        per_row = max(1, int(figure.get_figwidth() * 13 / (longest + 6)))
        figure.legend(handles, labels, loc="lower left", ncols=min(len(labels), per_row), fontsize=8.5)
        rows = -(-len(labels) // per_row)
        figure.tight_layout(rect=(0, 0.18 * rows / figure.get_figheight() + 0.02, 1, 1))
    else:
        figure.tight_layout()
    return figure


def save(figure: Any, folder: Path, name: str, caption: str, whole: bool = True) -> Picture:
    """As SVG and as PDF, for LaTeX."""
    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None})
    pyplot.close(figure)
    return Picture(name, caption, folder / f"{name}.svg", whole)


# -- curves over steps, seconds, changes of bases ----------------------------------------------------------------


def draw_seeds(axis: Any, runs: Iterable[RunFacts], figure: Figure, style: dict[str, Any]) -> int:
    """One curve of the seeds that did not diverge: geometric mean, smallest and largest at each step that all of them
    have, at their mean time. Those that diverged are thin, up to where they leave the panel. Returns how many these are."""
    good: list[dict[float, run_files.CurvePoint]] = []
    diverged = 0
    for run in runs:
        if not run.is_done() or run.folder is None:
            continue
        curve = run_files.curve_of(run.folder, figure.quantity)
        if run_files.has_diverged(run_files.read_summary(run.folder) or {}):
            diverged += 1
            places = [p for p in curve if p.value >= 0]
            axis.plot([place_of(p, figure) for p in places], [p.value for p in places],
                      **{**style, "linewidth": 0.7, "linestyle": (0, (2, 2)), "gid": "diverged"})
        elif curve:
            good.append({p.step: p for p in curve})
    rows = [[curve[step] for curve in good] for step in good[0] if all(step in c for c in good)] if good else []
    rows = [row for row in rows if all(p.value >= 0 and math.isfinite(place_of(p, figure)) for p in row)]
    if rows:
        x = [float(np.mean([place_of(p, figure) for p in row])) for row in rows]
        values = np.array([[p.value for p in row] for row in rows])
        with np.errstate(divide="ignore"):
            axis.plot(x, np.exp(np.log(values).mean(axis=1)), linewidth=1.5, **style)
        if len(good) > 1:
            axis.fill_between(x, values.min(axis=1), values.max(axis=1), color=style["color"], alpha=0.15, linewidth=0)
    return diverged


def place_of(point: run_files.CurvePoint, figure: Figure) -> float:
    return point.seconds if figure.over == "seconds" else point.step


def limit_to_good(axis: Any) -> None:
    """Diverged seeds set no scale."""
    values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axis.lines
                             if line.get_gid() != "diverged"] or [np.array([])])
    values = values[np.isfinite(values) & (values > 0)]
    if len(values):
        axis.set_ylim(values.min() / 2, values.max() * 2)


def loss_ratios(folder: Path) -> dict[int, list[float]]:
    """Losses divided by that at a change of bases, by how many steps later they are."""
    losses = {p.step: p.value for p in run_files.curve_of(folder, "training_loss")}
    ratios: dict[int, list[float]] = defaultdict(list)
    for step in {event.get("step") for event in run_files.changes_of_bases(folder)}:  # several layers count once
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
            runs, style = facts.runs.get((problem.name, variant.name), []), line_style(colours[variant.name])
            counts[variant.name] += draw_changes(axis, runs, style) if figure.over == "changes" else \
                draw_seeds(axis, runs, figure, style)
        axis.set_yscale("log", nonpositive="clip")
        limit_to_good(axis)
        axis.set_xlabel({"changes": "steps after a change of basis"}.get(figure.over, figure.over))
    axes[0].set_ylabel("loss / loss at the change,\nnine tenths of all changes lie below"
                       if figure.over == "changes" else
                       AXIS_NAMES.get(figure.quantity, figure.quantity.removeprefix("task.").replace("_", " ")))

    def label(variant: Variant) -> str:
        n = counts[variant.name]
        if figure.over == "changes":
            return f"{variant.label} ({n} changes)"
        return variant.label + (f" ({n} seed{'' if n == 1 else 's'} diverged)" if n else "")

    handles = [(pyplot.Line2D([], [], **line_style(colours[v.name])), label(v)) for v in variants]
    return finish(drawing, figure.title or plan.experiment.title, handles)


# -- a metric over a setting ---------------------------------------------------------------------------------------


def draw_over_setting(facts: Facts, figure: Figure) -> Any:
    """One point per problem; where a method has no value its curve ends with a cross, and the legend says why."""
    plan, colours, metric = facts.plan, method_colours(facts.plan.experiment), figure.metric
    assert metric is not None
    places = sorted(((plan.budget.number_set(p, figure.over) or 0.0, p) for p in plan.problems), key=lambda pair: pair[0])
    drawing, [axis] = panels([""])
    drawing.set_size_inches(6.5, 4)
    legend = []
    for variant in (v for v in plan.variants if figure.draws(v.name)):
        style, missing = line_style(colours[variant.name]), defaultdict(list)
        points: list[tuple[float, Measured | None]] = []
        for x, problem in places:
            measured = facts.measure(metric, problem.name, variant.name) if plan.has(
                problem.name, variant.name) else None
            shown = measured is not None and measured.is_known() and min(measured.values) >= 0
            points.append((x, measured if shown else None))
            if not shown:
                reason = "not run" if measured is None else "negative" if measured.is_known() else measured.text()
                missing[reason].append(f"{x:g}")
        y = [m.centre() if m else math.nan for _, m in points]
        x_all = [x for x, _ in points]
        axis.plot(x_all, y, marker="o", markersize=4, linewidth=1.5, **style)
        axis.fill_between(x_all, [min(m.values) if m else math.nan for _, m in points],
                          [max(m.values) if m else math.nan for _, m in points], color=style["color"], alpha=0.15)
        for (x, m), (_, following) in zip(points, points[1:]):
            if m and not following:
                axis.plot([x], [m.centre()], marker="x", markersize=9, color=style["color"])
        reasons = "; ".join(f"{reason} at {', '.join(at)}" for reason, at in missing.items())
        legend.append((pyplot.Line2D([], [], marker="o", markersize=4, **style),
                       variant.label + (f" ({reasons})" if reasons else "")))
    axis.set(xscale="log", yscale="log", xlabel=figure.over.replace(".", " "), ylabel=metric.label)
    axis.set_xticks([x for x, _ in places], [f"{x:g}" for x, _ in places])
    axis.minorticks_off()
    return finish(drawing, figure.title or plan.experiment.title, legend)


# -- what tuning tried ---------------------------------------------------------------------------------------------


def tried(facts: Facts) -> list[tuple[Cell, TuningFacts]]:
    return [(cell, facts.tuning[cell.key]) for cell in facts.plan.cells if cell.key in facts.tuning]


def draw_tuning(facts: Facts) -> Any:
    """A row per method and further axes, a column per value of the axis that most methods search, the choice framed."""
    plan, cells = facts.plan, tried(facts)
    searched = [path for cell, _ in cells for path in cell.candidates[0]]
    axis_path = max(dict.fromkeys(searched), key=searched.count)
    columns = sorted({cell_value(c, axis_path) for cell, _ in cells for c in cell.candidates},
                     key=lambda text: (float(text) if is_number(text) else math.inf, text))

    def row_name(cell: Cell, candidate: dict[str, Any]) -> str:
        return ", ".join([cell.variant.label, *(f"{last_word(p)} {toml_text(v)}" for p, v in candidate.items()
                                                if p != axis_path)])

    rows = list(dict.fromkeys(row_name(cell, c) for cell, _ in cells for c in cell.candidates))
    problems = [p for p in plan.problems if any(cell.problem is p for cell, _ in cells)]
    across = max(1, min(len(problems), 14 // (len(columns) + 2) or 1))
    drawing, axes = panels([plan.label(p) for p in problems], across)
    name_room = max(map(len, rows)) * 0.068
    drawing.set_size_inches(across * (0.62 * len(columns) + 0.4) + name_room,
                            -(-len(problems) // across) * (0.24 * len(rows) + 0.95) + 0.5)
    for k, (axis, problem) in enumerate(zip(axes, problems)):
        values = np.full((len(rows), len(columns)), np.nan)
        framed, no_value = [], []
        for cell, tuning in cells:
            if cell.problem is not problem:
                continue
            for candidate, loss in zip(cell.candidates, tuning.losses):
                at = rows.index(row_name(cell, candidate)), columns.index(cell_value(candidate, axis_path))
                values[at] = loss
                framed += [at] if candidate == tuning.chosen else []
                no_value += [at] if not math.isfinite(loss) else []
        draw_fields(axis, values, framed, no_value)
        axis.set_xticks(range(len(columns)), columns)
        axis.set_yticks(range(len(rows)), rows if k % across == 0 else [])
        axis.set_xlabel(last_word(axis_path))
    return finish(drawing, tuning_caption(facts), [])


def draw_fields(axis: Any, values: np.ndarray, framed: list[tuple[int, int]], no_value: list[tuple[int, int]]) -> None:
    good = values[np.isfinite(values) & (values > 0)]
    best = float(good.min()) if good.size else 1.0
    shown = np.clip(np.where(np.isfinite(values), values, np.nan), best, best * 10 ** DECADES)
    axis.imshow(shown, norm=LogNorm(best, best * 10 ** DECADES), cmap="viridis", aspect="auto")
    axis.grid(False)
    axis.tick_params(length=0)
    for (row, column), value in np.ndenumerate(values):
        if math.isfinite(value):
            light = value > best * 10 ** (0.55 * DECADES)
            axis.text(column, row, f"{value:.1e}", ha="center", va="center", fontsize=7,
                      color="#14161a" if light else "#ffffff")
    for row, column in no_value:
        axis.text(column, row, "no value", ha="center", va="center", fontsize=7, color="#6a6f78")
    for row, column in framed:
        axis.add_patch(pyplot.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="#d03a2b",
                                        linewidth=2, clip_on=False))


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


# -- maps ----------------------------------------------------------------------------------------------------------


def best_cell(facts: Facts, problem: str) -> tuple[Cell | None, str]:
    """The variant with the lowest value in the table, of those with a result in every seed, and what it is best by: the
    first error among the metrics or the first ranked one."""
    metrics = facts.plan.experiment.metrics
    metric = next((m for m in metrics if m.quantity in ERRORS), next((m for m in metrics if m.ranked), None))
    found = [(m.centre(), m.rank_value(), cell) for cell in facts.plan.cells
             if metric and cell.problem.name == problem and (m := facts.measured_in(cell, metric)).is_known()]
    complete = [entry for entry in found if entry[1] is not None and math.isfinite(entry[1])]
    if not metric or not complete:
        return None, ""
    lowest, _, cell = min(complete, key=lambda entry: entry[0])
    more = ", of those with a result in every seed" if min(e[0] for e in found) < lowest else ""
    return cell, f"the best here by {metric.label} in the table{more}"


def draw_maps(facts: Facts, folder: Path, drawn: dict[Path, str]) -> tuple[list[Picture], list[str]]:
    """Reference, prediction and error of seed 1, drawn by `lather report`; and what could not be drawn. `drawn`: runs
    that other sections of the page have."""
    plan, pictures, notes = facts.plan, list[Picture](), list[str]()
    for problem in plan.problems:
        if problem.name not in plan.experiment.maps.problems:
            continue
        best, words = best_cell(facts, problem.name)
        wanted = next((c for c in plan.cells if c.key == (problem.name, plan.experiment.maps.variant)), None)
        cells = [(best, words)] if best else []
        if wanted and wanted is not best:
            cells.append((wanted, ""))
        for cell, which in cells:
            what = f"{plan.label(problem)} with {cell.variant.label}" + (f" ({which})" if which else "")
            run = facts.runs.get(cell.key, [RunFacts()])[0]
            if not run.is_done() or run.folder is None:
                notes.append(f"No maps of {what}: its run has not ended.")
            elif run.folder in drawn:
                notes.append(f"Maps of {what}: see \"{drawn[run.folder]}\", which has them of the same run.")
            elif fault := draw_map(run.folder, folder / f"{plan.experiment.name}-maps-{'-'.join(cell.key)}"):
                notes.append(f"No maps of {what}: {fault}")
            else:
                name = f"{plan.experiment.name}-maps-{'-'.join(cell.key)}"
                pictures.append(Picture(name, f"{what}: reference, prediction and its error, seed 1, "
                                        f"{numbers_of(run.folder)}", folder / f"{name}.svg"))
                drawn[run.folder] = plan.experiment.title
    return pictures, notes


def draw_map(run: Path, file: Path) -> str:
    """As SVG and PDF; returns why it could not be drawn."""
    if not (run / "fields.json").exists():
        return f"{run} kept no fields; without this folder the same command trains it again."
    with tempfile.TemporaryDirectory() as scratch:
        for ending in (".svg", ".pdf"):
            done = subprocess.run([programs.lather_command(), "report", str(run), "--out", f"{scratch}/page.html",
                                   "--figure", f"{file}{ending}", "--panel", "maps"], capture_output=True, text=True,
                                  check=False)
            if done.returncode:
                return done.stderr.strip().removeprefix("lather: ")
    return ""


def numbers_of(run: Path) -> str:
    """For the parameters that the maps show: those of the best held-out step."""
    best = (run_files.read_summary(run) or {}).get("best", {})
    errors = [f", relative L² error of {field} {error:.2e}" for field, error in best.get("l2", {}).items()
              if error is not None]
    return f"best held-out step {best.get('step')}" + "".join(errors)


# -- all of them ---------------------------------------------------------------------------------------------------


def draw_all(facts: Facts, folder: Path, drawn: dict[Path, str]) -> tuple[list[Picture], list[str]]:
    plan, name, pictures = facts.plan, facts.plan.experiment.name, list[Picture]()
    with matplotlib.rc_context(STYLE):
        if tried(facts):
            pictures.append(save(draw_tuning(facts), folder, f"{name}-grid",
                                 f"What tuning tried: {tuning_caption(facts)}"))
        for figure in plan.experiment.figures:
            if figure.over_setting():
                pictures.append(save(draw_over_setting(facts, figure), folder, f"{name}-{figure.name}", figure.title))
                continue
            pictures.append(save(draw_curves(facts, figure, plan.problems), folder, f"{name}-{figure.name}",
                                 figure.title))
            for problem in plan.problems if len(plan.problems) > 1 else ():
                pictures.append(save(draw_curves(facts, figure, [problem]), folder,
                                     f"{name}-{figure.name}-{problem.name}", figure.title, whole=False))
    maps, notes = draw_maps(facts, folder, drawn)
    return pictures + maps, notes
