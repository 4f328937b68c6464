"""lab/reproduce NAME… --budget quick|short|paper: runs experiments and compares with the paper."""
from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

from . import finding, programs, reading
from .collect import collect
from .experiment import Experiment, LabError
from .facts import Facts, save, write_atomically
from .plan import Plan, Training
from .reproduce import Reproduction, rough_time
from .runs import RunStore

EPILOG = """Finished runs are never repeated, interrupted ones are resumed; runs that several experiments
need are shared. Several processes may work in one folder, also on several machines.

examples:
  lab/reproduce small-network
  lab/reproduce all --budget quick
  lab/reproduce final-residual --budget short --device cuda --jobs 16 --time-limit 500
"""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="lab/reproduce",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs experiments of the paper and compares with its numbers.",
    )
    add = parser.add_argument
    add(
        "names",
        nargs="*",
        metavar="NAME",
        help="experiments (--list), files, or all (those of the paper)",
    )
    add(
        "--budget",
        default="quick",
        choices=reading.BUDGETS,
        help="quick (minutes on two cores; default), short (a GPU hour), paper",
    )
    add(
        "--out",
        type=Path,
        help="folder for runs, tables and pages (default: runs/reproduction-BUDGET)",
    )
    add("--device", default="cpu", choices=("cpu", "cuda"))
    add("--jobs", type=int, help="trainings side by side (default: one per core)")
    add(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="save and stop after these; the same command goes on",
    )
    add("--untimed", action="store_true", help="leave runs that must be alone to another process")
    add(
        "--collect",
        action="store_true",
        help="write tables and pages of what is there, run nothing",
    )
    add(
        "--page",
        type=Path,
        help="also write the page here, as Markdown; pictures into a folder of its name",
    )
    add("--quiet", action="store_true", help="no line per run")
    add(
        "--list",
        action="store_true",
        help="list the experiments, or show what the named ones would run",
    )
    add(
        "--check",
        action="store_true",
        help="check that every problem, method and setting exists, in every budget",
    )
    a = parser.parse_args(arguments)
    if not a.names and not a.list:
        parser.error("name an experiment, a file, or all; --list shows the experiments")
    for option in ("jobs", "time_limit"):
        value = getattr(a, option)
        if value is not None and not value > 0:
            parser.error(f"--{option.replace('_', '-')} must be positive")
        if value is not None and a.collect:
            parser.error(
                f"--{option.replace('_', '-')} has no meaning with --collect, which runs nothing"
            )
    return a


def list_experiments(names: list[str]) -> None:
    for experiment in finding.read_experiments(names or finding.list_experiments()):
        print(f"{experiment.name:<24} {experiment.title}")
        for budget in experiment.budgets if names else ():
            describe(Plan(experiment, budget))


def describe(plan: Plan) -> None:
    how = (
        ", one at a time"
        if plan.tunes_alone()
        else ", reported runs one at a time"
        if plan.trains_alone()
        else ""
    )
    print(
        f"  {plan.budget_name:<8} {len(plan.cells)} cells, {plan.run_count()} runs, "
        f"{plan.budget.steps} steps{how}"
    )
    for metric in plan.experiment.metrics:
        if metric.step > plan.budget.steps:
            print(
                f"  {'':<8} no values of '{metric.label}', which is measured at step {metric.step}"
            )


def check_runs(plan: Plan) -> None:
    """Mistakes are caught before time is spent."""
    for place, spec, of_optimizer in plan.specs_to_check():
        try:
            programs.check_optimizer(spec)
            if not of_optimizer:
                programs.check(spec)
        except LabError as error:
            raise LabError(f"{place}: {error}") from None
    for cell in plan.cells:
        spec = plan.run(cell, {}, 1)
        if (
            isinstance(spec, Training)
            and plan.experiment.shows_errors(cell.problem)
            and spec.measures_errors()
            and not programs.has_reference(spec.problem)
        ):
            raise LabError(
                f"{plan.experiment.name}: {cell.problem.name} with {cell.variant.name}: errors "
                "cannot be "
                "measured: the problem has no [reference]; `training.reference = false` in the "
                "settings of "
                "its row leaves them out"
            )


def run_all(plans: list[Plan], store: RunStore, a: argparse.Namespace) -> bool:
    """Whether nobody interrupted it."""
    jobs = a.jobs or len(os.sched_getaffinity(0))
    print_estimate(plans, jobs)
    reproduction = Reproduction(
        plans,
        store,
        jobs,
        not a.untimed,
        (lambda _: None) if a.quiet else (lambda words: print(words, flush=True)),
    )
    interrupted = threading.Event()

    def stop(*_: object) -> None:
        interrupted.set()
        reproduction.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    timer = threading.Timer(a.time_limit, stop) if a.time_limit else None
    if timer:
        timer.daemon = True
        timer.start()
    try:
        reproduction.run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if timer:
            timer.cancel()
    left = reproduction.left
    if left.ended < left.runs:
        seconds = left.seconds()
        print(
            f"{left.ended} of {left.runs} runs have ended"
            + (
                ""
                if seconds is None
                else f"; those that are left take about {rough_time(seconds)} with {jobs} at a time"
            )
        )
    return not interrupted.is_set()


