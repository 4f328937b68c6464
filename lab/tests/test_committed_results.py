"""The verdicts on the committed page follow from the values beside it: same claims, same words."""
from common import LAB, Case, unittest

from laboratory import facts, tables, verdicts
from laboratory.plan import Plan
from laboratory.finding import read_experiments

DOCS = LAB / "docs"


def tables_of(text):
    """Of a Markdown page, as lists of rows."""
    found, current = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            current.append([cell.strip() for cell in line.strip()[1:-1].split("|")])
        elif current:
            found.append([current[0], *current[2:]])
            current = []
    return found


class CommittedPage(Case):
    @classmethod
    def setUpClass(cls):
        cls.page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
        plans = [Plan(experiment, "short") for experiment in read_experiments(["all"])]
        cls.facts = [facts.load(plan, DOCS / "reproduction") for plan in plans]

    def section(self, found):
        part = self.page.split(f"\n## {found.plan.experiment.title}\n", 1)[1]
        return part.split("\n## ", 1)[0]

    def test_every_claim_has_its_verdict_and_its_evidence(self):
        [summary] = [
            t
            for t in tables_of(self.page)
            if t[0] == ["here", "claim", "where, and by what factor", "section"]
        ]
        stated = {
            (section, claim): (here, evidence) for here, claim, evidence, section in summary[1:]
        }
        judged = {}
        for found in self.facts:
            for check in found.plan.experiment.checks:
                verdict = verdicts.judge_claim(found, check)
                judged[found.plan.experiment.title, check.words()] = verdict.text, verdict.evidence
        self.assertEqual(len(judged), 99)
        self.assertEqual(judged, stated)

    def test_every_table_is_that_of_the_page(self):
        rows = 0
        for found in self.facts:
            stated = tables_of(self.section(found))
            for table in (
                tables.values_table(found),
                tables.verdict_table(found),
                tables.checks_table(found),
                tables.events_table(found),
            ):
                if table:
                    self.assertIn(
                        [[cell.strip() for cell in line] for line in (table.header, *table.rows)],
                        stated,
                        found.plan.experiment.name,
                    )
                    rows += len(table.rows)
        self.assertEqual(rows, 496)

    def test_saved_facts_are_read_back(self):
        facts.save(self.facts, self.folder)
        for found in self.facts:
            again = facts.load(found.plan, self.folder)
            for check in found.plan.experiment.checks:
                self.assertEqual(
                    verdicts.judge_claim(again, check), verdicts.judge_claim(found, check)
                )


class CommittedStudy(Case):
    def test_comparisons_follow_from_the_values(self):
        """Intervals are printed to three digits by a t table then and by SciPy now: the last
        digit may differ."""
        [experiment] = read_experiments(["matrix-secants"])
        found = facts.load(Plan(experiment, "short"), DOCS / "matrix-secants")
        stated = tables_of((DOCS / "matrix-secants.md").read_text(encoding="utf-8"))
        for entry in experiment.tables:
            table = tables.comparison_table(found, entry)
            [page] = [
                t for t in stated if [row[:2] for row in t[1:]] == [row[:2] for row in table.rows]
            ]
            for ours, theirs in zip(table.rows, page[1:]):
                self.assertEqual(ours[:-2] + ours[-1:], theirs[:-2] + theirs[-1:])


if __name__ == "__main__":
    unittest.main()
