#!/usr/bin/env python3
"""The parts of docs/generator and tests/docs/run that need no programs, and the links of the repository."""

import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[2] / "docs")]

import output  # noqa: E402
from generator import links, pages, reference  # noqa: E402
from generator.__main__ import fetched_from_elsewhere  # noqa: E402

SHOWN = ["job local-20261126-101500-4637c9 RUNNING", "worker:0  running  16817  3/4 MB"]
REAL = ["job local-20270101-000000-abcdef RUNNING", "worker:0    running   9    12/13 MB"]


class OutputTest(unittest.TestCase):
    def test_an_id_or_amount_on_a_page_matches_a_different_real_value(self):
        names = output.Names()
        self.assertTrue(output.matches(SHOWN, REAL, names))
        self.assertEqual("kill 9; tony status local-20270101-000000-abcdef",
                         names.in_command("kill 16817; tony status local-20261126-101500-4637c9"))

    def test_an_id_shown_on_a_page_matches_only_one_real_id(self):
        names = output.Names()
        self.assertTrue(output.matches(SHOWN, REAL, names))
        self.assertFalse(output.matches(SHOWN[:1], ["job local-20270101-000000-000000 RUNNING"], names))

    def test_different_words_or_missing_or_additional_lines_do_not_match(self):
        self.assertFalse(output.matches(SHOWN, [REAL[0].replace("RUNNING", "FAILED"), REAL[1]], output.Names()))
        self.assertFalse(output.matches(SHOWN, REAL[:1], output.Names()))
        self.assertFalse(output.matches(SHOWN, [*REAL, "one more"], output.Names()))
        self.assertFalse(output.matches([], ["something"], output.Names()))

    def test_three_dots_match_any_lines_or_words(self):
        self.assertTrue(output.matches(["...", "end ... of it"], ["a", "b", "end or beginning of it"], output.Names()))
        self.assertFalse(output.matches(["...", "end"], ["a", "b"], output.Names()))

    def test_a_failed_match_assigns_no_real_id_to_a_shown_id(self):
        names = output.Names()
        lines = ["job local-20270101-000000-000000 FAILED", *REAL]
        self.assertTrue(output.matches(["...", *SHOWN], lines, names))
        self.assertEqual("local-20270101-000000-abcdef", names.real["local-20261126-101500-4637c9"])

    def test_lines_can_match_in_any_order(self):
        self.assertTrue(output.matches_in_any_order(["a 1", "b"], ["b", "a 1"], output.Names()))
        self.assertFalse(output.matches_in_any_order(["a 1", "b"], ["b", "b"], output.Names()))
        self.assertFalse(output.matches_in_any_order(["a 1"], ["b", "a 1"], output.Names()))


class PagesTest(unittest.TestCase):
    def test_directives_in_comments_apply_to_the_next_code_block(self):
        blocks, alone = pages.read_blocks("<!-- about: x -->\n\n<!-- not run: root -->\n```console\n$ a\n```\n```console\n$ b\n```\n")
        self.assertEqual([("about", "x", 1)], alone)
        self.assertEqual([{"not run": "root"}, {}], [block.directives for block in blocks])

    def test_a_directive_comment_without_a_code_block_is_an_error(self):
        with self.assertRaises(ValueError):
            pages.read_blocks("<!-- not run: root -->\nText.\n")

    def test_links_in_code_are_ignored(self):
        seen = []
        pages.replace_links("[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n[g](https://h) [two\nlines](i.md)\n\n    [j](k)\n",
                            lambda *link: seen.append(link) or "")
        self.assertEqual([(False, "a", "b.md"), (False, "two\nlines", "i.md")], seen)

    def test_heading_anchors_are_generated_as_by_code_hosts(self):
        self.assertEqual({"a-b-c", "a-b-c-1"}, pages.anchors_of("# A `b`, c!\n## A b c\n```\n# none\n```\n"))


class LinksTest(unittest.TestCase):
    def test_the_repository_has_no_dead_link(self):
        dead, followed = links.dead_links(links.markdown_files())
        self.assertEqual([], dead)
        self.assertGreater(followed, 200)

    def test_dead_links_are_reported_with_the_missing_file_or_heading(self):
        build = pages.ROOT / "build"
        build.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=build) as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("# Title\n[a](none.md) [b](#none) [c](#title) [d](../../docs/index.md#none) [e](../../docs/index.md)\n")
            dead, followed = links.dead_links([page])
        self.assertEqual(5, followed)
        self.assertEqual(["none.md: no such file", "#none: no such heading", "../../docs/index.md#none: no such heading"],
                         [each.split(": ", 1)[1] for each in dead])


class SiteTest(unittest.TestCase):
    def test_files_that_a_page_would_fetch_from_other_sites_are_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder)
            (site / "a.html").write_text('<a href="https://h/">x</a><script src="https://h/x.js"></script><img src="b.png">')
            (site / "a.css").write_text("@font-face { src: url(//h/f.woff2) } p { background: url(b.png) }")
            self.assertEqual(['a.html: <script src="https://h/x.js">', "a.css: //h/f.woff2"], list(fetched_from_elsewhere(site)))

    def test_the_generated_reference_has_a_section_for_each_schema(self):
        text = reference.schemas(None)
        for file in reference.SCHEMAS.glob("*.schema.json"):
            self.assertIn(f"## {file.name.removesuffix('.schema.json')}\n", text)
        self.assertIn("`retryable`", text)


if __name__ == "__main__":
    unittest.main()
