"""What the tests share: a working folder of their own, and a problem that trains in no time."""
from __future__ import annotations

import os
import tempfile
import unittest

import lather


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        self._before = os.getcwd()
        self._folder = tempfile.TemporaryDirectory()
        os.chdir(self._folder.name)

    def tearDown(self) -> None:
        os.chdir(self._before)
        self._folder.cleanup()


def decay(**more: object) -> lather.Problem:
    return lather.Problem(name="decay", coordinates=["t"], fields=["u"], domain={"t": [0, 1]},
                          equations={"decay": "u_t + u"}, conditions={"start": ("t = 0", "u - 1")},
                          reference={"u": "exp(-t)"}, network={"width": 6, "depth": 1},
                          training={"optimizer": "lm", "steps": 12, "points": {"interior": 40}}, **more)


class Foreign:
    """An array with DLPack and nothing else."""

    def __init__(self, array: object) -> None:
        self._array = array

    def __dlpack__(self, **options: object) -> object:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> object:
        return self._array.__dlpack_device__()
