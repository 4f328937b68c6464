"""What the documentation shows runs: docstrings, docs/python.md, the README's Python, the cells of the notebooks."""
import contextlib
import doctest
import importlib.util
import io
import json
import re
import unittest
from pathlib import Path

from common import InAFolder

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["lather", "lather._arguments", "lather._arrays", "lather._library", "lather._toml", "lather.comparison", "lather.minimize",
           "lather.objective", "lather.optimizer", "lather.problem", "lather.progress", "lather.run"]


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


def cells(notebook: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]


class Documentation(InAFolder):
    def run_blocks(self, blocks: list[str], where: str) -> None:
        names: dict[str, object] = {"__name__": "__main__"}
        for number, block in enumerate(blocks):
            if block.startswith("# needs: torch") and importlib.util.find_spec("torch") is None:
                continue
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, f"{where}, block {number}", "exec"), names)  # noqa: S102

    def test_docstrings(self) -> None:
        attempted = 0
        for name in MODULES:
            result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
            self.assertEqual(result.failed, 0, name)
            attempted += result.attempted
        self.assertGreater(attempted, 30)

    def test_the_page(self) -> None:
        blocks = python_blocks(ROOT / "docs/python.md")
        self.assertGreaterEqual(len(blocks), 7)
        self.run_blocks(blocks, "docs/python.md")

    def test_the_readme(self) -> None:
        blocks = python_blocks(ROOT / "README.md")
        self.assertGreaterEqual(len(blocks), 1)
        self.run_blocks(blocks, "README.md")

    def test_the_notebooks(self) -> None:
        notebooks = sorted((ROOT / "python/tutorials").glob("*.ipynb"))
        self.assertEqual(len(notebooks), 3)
        for notebook in notebooks:
            with self.subTest(notebook.name):
                self.run_blocks(cells(notebook), notebook.name)


if __name__ == "__main__":
    unittest.main()
