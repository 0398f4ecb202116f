"""Completion with the Tab key in real bash, zsh and fish."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "contract"))

from reader import Sandbox  # noqa: E402
from terminal import Terminal  # noqa: E402

MARK = "ready>"


class CompletionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for shell in ("bash", "zsh", "fish"):
            assert shutil.which(shell), f"this test needs {shell}: scripts/test installs it"
        cls.box = Sandbox()
        cls.addClassCleanup(cls.box.close)
        words = ["-executes", "true"]
        for conf in ("application.framework=tensorflow", "worker.instances=1", "eval.instances=1",
                     "application.name=resnet"):  # fmt: skip
            words += ["-conf", f"tony.{conf}"]
        submitted = cls.box.run("submit", "--detach", *words)
        assert submitted.exit == 0, str(submitted)
        cls.job = submitted.raw.decode().strip()
        cls.box.run("wait", cls.job)
        (cls.box.folder / "my job.yaml").write_text("executes: true\n")

    def environment(self):
        folder = str(self.box.tony.parent)
        return self.box.environment(PATH=f"{folder}:/usr/bin:/bin", XDG_CONFIG_HOME=str(self.box.folder / "config"),
                                    ZDOTDIR=str(self.box.folder))  # fmt: skip

    def complete(self, *words):
        """Runs `tony complete` as the shells' scripts do."""
        ran = subprocess.run([self.box.tony, "complete", "--", *words], env=self.environment(), cwd=self.box.folder,
                             capture_output=True, text=True, timeout=60)  # fmt: skip
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return [line.split("\t")[0] for line in ran.stdout.splitlines()]

    def test_completion_offers_every_command_and_each_option_of_the_command(self):
        verbs = self.complete("")
        self.assertLessEqual({"submit", "logs", "status", "completion"}, set(verbs))
        for verb in verbs:
            described = subprocess.run([self.box.tony, "help", verb], capture_output=True, text=True).stdout
            known = [word.rstrip(",") for line in described.splitlines() for word in line.split()[:2]
                     if line.startswith("  -") and word.startswith("-")]  # fmt: skip
            self.assertEqual(self.complete(verb, "-"), known, verb)

    def test_completion_offers_jobs_tasks_keys_and_option_values(self):
        self.assertEqual(self.complete("status", ""), ["last", self.job, "resnet"])
        self.assertEqual(self.complete("logs", "resnet", "w"), ["worker", "worker:0"])
        self.assertEqual(self.complete("logs", "-n", "5", "last", "eval", ""), ["eval", "eval:0", "worker", "worker:0"])
        self.assertIn("tony.worker.memory=", self.complete("submit", "-conf", "tony.worker.m"))
        self.assertEqual(self.complete("submit", "--on-existing=a"), ["--on-existing=adopt", "--on-existing=attach"])
        self.assertEqual(self.complete("submit", "jo"), [":files"])
        self.assertEqual(self.complete("init", "py"), ["pytorch"])
        self.assertEqual(self.complete("no-such", ""), [])
        self.assertEqual(self.complete("status", "x y\n"), [])

    def test_a_completion_takes_less_than_half_a_second(self):
        best = min(self.timed("logs", "last", "") for _ in range(5))
        self.assertLess(best, 0.5)  # with sanitizers; otherwise milliseconds

    def timed(self, *words):
        begin = time.monotonic()
        self.complete(*words)
        return time.monotonic() - begin

    def shell(self, *argv):
        terminal = Terminal(argv, self.environment(), self.box.folder, columns=120)
        self.addCleanup(terminal.close)
        return terminal

    def press(self, terminal, typed, expected):
        before = len(terminal.bytes)
        terminal.type(typed + "\t")
        terminal.wait_for(lambda: expected in terminal.screen.display[terminal.screen.cursor.y]
                          or expected.encode() in terminal.bytes[before:], f"{expected!r} behind {typed!r}")  # fmt: skip
        terminal.type("\x15")  # deletes the line

    def drive(self, terminal):
        """Types the same lines in each shell."""
        self.press(terminal, "tony stat", "tony status")
        self.press(terminal, "tony status res", "tony status resnet")
        self.press(terminal, f"tony status {self.job[:12]}", f"tony status {self.job}")
        self.press(terminal, "tony logs resnet worker:", "tony logs resnet worker:0")
        self.press(terminal, "tony logs resnet --times", "tony logs resnet --timestamps")
        self.press(terminal, "tony submit -conf tony.worker.inst", "tony submit -conf tony.worker.instances=")
        self.press(terminal, "tony submit my", "my\\ job.yaml")

    def test_tab_completes_commands_jobs_options_and_files_in_bash(self):
        bash = self.shell("/bin/bash", "--norc", "--noprofile")
        bash.type(f"PS1='{MARK[:3]}''{MARK[3:]}'; source <(tony completion bash)\n")
        bash.wait_for(lambda: MARK in bash.text(), "the prompt")
        self.drive(bash)

    def test_tab_completes_commands_jobs_options_and_files_in_zsh(self):
        zsh = self.shell("/bin/zsh", "-f")
        zsh.type(f"PS1='{MARK[:3]}''{MARK[3:]}'; autoload -Uz compinit && compinit -u -D; source <(tony completion zsh)\n")
        zsh.wait_for(lambda: MARK in zsh.text(), "the prompt")
        self.drive(zsh)

    def test_zsh_loads_the_completion_script_from_its_function_folder(self):
        functions = self.box.folder / "functions"
        functions.mkdir()
        script = subprocess.run([self.box.tony, "completion", "zsh"], capture_output=True, text=True, check=True).stdout
        (functions / "_tony").write_text(script)
        zsh = self.shell("/bin/zsh", "-f")
        zsh.type(f"PS1='{MARK[:3]}''{MARK[3:]}'; fpath=({functions} $fpath); autoload -Uz compinit && compinit -u -D\n")
        zsh.wait_for(lambda: MARK in zsh.text(), "the prompt")
        self.press(zsh, "tony stat", "tony status")
        self.press(zsh, "tony status res", "tony status resnet")

    def test_completion_offers_commands_jobs_options_and_files_in_fish(self):
        def fish(line):
            command = f"tony completion fish | source; complete -C '{line}'"
            ran = subprocess.run(["/usr/bin/fish", "--no-config", "-c", command], env=self.environment(),
                                 cwd=self.box.folder, capture_output=True, text=True, timeout=60)  # fmt: skip
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), line)
            return [word.split("\t")[0] for word in ran.stdout.splitlines()]

        self.assertEqual(fish("tony stat"), ["status"])
        self.assertEqual(fish("tony status "), ["last", self.job, "resnet"])
        self.assertEqual(fish("tony logs resnet w"), ["worker", "worker:0"])
        self.assertEqual(fish("tony logs resnet --times"), ["--timestamps"])
        self.assertEqual(fish("tony submit -conf tony.worker.inst"), ["tony.worker.instances="])
        self.assertEqual(fish("tony submit my"), ["my job.yaml"])


class ManualTest(unittest.TestCase):
    def test_the_manual_page_is_valid_and_names_commands_and_options(self):
        tony = pathlib.Path(os.environ["TONY_BIN_DIR"]) / "tony"
        page = subprocess.run([tony, "help", "--man"], env={"SOURCE_DATE_EPOCH": "1764166740"}, capture_output=True,
                              text=True, check=True).stdout  # fmt: skip
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page, capture_output=True, text=True)
        self.assertEqual((lint.returncode, lint.stdout), (0, ""), lint.stderr)
        shown = subprocess.run(["mandoc", "-T", "ascii"], input=page, capture_output=True, text=True, check=True).stdout
        plain = "".join(c for i, c in enumerate(shown) if c != "\b" and shown[i + 1 : i + 2] != "\b")
        self.assertIn("2025-11-26", plain)
        self.assertIn("-n, --tail LINES", plain)
        for verb in ("submit", "logs", "doctor", "completion"):
            self.assertIn(f"tony {verb}", plain)


if __name__ == "__main__":
    unittest.main()
