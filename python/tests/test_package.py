"""The wheel: one for all Pythons, with the library and the problems inside, and nothing else needed."""
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from lather._library import _find

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import lather, os
assert lather.__file__.startswith(os.getcwd()), lather.__file__
run = lather.Problem("heat-1d").train(steps=2)
print(run.step, len(lather.problems()))
"""


class Package(unittest.TestCase):
    def test_a_wheel_works_by_itself(self) -> None:
        sys.path.insert(0, str(ROOT / "python/packaging"))
        import lather_build
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LATHER_LIBRARY"] = _find()
            wheel = lather_build.build_wheel(folder)
            self.assertRegex(wheel, r"^lather-[0-9.]+-py3-none-linux_\w+\.whl$")
            with zipfile.ZipFile(Path(folder) / wheel) as archive:
                archive.extractall(folder)
                names = archive.namelist()
            self.assertIn("lather/problems/burgers.toml", names)
            self.assertIn("lather/py.typed", names)
            record = next(Path(folder).glob("*.dist-info/RECORD")).read_text()
            self.assertEqual(len(record.splitlines()), len(names))
            alone = {k: v for k, v in os.environ.items() if not k.startswith("LATHER_") and k != "PYTHONPATH"}
            done = subprocess.run([sys.executable, "-B", "-c", PROGRAM], cwd=folder, env={**alone, "PYTHONPATH": folder},
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.split()[0], "2")

    def test_versions_agree(self) -> None:
        import lather
        self.assertIn(f'version = "{lather.version()}"', (ROOT / "pyproject.toml").read_text())


if __name__ == "__main__":
    unittest.main()
