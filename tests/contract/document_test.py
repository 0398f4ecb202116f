"""The job document, as an engine writes it: `tony submit -` and `tony plan -` accept the documents that its schema
accepts."""

import json
import os
import pty
import subprocess
import unittest

import reader
from reader import LIMIT, Answer, Sandbox

BASE = {"executes": "true", "tasks": {"worker": {"instances": 1}}}
ROLE = {"instances": 2, "memory": "3g", "vcores": 2, "gpus": 0, "max_instances": 4, "command": "echo $A", "container": "own:1",
        "max_restarts": 1, "min_failed": 2, "resources": ["data::e"], "restart_scope": "task",
        "completion": "untracked"}  # fmt: skip
WHOLE = {
    "properties": "worker_env.A=1\ntony.task.max-total-instances=9\n",
    "spec": {"name": "base", "framework": "jax", "tasks": {"chief": {"instances": "1", "completion": "sidecar"}}},
    "name": "n", "framework": "tensorflow", "queue": "default", "executes": "true", "task_params": "--a 1",
    "python_binary_path": "/bin/sh", "src_dir": "src", "tags": ["a", 7], "container": "train:1", "mounts": ["/a:/b:ro"],
    "resources": ["data::d"],
    "env": {"LR": 1e-05, "ON": True, "NO": None}, "conf": {"tony.restart.settle-ms": 5},
    "tasks": {"worker": ROLE, "eval": {"instances": 1}, "none": None},
}  # fmt: skip

# Documents that the schema and the program must both accept, and documents that both must refuse.
TAKEN = [
    BASE, WHOLE, {**BASE, "properties": None, "spec": None, "tags": None, "env": None},
    {"properties": {"executes": "true", "tony.worker.instances": 1}},
    {"properties": "<configuration><property><name>tony.am.command</name><value>x</value></property></configuration>"},
    {"spec": BASE}, {**BASE, "tasks": {"worker": {"instances": "1", "memory": 512, "completion": None}}},
    {**BASE, "secrets": {"DB_PASSWORD": "hush", "PIN": 1234, "NO": None}}, {**BASE, "secrets": None},
]  # fmt: skip
REFUSED = [
    {**BASE, "nmae": "n"}, {**BASE, "name": []}, {**BASE, "tags": "a"}, {**BASE, "tags": ["a,b"]},
    {**BASE, "tags": [None]},
    {**BASE, "container": []}, {**BASE, "mounts": "/a:/b"}, {**BASE, "mounts": ["/a:/b,/c:/d"]},
    {**BASE, "resources": [{}]}, {**BASE, "env": ["A=1"]}, {**BASE, "env": {"A": {}}}, {**BASE, "env": {"": 1}},
    {**BASE, "conf": "a=1"}, {**BASE, "conf": {"a": [1]}}, {**BASE, "tasks": ["worker"]},
    {**BASE, "tasks": {"worker": 2}},
    {**BASE, "tasks": {"worker-1": {}}}, {**BASE, "tasks": {"am": {}}}, {**BASE, "properties": 7},
    {**BASE, "properties": {"a": []}}, {**BASE, "spec": "x"}, {**BASE, "spec": {"spec": {}}},
    {**BASE, "spec": {"x": 1}}, {**BASE, "secrets": ["A=1"]}, {**BASE, "secrets": {"A": []}},
    {**BASE, "spec": {"secrets": {"A": "1"}}},
    {**BASE, "spec": {"properties": ""}}, {**BASE, "spec": {"tasks": {"worker": {"x": 1}}}}, [BASE], 7, None,
    *[{**BASE, "tasks": {"worker": {**BASE["tasks"]["worker"], member: value}}}
      for member, value in [("memroy", 1), ("instances", 1.5), ("instances", True), ("vcores", {}), ("gpus", []),
                            ("completion", "maybe"), ("restart_scope", "all"), ("resources", "x"), ("command", {})]],
]  # fmt: skip


class DocumentTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.box = Sandbox()
        self.addCleanup(self.box.close)
        (self.box.folder / "src").mkdir()
        (self.box.folder / "src/mine.txt").write_text("mine")
        (self.box.folder / "data").mkdir()
        (self.box.folder / "data/d.txt").write_text("d")

    def run_tony(self, *words, stdin, **variables):
        run = subprocess.run([self.box.tony, *words], cwd=self.box.folder, env=self.box.environment(**variables),
                             input=stdin, capture_output=True, timeout=LIMIT)  # fmt: skip
        return Answer(words, run.returncode, run.stdout, run.stderr)

    def tony(self, verb, document, *words, code=0):
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        answer = self.run_tony(verb, "-", "--json", *words, stdin=text)
        self.assertEqual(answer.exit, code, str(answer))
        self.assertEqual(reader.complaints(verb if code == 0 else "error", answer.document()), [])
        return answer.document()

    def test_tony_plan_accepts_every_document_that_the_schema_accepts(self):
        for document in TAKEN:
            with self.subTest(document):
                self.assertEqual(reader.complaints("job-document", document), [])
                self.tony("plan", document)

    def test_tony_plan_refuses_in_one_line_every_document_that_the_schema_refuses(self):
        for document in REFUSED:
            with self.subTest(document):
                self.assertTrue(reader.complaints("job-document", document))
                message = self.tony("plan", document, code=65)["error"]["message"]
                self.assertNotIn("\n", message)

    def test_a_job_given_by_flags_document_members_or_properties_has_the_same_plan(self):
        keys = {"tony.application.name": "n", "tony.application.framework": "pytorch", "tony.worker.instances": "2",
                "tony.worker.memory": "3g", "tony.worker.restart.budget": "1", "tony.application.tags": "a,b",
                "tony.application.untracked.jobtypes": "ps,eval", "tony.ps.instances": "1", "tony.eval.instances": "1",
                "tony.containers.resources": "data::d"}  # fmt: skip
        names = {"executes": "run.sh", "python_binary_path": "/bin/sh", "task_params": "--a 1", "src_dir": "src"}
        flags = [word for name, value in names.items() for word in (f"-{name}", value)]
        flags += [word for key, value in keys.items() for word in ("-conf", f"{key}={value}")]
        text = "".join(f"{key}={value}\n" for key, value in {**names, **keys, "worker_env.LR": "1,5"}.items())
        members = {**names, "name": "n", "framework": "pytorch", "tags": ["a", "b"], "env": {"LR": "1,5"},
                   "resources": ["data::d"],
                   "tasks": {"worker": {"instances": 2, "memory": "3g", "max_restarts": 1}, "ps": {"instances": 1},
                             "eval": {"instances": 1, "completion": "untracked"}}}  # fmt: skip
        (self.box.folder / "job.json").write_text(json.dumps(members))
        command_line = self.box.run("plan", "--json", *flags, "-shell_env", "LR=1,5").document()
        self.assertEqual([role["name"] for role in command_line["spec"]["roles"]], ["eval", "ps", "worker"])
        self.assertEqual(command_line["spec"]["roles"][0]["completion"], "untracked")
        warning = "-shell_env LR: the commas are part of the value; LinkedIn's TonY would have cut the value at a comma"
        self.assertEqual(command_line["warnings"], [warning])
        self.assertEqual(self.tony("plan", {}, *flags, "-shell_env", "LR=1,5"), command_line)
        members_alone = {**command_line, "warnings": []}
        self.assertEqual(self.tony("plan", members), members_alone)
        self.assertEqual(self.tony("plan", {"spec": members}), members_alone)
        self.assertEqual(self.tony("plan", {"properties": text}), members_alone)
        self.assertEqual(self.box.run("plan", "--json", "job.json").document(), members_alone)

    def test_plan_explain_names_the_document_member_that_set_each_key(self):
        document = {**WHOLE, "env": {"DB_PASSWORD": "hush", "A": "b"}}
        configuration = self.tony("plan", document, "--explain", "-conf", "tony.eval.vcores=2")["configuration"]
        sources = {value["key"]: (value["value"], value["source"]) for value in configuration}
        for key, value in {
            "tony.worker.memory": ("3g", "tasks.worker.memory"), "tony.restart.settle-ms": ("5", "conf"),
            "tony.task.max-total-instances": ("9", "properties:2"), "tony.eval.vcores": ("2", "-conf"),
            "tony.chief.instances": ("1", "spec.tasks.chief.instances"),
            "tony.worker.vcores": ("2", "tasks.worker.vcores"),
            "tony.containers.command": ("/bin/sh true --a 1", "executes"), "tony.src-dir": ("src", "src_dir"),
            "tony.execution.env.DB_PASSWORD": ("********", "env.DB_PASSWORD"), "tony.application.name": ("n", "name"),
        }.items():  # fmt: skip
            self.assertEqual(sources[key], value)

    def test_a_document_with_relative_paths_runs_once_and_a_resubmit_adopts_the_job(self):
        document = {"framework": "standalone", "executes": "cat mine.txt > $OUT; echo $A >> $OUT", "src_dir": "src",
                    "env": {"A": "of the document", "OUT": str(self.box.folder / "out")},
                    "tasks": {"worker": {"instances": 1, "memory": "512m"}}}  # fmt: skip
        words = ("--detach", "--request-id", "engine://run/1", "--owner", "me", "--on-existing", "adopt")
        first = self.tony("submit", document, *words)
        self.assertEqual(first["decision"], "created")
        self.assertEqual(self.box.run("wait", first["job"]).exit, 0)
        self.assertEqual((self.box.folder / "out").read_text(), "mineof the document\n")
        again = self.tony("submit", document, *words)
        self.assertEqual((again["job"], again["decision"], again["spec_differs"]), (first["job"], "adopted", False))
        self.assertTrue(self.tony("submit", {**document, "name": "n"}, *words)["spec_differs"])

    def test_invalid_standard_input_is_reported_with_the_precise_reason(self):
        for text, part in [(b"", "standard input: the document is empty"), (b" \n", "standard input: the document is empty"), (b"{", "not JSON"),
                           (b'{"name": "\xff"}', "not valid UTF-8"), (b"\0", "a NUL character"),
                           (b'{"name": 1, "name": 2}', '"name" occurs twice'), (b" " * (16 * 2**20 + 1), "larger than 16 MiB"),
                           (b'{"tasks": {"worker": {"instances": 1e3}}}', "from tasks.worker.instances")]:  # fmt: skip
            self.assertIn(part, self.tony("plan", text, code=65)["error"]["message"])

    def test_closed_standard_input_exits_with_65_and_a_terminal_as_input_with_64(self):
        closed = subprocess.run(
            ["/bin/sh", "-c", 'exec "$0" plan - <&-', self.box.tony], cwd=self.box.folder, env=self.box.environment(),
            capture_output=True, timeout=LIMIT)  # fmt: skip
        self.assertEqual(closed.returncode, 65)
        self.assertIn(b"the job document on standard input: not open", closed.stderr)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        run = subprocess.run([self.box.tony, "plan", "-"], cwd=self.box.folder, env=self.box.environment(),
                             stdin=theirs, capture_output=True, timeout=LIMIT)  # fmt: skip
        os.close(theirs)
        self.assertEqual(run.returncode, 64)
        self.assertIn(b"standard input is a terminal", run.stderr)


if __name__ == "__main__":
    unittest.main()
