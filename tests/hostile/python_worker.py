"""The worker of python_arguments.py: for each number on its input, one call and what came of it."""
from __future__ import annotations

import faulthandler
import inspect
import json
import os
import random
import re
import resource
import sys
import threading
import traceback
from typing import Any

import numpy as np

import lather
try:
    import torch
    import lather.torch
except ImportError:
    torch = None
from python_rules import absurd, changed, other_numbers
from python_values import Evil, draw

EXPECTED = (TypeError, ValueError, OSError, MemoryError, ImportError, Evil)  # ImportError: run.frame() without pandas
# An exception of a function that was given may pass, and what PyTorch's own code says.
WAYS_THROUGH = re.compile(r"<string>$|python_values\.py$|-packages/torch/")


class World:
    """Objects to call, and good arguments for everything."""

    def __init__(self) -> None:
        self.problem = lather.Problem(
            name="decay", coordinates=["t"], fields=["u"], domain={"t": [0, 1]}, equations={"decay": "u_t + u"},
            conditions={"start": ("t = 0", "u - 1")}, reference={"u": "exp(-t)"}, network={"width": 6, "depth": 1},
            training={"optimizer": "lm", "steps": 2, "points": {"interior": 20}})
        self.run = self.problem.train(steps=1, folder="run", progress=False)
        self.objective = self.problem.objective()
        self.x = self.objective.initialize(0)
        self.lbfgs = lather.Optimizer("lbfgs", self.objective.blocks)
        self.adam = lather.Optimizer("adam", {"W": (3, 4), "b": (4,)})
        self.comparison = lather.compare(self.problem, ["lm"], seeds=1, steps=1, folder="both", progress=False)
        self.sweep = lather.sweep(self.problem, {"network.width": [3]}, optimizer="lm", steps=1, name="one", progress=False)
        self.sizes = [self.objective.size, self.objective.size, self.objective.residual_count, 3]
        self.count = 0
        self.tensor = torch and torch.nn.Parameter(torch.ones(3, 4, dtype=torch.float64))
        self.sgd = torch and lather.torch.SGD([self.tensor], lr=0.1)

    def good(self, owner: str, parameter: str) -> Any:
        """A good argument, or inspect.Parameter.empty: leave it to its default."""
        self.count += 1
        n, x = self.objective.size, self.x.copy()
        table: dict[str, Any] = {
            "Objective.initialize.seed": 1, "Objective.set_points.name": "interior", "Objective.set_points.points": np.random.rand(5, 1),
            "Objective.x": x, "Objective.v": np.ones(n), "Objective.w": np.ones(self.objective.residual_count), "Objective.gradient.out": np.empty(n),
            "Objective.handle": self.objective._handle, "Run.handle": self.run._handle, "Run.x": np.random.rand(4, 1),
            "Optimizer.settings": "adam", "Optimizer.blocks": {"W": (2, 3)}, "Optimizer.step.objective": self.objective, "Optimizer.step.x": x,
            "Optimizer.apply.tensors": [(np.ones((3, 4)), np.ones((3, 4))), (np.ones(4), np.ones(4))], "Optimizer.set_rate_factor.factor": 0.5,
            "Optimizer.load.state": self.adam.save(), "Comparison.result": self.comparison._result, "Sweep.result": self.sweep._result,
            "minimize.function": lambda p: (float(np.sum(p * p)), 2 * p), "minimize.x0": np.ones(3), "minimize.steps": 2,
            "minimize.residuals": None, "minimize.jacobian": None, "minimize.optimizer": "lbfgs", "load.folder": "run", "resume.folder": "run",
            "optimizers.name": "adam", "compare.seeds": 1, "compare.optimizers": ["lm"], "sweep.axes": {"network.width": [3]}, "sweep.optimizer": "lm",
            "sweep.name": f"s{self.count}", "Problem.source": "heat-1d", "problem": self.problem, "steps": 2, "seconds": 2.0, "progress": False,
            "file": f"page-{self.count}.html", "folder": f"new-{self.count}", "optimizer": "lm", "threads": 1, "jobs": 1,
            "torch.params": [self.tensor], "torch.lr": 0.1, "torch.closure": None, "torch.param_group": {"params": [self.tensor]},
            "torch.state_dict": self.sgd and self.sgd.state_dict(),
        }
        parts = owner.split(".")
        for key in (f"{owner}.{parameter}", f"{parts[0]}.{parameter}", parameter):
            if key in table:
                return table[key]
        return inspect.Parameter.empty

    def targets(self) -> dict[str, Any]:
        """Public callables by name."""
        found: dict[str, Any] = {}
        for name in lather.__all__:
            thing = getattr(lather, name)
            if inspect.isfunction(thing) or name in ("Problem", "Optimizer", "Objective", "Run", "Comparison", "Sweep"):
                found[name] = thing
        for thing in (self.problem, self.run, self.objective, self.lbfgs, self.adam, self.comparison, self.sweep):
            for name, _ in inspect.getmembers(type(thing), inspect.isfunction):
                if not name.startswith("_"):
                    target = f"{type(thing).__name__}.{name}"
                    found[target] = getattr(self.lbfgs if target == "Optimizer.step" else thing, name)
        if torch:
            self.tensor.grad = torch.ones_like(self.tensor)
            found.update({f"torch.{name}": getattr(lather.torch, name) for name in ("SGD", "Adam", "SSeSOAP", "Muon")})
            found.update({f"torch.SGD.{name}": getattr(self.sgd, name) for name, member in vars(lather.torch.LatherOptimizer).items()
                          if inspect.isfunction(member) and not name.startswith("_")})
        return found


