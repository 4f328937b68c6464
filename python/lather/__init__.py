"""Lather trains physics-informed neural networks to high accuracy.

    >>> import lather
    >>> problem = lather.Problem(
    ...     coordinates=["x"], fields=["u"], domain={"x": [0, 1]},
    ...     equations={"decay": "u_x + u"}, conditions={"start": ("x = 0", "u - 1")})
    >>> run = problem.train(steps=30, folder=None, progress=False)
    >>> float(abs(run.predict([[1.0]])["u"][0] - 0.36787944)) < 1e-5
    True

Where to go from here: ``Problem`` (a PDE from a file, a text or Python), ``Problem.train`` (training), ``Run`` (what a
training has come to), ``load``, ``compare``, ``sweep``, ``minimize`` (your own function with any optimizer),
``optimizers`` (all of them with their options) and ``lather.torch`` (the same as ``torch.optim`` optimizers).
"""
from ._arguments import LatherError
from ._library import environment, version
from .comparison import Comparison, Point, Sweep, compare, sweep
from .minimize import MinimizeResult, minimize
from .objective import Objective
from .optimizer import Optimizer, optimizers
from .problem import Problem, problems
from .run import Run, load, resume

__version__ = version()
__all__ = ["Comparison", "LatherError", "MinimizeResult", "Objective", "Optimizer", "Point", "Problem", "Run",
           "Sweep", "compare", "environment", "load", "minimize", "optimizers", "problems", "resume", "sweep", "version"]
