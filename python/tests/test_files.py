"""Run folders as others leave them: half written, damaged, with links and FIFOs. Nothing hangs, nothing elsewhere is read or written."""
import os
import threading
import unittest
from pathlib import Path

import lather
from common import InAFolder, decay


class RunFolders(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.run = decay().train(steps=4, folder="run")
        self.history = Path("run/history.csv")

    def test_a_line_that_is_being_written_is_left_out(self) -> None:
        whole = self.history.read_text()
        for cut in range(1, len(whole.splitlines()[-1]) + 2):
            self.history.write_text(whole[:-cut])
            self.assertEqual(list(self.run.history["step"]), [1, 2, 3])
        self.assertEqual(len(self.run.history["seconds"]), 3)

    def test_damage_is_named(self) -> None:
        lines = self.history.read_text().splitlines(keepends=True)
        for content, words in (("", "line of names"), ("".join([lines[0], "1,2\n", *lines[2:]]), "history.csv, line 2")):
            self.history.write_text(content)
            with self.assertRaisesRegex(lather.LatherError, words):
                self.run.history

    def test_links_and_fifos_are_not_opened(self) -> None:
        Path("elsewhere").write_text("step,loss\n1,2\n")
        for name, use in (("history.csv", lambda: self.run.history), ("timing.csv", lambda: self.run.history),
                          ("summary.json", lambda: lather.load("run"))):
            place = Path("run") / name
            kept = place.read_bytes()
            for make in (lambda: place.symlink_to(Path("elsewhere").resolve()), lambda: os.mkfifo(place), place.mkdir):
                place.unlink()
                make()
                errors: list = []

                def work() -> None:
                    try:
                        use()
                    except (lather.LatherError, OSError) as error:
                        errors.append(error)
                thread = threading.Thread(target=work, daemon=True)
                thread.start()
                thread.join(30)
                self.assertEqual(len(errors), 1, name)
                place.rmdir() if place.is_dir() else place.unlink()
                place.write_bytes(kept)
        Path("run/report.html").symlink_to(Path("elsewhere").resolve())
        self.run.report()
        self.assertEqual(Path("elsewhere").read_text(), "step,loss\n1,2\n")
        self.assertFalse(Path("run/report.html").is_symlink())
        Path("mine.html").symlink_to("page.html")  # the caller's own link is followed
        self.run.report("mine.html")
        self.assertIn("<html", Path("page.html").read_text())
        self.assertEqual([p.name for p in Path("run").glob(".*.tmp")], [])


if __name__ == "__main__":
    unittest.main()
