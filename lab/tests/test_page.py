"""What is written: tables, pictures, pages, and the command that writes them."""
import contextlib
import io
import json

from common import SMALL, THREE, Case, facts_of, read_text, replaced, unittest

from laboratory import figures, page, run_files
from laboratory.collect import event_facts, quantile, tau_facts
from laboratory.command import run
from laboratory.facts import RunFacts
from laboratory.page import Page, Section
from laboratory.tuning_map import draw_tuning

CHECKED = (
    THREE
    + """
[[check]]
says = "A ends below C."
question = "Does A help?"
variant = "a"
below = ["c"]
[[check]]
says = "A is quick."
ours = true
not_tested = "nobody has a watch"
"""
)


def call(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(list(words))
    return status, out.getvalue(), err.getvalue()


class Command(Case):
    def test_writes_tables_pictures_and_pages(self):
        file, out = self.folder / "small.toml", self.folder / "out"
        file.write_text(SMALL)
        status, said, _ = call(
            str(file), "--out", str(out), "--page", str(self.folder / "page.md"), "--jobs", "2"
        )
        self.assertEqual(status, 0, said)
        for name in (
            "small.md",
            "small.csv",
            "small.tex",
            "small-steps.svg",
            "small-steps.pdf",
            "small-grid.svg",
            "index.html",
            "reproduction.md",
            "figures/values.csv",
            "figures/tuning.csv",
            "figures/small-grid.svg",
        ):
            self.assertTrue((out / name).exists(), name)
        text = (self.folder / "page.md").read_text()
        self.assertIn("![What tuning tried: held-out loss after 15 steps", text)
        self.assertIn("(page/small-steps.svg)", text)
        self.assertIn("chosen by tuning: optimizer.beta2, optimizer.learning_rate", text)
        self.assertIn("<svg", (out / "index.html").read_text())
        self.assertEqual(call(str(file), "--out", str(out), "--collect")[0], 0)

    def test_refuses_what_has_no_meaning(self):
        self.assertIn(
            "there is no folder", call("kfac", "--collect", "--out", str(self.folder / "none"))[2]
        )
        self.assertIn("did you mean 'kfac'?", call("kfca")[2])
        for words in (["--jobs", "2", "--collect", "kfac"], ["--jobs", "0", "kfac"], []):
            with self.subTest(words), self.assertRaises(SystemExit), contextlib.redirect_stderr(
                io.StringIO()
            ):
                run(words)

    def test_lists_experiments_and_what_they_would_run(self):
        self.assertIn("kfac", call("--list")[1])
        self.assertIn("6 cells, 15 runs, 400 steps", call("--list", "kfac")[1])


class Pages(Case):
    def page(self, text=CHECKED, **by_metric):
        facts = facts_of(text, **by_metric)
        return Page([Section(facts)], "lab/reproduce three"), facts

    def test_count_claims_and_answer_questions(self):
        text = self.page(residual={("one", "c"): [3, 3.3, 2.7], ("two", "c"): [3, 3.3, 2.7]})[
            0
        ].markdown("figures")
        self.assertIn("**Claims of the paper that were looked at: 1. Hold: 1;", text)
        self.assertIn("1 more are claims of the paper under conditions of our own", text)
        self.assertIn(
            "**Does A help?** Yes: holds on one (0.33 times C), one, and two (0.33 times C).", text
        )
        self.assertNotIn("\n\n\n", text)
        self.assertNotIn("{{", text)

    def test_say_which_runs_are_missing(self):
        made, facts = self.page(residual={("one", "c"): [3, 3, "not run"]})
        facts.runs["one", "c"][2] = RunFacts()
        self.assertIn(
            "**Runs that are missing.** Three: 1 of 18 (one with C)", made.markdown("figures")
        )

    def test_of_a_study_say_what_its_tables_say(self):
        study = (
            replaced(THREE, 'paper = "a table"\n', "").replace(
                'paper.one = {a = 1.0, b = 2.0, c = "DNC"}', ""
            )
            + '\n[[table]]\ntitle = "T"\nvariants = ["a", "b"]\n'
        )
        text = self.page(study)[0].markdown("figures")
        self.assertTrue(text.startswith("# Three\n"))
        self.assertIn("There are 4 such comparisons", text)
        self.assertIn("### T", text)

    def test_are_html_without_markdown(self):
        html = page.html_of(
            "# A & B\n\n**bold** `code` <x>\n\n    lab/reproduce\n\n| a | b |\n|---|---|\n| 1 | 2\\|3 |\n\n"
            "![words](figures/p.svg)\n",
            {"p.svg": "<?xml?><svg>!</svg>"},
            "",
        )
        for part in (
            "<h1>A &amp; B</h1>",
            "<b>bold</b> <code>code</code> &lt;x&gt;",
            "<pre>lab/reproduce</pre>",
            "<td>2|3</td>",
            "<figure><svg>!</svg><figcaption>words</figcaption></figure>",
        ):
            self.assertIn(part, html)


class RunFolders(Case):
    def write(self, name, lines):
        (self.folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))

    def test_events_do_not_count_the_first_basis_of_a_layer(self):
        change = {
            "step": 5,
            "rho_left": 0.5,
            "rho_right": 0.2,
            "gradient_cosine": 0.1,
            "gamma": 1,
            "loss": 2.0,
            "loss_after_1": 5.0,
            "loss_after_10": 1.0,
            "rho_after_10": 0.1,
        }
        first = {"step": 3, "rho_left": 0.9, "loss": 1.0, "loss_after_1": 9.0}
        self.write("events.jsonl", [first, change, {**change, "step": 9, "loss_after_1": "inf"}])
        facts = event_facts([self.folder])
        self.assertEqual(facts["changes"], 2)
        self.assertEqual(
            (facts["rho"], facts["rho_after_10"], facts["doubled_after_1"]), (0.5, 0.1, 1.0)
        )
        self.assertEqual((facts["loss_after_1_median"], facts["loss_after_1"]), (2.5, float("inf")))
        self.assertEqual(event_facts([]), {})

    def test_a_quantile_is_the_smallest_value_that_such_a_share_does_not_exceed(self):
        self.assertEqual([quantile([3, 1, 2], share) for share in (0.5, 0.9, 0.01)], [2, 3, 1])

    def test_tau_weighs_layers_by_their_steps(self):
        def layer(steps, at_one):
            return {
                "steps": steps,
                "at_one": at_one,
                "at_least": 0,
                "no_curvature": 0,
                "parts": [0] * 9 + [at_one, 1 - at_one],
            }

        facts = tau_facts([{"tau": {"a": layer(30, 1), "b": layer(10, 0)}}])
        self.assertEqual((facts["tau = 1"], facts["above 1"]), (0.75, 0.25))

    def test_curves_take_the_worst_field_and_the_seconds_of_their_step(self):
        self.write(
            "history.jsonl",
            [
                {"step": 1, "l2.u": 0.5, "l2.v": 0.7, "residual": 2},
                {"step": 2, "loss": 1},
                {"step": 3, "residual": None},
            ],
        )
        (self.folder / "timing.csv").write_text("step,seconds\n1,0.25\n2,")
        [point] = run_files.curve_of(self.folder, "l2")
        self.assertEqual((point.step, point.seconds, point.value), (1, 0.25, 0.7))
        self.assertEqual(run_files.curve_of(self.folder, "mean_square")[0].value, 4)

    def test_a_run_diverges_or_solves_something_else(self):
        summary = {
            "reason": "steps",
            "starting_loss": 1.0,
            "final": {"validation_loss": 10.1, "l2": {"u": 0.4}},
            "unknowns": {"nu": {"last": 0.12, "known": 0.1}},
        }
        self.assertTrue(run_files.has_diverged(summary))
        self.assertTrue(run_files.is_unsolved(summary, best=False))
        summary["final"]["validation_loss"], summary["unknowns"]["nu"]["last"] = 9.9, 0.101
        self.assertFalse(
            run_files.has_diverged(summary) or run_files.is_unsolved(summary, best=False)
        )


