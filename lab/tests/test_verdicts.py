"""Verdicts on rankings and claims, from values made up for the purpose."""
import math
import tomllib

from common import NOT_SOLVED, THREE, Case, TuningFacts, facts_of, read_text, unittest

from laboratory import tables
from laboratory.measured import Measured, Outcome, Ratio, factor_text
from laboratory.rankings import judge_ranking
from laboratory.verdicts import judge_claim

HIGHER = {("one", "b"): [2, 2.2, 1.8], ("one", "c"): [3, 3.3, 2.7]}


class Rankings(Case):
    def words(self, **by_metric):
        found = facts_of(**by_metric)
        verdict = judge_ranking(found, found.plan.experiment.metrics[0], "one")
        return verdict.words, verdict.pairs_text()

    def test_hold_where_the_leader_is_the_papers(self):
        words, pairs = self.words(residual=HIGHER)
        self.assertEqual(words, "A, decayed leads, as in the paper")
        self.assertEqual(pairs, "3 in its order, 0 not told apart, 0 reversed")

    def test_fail_where_another_is_better_in_all_seeds(self):
        words, _ = self.words(residual={**HIGHER, ("one", "a"): [10, 11, 9]})
        self.assertEqual(
            words, "A, decayed leads in the paper; here it is behind B, C (5.00 times B)"
        )

    def test_are_open_where_seeds_cannot_tell(self):
        words, pairs = self.words(residual={**HIGHER, ("one", "b"): [1, 1.2, 0.8]})
        self.assertEqual(
            words, "A, decayed leads in the paper; here the seeds cannot tell it from B"
        )
        self.assertEqual(pairs, "2 in its order, 1 not told apart, 0 reversed")

    def test_count_runs_without_a_value_or_a_solution_as_last(self):
        words, _ = self.words(residual={**HIGHER, ("one", "a"): [0.1, "diverged", 0.1]})
        self.assertIn("behind B, C (1 seed without a value)", words)
        words, _ = self.words(residual={**HIGHER, ("one", "a"): [0.1, (0.1, NOT_SOLVED), 0.1]})
        self.assertIn("behind B, C", words)

    def test_are_not_given_where_runs_are_missing_or_nobody_solves_the_problem(self):
        self.assertEqual(self.words(residual={("one", "a"): [1, 1, "not run"]})[0], "not tested")
        unsolved = {("one", v): [0.8, 0.9, 0.7] for v in "abc"}
        self.assertEqual(
            self.words(residual=HIGHER, l2=unsolved)[0],
            "no method solves it here: the best relative L² error is 0.80",
        )


