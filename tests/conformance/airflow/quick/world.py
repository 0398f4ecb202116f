"""The world that a test scripts: a folder with the stand-in for `tony`, its instructions, and the calls that it got."""

import fcntl
import functools
import json
import os
import pathlib
import py_compile
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import jsonschema
import referencing

from . import HOME, REPOSITORY, fake_tony

LIMIT = 10.0  # seconds for any step here
SCHEMAS = REPOSITORY / "runtime/client/schema/v1"
NAMES = {"logs": "log-answer"}  # verbs whose schema has another name
SCRIPT = {
    "timeline": [[0, "RUNNING"], [0.1, "SUCCEEDED"]], "verdict": {}, "outputs": {}, "outputs_problem": None, "output_problems": [],
    "warnings": [], "logs": [], "beside": [], "schemas": [1], "mischief": {}, "watch": {},
    "more": {},
}  # fmt: skip


def schema_registry() -> referencing.Registry:
    contents = [json.loads(file.read_text()) for file in SCHEMAS.glob("*.schema.json")]
    return referencing.Registry().with_resources(
        (schema["$id"], referencing.Resource.from_contents(schema)) for schema in contents
    )


REGISTRY = schema_registry()


@functools.cache
def validator(name: str) -> Any:
    return jsonschema.Draft202012Validator({"$ref": f"urn:tony:schema:1:{name}"}, registry=REGISTRY)


def validate(name: str, document: dict[str, Any]) -> None:
    validator(name).validate(document)


@functools.cache
def compiled() -> str:
    """Compiles the program, which halves the time of its thousand starts."""
    file = py_compile.compile(fake_tony.__file__, str(HOME / "fake_tony.pyc"), doraise=True)
    assert file
    return file


def wait_until(what: str, look: Callable[[], Any], limit: float = LIMIT) -> Any:
    """Returns the result of `look` when it is not None."""
    until = time.monotonic() + limit
    while not (found := look()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {limit} s: {what}")
        time.sleep(0.01)
    return found


class World:
    """The jobs of one test, and the program, which finds its world by the folder that it is in."""

    def __init__(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-quick-")).resolve()
        self.cli = self.folder / "tony"
        shutil.copy(compiled(), self.folder / "fake_tony.pyc")
        self.cli.write_text(f'#!/bin/sh\nexec {sys.executable} -SE {self.folder}/fake_tony.pyc "$@"\n')
        self.cli.chmod(0o755)
        self.play()

    def remove(self) -> None:
        shutil.rmtree(self.folder)

    def play(self, **wanted: Any) -> None:
        """Scripts the differences from a job that soon succeeds."""
        assert wanted.keys() <= SCRIPT.keys(), wanted
        self.write("script.json", {**SCRIPT, **wanted})

    def write(self, name: str, document: dict[str, Any]) -> None:
        new = self.folder / f"{name}.test"
        new.write_text(json.dumps(document))
        os.replace(new, self.folder / name)

    def end(self, state: str = "SUCCEEDED", **verdict: Any) -> None:
        """Ends all running jobs."""
        with self.store() as world:
            for job in world["jobs"].values():
                if fake_tony.state(job) not in fake_tony.FINAL:
                    job["verdict"].update(verdict)
                    fake_tony.force(job, [0, state])

    def take_over(self, owner: str = "somebody-else", state: str = "") -> None:
        """From now on all jobs belong to another owner. If a state is given, they have ended in it."""
        with self.store() as world:
            for job in world["jobs"].values():
                job.update(owner=owner, bumps=job["bumps"] + 1)
                if state:
                    fake_tony.force(job, [0, state])

    def remove_jobs(self) -> None:
        """Removes the jobs, as if this world were another machine."""
        with self.store() as world:
            world.update(jobs={}, newest={}, revoked=[])

    def store(self) -> fake_tony.Store:
        store = fake_tony.Store()
        store.path, store.lock_path = str(self.folder / "jobs.json"), str(self.folder / "lock")
        return store

    @property
    def jobs(self) -> list[dict[str, Any]]:
        with self.store() as world:
            return list(world["jobs"].values())

    def notes(self) -> list[dict[str, Any]]:
        try:
            with (self.folder / "calls.jsonl").open() as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                return [json.loads(line) for line in file]
        except FileNotFoundError:
            return []

    def calls(self, verb: str | None = None) -> list[dict[str, Any]]:
        """Returns the calls so far, of one verb or of all verbs."""
        calls = [note for note in self.notes() if "argv" in note]
        return [call for call in calls if verb in (None, call["verb"])]

    def verbs(self) -> list[str]:
        return [call["verb"] for call in self.calls()]

    def wait_for(self, verb: str, count: int = 1) -> dict[str, Any]:
        """Waits until there are `count` calls of a verb; returns the newest one."""
        calls = wait_until(f"{count} x tony {verb}, but {self.verbs()}", lambda: self.calls(verb)[count - 1 :])
        return calls[-1]

    def running(self) -> list[int]:
        """Returns the processes of this world that have not exited, including watches."""
        return [call["pid"] for call in self.calls() if is_alive(call["pid"])]

    def check_answers(self) -> None:
        """Checks each answer that was given against the schema of its verb."""
        verbs = {call["pid"]: call["verb"] for call in self.calls()}
        for note in self.notes():
            if "answered" in note:
                document, verb = note["answered"], verbs[note["pid"]]
                is_error = "error" in document and "state" not in document and verb != "watch"
                validate("error" if is_error else NAMES.get(verb, verb), document)


def is_alive(pid: int) -> bool:
    """Returns False for a process that has exited and is not reaped yet."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
