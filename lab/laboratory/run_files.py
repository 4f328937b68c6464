"""What a run has left in its folder: its summary, its curves, its log of changes of bases."""
from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .experiment import Metric
from .quantities import ERRORS, RESIDUALS, is_task_metric

BLOW_UP = 10  # a held-out loss above this many times the starting one has diverged
UNSOLVED, OTHER_UNKNOWN = 0.5, 0.1  # L² error; relative distance of an unknown from its known value
GIGABYTE, DOUBLE = 1e9, 8

Summary = dict[str, Any]


def read_json(file: Path) -> Any:
    """None if it is not there or damaged."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def read_summary(folder: Path) -> Summary | None:
    """Of a run that has ended, however."""
    summary = read_json(folder / "summary.json")
    ended = isinstance(summary, dict) and summary.get("reason", "interrupted") != "interrupted"
    return summary if ended else None


def number(table: Any, key: str) -> float:
    value = table.get(key) if isinstance(table, dict) else None
    return (
        float(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool)
        else math.nan
    )


def worst(table: Any) -> float:
    """The largest number over all fields; not a number if there is none."""
    values = [number(table, key) for key in table] if isinstance(table, dict) else []
    return max((v for v in values if not math.isnan(v)), default=math.nan)


def has_diverged(summary: Summary) -> bool:
    """Ended with what is not a number, or with a held-out loss far above the starting one."""
    return summary.get("reason") == "non_finite" or (
        number(summary.get("final"), "validation_loss") > BLOW_UP * number(summary, "starting_loss")
    )


def is_unsolved(summary: Summary, best: bool) -> bool:
    """Its residual belongs to something else than the solution; False also where errors are not
    measured."""

    def distance(unknown: Any) -> float:
        return (
            abs(number(unknown, "value" if best else "last") / number(unknown, "known") - 1)
            if number(unknown, "known")
            else math.nan
        )

    unknowns = [distance(u) for u in summary.get("unknowns", {}).values()]
    return worst(summary.get("best" if best else "final", {}).get("l2")) > UNSOLVED or any(
        d > OTHER_UNKNOWN for d in unknowns
    )


def lines_of(file: Path) -> Iterator[dict[str, Any]]:
    if not file.exists():
        return
    with file.open(encoding="utf-8") as lines:
        for text in lines:
            try:
                line = json.loads(text)
            except ValueError:  # cut short by a kill
                continue
            if isinstance(line, dict):
                yield line


@dataclass
class CurvePoint:
    step: float
    seconds: float  # infinite where not known
    value: float


def curve_of(folder: Path, quantity: str) -> list[CurvePoint]:
    """The quantity at every validation of a run, the training loss at every recorded step."""
    seconds: dict[float, float] = {}
    if (folder / "timing.csv").exists():
        with (folder / "timing.csv").open(encoding="utf-8", newline="") as lines:
            for row in csv.reader(lines):
                try:
                    seconds[float(row[0])] = float(row[1])
                except (ValueError, IndexError):  # the heading, a line cut short
                    continue
    column = {"mean_square": "residual", "loss": "validation_loss", "training_loss": "loss"}.get(
        quantity, quantity
    )
    points = []
    for line in lines_of(folder / "history.jsonl"):
        value = (
            worst({key: line[key] for key in line if key.startswith(f"{quantity}.")})
            if quantity in ERRORS
            else number(line, column)
        )
        if math.isfinite(value):
            step = number(line, "step")
            points.append(
                CurvePoint(
                    step,
                    seconds.get(step, math.inf),
                    value**2 if quantity == "mean_square" else value,
                )
            )
    return points


def value_of(metric: Metric, summary: Summary, folder: Path, best: bool) -> float:
    """Not a number if it is not known; infinite for a target that was not reached."""
    at = summary.get("best" if best else "final", {})
    quantity = metric.quantity
    if is_task_metric(quantity):
        return task_value(metric, at, folder)
    if quantity in RESIDUALS:
        value = number(
            at, {"loss": "validation_loss", "mean_square": "residual"}.get(quantity, quantity)
        )
        return value**2 if quantity == "mean_square" else value
    if quantity in ERRORS:
        return worst(at.get(quantity))
    if quantity == "seconds":
        return number(summary, "seconds")
    if quantity == "seconds_to_target":
        return next(
            (p.seconds for p in curve_of(folder, "mean_square") if p.value <= metric.target),
            math.inf,
        )
    if quantity == "seconds_per_1000_steps":
        return 1000 / (number(summary, "steps_per_second") or math.nan)
    if quantity == "memory":
        device = number(summary, "peak_device_bytes")
        return (device if device > 0 else number(summary, "peak_host_bytes")) / GIGABYTE
    if quantity == "basis_share":
        return number(summary, "basis_updates") / (
            number(summary, "step") * number(summary, "matrices") or math.nan
        )
    if quantity == "storage":
        return number(summary, "optimizer_bytes") / DOUBLE / number(summary, "parameters")
    return tau_share(summary, quantity.removeprefix("tau_"))


def task_value(metric: Metric, at: Any, folder: Path) -> float:
    if metric.largest:
        return max((p.value for p in curve_of(folder, metric.quantity)), default=math.nan)
    if metric.step:
        return next(
            (p.value for p in curve_of(folder, metric.quantity) if p.step == metric.step), math.nan
        )
    return number(at.get("task"), metric.quantity.removeprefix("task."))


def tau_share(summary: Summary, key: str) -> float:
    """Mean over the layers, weighted by how often each had a secant."""
    layers = summary.get("tau", {}).values()
    steps = sum(number(layer, "steps") for layer in layers)
    return (
        sum(number(layer, "steps") * number(layer, key) for layer in layers) / steps
        if steps
        else math.nan
    )


def tau_parts(summary: Summary) -> list[float]:
    """Steps with a secant; those in which tau was 1, tau_min, without curvature; and in eleven
    parts of its range."""
    sums = [0.0] * 15
    for layer in summary.get("tau", {}).values():
        steps = number(layer, "steps")
        parts = [
            1,
            *(number(layer, key) for key in ("at_one", "at_least", "no_curvature")),
            *layer.get("parts", []),
        ]
        for k, share in enumerate(parts[:15]):
            sums[k] += steps * share
    return sums


def changes_of_bases(folder: Path) -> Iterator[dict[str, Any]]:
    """Without the bases of the first step, which replace none; logs of earlier versions have a
    cosine even there."""
    for event in lines_of(folder / "events.jsonl"):
        if "gradient_cosine" in event and event.get("step") != 1:
            yield event