class Claims(Case):
    def judge(self, check, events=None, losses=None, **by_metric):
        found = facts_of(
            THREE + f'\n[[check]]\nsays = "So."\nproblems = ["one"]\n{check}\n', **by_metric
        )
        found.events = events or {}
        if losses:
            found.tuning["one", "a"] = TuningFacts(losses, {}, [])
        verdict = judge_claim(found, found.plan.experiment.checks[0])
        return verdict.text, verdict.evidence

    def test_that_one_is_below_others(self):
        below = 'variant = "a"\nbelow = ["b", "c"]'
        self.assertEqual(
            self.judge(below, residual=HIGHER), ("holds", "holds on one (0.50 times B)")
        )
        self.assertEqual(
            self.judge(below, residual={**HIGHER, ("one", "c"): [1, 1.2, 0.8]}),
            ("cannot tell", "cannot tell on one (from C; 1.01 times C, lower in 1 of 3 seeds)"),
        )
        self.assertEqual(
            self.judge(below, residual={**HIGHER, ("one", "b"): ["diverged", 2, 2]})[1],
            "holds on one (0.33 times C)",
        )
        self.assertEqual(
            self.judge(below, residual={("one", "b"): ["not run"] * 3}),
            ("not tested", "not tested on one (runs are missing)"),
        )
        self.assertEqual(
            self.judge(below, residual=HIGHER, losses=[math.inf, math.inf])[1],
            "not tested on one (all that tuning tried diverges: A, decayed)",
        )

    def test_on_a_range_are_open_where_the_interval_crosses_its_ends(self):
        over = 'variant = "b"\nover = "a"\nrange = [{}]'
        self.assertEqual(self.judge(over.format("1.5, 3"), residual=HIGHER)[0], "holds")
        self.assertEqual(self.judge(over.format("3, 4"), residual=HIGHER)[0], "does not hold")
        self.assertEqual(self.judge(over.format("2, 4"), residual=HIGHER)[0], "cannot tell")
        self.assertEqual(
            self.judge(over.format("2.5, 1e300"), residual=HIGHER)[1],
            "does not hold on one (2.00 (1.95 … 2.05) times A; 2.5 or more counts)".replace(
                "1.95 … 2.05", self.interval("b", "a")
            ),
        )

    def interval(self, variant, other):
        found = facts_of(residual=HIGHER)
        ratio = found.ratio(
            found.plan.experiment.metrics[0], variant, other, [found.plan.problems[0]]
        )
        return f"{factor_text(ratio.low)} … {factor_text(ratio.high)}"

    def test_that_one_is_far_below_count_seeds_without_a_value(self):
        far = 'variant = "a"\nover = "b"\nrange = [0, 0.1]'
        self.assertEqual(
            self.judge(far, residual={("one", "b"): ["diverged"] * 3}),
            ("holds", "holds on one (B has 3 seeds without a value; at most 0.1 counts)"),
        )
        self.assertEqual(
            self.judge(far, residual={("one", "a"): ["diverged", 1, 1]})[0], "does not hold"
        )

    def test_on_a_value_of_its_own_take_the_interval_of_the_mean(self):
        share = 'variant = "a"\nmetric = "share"\nrange = [0.5, 1]'
        self.assertEqual(
            self.judge(share, share={("one", "a"): [0.9, 0.91, 0.92]})[1],
            "holds on one (91 % (89 % … 93 %); 50 to 100 % counts)",
        )
        self.assertEqual(
            self.judge(share, share={("one", "a"): [0.1, 0.2, 0.1]})[0], "does not hold"
        )
        self.assertEqual(
            self.judge(share, share={("one", "a"): [0.9, "diverged", 0.9]})[0], "not tested"
        )

    def test_that_a_target_is_missed_needs_a_method_that_reaches_it(self):
        missed = 'variant = "a"\nmetric = "seconds"\nresult = "did not reach it"'
        all_miss = {("one", v): ["missed"] * 3 for v in "abc"}
        self.assertEqual(
            self.judge(missed, seconds=all_miss),
            ("not tested", "not tested on one (no method reaches it)"),
        )
        self.assertEqual(
            self.judge(missed, seconds={**all_miss, ("one", "b"): [1, 2, 3]})[0], "holds"
        )

    def test_on_changes_of_bases_come_from_their_log(self):
        key, found = ("one", "a"), {
            "loss_after_1": 1.05,
            "doubled_after_1": 0.068,
            "rho": 0.5,
            "rho_after_10": 0.1,
        }
        for events, bounds, words in (
            (
                "loss_after_1",
                "0, 1.1",
                "holds on one (1.05 times the loss before, in the worst tenth of changes; "
                "at most 1.1 counts)",
            ),
            (
                "doubled_after_1",
                "0, 0.01",
                "does not hold on one (6.8 % of changes more than double the loss in one "
                "step; at most 1 % counts)",
            ),
            (
                "rho_after_10",
                "0, 0.2",
                "holds on one (0.1 ten steps after the median change, 0.5 at it; at most 0.2 "
                "counts)",
            ),
        ):
            check = f'variant = "a"\nevents = "{events}"\nrange = [{bounds}]'
            self.assertEqual(self.judge(check, {key: found})[1], words)
        self.assertIn("no log of changes of bases was kept", self.judge(check)[1])

    def test_name_rows_as_a_sentence_needs_them(self):
        found = facts_of(
            THREE + '\n[[check]]\nsays = "So."\nours = true\nvariant = "a"\nbelow = ["b"]\n'
        )
        self.assertIn(
            "cannot tell on one (", judge_claim(found, found.plan.experiment.checks[0]).evidence
        )
        self.assertIn(
            ", one, and two (", judge_claim(found, found.plan.experiment.checks[0]).evidence
        )
        self.assertEqual(found.plan.experiment.checks[0].words(), "So (ours).")


