"""A reader of `tony` that knows only the published schemas, the promises of contract.md, and the program's path.

It shares no code with the programs: an adapter may rely on everything that it accepts.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "runtime/client/schema/v1"
ERROR_CLASSES = {64: "usage", 65: "spec_invalid", 66: "not_found", 69: "unavailable", 70: "internal",
                 73: "cannot_write", 77: "auth"}  # fmt: skip
LIMIT = 60  # seconds; far above any measured time, because test machines are noisy


def load(name):
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


def names():
    return sorted(file.name.removesuffix(".schema.json") for file in SCHEMAS.glob("*.schema.json"))


def inlined(schema):
    """Replaces each reference by its target. All references name whole documents, and no document refers to itself."""
    if isinstance(schema, list):
        return [inlined(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**inlined(rest), "allOf": [inlined(load(schema["$ref"].rpartition(":")[2]))]}
    return {key: inlined(value) for key, value in schema.items() if key not in ("$id", "$schema")}


def validator(name):
    return jsonschema.Draft202012Validator(inlined(load(name)))


def complaints(name, document):
    return [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(document)]


def strict(text):
    """Reads one JSON value and nothing else; refuses duplicate members, and numbers that JSON does not have."""

    def members(pairs):
        found = dict(pairs)
        assert len(found) == len(pairs), f"a member twice in {pairs}"
        return found

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, object_pairs_hook=members, parse_constant=refuse)


class Answer:
    """The output of one command."""

    def __init__(self, words, exit_code, out, err):
        self.words, self.exit, self.raw, self.err = words, exit_code, out, err.decode("utf-8")

    def lines(self):
        text = self.raw.decode("utf-8")  # strictly
        assert text == "" or text.endswith("\n"), f"{self}: its last line has no end"
        documents = [strict(line) for line in text.split("\n")[:-1]]
        assert all(isinstance(document, dict) for document in documents), f"{self}: not only objects"
        return documents

    def document(self):
        documents = self.lines()
        assert len(documents) == 1, f"{self}: {len(documents)} objects on standard output, expected one"
        return documents[0]

    def __str__(self):
        return f"tony {' '.join(map(str, self.words))}\nexit {self.exit}\nstdout {self.raw!r}\nstderr {self.err}"


class Sandbox:
    """A folder with a $TONY_HOME and a ledger of its own: its jobs neither wait for other jobs nor disturb them."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-contract-"))
        (self.folder / "ledger").mkdir()
        (self.folder / "ledger/machine.json").write_text('{"memory_mb":1000000000}')
        shared = pathlib.Path(os.environ["TONY_BIN_DIR"]).parent / "programs-of-jobs"  # one copy for all tests
        shared.mkdir(exist_ok=True)
        (self.folder / "home").mkdir()
        (self.folder / "home/programs").symlink_to(shared)
        self.tony = pathlib.Path(os.environ["TONY_BIN_DIR"]) / "tony"
        self.seen = []  # every answer, for tests that search all of them

    def environment(self, **more):
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C",
                "TONY_HOME": str(self.folder / "home"), "TONY_LEDGER": str(self.folder / "ledger"),
                "TONY_CONF_DIR": str(self.folder / "conf"), **more}  # fmt: skip

    def start(self, *words, **variables):
        return subprocess.Popen(
            [self.tony, *words], cwd=self.folder, env=self.environment(**variables), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def finish(self, process, *words):
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"tony {' '.join(map(str, words))} has not ended in {LIMIT} s") from None
        self.seen.append(Answer(words, process.returncode, out, err))
        return self.seen[-1]

    def run(self, *words, **variables):
        return self.finish(self.start(*words, **variables), *words)

    def processes(self):
        """Returns the processes of jobs in this sandbox: all of them have its folder in their environment."""
        mark, found = str(self.folder).encode(), []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and int(entry.name) != os.getpid() and mark in (entry / "environ").read_bytes():
                    found.append((int(entry.name), (entry / "comm").read_text().strip()))
            except OSError:
                continue  # it has exited, or belongs to another user
        return found

    def strike(self, *programs, job):
        """Kills a job's own programs with SIGKILL, all at once, so that no program is left to restart another one."""
        struck = [pid for pid, name in self.processes() if name in programs and job in self.command_line(pid)]
        assert len(struck) >= len(programs), f"{programs} of {job}: {struck}"
        for deed in (signal.SIGSTOP, signal.SIGKILL):
            for pid in struck:
                os.kill(pid, deed)
        self.wait_for("their death", lambda: not set(struck) & {pid for pid, _ in self.processes()})

    @staticmethod
    def command_line(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            return ""

    def wait_for(self, what, condition):
        end = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < end, f"waited {LIMIT} s for {what}"
            time.sleep(0.01)

    def close(self):
        end = time.monotonic() + 5
        while (left := self.processes()) and time.monotonic() < end:
            for pid, _ in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        shutil.rmtree(self.folder, ignore_errors=True)


def task(command, *more):
    """Returns the arguments that submit a job of one task."""
    return ("-executes", command, "-conf", "tony.application.framework=standalone", "-conf",
            "tony.worker.instances=1", *more)  # fmt: skip
