"""The calls of the Julia snippet in docs/c-interface.md: its argument types, read from the text, through ctypes."""
import ctypes
import re
import unittest
from pathlib import Path

from common import InAFolder
from lather._library import _find

TYPES = {"Cstring": ctypes.c_char_p, "Ptr{Cvoid}": ctypes.c_void_p, "Ref{Ptr{Cvoid}}": ctypes.POINTER(ctypes.c_void_p),
         "Ref{Cstring}": ctypes.POINTER(ctypes.c_char_p), "Int32": ctypes.c_int32, "UInt64": ctypes.c_uint64,
         "Ptr{Float64}": ctypes.POINTER(ctypes.c_double)}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "c-interface.md"


class Julia(InAFolder):
    def test_its_calls_fit_the_library(self) -> None:
        text = re.search(r"```julia\n(.*?)```", PAGE.read_text(), re.S).group(1)
        library, functions = ctypes.CDLL(_find()), {}
        for name, result, arguments in re.findall(r"ccall\(\(:(\w+), lib\), (\w+),\s*\(([^()]*)\)", text):
            function = functions[name] = getattr(library, name)
            function.restype = TYPES[result]
            function.argtypes = [TYPES[a.strip()] for a in arguments.split(",") if a.strip()]
        self.assertEqual(len(functions), 5)

        def check(status: int) -> None:
            self.assertEqual(status, 0, functions["lather_last_error"]())
        problem, trainer, summary = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_char_p()
        check(functions["lather_problem_open"](b"heat-1d", ctypes.byref(problem)))
        check(functions["lather_trainer_create"](problem, b'{"optimizer": "lm", "steps": 10}', b"", None, ctypes.byref(trainer)))
        check(functions["lather_trainer_run"](trainer, None, ctypes.byref(summary)))
        self.assertIn(b'"reason":"steps"', summary.value)
        points, values = (ctypes.c_double * 4)(0.5, 0.5, 0.25, 1.0), (ctypes.c_double * 4)()
        check(functions["lather_trainer_predict"](trainer, 1, b"u,u_x", 2, points, values))
        self.assertNotEqual(values[0], 0)
        library.lather_trainer_free(trainer)
        library.lather_problem_free(problem)


if __name__ == "__main__":
    unittest.main()
