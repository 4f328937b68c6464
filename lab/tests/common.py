"""What the tests of the laboratory share."""
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(LAB))

from laboratory.experiment import LabError  # noqa: E402
from laboratory.facts import Facts, RunFacts, TuningFacts  # noqa: E402
from laboratory.measured import DIVERGED, NOT_SOLVED, OUT_OF_MEMORY, Outcome  # noqa: E402
from laboratory.plan import Plan  # noqa: E402
from laboratory.reading import read_experiment  # noqa: E402

# An experiment that runs in a second: two methods on the heat equation.
SMALL = """
name = "small"
title = "Small"
recipe = "quick"
claim = "Adam leads."

[settings]
network.width = 6
network.depth = 2
training.points.interior = 64
training.points.initial = 16
training.points.walls = 16
training.sampling.every = 10

[[problem]]
name = "heat-1d"
label = "Heat"

[[variant]]
name = "adam"
label = "Adam"
grid.optimizer.learning_rate = [1e-3, 1e-2, 1e-1]
grid.optimizer.beta2 = [0.9, 0.999]

[[variant]]
name = "ss-esoap"
settings.optimizer.learning_rate = 1e-2

[[metric]]
quantity = "mean_square"
paper.heat-1d = {adam = 1e-3, ss-esoap = [2e-3, 1e-4]}

[[metric]]
quantity = "l2"

[[figure]]
name = "steps"

[budget.quick]
steps = 40
tuning_steps = 15
grid_values = 2
seeds = 2

[budget.short]
steps = 20
"""


def read_text(text):
    return read_experiment(tomllib.loads(text))


def replaced(text, part, by):
    assert part in text, part
    return text.replace(part, by, 1)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def assert_refused(self, words, do, *arguments):
        with self.assertRaises(LabError) as caught:
            do(*arguments)
        for word in words if isinstance(words, tuple) else (words,):
            self.assertIn(word, str(caught.exception))


# -- facts without runs: THREE methods on two problems, values by seed
# ---------------------------------------

THREE = """
name = "three"
title = "Three"
paper = "a table"
claim = "A leads."

[[problem]]
name = "one"
problem = "heat-1d"
[[problem]]
name = "two"
label = "… and two"
problem = "heat-1d"

[[variant]]
name = "a"
label = "A, decayed"
optimizer = "adam"
[[variant]]
name = "b"
label = "B, decayed"
optimizer = "soap"
[[variant]]
name = "c"
label = "C"
optimizer = "muon"

[[metric]]
quantity = "mean_square"
label = "residual"
paper.one = {a = 1.0, b = 2.0, c = "DNC"}

[[metric]]
quantity = "l2"
[[metric]]
quantity = "seconds_to_target"
label = "seconds"
target = 1e-3
[[metric]]
quantity = "tau_at_one"
label = "share"

[budget.quick]
steps = 10
seeds = 3
"""

WITHOUT = {
    "diverged": Outcome(notes=frozenset({DIVERGED})),
    "out of memory": Outcome(notes=frozenset({OUT_OF_MEMORY})),
    "not run": Outcome(notes=frozenset({"not run"})),
    "failed": Outcome(notes=frozenset({"failed"})),
    "missed": Outcome(notes=frozenset({"did not reach it"})),
    "absent": Outcome(notes=frozenset({"without a value"})),
}


def outcome(value):
    """A number, a word of WITHOUT, or (number, note)."""
    if isinstance(value, tuple):
        return Outcome(value[0], frozenset({value[1]}))
    return WITHOUT[value] if isinstance(value, str) else Outcome(float(value))


def facts_of(text=THREE, **by_metric):
    """residual={("one", "a"): [1, 2, 3]}: values by metric's label, cell and seed; other cells
    have 1, 1.1 and 0.9."""
    plan = Plan(read_text(text), "quick")
    facts = Facts(plan)
    for metric in plan.experiment.metrics:
        given = by_metric.get(metric.label, {})
        for cell in plan.cells:
            values = given.get(
                cell.key, [1, 1.1, 0.9] if metric.label == "residual" else ["absent"] * 3
            )
            facts.outcomes[(*cell.key, metric.label)] = [outcome(v) for v in values]
    for cell in plan.cells:
        facts.runs[cell.key] = [RunFacts("done") for _ in range(plan.budget.seeds)]
    return facts


__all__ = ["Case", "NOT_SOLVED", "TuningFacts", "unittest"]
