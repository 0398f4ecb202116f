"""The calls of the verbs: what is said on the command line, and what on standard input. Pure; for threads and for loops.

What others must not see goes to standard input: the command line of a process is public on its machine.
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

SUBMIT_GRACE = 10.0  # seconds: an interrupted submit leaves nothing, or a job that its answer names


class Role(TypedDict, total=False):
    """One kind of task of a job document."""

    instances: int | str | None
    memory: int | str | None
    vcores: int | str | None
    gpus: int | str | None
    max_instances: int | str | None
    command: str | None
    resources: Sequence[str] | None
    max_restarts: int | str | None
    min_failed: int | str | None
    min_succeeded: int | str | None
    restart_scope: Literal["framework", "task", "role", "gang", "job"] | None
    completion: Literal["tracked", "untracked", "sidecar"] | None


class Members(TypedDict, total=False):
    """What a job document and its `spec` have in common: the keywords of submit() and plan()."""

    name: Scalar | None
    framework: str | None
    queue: Scalar | None
    executes: str | None
    task_params: Scalar | None
    python_binary_path: str | None
    python_venv: Path | None
    src_dir: Path | None
    tags: Sequence[Scalar] | None
    resources: Sequence[str] | None
    env: Texts | None
    conf: Texts | None
    tasks: Mapping[str, Role | None] | None


class JobDocument(Members, total=False):
    """All that a job is made of, as `tony submit -` reads it."""

    properties: str | Texts | None
    secrets: Texts | None
    spec: Members | None


Spec = JobDocument | Mapping[str, Any] | Path

# How the keywords are said beside a file, which the program reads itself: as options, or as keys.
OPTIONS = ("executes", "task_params", "python_binary_path", "python_venv", "src_dir")
KEYS = {"name": "tony.application.name", "framework": "tony.application.framework", "queue": "tony.yarn.queue"}


def word(value: str, what: str) -> str:
    """Not what the program would take for an option."""
    if not value or value.startswith("-"):
        raise UsageError(f"{what}: {value!r} is none")
    return value


def spec_words(
    spec: Spec | None, members: Mapping[str, Any], secrets: Texts | None
) -> tuple[list[str], Mapping[str, Any] | None]:
    """The words after `submit` or `plan`, and what goes to standard input."""
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
    """The keywords of run(), which are those of `tony run`."""

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
        raise UsageError("run: no command")
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
    """Which lines of a job's logs."""

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
    """A time ago, or a moment; one without a zone is of this machine's."""
    if isinstance(since, datetime.timedelta):
        return f"{math.ceil(since.total_seconds())}s"
    if isinstance(since, datetime.datetime):
        return since.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return since


def from_cursor(ask: Ask, cursor: str) -> Ask:
    """The next page of what this one has asked for: it begins behind the cursor, and so behind any time."""
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
    """Without a limit: what is staged may be large."""
    words = (*words, *(("--strict",) if strict else ()))
    return Ask(words, document, None if directory is None else os.fspath(directory), None, grace)


def _file(path: object) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"spec: {type(path).__name__}; expected a mapping, or the path of a file")
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
            raise UsageError(f"{name}: cannot be said beside a file, which has it itself; conf can set any key")
    return words + _variables(members.get("env")) + _conf(members.get("conf"))


def _variables(env: Texts | None) -> list[str]:
    """By their keys: the option for variables cuts at commas."""
    return _conf({f"tony.execution.env.{name}": value for name, value in (env or {}).items()})


def _conf(conf: Texts | None) -> list[str]:
    given = [(key, value) for key, value in (conf or {}).items() if value is not None]
    return [text for key, value in given for text in ("--conf", f"{key}={_text(value)}")]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return os.fsdecode(cast(Path, value)) if isinstance(value, os.PathLike) else str(value)


def _plain(value: Any) -> Any:
    """As JSON has it: a path is its text."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(cast(Path, value))
    if _is_mapping(value):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast(Sequence[Any], value)]
    return value


def _is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)
