"""Experiment files: what is understood, what is refused and with which words; the runs they plan."""
import json

from common import SMALL, THREE, Case, read_text, replaced, unittest

from laboratory import finding
from laboratory.command import check_runs
from laboratory.plan import Plan, spread_over


class Files(Case):
    def test_a_file_is_understood(self):
        e = read_text(SMALL)
        self.assertEqual([v.label for v in e.variants], ["Adam", "ss-esoap"])
        self.assertEqual(e.settings["training.points.interior"], 64)
        self.assertEqual(e.variant("adam").grid["optimizer.beta2"], [0.9, 0.999])
        self.assertEqual(e.metrics[0].printed("heat-1d", "ss-esoap").words(), "2.00e-03 ± 1.0e-04")
        self.assertFalse(e.is_study())
        self.assertTrue(e.wants_errors(e.problems[0]))

    def test_a_mistake_is_named_with_its_place_and_the_nearest_name(self):
        for part, by, *words in (
            ('title = "Small"', 'titel = "Small"', "title is missing"),
            ('claim = "Adam', 'claims = "Adam', "unknown key 'claims'; did you mean 'claim'?"),
            ('label = "Adam"', 'lable = "Adam"', "[[variant]] 1 ('adam')", "did you mean 'label'?"),
            ('quantity = "l2"', 'quantity = "l3"', "[[metric]] 2", "unknown quantity 'l3'"),
            ("adam = 1e-3,", "adma = 1e-3,", "did you mean 'adam'?"),
            ("paper.heat-1d", "paper.heat-2d", "did you mean 'heat-1d'?"),
            ("adam = 1e-3,", "adam = true,", "a value of the paper must be a number"),
            ("[1e-3, 1e-2, 1e-1]", "1e-3", "grid.optimizer.learning_rate must be a list"),
            ("[budget.short]", "[budget.long]", "unknown budget 'long'"),
            ("steps = 20", "step = 20", "[budget.short]", "steps is missing"),
            ("steps = 20", "steps = 0", "steps must be at least 1"),
            ("steps = 20", "steps = 20\nproblems = ['heat']", "unknown problem 'heat'"),
            (
                "steps = 20",
                "steps = 20\naxes = ['optimizer.beta1']",
                "did you mean 'optimizer.beta2'?",
            ),
            ("seeds = 2", "seeds = 1000", "settings are chosen on seed 1000"),
            (
                "tuning_steps = 15",
                "tuning_seeds = 2",
                "tuning_seeds has no effect without tuning_steps",
            ),
            ('name = "steps"', 'name = "grid"', "would both be written to small-grid.svg"),
            ('name = "steps"', 'name = "a/b"', "since files are named after it"),
            ('name = "small"', 'name = "all"', "cannot be named 'all'"),
            ('name = "steps"', 'name = "steps"\nquantity = "memory"', "a figure shows residual"),
            (
                'name = "steps"',
                'name = "steps"\nover = "network.depth"',
                "unknown axis of a figure",
            ),
            ('name = "steps"', 'name = "s"\nover = "changes"', "training.record_every = 1"),
            ('quantity = "l2"', 'quantity = "mean_square"', "is given twice"),
            ('quantity = "l2"', 'quantity = "task.gap"', "this experiment has none"),
            (
                'quantity = "l2"',
                'quantity = "l2"\nstep = 3',
                "only a task metric is given at a step",
            ),
            ('quantity = "l2"', 'quantity = "l2"\ntarget = 3', "seconds_to_target needs a target"),
        ):
            with self.subTest(by):
                self.assert_refused(tuple(words), read_text, replaced(SMALL, part, by))

    def test_a_check_has_one_meaning(self):
        for check, words in (
            ('variant = "adam"', "needs a variant and one of"),
            ('variant = "adam"\nbelow = ["adam"]', "with itself"),
            (
                'variant = "adam"\nbelow = ["ss-esoap"]\nrange = [0, 1]',
                "needs a variant and one of",
            ),
            ('variant = "adam"\nover = "ss-esoap"', "needs a variant and one of"),
            ('variant = "adam"\nover = "ss-esoap"\nrange = [2, 1]', "[smallest, largest]"),
            ('variant = "adam"\nover = "ss-esoap"\nrange = [-2, -1]', "can be negative"),
            (
                'variant = "adam"\nevents = "loss_after_2"\nrange = [0, 1]',
                "did you mean 'loss_after_1'?",
            ),
            ('variant = "adam"\nresult = "exploded"', "unknown result"),
            ('variant = "adam"\nnot_tested = "no runs"', "needs a variant and one of"),
            ('variant = "adam"\nbelow = ["ss-esoap", "ss-esoap"]', "twice"),
        ):
            with self.subTest(check):
                self.assert_refused(
                    words, read_text, f'{SMALL}\n[[check]]\nsays = "So."\n{check}\n'
                )

    def test_a_table_compares_what_exists_once(self):
        for variants, words in (
            ('["adam"]', "two of them at least"),
            ('["adam", "adma"]', "did you mean 'adam'?"),
            ('["adam", "ss-esoap", "adam"]', "has 'adam' twice"),
            ('["adam", "adam"]\npairs = true', "with itself"),
            ('["adam", "ss-esoap", "adam"]\npairs = true', "an even number"),
        ):
            with self.subTest(variants):
                text = f'{SMALL}\n[[table]]\ntitle = "T"\nvariants = {variants}\n'
                self.assert_refused(words, read_text, text)

    def test_matrix_problems_measure_their_own(self):
        text = replaced(SMALL, 'name = "heat-1d"', 'name = "heat-1d"\ntask = "quadratic"')
        self.assert_refused(
            "mean_square is not measured on matrix problems",
            read_text,
            replaced(text, 'recipe = "quick"', ""),
        )
        self.assert_refused("recipe has no effect on matrix problems", read_text, text)
        self.assert_refused(
            "has a `problem` or a `task`, not both",
            read_text,
            replaced(text, "task =", 'problem = "burgers"\ntask ='),
        )

    def test_a_figure_over_a_setting_has_a_place_for_every_problem(self):
        def rows(*widths):
            return "".join(
                f'\n[[problem]]\nname = "w{i}"\nproblem = "heat-1d"\nsettings.network.width = {w}\n'
                for i, w in enumerate(widths)
            )

        text = replaced(SMALL, 'name = "steps"', 'name = "w"\nover = "network.width"')
        row = '[[problem]]\nname = "heat-1d"\nlabel = "Heat"\n'
        text = replaced(replaced(text, "paper.heat-1d", "paper.w0"), row, "{rows}")
        self.assertTrue(read_text(text.replace("{rows}", rows(8, 16))).figures[0].over_setting())
        self.assert_refused("both set it to 8", read_text, text.replace("{rows}", rows(8, 8)))
        self.assert_refused(
            "must set it to a positive number", read_text, text.replace("{rows}", rows(8, 0))
        )

    def test_files_and_names_are_found(self):
        self.assertEqual(finding.find_experiment("kfac").name, "kfac.toml")
        self.assert_refused("did you mean 'kfac'?", finding.find_experiment, "kfaq")
        self.assert_refused("there is no file", finding.find_experiment, "nowhere/kfac.toml")
        self.assert_refused("is given twice", finding.read_experiments, ["kfac", "all"])
        names = [e.name for e in finding.read_experiments(["all"])]
        self.assertIn("kfac", names)
        self.assertEqual(
            {"ss-esoap-study", "matrix-secants"}, set(finding.list_experiments()) - set(names)
        )
        copy = self.folder / "copy.toml"
        copy.write_text(finding.find_experiment("kfac").read_text())
        self.assert_refused(
            "would both write kfac.csv", finding.read_experiments, ["kfac", str(copy)]
        )


