"""Runs the examples of the package's page unchanged."""

import contextlib
import io
import os
import pathlib
import re

from case import PackageCase

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/python.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
TRAIN = """import json, os
rank, world = os.environ["RANK"], os.environ["WORLD_SIZE"]
for epoch in (1, 2, 3):
    print(f"rank {rank} of {world}: epoch {epoch}", flush=True)
if "TONY_OUTPUT_FILE" in os.environ:
    json.dump({"loss": 0.25}, open(os.environ["TONY_OUTPUT_FILE"], "w"))
"""


class PageTest(PackageCase):
    def test_each_example_prints_what_the_page_shows(self):
        (self.folder / "src").mkdir()
        (self.folder / "src/train.py").write_text(TRAIN)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        names, examples = {}, EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(examples), 5)
        for code, expected in examples:
            with self.subTest(code.splitlines()[0]), contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102
                self.assertEqual(printed.getvalue(), expected)

    def test_every_exception_of_the_package_is_documented_on_the_page(self):
        import tony

        for name in tony.__all__:
            self.assertTrue(hasattr(tony, name), name)
        exceptions = {name for name in tony.__all__ if isinstance(getattr(tony, name), type)
                      and issubclass(getattr(tony, name), tony.TonyError)} - {"TonyError"}  # fmt: skip
        text = PAGE.read_text(encoding="utf-8")
        self.assertEqual({name for name in exceptions if f"`{name}`" not in text and f"`tony.{name}`" not in text}, set())
