"""Tasks on several threads, by priority. A task may add further ones, and one that must be alone
starts when nothing else is running."""
from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(order=True)
class _Entry:
    priority: int
    number: int
    task: Callable[[], None] = field(compare=False)
    alone: bool = field(compare=False)


class TaskQueue:
    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._running, self._one_is_alone, self._stopped = 0, False, False
        self._failure: BaseException | None = None

    def add(self, priority: int, task: Callable[[], None], alone: bool = False) -> None:
        """Those of the smallest number go first, and of one number those that were added first."""
        with self._changed:
            heapq.heappush(self._entries, _Entry(priority, next(self._numbers), task, alone))
            self._changed.notify_all()

    def stop(self) -> None:
        """Running tasks end, the others are dropped."""
        self._stopped = True

    def run(self, threads: int) -> None:
        """Until all are done. An exception of a task is raised here, after the others have
        ended."""
        team = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in team:
            thread.start()
        for thread in team:
            while thread.is_alive():
                thread.join(0.1)  # signal handlers run in between
        self._entries.clear()
        if self._failure:
            raise self._failure

    def _is_over(self) -> bool:
        return (
            self._stopped or self._failure is not None or (not self._entries and not self._running)
        )

    def _may_start(self) -> bool:
        return (
            bool(self._entries)
            and not self._one_is_alone
            and not (self._entries[0].alone and self._running)
        )

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._is_over() and not self._may_start():
                    self._changed.wait(0.2)
                if self._is_over():
                    self._changed.notify_all()
                    return
                entry = heapq.heappop(self._entries)
                self._running, self._one_is_alone = self._running + 1, entry.alone
            try:
                entry.task()
            except BaseException as error:  # noqa: BLE001 - raised again in run()
                self._failure = self._failure or error
            with self._changed:
                self._running, self._one_is_alone = self._running - 1, False
                self._changed.notify_all()