class Numbers(Case):
    def test_of_a_cell_say_which_runs_have_none(self):
        def text(*values):
            return (
                facts_of(residual={("one", "a"): list(values)})
                .measure(read_text(THREE).metrics[0], "one", "a")
                .text()
            )

        self.assertEqual(text(1, 2, 3), "2.00e+00 ± 5.8e-01")
        self.assertEqual(text(1, 2, 30), "median 2.00e+00 (1.0e+00 … 3.0e+01)")
        self.assertEqual(text(1, 30, "diverged"), "1.00e+00 and 3.00e+01; 1 of 3 diverged")
        self.assertEqual(text(*["out of memory"] * 3), "out of memory")
        self.assertEqual(text(*["absent"] * 3), "–")
        self.assertEqual(text(1, 2, "failed"), "1.50e+00 ± 5.0e-01; 1 of 3 failed")

    def test_zero_is_the_smallest_value(self):
        pairs = [(Outcome(0.0), Outcome(b)) for b in (1.0, 2.0)]
        self.assertEqual(Ratio.of(pairs).ahead, 2)
        self.assertEqual(Measured([Outcome(0.0), Outcome(1.0)]).rank_value(), 0.5)

    def test_only_runs_that_have_ended_are_compared(self):
        lost = Ratio.of([(Outcome(notes=frozenset({"failed"})), Outcome(1.0))])
        self.assertEqual((lost.lost, lost.pairs), (0, 0))


class Tables(Case):
    def test_compare_variants_with_the_first_row_or_the_one_above(self):
        def table(variants, more=""):
            text = f'{THREE}\n[[table]]\ntitle = "T"\nvariants = {variants}\n{more}'
            found = facts_of(text, residual={(p, "b"): [2, 2.2, 1.8] for p in ("one", "two")})
            return tables.comparison_table(found, found.plan.experiment.tables[0]), tables.findings(
                found
            )

        compared, sentences = table('["a", "b", "c"]')
        rows = [row for row in compared.rows if row[0] == "residual"]
        self.assertEqual([row[-1] for row in rows], ["", "worse", "level"])
        self.assertEqual(rows[1][-2], "2.00 (2.00 … 2.00)")
        self.assertIn("T, residual: level: C (1.00); worse: B, decayed (2.00).", sentences)
        paired, _ = table('["b", "a", "b", "c"]', "pairs = true\n")
        self.assertEqual(
            [row[-1] for row in paired.rows if row[0] == "residual"], ["", "better", "", "better"]
        )

    def test_are_written_for_other_programs(self):
        found = facts_of(residual=HIGHER)
        long = tables.long_table(found)
        row = dict(zip(long.header, next(r for r in long.rows if r[2:4] == ["one", "b"])))
        self.assertEqual(
            (row["mean"], row["median"], row["seeds"], row["paper"]), ("2", "2", "3", "2")
        )
        self.assertIn(
            "$1.00 \\cdot 10^{-3}", tables.TextTable(["a", "b"], [["x", "1.00e-03"]]).latex()
        )
        self.assertIn("R\\&D\\_$\\tau$", tables.TextTable(["a", "b"], [["R&D_τ", ""]]).latex())
        self.assertIn("a\\|b", tables.TextTable(["a", "b"], [["a|b", ""]]).markdown())


if __name__ == "__main__":
    assert tomllib
    unittest.main()
