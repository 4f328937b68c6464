"""Runs in one folder, each under a name made of everything its numbers depend on: experiments
that need the same run share it, a finished one is never repeated, an interrupted one is
resumed, and several processes may work at once."""
from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import programs, run_files
from .measured import FAILED, OUT_OF_MEMORY
from .plan import RunSpec, Training
from .programs import ENDED_STATUSES, INTERRUPTED_STATUS, NO_MEMORY_STATUS

# How a run stands; the first three are results, which are never repeated.
DONE = "done"  # whatever the result: also without reaching a target, or not a number at the end
MISSING, INTERRUPTED = "not begun", "interrupted, to be resumed"
ELSEWHERE = "another process has it"
CROWDED_OUT = "no memory beside other runs"  # to be repeated alone

# What is kept of a finished run (there are hundreds of them): its history with the data for maps,
# its history, or only its configuration and its summary. A history comes with the log of changes of
# bases, unless that is long and nobody has asked for it.
KEEP_MAPS, KEEP_HISTORY, KEEP_SUMMARY = "maps", "history", "summary"
MOST_EVENT_BYTES = 1 << 20
MOST_MAP_POINTS = 65  # along an axis, if it can be halved down to that


@dataclass
class RunRecord:
    status: str = MISSING
    folder: Path | None = None
    message: str = ""  # why it ended or failed
    was_there: bool = False  # it had ended before it was asked for
    notes: list[str] = field(default_factory=list)  # of resuming it

    def is_result(self) -> bool:
        return self.status in (DONE, OUT_OF_MEMORY)

    def has_ended(self) -> bool:
        return self.is_result() or self.status == FAILED


class RunStore:
    def __init__(self, out: Path) -> None:
        self.folder = out / "runs"
        self._whole_logs: set[Path] = set()
        self._children: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self._stopped = False

    def folder_of(self, spec: RunSpec, alone: bool) -> Path:
        """`alone`: time is measured or ends it, so it must not run alongside others."""
        if isinstance(spec, Training):
            label = f"{Path(spec.problem).stem}-{spec.optimizer}-{spec.seed}"
        else:
            label = f"{spec.task}-{json.loads(spec.optimizer)['name']}-{spec.seed}"
        return self.folder / f"{label}-{identity(spec)}{'-alone' if alone else ''}"

    def find(self, spec: RunSpec, alone: bool) -> RunRecord:
        folder = self.folder_of(spec, alone)
        failure = run_files.read_json(folder / "failure.json")
        if isinstance(failure, dict):
            return RunRecord(failure.get("status", FAILED), folder, failure.get("message", ""))
        summary = run_files.read_summary(folder)
        if summary is not None:
            return RunRecord(DONE, folder, summary.get("message", ""))
        return RunRecord(INTERRUPTED if (folder / "config.json").exists() else MISSING, folder)

    def keep_whole_log_of(self, spec: RunSpec, alone: bool) -> None:
        """To be called before the first run."""
        self._whole_logs.add(self.folder_of(spec, alone))

    def stop(self) -> None:
        """Asks all runs of this process to save and end."""
        with self._guard:
            self._stopped = True
            for child in self._children:
                if child.poll() is None:
                    child.send_signal(signal.SIGINT)

    def run(self, spec: RunSpec, alone: bool, keep: str, has_company: bool) -> RunRecord:
        """Starts or resumes the run; returns at once if it is done. An error is a status.
        `has_company`: other runs of this process may be taking memory at the same time."""
        folder = self.folder_of(spec, alone)
        with claimed(self.folder / ".locks" / folder.name) as lock:
            if lock is None:
                return RunRecord(ELSEWHERE, folder)
            record = self.find(spec, alone)
            if record.is_result():
                record.was_there = True
                return record
            (folder / "failure.json").unlink(missing_ok=True)
            return self._go_on(spec, record, keep, alone, has_company, lock)

    def _go_on(
        self, spec: RunSpec, record: RunRecord, keep: str, alone: bool, has_company: bool, lock: int
    ) -> RunRecord:
        folder, notes = record.folder or Path(), list[str]()
        resumes = record.status == INTERRUPTED
        here = isinstance(spec, Training) and spec.device == "cuda" and not alone
        start = self._start_here if here else self._start
        status, said = start(spec, folder, resumes, lock)
        expected = (*ENDED_STATUSES, INTERRUPTED_STATUS, NO_MEMORY_STATUS)
        if resumes and status not in expected and not self._stopped:
            notes.append(f"it starts over: {said}")
            shutil.rmtree(folder, ignore_errors=True)
            status, said = start(spec, folder, False, lock)
        if status in ENDED_STATUSES and run_files.read_summary(folder) is not None:
            leave_out(folder, keep, folder in self._whole_logs)
            found = run_files.read_summary(folder) or {}
            return RunRecord(DONE, folder, found.get("message", ""), notes=notes)
        if status == INTERRUPTED_STATUS or self._stopped:
            leave_out_of_interrupted(folder)
            return RunRecord(INTERRUPTED, folder, notes=notes)
        # Only a run that had the memory to itself has shown that it needs more than there is.
        if status == NO_MEMORY_STATUS and has_company and not alone:
            return RunRecord(CROWDED_OUT, folder, said)
        kind = OUT_OF_MEMORY if status == NO_MEMORY_STATUS else FAILED
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "failure.json").write_text(
            json.dumps({"status": kind, "message": said}, indent=2) + "\n"
        )
        return RunRecord(kind, folder, said, notes=notes)

    def _start_here(self, spec: RunSpec, folder: Path, resumes: bool, lock: int) -> tuple[int, str]:
        assert isinstance(spec, Training)
        return programs.train_here(spec, folder, resumes, lambda: self._stopped)

    def _start(self, spec: RunSpec, folder: Path, resumes: bool, lock: int) -> tuple[int, str]:
        """The exit status and the last line of what was said. The lock is the child's as well: it
        holds even if this process is killed."""
        command = programs.command_for(spec, folder, resumes)
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._guard:
            if self._stopped:
                return INTERRUPTED_STATUS, ""
            try:
                child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    pass_fds=(lock,),
                    start_new_session=True,
                )
            except OSError as error:
                return 2, str(error)
            self._children.add(child)
        said = child.communicate()[1].decode("utf-8", "replace").strip().splitlines()
        with self._guard:
            self._children.discard(child)
        if child.returncode < 0:
            return child.returncode, f"ended by the signal {signal.Signals(-child.returncode).name}"
        return child.returncode, said[-1].removeprefix("lather: ") if said else ""


