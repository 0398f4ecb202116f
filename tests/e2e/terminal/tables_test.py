"""The tables of `tony` on terminals of 20 to 120 columns."""

import pathlib
import re
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "contract"))

from reader import Sandbox, task  # noqa: E402
from terminal import Terminal  # noqa: E402

STYLE = re.compile(rb"\x1b\[[0-9;]*m")
CURSOR = re.compile(rb"\x1b\[[0-9;]*[AJKm]|\r(?!\n)")
# Japanese: "learning a model of pictures, with a long name".
WIDE_NAME = "画像モデルの学習-長い名前"


class TablesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.box = Sandbox()
        cls.addClassCleanup(cls.box.close)
        conf = ("-conf", f"tony.application.name={WIDE_NAME}")
        cls.good = cls.submit(*task("echo one", *conf))
        cls.bad = cls.submit(*task("echo 'a long line of what went wrong in this job' >&2; exit 3"))
        cls.held = cls.submit(*task(f"until [ -e {cls.box.folder}/go ]; do sleep 0.05; done", *conf))
        for job in (cls.good, cls.bad):
            cls.box.run("wait", job)
        cls.box.wait_for("usage", lambda: b" MB" in cls.box.run("status", cls.held).raw)

    @classmethod
    def submit(cls, *words):
        answer = cls.box.run("submit", "--detach", *words)
        assert answer.exit == 0, str(answer)
        return answer.raw.decode().strip()

    def show(self, columns, *words, **variables):
        terminal = Terminal([self.box.tony, *words], self.box.environment(**variables), self.box.folder, columns)
        self.addCleanup(terminal.close)
        return terminal.finish()

    def test_no_line_is_wider_than_the_terminal(self):
        told = [["list"], ["list", "--queue"], ["status", self.bad], ["status", self.held], ["history"], ["history", self.bad],
                ["doctor"], ["wait", self.bad], ["gc", "--dry-run"]]  # fmt: skip
        looked_up = [["help"], ["help", "submit"], ["help", "logs"], ["help", "keys"], ["explain-exit"], ["explain-exit", "137"],
                     ["plan", *task("python train.py --with many --options that --are long --and more of them")]]  # fmt: skip
        for columns in (20, 40, 80, 120):
            for words in told + (looked_up if columns >= 80 else []):
                with self.subTest(columns=columns, words=words[:2]):
                    shown = self.show(columns, *words)
                    self.assertIn(shown.exit, (0, 1), shown.text())
                    for line in STYLE.sub(b"", shown.bytes).decode().split("\r\n"):
                        # A word without a blank, e.g. a path or an address, cannot be wrapped.
                        longest = max((len(word) for word in line.split()), default=0)
                        self.assertTrue(wide(line) <= columns or longest > columns / 3, f"{wide(line)}: {line}")

    def test_text_above_the_live_table_is_wrapped_and_the_table_appears_once(self):
        again = task("test $TONY_ATTEMPT = 3 || exit 3", "-conf", "tony.restart.task.budget=5", "-conf", "tony.restart.backoff-ms=10",
                     "-conf", f"tony.application.name={WIDE_NAME}")  # fmt: skip
        for columns in (20, 40, 80, 120):
            with self.subTest(columns=columns):
                shown = self.show(columns, "submit", *again)
                self.assertEqual(shown.exit, 0, shown.text())
                above = CURSOR.sub(b"", shown.bytes).decode()
                self.assertIn("restart 2 (task): worker:0 failed", re.sub(r"\s+", " ", above))
                for line in above.split("\r\n"):
                    longest = max((wide(word) for word in line.split()), default=0)
                    self.assertTrue(wide(line) <= columns or longest > columns / 3, f"{wide(line)}: {line}")
                self.assertEqual([line[:8] for line in shown.lines()].count("worker:0"), 1, shown.text())

    def test_columns_are_aligned_despite_wide_characters(self):
        for columns in (80, 120):
            buffer = self.show(columns, "list").screen.buffer
            shown = [[buffer[y][x].data for x in range(columns)] for y in range(20)]
            rows = [row for row in shown if "".join(row).startswith(("JOB ", "local-"))]
            at = "".join(rows[0]).index("NEWS")
            self.assertEqual([row[at - 2 : at] for row in rows], [[" ", " "]] * len(rows))
            self.assertNotIn(" ", [row[at] for row in rows])
            self.assertEqual(sum(WIDE_NAME[:2] in "".join(row) for row in rows), 2)

    def test_rows_are_coloured_on_a_terminal_and_with_color_always(self):
        shown = self.show(80, "list")
        self.assertIn(b"\x1b[31m" + self.bad.encode(), shown.bytes)
        self.assertIn(b"\x1b[32mSUCCEEDED\x1b[0m", shown.bytes)
        self.assertNotIn(b"\x1b[31m", self.show(80, "list", NO_COLOR="1").bytes)
        self.assertIn(b"\x1b[31m", self.show(80, "list", "--color", "always", NO_COLOR="1").bytes)
        self.assertNotIn(b"\x1b[31m", self.show(80, "list", "--color", "never").bytes)
        self.assertNotIn(b"\x1b", self.box.run("list").raw)
        self.assertIn(b"\x1b[31m", self.box.run("list", "--color", "always").raw)
        self.assertEqual(self.box.run("list", "--color", "sometimes").exit, 64)

    def test_status_shows_the_memory_of_a_task_with_its_limit(self):
        self.assertRegex(self.show(120, "status", self.held).text(), r"worker:0 .* running .* 0\.\d/2\.0 GB +\d+ MB ")

    def test_the_next_command_is_suggested_only_on_a_terminal_without_quiet_or_json(self):
        self.assertIn(f"next: tony logs {self.held} -f", self.show(80, "status", self.held).text())
        self.assertIn("next: tony submit job.json", self.planned().text())
        self.assertNotIn("next:", self.planned("--quiet").text())
        self.assertNotIn("next:", self.box.run("status", self.held).err)
        detached = self.show(120, "submit", "--detach", *task(f"until [ -e {self.box.folder}/go ]; do sleep 0.05; done"))
        self.assertRegex(detached.text(), r"(?s)^local-\S+\npage: http://.*next: tony logs local-\S+ -f")
        job = detached.text().split("\n")[0]
        self.assertIn(f"next: tony history {job}, tony logs {job}", self.show(120, "kill", job).text())
        self.assertIn(f"next: tony history {job},\ntony logs {job}", self.show(80, "kill", job).text())
        self.assertNotIn("next:", self.show(120, "kill", job, "--quiet").text() + self.show(120, "kill", job, "--json").text())
        self.assertIn(f"next: tony logs {job}, tony history {job} --events", self.show(120, "history", job).text())
        self.assertIn("next: tony history JOB, tony history --stats", self.show(80, "history").text())
        doctor = self.show(80, "doctor")
        self.assertEqual("next: tony init pytorch, tony run -- COMMAND" in doctor.text(), doctor.exit == 0, doctor.text())

    def planned(self, *more):
        (self.box.folder / "job.json").write_text('{"executes": "true", "tasks": {"worker": {"instances": 1}}}')
        return self.show(120, "plan", *more, "job.json")


def wide(line):
    """Returns the width in columns, as pyte counts them."""
    from wcwidth import wcswidth

    return wcswidth(line)


if __name__ == "__main__":
    unittest.main()
