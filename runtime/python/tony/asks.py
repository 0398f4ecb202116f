"""The command line and the standard input for each verb. Pure functions, for threads and for event loops.

Secrets go to standard input, because the command line of a process is public on its machine.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeGuard, cast

from tony.documents import Stream
from tony.errors import UsageError
from tony.program import Ask

Scalar = str | int | float | bool
Texts = Mapping[str, Scalar | None]
Path = str | os.PathLike[str]
Since = str | datetime.timedelta | datetime.datetime
OnExisting = Literal["adopt", "attach", "never"]

# In seconds. In this time an interrupted submit removes the job, or prints an answer that names the job.
SUBMIT_GRACE = 10.0


class Role(TypedDict, total=False):
    """One kind of task of a job document."""

    instances: int | str | None
    memory: int | str | None
    vcores: int | str | None
    gpus: int | str | None
    max_instances: int | str | None
    parallel: int | str | None
    command: str | None
    container: str | None
    resources: Sequence[str] | None
    max_restarts: int | str | None
    min_failed: int | str | None
    min_succeeded: int | str | None
    restart_scope: Literal["framework", "task", "role", "gang", "job"] | None
    completion: Literal["tracked", "untracked", "sidecar"] | None


class Sweep(TypedDict, total=False):
    """The trials of a job document: one of parameters, trials and file."""

    parameters: Mapping[str, Any] | None
    trials: Sequence[Mapping[str, Scalar]] | None
    file: str | None
    random: int | str | None
    seed: int | str | None
    parallel: int | str | None
    metric: str | None
    tolerate: int | str | None


class Members(TypedDict, total=False):
    """The members that a job document and its `spec` share: the keywords of submit() and plan()."""

    name: Scalar | None
    framework: str | None
    queue: Scalar | None
    executes: str | None
    task_params: Scalar | None
    python_binary_path: str | None
    python_venv: Path | None
    src_dir: Path | None
    container: str | None
    mounts: Sequence[str] | None
    tags: Sequence[Scalar] | None
    resources: Sequence[str] | None
    env: Texts | None
    conf: Texts | None
    sweep: Sweep | None
    tasks: Mapping[str, Role | None] | None


class JobDocument(Members, total=False):
    """A whole job, as `tony submit -` reads it."""

    properties: str | Texts | None
    secrets: Texts | None
    spec: Members | None


Spec = JobDocument | Mapping[str, Any] | Path

# If the spec is a file, the program reads the file itself, so these options and keys pass the keywords of the call.
OPTIONS = ("executes", "task_params", "python_binary_path", "python_venv", "src_dir")
KEYS = {"name": "tony.application.name", "framework": "tony.application.framework", "queue": "tony.yarn.queue",
        "container": "tony.containers.image"}  # fmt: skip


def word(value: str, what: str) -> str:
    """Returns `value`, or raises if it is empty or the program would read it as an option."""
    if not value or value.startswith("-"):
        raise UsageError(f"{what}: {value!r} is not a valid name")
    return value


def spec_words(
    spec: Spec | None, members: Mapping[str, Any], secrets: Texts | None
) -> tuple[list[str], Mapping[str, Any] | None]:
    """Returns the words after `submit` or `plan`, and the document for standard input."""
    if spec is None or isinstance(spec, Mapping):
        document = {**(spec or {}), **members, **({"secrets": secrets} if secrets else {})}
        return ["-"], {name: _plain(value) for name, value in document.items()}
    words = [_file(spec), *_flags(members)]
    return (words + ["--secrets-fd", "0"], secrets) if secrets else (words, None)


def submit(
    spec: Spec | None,
    members: Mapping[str, Any],
    *,
    secrets: Texts | None,
    directory: Path | None,
    strict: bool,
    request_id: str | None,
    submission: int,
    on_existing: OnExisting,
    watch_timeout: float | None,
) -> Ask:
    words, document = spec_words(spec, members, secrets)
    words = ["submit", *words, "--detach"]
    if request_id is not None:
        words += ["--request-id", request_id, "--submission", str(submission), "--on-existing", on_existing]
    if watch_timeout:
        words += ["--watch-timeout", str(math.ceil(watch_timeout))]
    return _of_job(words, document, directory, strict, SUBMIT_GRACE)


def plan(spec: Spec | None, members: Mapping[str, Any], secrets: Texts | None, directory: Path | None, strict: bool) -> Ask:
    words, document = spec_words(spec, members, secrets)
    return _of_job(["plan", *words], document, directory, strict)


class RunOptions(TypedDict, total=False):
    """The keywords of run(): the options of `tony run`."""

    framework: str | None
    memory: str | int | None
    cpus: int | None
    gpus: int | None
    nproc_per_node: int | Literal["gpu"] | None
    name: str | None
    src_dir: Path | None
    python_venv: Path | None
    env: Texts | None
    conf: Texts | None


def run(
    command: str | Sequence[str],
    instances: int,
    options: RunOptions,
    secrets: Texts | None,
    directory: Path | None,
    strict: bool,
) -> Ask:
    words = ["run", "--detach", "-n", str(instances)]
    for name, value in options.items():
        if name not in ("env", "conf") and value is not None:
            option = name if name in ("src_dir", "python_venv") else name.replace("_", "-")
            words += [f"--{option}", _text(value)]
    words += _variables(options.get("env")) + _conf(options.get("conf"))
    words += ["--secrets-fd", "0"] if secrets else []
    ask = _of_job(words, secrets or None, directory, strict, SUBMIT_GRACE)
    rest = (command,) if isinstance(command, str) else tuple(command)
    if not rest or not rest[0]:
        raise UsageError("run: expected a command")
    if instances < 1:
        raise UsageError(f"run: {instances} instances; expected 1 or more")
    return Ask((*ask.words, "--json", "--", *rest), ask.document, ask.directory, ask.limit, ask.grace, last=True)


def status(job: str) -> Ask:
    return Ask(("status", word(job, "job")))


def wait(job: str, timeout: float | None) -> Ask:
    limit = () if timeout is None else ("--timeout", f"{max(timeout, 0):.3f}")
    return Ask(("wait", job, *limit), limit=None)


def changes(job: str) -> Ask:
    return Ask(("wait", job, "--follow"), limit=None)


def next_change(job: str, since: int, seconds: float) -> Ask:
    return Ask(("wait", job, "--since", str(since), "--timeout", f"{seconds:.3f}"), limit=seconds + 60)


@dataclasses.dataclass(frozen=True)
class Reading:
    """Selects lines of a job's logs."""

    task: str | Sequence[str] | None = None
    follow: bool = False
    tail: int | None = None
    stream: Stream | None = None
    since: Since | None = None
    grep: str | None = None
    timestamps: bool = False
    cursor: str | None = None