@contextmanager
def claimed(file: Path) -> Iterator[int | None]:
    """The exclusive right to work on a run until the end of the block; None if another process
    or thread has it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield descriptor
    finally:
        os.close(descriptor)


def identity(spec: RunSpec) -> str:
    """A checksum of everything the numbers of a run depend on: its settings, the problem as it
    stands, and the defaults of its method."""
    parts: dict[str, Any] = asdict(spec)
    if isinstance(spec, Training):
        parts["problem"] = programs.problem_identity(spec.problem)
        parts["defaults"] = programs.optimizer_defaults(spec.optimizer)
    else:
        parts["defaults"] = programs.optimizer_defaults(json.loads(spec.optimizer)["name"])
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def leave_out(folder: Path, keep: str, whole_log: bool) -> None:
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    for name in ("history.csv", "diagnostics.jsonl"):
        (folder / name).unlink(missing_ok=True)
    fields = folder / "fields.json"
    if keep == KEEP_MAPS and fields.exists():
        fields.write_text(json.dumps(thinned(json.loads(fields.read_text()))) + "\n")
    else:
        fields.unlink(missing_ok=True)
    if keep == KEEP_SUMMARY:
        for name in ("events.jsonl", "history.jsonl", "timing.csv", "environment.json"):
            (folder / name).unlink(missing_ok=True)
        return
    events = folder / "events.jsonl"  # empty for most methods, large if every step has some
    if events.exists() and (
        events.stat().st_size == 0 or (events.stat().st_size > MOST_EVENT_BYTES and not whole_log)
    ):
        events.unlink()


def leave_out_of_interrupted(folder: Path) -> None:
    """It resumes from its newest checkpoint, just written; those of large networks are tens of
    megabytes."""
    for checkpoint in sorted((folder / "checkpoints").glob("*.checkpoint"))[:-1]:
        checkpoint.unlink(missing_ok=True)
    (folder / "fields.json").unlink(missing_ok=True)


def thinned(fields: dict[str, Any]) -> dict[str, Any]:
    """As much of fields.json as a map of a few hundred pixels shows: without residuals, six
    digits, axes with too many points thinned out, ends included."""
    axes = fields["axes"]

    def stride(points: int) -> int:
        step = 1
        while (points - 1) // step + 1 > MOST_MAP_POINTS and (points - 1) % (2 * step) == 0:
            step *= 2
        return step

    slices = tuple(slice(None, None, stride(len(axis))) for axis in axes)

    def kept(values: list[Any]) -> list[Any]:
        whole = np.array([np.nan if v is None else v for v in values], dtype=float)
        array = whole.reshape([len(axis) for axis in axes])[slices].ravel()
        return [None if np.isnan(v) else float(f"{v:.6g}") for v in array]

    result = dict(fields, axes=[axis[part] for axis, part in zip(axes, slices)])
    for kind in ("arrays", "physical"):
        if kind in fields:
            result[kind] = {
                name: kept(values)
                for name, values in fields[kind].items()
                if not name.startswith("residual.")
            }
    return result