def print_estimate(plans: list[Plan], jobs: int) -> None:
    cost, known = sum(p.budget.cost for p in plans), all(p.budget.cost for p in plans)
    print(
        f"{len(plans)} experiment{'' if len(plans) == 1 else 's'}, "
        f"{sum(len(p.cells) for p in plans)} cells, at most "
        f"{sum(p.run_count() for p in plans)} runs, {jobs} at a time"
        + (
            f"; measured once: {'' if known else 'more than '}{rough_time(cost)} one after "
            "another, so about "
            f"{rough_time(cost / jobs)} here, less what is done"
            if cost
            else ""
        ),
        flush=True,
    )


def write_experiment(facts: Facts, out: Path) -> None:
    from . import tables

    name = facts.plan.experiment.name
    parts = [
        table.markdown()
        for table in (
            tables.values_table(facts),
            tables.checks_table(facts),
            tables.verdict_table(facts),
            tables.settings_table(facts),
        )
        if table
    ]
    parts += [
        f"{entry.title}\n\n{tables.comparison_table(facts, entry).markdown()}"
        for entry in facts.plan.experiment.tables
    ]
    write_atomically(out / f"{name}.md", "\n".join(parts))
    write_atomically(out / f"{name}.csv", tables.long_table(facts).csv())
    write_atomically(out / f"{name}.tex", tables.values_table(facts).latex())


def write_everything(
    all_facts: list[Facts], command: str, out: Path, page_file: Path | None
) -> None:
    from . import figures  # matplotlib takes a second, which runs need not wait for
    from .page import Page, Section

    sections, drawn = [], dict[Path, str]()
    for facts in all_facts:
        write_experiment(facts, out)
        pictures, notes = figures.draw_all(facts, out, drawn)
        sections.append(Section(facts, pictures, notes))
    page = Page(sections, command)
    save(all_facts, out / "figures")
    write_atomically(out / "index.html", page.html())
    for file, folder in [(out / "reproduction.md", out / "figures")] + (
        [(page_file, page_file.with_suffix(""))] if page_file else []
    ):
        save(all_facts, folder)
        write_atomically(file, page.markdown(folder.name))
        for section in sections:
            for picture in section.pictures:
                if picture.whole and picture.svg.parent.resolve() != folder.resolve():
                    shutil.copyfile(picture.svg, folder / picture.svg.name)


def main(arguments: list[str]) -> int:
    a = parse(arguments)
    if a.list:
        list_experiments(a.names)
        return 0
    experiments: list[Experiment] = finding.read_experiments(a.names)
    if a.check:
        for experiment in experiments:
            print(f"{experiment.name:<24} {experiment.title}")
            for budget in experiment.budgets:
                plan = Plan(experiment, budget)
                check_runs(plan)
                describe(plan)
        return 0
    plans = [Plan(experiment, a.budget, a.device) for experiment in experiments]
    for plan in plans:
        _ = plan.budget  # it must have it
    out = a.out or Path("runs") / f"reproduction-{a.budget}"
    store, finished = RunStore(out), True
    if a.collect and not out.is_dir():
        raise LabError(f"--collect: there is no folder '{out}' with runs to write about")
    if not a.collect:
        for plan in plans:
            check_runs(plan)
        finished = run_all(plans, store, a)
    all_facts = [collect(plan, store) for plan in plans]
    device = "" if a.device == "cpu" else f" --device {a.device}"
    write_everything(
        all_facts, f"lab/reproduce {' '.join(a.names)} --budget {a.budget}{device}", out, a.page
    )
    print(
        f"wrote {out}/index.html, {out}/reproduction.md and tables"
        + (f" and {a.page}" if a.page else "")
    )
    complete = sum(facts.is_complete() for facts in all_facts)
    if complete == len(all_facts):
        return 0
    print(
        f"{complete} of {len(all_facts)} experiments are complete; the same command goes on from "
        "here"
    )
    if failures := sum(facts.failure_count() for facts in all_facts):
        print(
            f"{failures} run{'' if failures == 1 else 's'} failed: see the end of the sections of "
            f"{out}/reproduction.md",
            file=sys.stderr,
        )
        return 1
    return 0 if a.collect or (finished and a.untimed) else 130


def run(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except LabError as error:
        print(f"lab/reproduce: {error}", file=sys.stderr)
        return 2
