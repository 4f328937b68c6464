"""Reads the tables of an experiment file: what is missing, misspelt or of another kind is a
LabError."""
from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from .experiment import LabError, Settings

NOTHING = object()
T = TypeVar("T")


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    known = sorted(set(known))
    nearest = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else f"; known: {', '.join(known)}"
    return f"unknown {what} '{name}'{hint}"


def require_known(what: str, name: str, known: Iterable[str]) -> str:
    known = list(known)
    if name not in known:
        raise LabError(unknown(what, name, known))
    return name


def flatten(table: dict[str, Any], path: str = "") -> Settings:
    """network.width = 20 is a table in a table: values by path."""
    settings: Settings = {}
    for key, value in table.items():
        here = f"{path}.{key}" if path else key
        settings.update(flatten(value, here) if isinstance(value, dict) else {here: value})
    return settings


class Reader:
    """One table of the file: its keys are asked for, then done() names what is left."""

    def __init__(self, table: Any, what: str) -> None:
        if not isinstance(table, dict):
            raise LabError(f"{what} must be a table")
        self.table, self.what, self.known = table, what, list[str]()

    def get(
        self, key: str, kind: type | tuple[type, ...], words: str, otherwise: Any = NOTHING
    ) -> Any:
        self.known.append(key)
        if key not in self.table:
            if otherwise is NOTHING:
                raise LabError(f"{key} is missing")
            return otherwise
        value = self.table[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise LabError(f"{key} must be {words}, not {value!r}")
        return value

    def text(self, key: str, otherwise: Any = "") -> str:
        value = self.get(key, str, "a text", otherwise)
        if otherwise is NOTHING and not value:
            raise LabError(f"{key} must not be empty")
        return value

    def name(self, key: str, hint: str = "") -> str:
        """A name that files are called after."""
        name = self.text(key, NOTHING)
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", name):
            raise LabError(
                f"{key} must be 1 to 64 letters, digits, '-', '_' and '.', the first one neither "
                "'-' nor "
                f"'.', since files are named after it; got '{name}'{hint}"
            )
        return name

    def flag(self, key: str, otherwise: bool = False) -> bool:
        return self.get(key, bool, "true or false", otherwise)

    def whole(self, key: str, otherwise: Any = NOTHING, least: int = 1) -> int:
        value = self.get(key, int, "a whole number", otherwise)
        if value < least and key in self.table:
            raise LabError(f"{key} must be at least {least}, not {value}")
        return value

    def positive(self, key: str) -> float:
        value = self.get(key, (int, float), "a positive number", 0)
        if key in self.table and not value > 0:
            raise LabError(f"{key} must be a positive number")
        return float(value)

    def names(self, key: str, what: str, known: Iterable[str], distinct: bool = True) -> list[str]:
        names = self.get(key, list, "a list of names", [])
        for name in names:
            require_known(what, name, known)
            if distinct and names.count(name) > 1:
                raise LabError(f"{key} names '{name}' twice")
        return names

    def settings(self, key: str) -> Settings:
        return flatten(self.get(key, dict, "a table", {}))

    def settings_by_name(self, key: str, known: Iterable[str]) -> dict[str, Settings]:
        tables = self.get(key, dict, "a table", {})
        return {
            require_known(key, name, known): flatten(Reader(table, f"{key}.{name}").table)
            for name, table in tables.items()
        }

    def tables(self, key: str, read: Callable[[Reader], T], needed: bool = False) -> list[T]:
        entries = self.get(key, list, f"a list of tables, [[{key}]]", NOTHING if needed else [])
        if needed and not entries:
            raise LabError(f"expected [[{key}]], a list of tables")
        result = []
        for number, entry in enumerate(entries, 1):
            called = (
                entry.get("name") or entry.get("label") or entry.get("says") or entry.get("title")
                if isinstance(entry, dict)
                else None
            )
            place = f"[[{key}]] {number}" + (f" ('{called}')" if called else "")
            result.append(at(place, lambda: read_whole(entry, place, read)))
        return result

    def done(self) -> None:
        for key in self.table:
            if key not in self.known:
                raise LabError(unknown("key", key, self.known))


def read_whole(table: Any, what: str, read: Callable[[Reader], T]) -> T:
    reader = Reader(table, what)
    result = read(reader)
    reader.done()
    return result


def at(place: str, do: Callable[[], T]) -> T:
    """Puts the place in front of the message of a mistake."""
    try:
        return do()
    except LabError as error:
        raise LabError(f"{place}: {error}") from None
