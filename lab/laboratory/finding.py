"""Experiments by name or file, several at a time."""
from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path

from .experiment import Experiment, LabError
from .reading import read_experiment
from .toml_tables import at, unknown

EXPERIMENTS = Path(__file__).resolve().parent.parent / "experiments"


def read_experiment_file(file: str | os.PathLike[str]) -> Experiment:
    path = Path(file)

    def read() -> Experiment:
        try:
            return read_experiment(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise LabError(f"cannot be read: {error}") from None
        except tomllib.TOMLDecodeError as error:
            raise LabError(str(error)) from None

    experiment = at(str(path), read)
    experiment.folder = str(path.parent)
    return experiment


def list_experiments() -> list[str]:
    return sorted(file.stem for file in EXPERIMENTS.glob("*.toml"))


def find_experiment(name_or_path: str) -> Path:
    """A bundled experiment by its name, or a file."""
    if name_or_path in list_experiments():
        return EXPERIMENTS / f"{name_or_path}.toml"
    path = Path(name_or_path)
    if path.is_file():
        return path
    if path.is_dir():
        raise LabError(f"'{name_or_path}' is a folder, not an experiment file")
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        raise LabError(f"there is no file '{name_or_path}'")
    raise LabError(unknown("experiment", name_or_path, [*list_experiments(), "all"]))


def read_experiments(names: Iterable[str]) -> list[Experiment]:
    """Those with these names; "all": every one that has a place in the paper, not our own
    studies."""
    found: list[tuple[Path, Experiment]] = []
    for name in names:
        for each in list_experiments() if name == "all" else [name]:
            file = find_experiment(each)
            experiment = read_experiment_file(file)
            if name != "all" or not experiment.is_study():
                found.append((file, experiment))
    writers: dict[str, tuple[Path, Experiment]] = {}
    for file, experiment in found:
        for output in experiment.output_files():
            if output in writers:
                other, earlier = writers[output]
                if file.samefile(other):
                    raise LabError(
                        f"the experiment '{experiment.name}' is given twice (`all` includes "
                        "those of the "
                        "paper)"
                    )
                raise LabError(
                    f"{other} ('{earlier.name}') and {file} ('{experiment.name}') would both write "
                    f"{output}: give one of them another name"
                )
            writers[output] = (file, experiment)
    return [experiment for _, experiment in found]