COSTLY = {"compare", "sweep", "Problem.train", "resume", "Run.resume", "Sweep", "Comparison", "Run.report", "Comparison.report", "Sweep.report", "Run.plot"}


def arguments(world: World, chance: random.Random, name: str, target: Any) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Arguments by parameter, labels and annotations of the hostile ones."""
    parameters = list(inspect.signature(target).parameters.values())
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    given = {p.name: world.good(name, p.name) for p in named}
    for p in named:
        if given[p.name] is p.empty:
            if p.default is p.empty:
                raise SystemExit(f"{name}: no good value for {p.name}; add one")
            del given[p.name]
    hostile = chance.sample(named, min(len(named), chance.choice([1, 1, 1, 2])))
    labels, notes = {}, {}
    for p in hostile:
        labels[p.name], given[p.name] = draw(chance, world.sizes)
        notes[p.name] = str(p.annotation)
    if any(p.kind is p.VAR_KEYWORD for p in parameters) and chance.random() < 0.3:
        key = chance.choice(["steps", "title", "domain", "network", "parameters", "rounds", "x", "momentum", "betas", "weight_decay", "eps"])
        if key not in given:
            labels[key], given[key] = draw(chance, world.sizes)
    if name == "Run.resume":  # the run may have been given limits that are far away
        given = {"steps": 2, "seconds": 2.0, **given}
    return given, labels, notes


def called(target: Any, given: dict[str, Any]) -> Any:
    positional = [p.name for p in inspect.signature(target).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    return target(*(given[name] for name in positional if name in given),
                  **{name: value for name, value in given.items() if name not in positional})


def case(world: World, chance: random.Random, say: Any) -> list[str]:
    targets = world.targets()
    weights = [1 if name in COSTLY else 6 for name in targets]
    [name] = chance.choices(list(targets), weights)
    target = targets[name]
    given, labels, notes = arguments(world, chance, name, target)
    say(f"{name}({', '.join(f'{key}={label}' for key, label in labels.items())})")
    before = {key: value.tobytes() for key, value in given.items() if isinstance(value, np.ndarray) and value.dtype != object}
    findings: list[str] = []
    try:
        result = called(target, given)
    except EXPECTED:
        result = None
    except BaseException as error:  # noqa: BLE001 - whatever else is raised is a finding
        places = traceback.extract_tb(error.__traceback__)
        if isinstance(error, SystemExit) or not WAYS_THROUGH.search(places[-1].filename):
            findings.append(f"{type(error).__name__}: {str(error)[-300:]} at {places[-1].filename}:{places[-1].lineno}")
    else:
        findings += [f"{key}: accepted, against '{notes[key]}'" for key in notes if absurd(name, key, notes[key], given[key], world)]
        if not findings:
            findings += other_numbers(name, target, given, result, called)
    return findings + changed(name, given, before)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    faulthandler.enable()
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # whose shadow of the memory is larger
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.makedirs("a/b/c")
    os.chdir("a/b/c")
    np.seterr(all="ignore")
    ignored: list[str] = []
    sys.unraisablehook = lambda info: ignored.append(f"ignored: {type(info.exc_value).__name__}: {info.exc_value} in {info.object}")
    threading.excepthook = lambda info: ignored.append(f"in a thread: {info.exc_value}")
    seed, world = sys.argv[1], World()

    def say(text: str) -> None:
        print(text.encode("unicode_escape").decode(), file=answers, flush=True)
    for line in sys.stdin:
        findings = case(world, random.Random(f"python arguments {seed} {line.strip()}"), say)
        say(json.dumps({"findings": findings + [one for one in ignored if "Evil" not in one]}))
        ignored.clear()


if __name__ == "__main__":
    main()
