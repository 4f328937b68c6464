"""What runs are made with: `lather train`, lab_matrix for the paper's matrix problems, and the
Python package `lather` for what problems and optimizers say about themselves."""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from .experiment import LabError
from .plan import MatrixRun, RunSpec, Training

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release" / "bin"
# Exit statuses of the programs; 3: not a number at the end, or a target missed.
ENDED_STATUSES, NO_MEMORY_STATUS, INTERRUPTED_STATUS = (0, 3), 4, 130


@cache
def program(name: str, variable: str) -> str:
    """From the environment, the build of this tree, or the PATH."""
    for candidate in (os.environ.get(variable), str(BUILD / name), shutil.which(name)):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise LabError(
        f"the program '{name}' is not there: build it (make build), or set {variable} to where "
        "it is"
    )


def lather_command() -> str:
    return program("lather", "LATHER_COMMAND")


def matrix_command() -> str:
    return program("lab_matrix", "LATHER_LAB_MATRIX")


@cache
def package() -> Any:
    """The Python package `lather` of this tree."""
    if str(ROOT / "python") not in sys.path:
        sys.path.insert(0, str(ROOT / "python"))
    try:
        import lather  # type: ignore[import-not-found,import-untyped]
    except ImportError as error:
        raise LabError(f"the Python package lather cannot be loaded: {error}") from None
    return lather


def command_for(spec: RunSpec, folder: Path, resumes: bool) -> list[str]:
    if isinstance(spec, MatrixRun):
        return [matrix_command(), "run", json.dumps(asdict(spec)), str(folder)]
    if resumes:
        return [lather_command(), "train", "--quiet", "--resume", str(folder)]
    command = [
        lather_command(),
        "train",
        spec.problem,
        "--quiet",
        "--recipe",
        spec.recipe,
        "--optimizer",
        spec.optimizer,
        "--seed",
        str(spec.seed),
        "--steps",
        str(spec.steps),
        "--threads",
        "1",
        "--out",
        str(folder),
    ]
    command += [word for path, value in spec.settings for word in ("--set", f"{path}={value}")]
    if spec.seconds:
        command += ["--time", repr(spec.seconds)]
    return command + (["--device", spec.device] if spec.device != "cpu" else [])


def train_here(
    spec: Training, folder: Path, resumes: bool, stopped: Callable[[], bool]
) -> tuple[int, str]:
    """In this process, by the Python package: runs side by side on one GPU then overlap, which
    those of several processes do not. Returns what `lather train` would: its exit status and
    the last line of what was said."""
    lather = package()

    def watch(_: Any) -> bool:
        return stopped()

    try:
        if resumes:
            run = lather.resume(folder, callback=watch, progress=False)
        else:
            run = problem_called(spec.problem).train(
                spec.optimizer,
                recipe=spec.recipe,
                settings=settings_of(spec),
                seed=spec.seed,
                steps=spec.steps,
                seconds=spec.seconds or None,
                threads=1,
                device=spec.device,
                folder=folder,
                callback=watch,
                progress=False,
            )
    except MemoryError as error:
        return NO_MEMORY_STATUS, str(error)
    except (lather.LatherError, RuntimeError) as error:
        return 2, str(error)
    return INTERRUPTED_STATUS if run.reason == "interrupted" else 0, run.message


@cache
def check(spec: RunSpec) -> None:
    """Raises LabError if the run cannot be made: a name, a setting or a value does not exist."""
    if isinstance(spec, MatrixRun):
        done = subprocess.run(
            [matrix_command(), "check", json.dumps(asdict(spec))],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise LabError(done.stderr.strip().removeprefix("lab_matrix: "))
        return
    try:
        problem_called(spec.problem).objective(
            spec.optimizer, recipe=spec.recipe, settings=settings_of(spec)
        )
    except package().LatherError as error:
        raise LabError(str(error)) from None


def check_optimizer(spec: RunSpec) -> None:
    """The same for its optimizer's settings alone, which is much quicker."""
    if isinstance(spec, MatrixRun):
        settings = json.loads(spec.optimizer)
    else:
        settings = {"name": spec.optimizer}
        for path, value in settings_of(spec).items():
            owner, *above, last = path.split(".")
            if owner == "optimizer":
                place = settings
                for key in above:
                    place = place.setdefault(key, {})
                place[last] = value
    try:
        package().Optimizer(settings, {"W": (2, 2)})
    except package().LatherError as error:
        raise LabError(str(error)) from None


def settings_of(spec: Training) -> dict[str, Any]:
    return {path: tomllib.loads(f"value = {value}")["value"] for path, value in spec.settings}


@cache
def problem_called(name: str) -> Any:
    try:
        return package().Problem(name)
    except package().LatherError as error:
        raise LabError(str(error)) from None


def has_reference(name: str) -> bool:
    """Whether errors can be measured."""
    return "reference" in tomllib.loads(problem_called(name).text)


def files_named_in(tree: Any, folder: Path) -> Iterator[Path]:
    """Data files, tables, meshes beside a problem file."""
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        if (
            isinstance(item, str)
            and len(item) < 256
            and "\n" not in item
            and (folder / item).is_file()
        ):
            yield folder / item
        yield from files_named_in(item, folder)


@cache
def problem_identity(name: str) -> str:
    """Where a problem lies does not matter, what its files say does."""
    problem = problem_called(name)
    known = hashlib.sha256(problem.text.encode())
    for file in files_named_in(tomllib.loads(problem.text), Path(problem.info["file"]).parent):
        known.update(file.read_bytes())
    return f"{problem.name}-{known.hexdigest()}"


@cache
def optimizer_defaults(name: str) -> Any:
    try:
        return package().optimizers(name)["options"]
    except package().LatherError as error:
        raise LabError(str(error)) from None
