"""The other ways of installing the wheel, and an upgrade while a job runs."""

import shutil

import tony
from case import ONE
from installed import TOOLS, InstalledCase


class InstallersTest(InstalledCase):
    def test_pipx_and_uv_install_the_tony_command(self):
        """`tony` is then a link in a folder of commands; the programs next to the link's target are still found."""
        commands = self.out / ".local/bin"
        for words in ((TOOLS / "pipx", "install"), (TOOLS / "uv", "tool", "install")):
            with self.subTest(str(words[0])):
                self.run_there(*words, self.wheel)
                submitted = self.run_there(commands / "tony", "submit", "-executes", "echo hi", "-conf",
                                           "tony.worker.instances=1")  # fmt: skip
                self.assertIn("SUCCEEDED", submitted)
                self.run_there(*words[:-1], "uninstall", "tony-runtime")
                self.assertEqual(list(commands.glob("tony*")), [])

    def test_a_job_survives_the_replacement_of_the_wheel(self):
        there = self.environment("upgraded")
        pip = (there / "bin/python", "-m", "pip")
        self.run_there(*pip, "install", "--quiet", self.wheel)
        program = tony.Program(str(there / "bin/tony"))
        job = self.submit(self.hold(), program=program, tasks=ONE)
        self.running(job)
        self.run_there(*pip, "install", "--quiet", "--force-reinstall", self.wheel)
        self.assertEqual(job.status().state, "RUNNING")
        self.run_there(*pip, "uninstall", "--yes", "--quiet", "tony-runtime")
        shutil.rmtree(there)
        self.release()
        self.assertTrue(tony.Job(job.id).wait().succeeded)