class Figures(Case):
    def test_a_method_has_one_colour_and_no_other_beside_it_the_same(self):
        colours = figures.method_colours(read_text(SMALL))
        self.assertEqual(colours, {"adam": 0, "ss-esoap": 3})
        arms = "".join(f'\n[[variant]]\nname = "arm{i}"\noptimizer = "adam"\n' for i in range(9))
        colours = figures.method_colours(read_text(SMALL + arms))
        self.assertEqual(len(set(colours.values())), 11)

    def test_seeds_that_diverge_set_no_scale_and_are_counted(self):
        facts = facts_of(THREE + '\n[[figure]]\nname = "steps"\n')
        for seed, (end, reason) in enumerate(
            [(1e-3, "steps"), (2e-3, "steps"), (1e9, "non_finite")]
        ):
            folder = self.folder / str(seed)
            folder.mkdir()
            (folder / "summary.json").write_text(json.dumps({"reason": reason}))
            (folder / "history.jsonl").write_text(
                "".join(
                    json.dumps({"step": k, "residual": v}) + "\n"
                    for k, v in enumerate((1, 0.1, end))
                )
            )
            facts.runs["one", "a"][seed] = RunFacts("done", folder=folder)
        drawn = figures.draw_curves(
            facts, facts.plan.experiment.figures[0], facts.plan.problems[:1]
        )
        self.assertLess(drawn.axes[0].get_ylim()[1], 10)
        labels = [text.get_text() for text in drawn.legends[0].get_texts()]
        self.assertEqual(labels, ["A, decayed (1 seed diverged)", "B, decayed", "C"])

    def test_a_map_of_what_tuning_tried_frames_the_choice(self):
        plan = facts_of().plan
        facts = facts_of(SMALL.replace("steps = 40", "steps = 40"))
        cell = facts.plan.cells[0]
        from laboratory.facts import TuningFacts

        facts.tuning[cell.key] = TuningFacts([1.0, 0.1, float("inf"), 0.0], cell.candidates[1], [])
        drawing = draw_tuning(facts)
        self.assertEqual(
            [t.get_text() for t in drawing.axes[0].get_yticklabels()],
            ["Adam, beta2 0.9", "Adam, beta2 0.999"],
        )
        self.assertIn("no value", [t.get_text() for t in drawing.axes[0].texts])
        self.assertTrue(plan)


if __name__ == "__main__":
    unittest.main()
