"""The functions of `import tony`, for programs with or without threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tony import asks, job_answers
from tony.asks import OnExisting, Path, Spec, Texts
from tony.documents import JobStatus, Plan, Submitted, Version
from tony.one_job import Job
from tony.program import Ask, Program
from tony.reading import read

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tony.asks import Members, RunOptions


def submit(
    spec: Spec | None = None,
    *,
    secrets: Texts | None = None,
    directory: Path | None = None,
    strict: bool = False,
    request_id: str | None = None,
    submission: int = 0,
    on_existing: OnExisting = "adopt",
    watch_timeout: float | None = None,
    program: Program | None = None,
    **members: Unpack[Members],
) -> Job:
    """Submits a job and returns as soon as the job is recorded. From then on the job does not need this process.

    spec: a mapping (a job document), or the path of a file (.properties, .job, .xml, .json, .yaml). members: members of
    a document (`executes`, `tasks`, `env`, `conf`, ...); they override the spec. secrets: variables of the tasks that
    are not written to any file. directory: base folder of relative paths. request_id: a second submit with this id
    finds the job; submission and on_existing decide what happens then. watch_timeout: seconds without client activity
    after which the job ends.
    """
    ask = asks.submit(
        spec, members, secrets=secrets, directory=directory, strict=strict, request_id=request_id, submission=submission,
        on_existing=on_existing, watch_timeout=watch_timeout,
    )  # fmt: skip
    return _submitted(ask, program)


def run(
    command: str | Sequence[str],
    instances: int = 1,
    *,
    secrets: Texts | None = None,
    directory: Path | None = None,
    strict: bool = False,
    program: Program | None = None,
    **options: Unpack[RunOptions],
) -> Job:
    """Runs a command on `instances` workers, as `tony run` does. A text is for the shell; a sequence has the words.

    If the command names a file in this folder (or in `directory`), each worker gets a copy of the folder.
    """
    return _submitted(asks.run(command, instances, options, secrets, directory, strict), program)


def _submitted(ask: Ask, program: Program | None) -> Job:
    program = program or Program()
    document = program.call(ask, rest=job_answers.hear_rest, said=job_answers.hear_warnings)
    return Job(document["job"], program, read(Submitted, document))


def plan(
    spec: Spec | None = None,
    *,
    secrets: Texts | None = None,
    directory: Path | None = None,
    strict: bool = False,
    program: Program | None = None,
    **members: Unpack[Members],
) -> Plan:
    """Returns the job that a submit would run. Starts nothing."""
    return read(Plan, (program or Program()).call(asks.plan(spec, members, secrets, directory, strict)))


def job(name: str, *, program: Program | None = None) -> Job:
    """Returns a job by its id, the beginning of its id, or its name, or the newest job for `last`.

    If several jobs have the name, the newest of them is returned. Raises NotFound if there is no such job.
    """
    program = program or Program()
    return Job(program.call(asks.status(name))["job"], program)


def jobs(*, program: Program | None = None) -> list[JobStatus]:
    """Returns the jobs that have not ended and the newest others, newest first."""
    return job_answers.statuses((program or Program()).call(Ask(("list",))))


def version(*, program: Program | None = None) -> Version:
    """Returns the version of the program."""
    return read(Version, (program or Program()).call(Ask(("version",))))
