"""The package's types, checked by two type checkers in their strictest modes."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "runtime/python"
LIMIT = 300  # seconds
MYPY = [sys.executable, "-m", "mypy", "--strict"]
PYRIGHT = [str(pathlib.Path(sys.executable).with_name("basedpyright"))]

# Each line has a mistake that a checker must find.
MISTAKES = """import tony
tony.submit(executes=7)
tony.submit(nmae="n")
tony.run("true", "four")
tony.job("last").wait().verdict.message
tony.job("last").status().state == 1 + "x"
tony.job("last").logs(stream="both")
"""


class TypesTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-types-"))
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(PACKAGE / "tony", self.folder / "tony", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(PACKAGE / "pyproject.toml", self.folder)
        shutil.copy(HERE / "example.py", self.folder)
        (self.folder / "mistakes.py").write_text(MISTAKES)

    def check(self, checker, *words):
        done = subprocess.run([*checker, *words], cwd=self.folder, capture_output=True, text=True, timeout=LIMIT, check=False)
        return done.returncode, done.stdout + done.stderr

    def mistaken_lines(self, text):
        lines = {line.partition("mistakes.py:")[2].partition(":")[0] for line in text.splitlines() if " error" in line}
        return sorted(int(number) for number in lines if number)

    def test_mypy_accepts_the_package_and_finds_each_deliberate_mistake(self):
        self.assertEqual(self.check(MYPY, "tony", "example.py")[0], 0, self.check(MYPY, "tony", "example.py")[1])
        code, text = self.check(MYPY, "mistakes.py")
        self.assertEqual((code, self.mistaken_lines(text)), (1, [2, 3, 4, 5, 6, 7]), text)

    def test_pyright_accepts_the_package_and_finds_each_deliberate_mistake(self):
        code, text = self.check(PYRIGHT, "--pythonpath", sys.executable, "tony", "example.py")
        self.assertEqual(code, 0, text)
        code, text = self.check(PYRIGHT, "--pythonpath", sys.executable, "mistakes.py")
        self.assertEqual((code, self.mistaken_lines(text)), (1, [2, 3, 4, 5, 6, 7]), text)