class Plans(Case):
    def test_the_ends_of_an_axis_are_tried_and_known_to_be_ends(self):
        self.assertEqual(spread_over([1, 2, 3, 4, 5], 3), [1, 3, 5])
        plan = Plan(read_text(SMALL), "quick")
        [adam, esoap] = plan.cells
        self.assertEqual(len(adam.candidates), 4)
        self.assertEqual(esoap.candidates, [{}])
        self.assertEqual(
            plan.edges(adam, adam.candidates[0]), ["optimizer.learning_rate", "optimizer.beta2"]
        )
        self.assertEqual(plan.run_count(), 4 + 2 + 2)
        self.assertEqual(Plan(read_text(SMALL), "short").tunings(plan.cells[0])[:0], [])

    def test_later_settings_win(self):
        text = replaced(
            SMALL,
            "[budget.short]\nsteps = 20",
            """[budget.short]
steps = 20
settings.network.width = 7
problem.heat-1d.network.width = 8
variant.adam.network.width = 9
""",
        )
        plan = Plan(read_text(text), "short")
        self.assertEqual(
            [dict(plan.run(cell, {}, 1).settings)["network.width"] for cell in plan.cells],
            ["9", "8"],
        )
        chosen = plan.run(plan.cells[0], {"network.width": 5}, 1)
        self.assertEqual(dict(chosen.settings)["network.width"], "5")

    def test_errors_are_measured_where_a_solution_is_judged_and_not_where_time_is(self):
        plan = Plan(read_text(SMALL), "quick")
        self.assertTrue(plan.run(plan.cells[0], {}, 1).measures_errors())
        self.assertFalse(plan.tuning_run(plan.cells[0], (0, 1000)).measures_errors())
        timed = replaced(SMALL, 'quantity = "l2"', 'quantity = "seconds"')
        self.assertFalse(
            Plan(read_text(timed), "quick").run(plan.cells[0], {}, 1).measures_errors()
        )
        self.assertTrue(Plan(read_text(timed), "quick").trains_alone())

    def test_tuning_seeds_try_every_candidate(self):
        plan = Plan(
            read_text(replaced(SMALL, "tuning_steps = 15", "tuning_steps = 15\ntuning_seeds = 2")),
            "quick",
        )
        self.assertEqual(
            plan.tunings(plan.cells[0]), [(c, s) for s in (1000, 1001) for c in range(4)]
        )

    def test_a_matrix_problem_takes_settings_of_its_own(self):
        text = replaced(
            THREE,
            'name = "one"\nproblem = "heat-1d"',
            'name = "one"\ntask = "logistic"\nsettings.task.size = "small"\nsettings.task.batch_steps = 2',
        )
        plan = Plan(read_text(text), "quick")
        spec = plan.run(plan.cells[0], {"optimizer.schedule.rate": 0.9}, 2)
        self.assertEqual((spec.size, json.loads(spec.settings)), ("small", {"batch_steps": 2}))
        self.assertEqual(json.loads(spec.optimizer), {"name": "adam", "schedule": {"rate": 0.9}})
        self.assert_refused(
            "optimizer.… and task.… only", plan.run, plan.cells[0], {"network.width": 3}, 1
        )
        self.assert_refused("task.seed", plan.run, plan.cells[0], {"task.seed": 3}, 1)

    def test_labels_name_what_the_budget_sets_instead(self):
        text = replaced(SMALL, 'label = "Heat"', 'label = "width 8"\nsettings.network.width = 8')
        text = replaced(text, "steps = 20", "steps = 20\nproblem.heat-1d.network.width = 4")
        e = read_text(text)
        self.assertEqual(Plan(e, "short").label(e.problems[0]), "width 8 [here: width 4]")

    def test_every_value_of_every_grid_is_tried_before_anything_is_run(self):
        check_runs(Plan(read_text(SMALL), "short"))
        for part, by, *words in (
            ("1e-1]", '"fast"]', "small: heat-1d with adam: grid.optimizer.learning_rate"),
            ("network.depth = 2", "network.dept = 2", "small: heat-1d with adam", "depth"),
            ('name = "heat-1d"', 'name = "heat-1d"\nproblem = "heat-9d"', "heat-9d"),
            ('name = "ss-esoap"', 'name = "ss-esoap"\noptimizer = "ss-esop"', "ss-esoap"),
        ):
            with self.subTest(by):
                plan = Plan(read_text(replaced(SMALL, part, by)), "short")
                self.assert_refused(tuple(words), check_runs, plan)

    def test_an_error_needs_a_solution_to_be_measured_by(self):
        problem = self.folder / "nowhere.toml"
        problem.write_text(
            'name = "nowhere"\ncoordinates = ["x"]\nfields = ["u"]\n[domain]\nx = [0, 1]\n'
            '[[equation]]\nname = "e"\nresidual = "u_x - u"\n'
        )
        text = replaced(SMALL, 'label = "Heat"', f'problem = "{problem}"')
        text = text.replace('recipe = "quick"', "").replace("training.points.initial = 16\n", "")
        text = text.replace("training.points.walls = 16\n", "").replace(
            "training.sampling.every = 10\n", ""
        )
        text = replaced(text, "claim =", 'recipe = ""\nclaim =')
        self.assert_refused("errors cannot be measured", check_runs, Plan(read_text(text), "short"))


class EveryExperiment(Case):
    def test_is_read_and_plans_runs_within_every_budget(self):
        for name in finding.list_experiments():
            [experiment] = finding.read_experiments([name])
            for budget in experiment.budgets:
                self.assertTrue(Plan(experiment, budget).cells, name)


if __name__ == "__main__":
    unittest.main()
