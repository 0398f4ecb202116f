"""Helpers that the tests of the contract share."""

import unittest

import reader
from reader import Sandbox, task

UNKNOWN = "local-20200101-000000-abcdef"


def of(*verbs):
    """Marks a test as a test of these verbs."""

    def mark(test):
        test.verbs = verbs
        return test

    return mark


class ContractCase(unittest.TestCase):
    """Jobs with every kind of end, and the rules that every answer must follow."""

    @classmethod
    def setUpClass(cls):
        cls.box = Sandbox()
        cls.addClassCleanup(cls.box.close)
        hold = f"until [ -e {cls.box.folder}/go ]; do sleep 0.02; done"
        again = f"[ $TONY_ATTEMPT -gt 1 ] || exit 3; {hold}; echo again"
        fates = {
            "good": task('echo one; echo two >&2; echo \'{"accuracy": 0.5, "model": "m"}\' > $TONY_OUTPUT_FILE'),
            "bad": task("echo no >&2; exit 3"),
            "silent": task("true"),
            "shot": task("kill -9 $$"),
            "killed": task("sleep 600"),
            "restarted": task(again, "-conf", "tony.restart.task.budget=1"),
            "running": task(hold),
        }
        cls.jobs = {fate: cls.submit(*words) for fate, words in fates.items()}
        cls.expect("kill", cls.jobs["killed"], "--reason", "enough")
        for fate in ("good", "bad", "silent", "shot"):
            cls.box.run("wait", cls.jobs[fate])
        for fate in ("restarted", "running"):
            cls.box.wait_for(f"{fate} job", lambda job=cls.jobs[fate]: cls.state(job) == "RUNNING")

    @classmethod
    def tearDownClass(cls):
        for job in cls.jobs.values():
            cls.box.run("kill", job)
        assert cls.box.processes() == [], "something of the jobs is left"

    @classmethod
    def submit(cls, *words, **variables):
        return cls.expect("submit", "--detach", *words, **variables)["job"]

    @classmethod
    def expect(cls, verb, *words, code=0, schema=None, **variables):
        """Runs a verb with --json and returns its JSON object, which must follow the whole contract."""
        answer = cls.box.run(verb, *words, "--json", **variables)
        document = answer.document()
        cls.judge(answer, document, schema or verb, code)
        return document

    @classmethod
    def judge(cls, answer, document, schema, code):
        assert answer.exit == code, f"{answer}: expected exit code {code}"
        # The answer is an error only, or an error in addition to a partial result.
        names = ["error"] if code >= 64 and "error" in document else [schema]
        if "error" in document and len(document) > 2:
            names.append(schema)
        for name in names:
            complaints = reader.complaints(name, document)
            assert complaints == [], f"{answer}: not {name}: {complaints}"
        if code >= 64:
            assert document["error"]["code"] == code, str(answer)
            assert f"tony: {document['error']['message']}\n" in answer.err, f"{answer}: nothing for a person"
        else:
            assert "error" not in document, str(answer)

    @classmethod
    def expect_lines(cls, verb, *words, code=0, schema=None):
        answer = cls.box.run(verb, *words, "--json")
        documents = answer.lines()
        for document in documents:
            name = "error" if set(document) == {"schema", "error"} else schema or verb
            complaints = reader.complaints(name, document)
            assert complaints == [], f"{answer}: not {name}: {complaints}"
        if code >= 64:
            assert documents[-1]["error"]["code"] == code, f"{answer}: the last line is not the error"
        assert answer.exit == code, f"{answer}: expected exit code {code}"
        return documents

    @classmethod
    def state(cls, job):
        return cls.expect("status", job)["state"]

    def own(self, *words):
        """Starts a job for this test only."""
        job = self.submit(*words)
        self.addCleanup(self.box.run, "kill", job)
        return job