def logs(job: str, reading: Reading) -> Ask:
    tasks = [reading.task] if isinstance(reading.task, str) else reading.task or ()
    words = ["logs", job, *(word(task, "task") for task in tasks)]
    words += ["-f"] if reading.follow else []
    words += ["--tail", str(reading.tail)] if reading.tail is not None else []
    words += [f"--{reading.stream}"] if reading.stream else []
    words += ["--since", _moment(reading.since)] if reading.since is not None else []
    words += [f"--grep={reading.grep}"] if reading.grep is not None else []
    words += ["--timestamps"] if reading.timestamps else []
    words += ["--cursor", reading.cursor] if reading.cursor else []
    return Ask(tuple(words), limit=None)


def _moment(since: Since) -> str:
    """Returns an age or a moment as a word; a datetime without a zone is in this machine's zone."""
    if isinstance(since, datetime.timedelta):
        return f"{math.ceil(since.total_seconds())}s"
    if isinstance(since, datetime.datetime):
        return since.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return since


def from_cursor(ask: Ask, cursor: str) -> Ask:
    """Returns the call for the next page. It starts at the cursor, which replaces an earlier cursor or time."""
    words = ask.words
    for option in ("--cursor", "--since"):
        if option in words:
            at = words.index(option)
            words = words[:at] + words[at + 2 :]
    return dataclasses.replace(ask, words=(*words, "--cursor", cursor))


def outputs(job: str) -> Ask:
    return Ask(("outputs", job))


def kill(job: str, reason: str | None, wait: bool) -> Ask:
    words = ["kill", job, *(["--reason", reason] if reason else []), *([] if wait else ["--no-wait"])]
    return Ask(tuple(words), limit=None if wait else Ask.limit)


def _of_job(
    words: Sequence[str], document: Mapping[str, Any] | None, directory: Path | None, strict: bool, grace: float = 0.0
) -> Ask:
    """Returns a call without a time limit, because staging may take long."""
    words = (*words, *(("--strict",) if strict else ()))
    return Ask(words, document, None if directory is None else os.fspath(directory), None, grace)


def _file(path: object) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"spec: a value of type {type(path).__name__}; expected a mapping, or the path of a file")
    name = os.fsdecode(cast(Path, path))
    return os.path.join(".", name) if name.startswith("-") else name


def _flags(members: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in members.items():
        if value is None:
            continue
        if name in OPTIONS:
            words += [f"--{name}", _text(value)]
        elif name in KEYS:
            words += ["--conf", f"{KEYS[name]}={_text(value)}"]
        elif name == "tags":
            words += ["--conf", f"tony.application.tags={','.join(map(_text, value))}"]
        elif name not in ("env", "conf"):
            raise UsageError(f"{name} cannot be set here, because the spec is a file; use conf, which can set any key")
    return words + _variables(members.get("env")) + _conf(members.get("conf"))


def _variables(env: Texts | None) -> list[str]:
    """Sets variables by keys, because the option for variables splits at commas."""
    return _conf({f"tony.execution.env.{name}": value for name, value in (env or {}).items()})


def _conf(conf: Texts | None) -> list[str]:
    given = [(key, value) for key, value in (conf or {}).items() if value is not None]
    return [text for key, value in given for text in ("--conf", f"{key}={_text(value)}")]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return os.fsdecode(cast(Path, value)) if isinstance(value, os.PathLike) else str(value)


def _plain(value: Any) -> Any:
    """Returns `value` with types that JSON has: a path becomes its text."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(cast(Path, value))
    if _is_mapping(value):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast(Sequence[Any], value)]
    return value


def _is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)
