"""Files in a run folder, which may have been put there by a stranger: only a regular file that lies there itself is read,
never what a link leads to, and a link is replaced, never followed, where something is written."""
from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

from ._arguments import LatherError


def read_found(file: Path) -> str:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        number = os.open(file, flags)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise LatherError(f"{file}: it is a link, which may lead anywhere; expected a regular file") from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise LatherError(f"{file}: expected a regular file")
    with os.fdopen(number, encoding="utf-8") as stream:
        return stream.read()


def write_found(file: Path, content: str) -> None:
    new = file.with_name(f".{file.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            stream.write(content)
        os.replace(new, file)
    except BaseException:
        os.unlink(new)
        raise


def read_table(file: Path) -> tuple[list[str], list[list[str]]]:
    """Names and rows of a CSV file of a run; a line that is being written is left out."""
    whole = read_found(file)
    rows = [line.split(",") for line in whole[:whole.rfind("\n") + 1].splitlines()]
    if not rows:
        raise LatherError(f"{file}: expected a line of names")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise LatherError(f"{file}, line {number}: expected {len(rows[0])} values, got {len(row)}")
    return rows[0], rows[1:]
