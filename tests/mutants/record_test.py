#!/usr/bin/env python3
"""The lines that scripts/mutants --record writes into README.md."""

import dataclasses
import pathlib
import unittest

import record

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Mutant:
    key: str
    kind: str


def result(caught_by, commit):
    return {"caught_by": caught_by, "seconds": 0.1, "commit": commit}


PAGE = f"# Title\n\n{record.BEGIN}| selection | commit |\n|---|---|\n| a | 1 |\n| b | 2 |\n{record.END}\nText.\n"


class RecordTest(unittest.TestCase):
    def test_a_record_line_has_the_caught_mutants_of_each_kind_and_the_commits(self):
        mutants = [Mutant("r", "row"), Mutant("c", "comparison"), Mutant("d", "comparison"), Mutant("e", "comparison")]
        results = {"r": result("x", "1234567"), "c": result(None, "1234567"), "d": result("x", "abcdef0"), "e": result(None, "1234567"),
                   "f": result(None, "7654321")}  # fmt: skip
        self.assertEqual("| all | 1234567, abcdef0 | 1 of 1 | | 1 of 3 | 2 of 4 (50.0 %) | 1 of 2 |\n",
                         record.line("all", mutants, results, {"c": "It behaves the same.", "e": "", "r": "It is caught."}))

    def test_a_result_without_a_commit_is_recorded_with_commit_unknown(self):
        self.assertEqual("| all | unknown | 1 of 1 | | | 1 of 1 (100.0 %) | 0 of 0 |\n",
                         record.line("all", [Mutant("r", "row")], {"r": {"caught_by": "x", "seconds": 1}}, {}))

    def test_a_record_line_replaces_the_earlier_line_of_the_same_selection(self):
        self.assertEqual(PAGE.replace("| a | 1 |", "| a | 3 |"), record.with_line(PAGE, "a", "| a | 3 |\n"))

    def test_the_record_line_of_a_new_selection_is_appended(self):
        self.assertEqual(PAGE.replace("| b | 2 |\n", "| b | 2 |\n| c | 3 |\n"), record.with_line(PAGE, "c", "| c | 3 |\n"))

    def test_a_page_without_the_begin_and_end_marks_is_reported(self):
        self.assertEqual([], list(record.problems(PAGE)))
        self.assertEqual(1, len(list(record.problems(PAGE.replace(record.END, "")))))
        self.assertEqual([], list(record.problems(record.readme(ROOT).read_text())))


if __name__ == "__main__":
    unittest.main()
