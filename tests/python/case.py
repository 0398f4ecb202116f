"""Helpers that the tests share: a sandbox with a home and a ledger of its own, in which the package finds the
programs."""

import contextlib
import io
import logging
import os
import pathlib
import unittest

import reader
import tony

ONE = {"worker": {"instances": 1}}
VARIABLES = ("HOME", "TONY_HOME", "TONY_LEDGER", "TONY_CONF_DIR", "TONY_PROGRAM")


class PackageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.box = reader.Sandbox()
        cls.addClassCleanup(cls.box.close)
        before = {name: os.environ.get(name) for name in VARIABLES}
        os.environ.update({**cls.box.environment(), "PATH": os.environ["PATH"], "TONY_PROGRAM": str(cls.box.tony)})
        cls.addClassCleanup(cls.put_back, before)
        cls.folder = cls.box.folder

    @staticmethod
    def put_back(before):
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})

    def tearDown(self):
        """Checks that no call has left a process: the processes here belong to jobs."""
        self.box.wait_for("the end of all calls", lambda: not self.calls())

    def calls(self):
        return [pid for pid, name in self.box.processes() if name == "tony"]

    def set_environment(self, name, value):
        self.addCleanup(self.put_back, {name: os.environ.get(name)})
        self.put_back({name: value})

    def submit(self, command="true", **members):
        """Submits a job of one task that is removed at the end of the test."""
        job = tony.submit(**{"executes": command, "framework": "standalone", "tasks": ONE, **members})
        self.addCleanup(self.box.run, "kill", job.id)
        return job

    def hold(self, name="go"):
        """Returns a shell command by which a task waits until release()."""
        return f"until [ -e {self.folder}/{name} ]; do sleep 0.02; done"

    def release(self, name="go"):
        (self.folder / name).touch()
        self.addCleanup((self.folder / name).unlink)

    def running(self, job):
        self.box.wait_for(f"{job} to run", lambda: job.status().state == "RUNNING")

    def script(self, name, text):
        """Makes a program in place of `tony`; it may call the real one as $REAL."""
        file = pathlib.Path(self.folder / name)
        file.write_text(f"#!/bin/sh\nREAL={self.box.tony}\n{text}\n")
        file.chmod(0o755)
        return tony.Program(str(file))

    def one_line(self, kind, call, *words):
        """Expects an exception of that kind, in one line that contains these words."""
        with self.assertRaises(kind) as raised:
            call()
        message = str(raised.exception)
        self.assertEqual(len(message.splitlines()), 1, message)
        for word in words:
            self.assertIn(word, message)
        return raised.exception

    @contextlib.contextmanager
    def said(self):
        """Collects the messages that the package prints for people meanwhile."""
        text = io.StringIO()
        handler = logging.StreamHandler(text)
        logging.getLogger("tony").addHandler(handler)
        try:
            yield text
        finally:
            logging.getLogger("tony").removeHandler(handler)
