#!/usr/bin/env python3
"""`tony notebook` with a real JupyterLab, opened in Chromium.

    jupyter_test.py BIN_FOLDER ENVIRONMENT

The Python environment has the packages of requirements.txt.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "page"))
import chromium as browser  # noqa: E402
from chromium import Chromium, Tab  # noqa: E402

# In seconds. JupyterLab starts in 3 to 30 seconds, and its page needs as many.
LIMIT = browser.LIMIT = 180
SUBMIT = """import tony
job = tony.submit(executes='echo job of a cell', framework='standalone',
                  tasks={'worker': {'instances': 1, 'memory': '64m'}})
print(job.wait().state, *job.logs('worker:0'))
memory = 41"""
REMEMBER = "print('remembered', memory + 1)"


def notebook_of(*cells):
    cells = [{"cell_type": "code", "id": f"cell-{number}", "metadata": {}, "execution_count": None, "outputs": [],
              "source": text} for number, text in enumerate(cells)]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells})


def until(fits, what):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if found := fits():
            return found
        time.sleep(0.1)
    raise AssertionError(f"waited in vain for {what}")


class JupyterTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-notebook-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ("ledger", "work"):
            (self.folder / name).mkdir()
        (self.folder / "ledger/machine.json").write_text('{"memory_mb": 1000000, "gpus": []}')
        path = f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}"
        self.env = dict(os.environ, HOME=str(self.folder), PATH=path, TONY_HOME=str(self.folder / "home"),
                        TONY_LEDGER=str(self.folder / "ledger"))  # fmt: skip

    def tony(self, *words):
        return subprocess.run([BIN / "tony", *words], env=self.env, capture_output=True, text=True, timeout=LIMIT)

    def start(self, *words):
        """Starts a client in the folder "work"; returns it, the job and the address."""
        errors = (self.folder / "errors").open("a+")
        self.addCleanup(errors.close)
        client = subprocess.Popen([BIN / "tony", "notebook", *words], env=self.env, cwd=self.folder / "work", text=True,
                                  stdout=subprocess.PIPE, stderr=errors)  # fmt: skip
        self.addCleanup(client.stdout.close)
        self.addCleanup(lambda: client.poll() is None and (client.send_signal(signal.SIGTERM), client.wait(60)))
        job, address = client.stdout.readline().strip(), client.stdout.readline().strip()
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/\?token=\w+$", (self.folder / "errors").read_text())
        return client, job, address

    def call(self, address, path, method="GET", data=None):
        url, token = address.split("/?token=")
        proof = {"Authorization": f"token {token}"}
        request = urllib.request.Request(f"{url}{path}", method=method, data=data, headers=proof)
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return json.loads(answer.read() or "null")

    def status(self, job):
        return json.loads(self.tony("status", job, "--json").stdout)

    def run_cell(self, tab):
        """Runs the active cell by the button of its toolbar, and selects the next one."""
        x, y = tab.value("""(() => {
            const at = document.querySelector('[data-command="notebook:run-cell-and-select-next"]').getBoundingClientRect()
            return [at.x + at.width / 2, at.y + at.height / 2]
        })()""")
        for kind in ("mousePressed", "mouseReleased"):
            tab.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def test_a_cell_submits_a_job_and_the_kernel_outlives_the_application_master(self):
        (self.folder / "work/demo.ipynb").write_text(notebook_of(SUBMIT, REMEMBER))
        client, job, address = self.start("--memory", "1g")
        url, token = address.split("/?token=")
        chromium = Chromium()
        self.addCleanup(chromium.close)
        tab = Tab(chromium, f"{url}/lab/tree/demo.ipynb?token={token}", at="/lab/tree/demo.ipynb")
        tab.wait("document.querySelector('.jp-Notebook .jp-CodeCell .cm-content') !== null")
        # A kernel that the page has not connected with ignores the button.
        until(lambda: [each["connections"] for each in self.call(address, "/api/kernels")] == [1], "a connected page")
        tab.wait("document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'")
        self.run_cell(tab)
        outputs = "[...document.querySelectorAll('.jp-OutputArea-output')].map(e => e.textContent).join('\\n')"
        tab.wait(f"{outputs}.includes('SUCCEEDED worker:0 | job of a cell')")

        (kernel,) = self.call(address, "/api/kernels")
        (master,) = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self.is_master(pid, job)]
        os.kill(master, signal.SIGKILL)
        until(lambda: self.status(job)["epoch"] == 2, "another application master")
        self.run_cell(tab)
        tab.wait(f"{outputs}.includes('remembered 42')")
        self.assertEqual([each["id"] for each in self.call(address, "/api/kernels")], [kernel["id"]])
        self.check_files(job, token)
        shown = self.call(address, "/api/contents")["content"]
        self.assertEqual([each["name"] for each in shown], ["demo.ipynb"])
        tab.close()
        self.call(address, "/api/shutdown", "POST", b"")
        self.assertEqual(client.wait(LIMIT), 0)
        self.assertEqual(self.status(job)["state"], "SUCCEEDED")

    def is_master(self, pid, job):
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return words[0].endswith(b"tony-am") and any(job.encode() in word for word in words)

    def check_files(self, job, token):
        """The token is in no log, and only in files that other users cannot read."""
        folder = self.folder / "home/jobs" / job
        found = {path for path in folder.rglob("*") if path.is_file() and token.encode() in path.read_bytes()}
        for path in found:
            modes = [one.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) for one in (path, path.parent)]
            self.assertIn(0, modes, path)
            self.assertNotIn("logs", path.relative_to(folder).parts)
        self.assertIn(folder / "secrets", found)
        self.assertNotIn(token, self.tony("logs", job).stdout)

    def test_an_idle_kernel_ends_and_then_the_job(self):
        client, job, address = self.start("--memory", "1g", "--idle", "5s")
        self.call(address, "/api/kernels", "POST", b"{}")
        self.assertEqual(len(self.call(address, "/api/kernels")), 1)
        self.assertEqual(client.wait(LIMIT), 0)
        log = self.tony("logs", job).stdout
        self.assertRegex(log, re.compile("Culling '.*' kernel"))
        self.assertRegex(log, "No kernels for .* shutting down")


if __name__ == "__main__":
    BIN, ENVIRONMENT = (pathlib.Path(word).absolute() for word in sys.argv[1:3])
    del sys.argv[1:3]
    unittest.main()
