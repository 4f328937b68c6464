"""A training in a Jupyter kernel: interrupting the kernel ends the cell with the run saved."""
from __future__ import annotations

import os
import queue
import subprocess
import sys
import time
import unittest

DEBIAN = "/usr/bin/python3"  # whose packages python3-ipykernel, python3-jupyter-client and python3-numpy are
NEEDED = "import ipykernel, jupyter_client, numpy"

try:
    exec(NEEDED)
except ImportError as error:
    if sys.executable != DEBIAN and os.path.exists(DEBIAN) and subprocess.run([DEBIAN, "-c", NEEDED], stderr=subprocess.DEVNULL).returncode == 0:
        os.execv(DEBIAN, [DEBIAN, "-B", *sys.argv])
    print(f"skipped: {error}")
    sys.exit(0)

import jupyter_client  # type: ignore[import-not-found,import-untyped]  # noqa: E402

from common import InAFolder  # noqa: E402


class Kernel(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.manager = jupyter_client.KernelManager()
        self.manager.start_kernel(env=dict(os.environ))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def tearDown(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        super().tearDown()

    def execute(self, code: str, interrupt_after: float | None = None) -> tuple[str, float]:
        """What a cell prints, and how long it took after the interruption."""
        request, printed, at, began = self.client.execute(code), "", time.monotonic(), False
        while True:
            if began and interrupt_after is not None and time.monotonic() - at > interrupt_after:
                self.manager.interrupt_kernel()
                at, interrupt_after = time.monotonic(), None
            try:
                message = self.client.get_iopub_msg(timeout=0.02)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                printed += content["text"]
                if "begins" in printed and not began:
                    began, at = True, time.monotonic()
            elif kind == "error":
                printed += content["ename"]
            elif kind == "status" and content["execution_state"] == "idle":
                return printed, time.monotonic() - at

    def test_an_interrupted_cell_returns_its_run(self) -> None:
        self.execute("import lather; from common import decay")
        for _ in range(3):
            printed, waited = self.execute(
                "print('begins', flush=True)\n"
                "run = decay().train('adam', steps=10**8, progress=False)\n"
                "print(run.reason, run.step > 0)", interrupt_after=0.5)
            self.assertIn("go on with lather.resume", printed)
            self.assertTrue(printed.endswith("interrupted True\n"), printed)
            self.assertLess(waited, 30)
        printed, _ = self.execute("print(run.resume(steps=run.step + 5).reason)")
        self.assertIn("steps", printed)


if __name__ == "__main__":
    unittest.main()
