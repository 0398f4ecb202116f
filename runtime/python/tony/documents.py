"""The answers of `tony` as values. Names and meanings come from the published schemas (runtime/client/schema/v1).

Members that this package does not know are ignored, as the schemas require; `document` of a JobStatus or a Plan has all
members. Times are datetimes in UTC. A member that an answer lacks is None or empty.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any, Literal

State = Literal[
    "ACCEPTED", "ALLOCATING", "GATHERING", "RUNNING", "RESTARTING", "STOPPING", "SUCCEEDED", "FAILED", "KILLED"
]
FinalState = Literal["SUCCEEDED", "FAILED", "KILLED"]
TaskState = Literal["waiting", "active", "backoff", "done"]
AttemptState = Literal[
    "", "new", "requested", "allocated", "launching", "registered", "running", "stopping", "succeeded", "failed",
    "killed", "lost",
]  # fmt: skip
OutcomeClass = Literal[
    "success", "user_error", "user_config", "spec_invalid", "oom", "node_lost", "preempted", "infra", "hung", "timeout",
    "killed", "abandoned", "auth", "quota",
]  # fmt: skip
Stream = Literal["stdout", "stderr"]
Time = datetime.datetime

# Metadata of fields: "member" is the name in the document if it is a Python keyword; "whole" marks the whole document.

@dataclasses.dataclass(frozen=True)
class GpuUsage:
    memory_bytes: int
    most_memory_bytes: int
    percent: int
    mean_percent: int
    most_percent: int


@dataclasses.dataclass(frozen=True)
class Usage:
    """The resources that an attempt's processes used, up to the newest sample. 1000 millicores are one core."""

    samples: int
    memory_bytes: int
    mean_memory_bytes: int
    most_memory_bytes: int
    cpu_ms: int
    millicores: int
    most_millicores: int
    elapsed_ms: int
    quiet_ms: int | None = None
    gpu: GpuUsage | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How an attempt ended."""

    outcome_class: OutcomeClass = dataclasses.field(metadata={"member": "class"})
    message: str
    stderr_tail: str
    exit_code: int | None = None
    signal: int | None = None
    process: int | None = None
    stdout_tail: str | None = None
    source: Literal["itself", "peer", "signal"] | None = None
    advice: Literal["transient", "permanent"] | None = None
    usage: Usage | None = None
    outputs: str | None = None


@dataclasses.dataclass(frozen=True)
class TaskStatus:
    """A task with its newest attempt."""

    task: str
    state: TaskState
    attempt: int
    attempt_state: AttemptState
    host: str
    pid: int
    suspect: bool
    log_url: str | None = None
    waits_for: str | None = None
    started: Time | None = None
    ended: Time | None = None
    outcome: Outcome | None = None
    usage: Usage | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """How a job ended: its first cause."""

    state: FinalState
    outcome_class: OutcomeClass = dataclasses.field(metadata={"member": "class"})
    retryable: bool
    message: str
    host: str
    stderr_tail: str
    task: str | None = None
    attempt: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    stdout_tail: str | None = None
    advice: Literal["transient", "permanent"] | None = None


@dataclasses.dataclass(frozen=True)
class Restart:
    number: int
    time: Time
    scope: Literal["task", "role", "gang", "job"]
    task: str
    attempt: int
    reason: str
    charged: bool


@dataclasses.dataclass(frozen=True)
class ResumedFrom:
    path: str
    writer: Literal["this_job", "earlier_job", "others", "unknown"]
    step: int | None = None
    job: str | None = None


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    directory: str
    resumed_from: ResumedFrom | None = None
    unknown: str | None = None


@dataclasses.dataclass(frozen=True)
class PlannedKill:
    due: Time
    reason: str


@dataclasses.dataclass(frozen=True)
class HeldTask:
    """A failed task whose container is kept for `tony shell`. `verdict` is how the job will end after that."""

    task: str
    attempt: int
    host: str
    until: Time
    verdict: FinalState | None = None


@dataclasses.dataclass(frozen=True)
class JobStatus:
    """The known state of a job. `verdict` and `ended` are set exactly when the job has ended."""

    job: str
    name: str
    user: str
    framework: str
    state: State
    seq: int
    epoch: int
    generation: int
    submitted: Time
    tasks: tuple[TaskStatus, ...]
    restart_count: int
    restarts: tuple[Restart, ...]
    tags: tuple[str, ...] = ()
    ended: Time | None = None
    verdict: Verdict | None = None
    tolerated_failures: int | None = None
    held: HeldTask | None = None
    sweep: Mapping[str, Any] | None = None
    checkpoint: Checkpoint | None = None
    delay: str | None = None
    trouble: str | None = None
    request_id: str | None = None
    submission: int | None = None
    owner: str | None = None
    watcher: str | None = None
    watch_timeout_ms: int | None = None
    planned_kill: PlannedKill | None = None
    tracking_url: str | None = None
    tensorboard_url: str | None = None
    notebook_url: str | None = None
    tokens_until: Time | None = None
    tokens_issued: Time | None = None
    tokens_overdue: bool | None = None
    am_reachable: bool | None = None
    unruled: bool | None = None
    acked: bool | None = None
    outputs_problem: str | None = None
    document: Mapping[str, Any] = dataclasses.field(
        default_factory=dict[str, Any], repr=False, compare=False, metadata={"whole": True}
    )

    @property
    def has_ended(self) -> bool:
        return self.verdict is not None

    @property
    def succeeded(self) -> bool:
        return self.state == "SUCCEEDED"


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """Files of src_dir that one rule excludes from the job."""

    rule: str
    paths: tuple[str, ...]
    files: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class Sources:
    """The files of src_dir that go to each task, and those that were left out."""

    files: int
    bytes: int
    left_out: tuple[LeftOut, ...]


@dataclasses.dataclass(frozen=True)
class Submitted:
    """The result of a submit. With a request id, `decision` says whether the submit found an existing job."""

    job: str
    request_id: str | None = None
    submission: int | None = None
    decision: Literal["created", "attached", "adopted"] | None = None
    spec_differs: bool | None = None
    differs_in: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sources: Sources | None = None


@dataclasses.dataclass(frozen=True)
class LogEntry:
    """Part of one stream of a task: whole lines with their line ends."""

    task: str
    attempt: int
    stream: Stream
    text: str
    process: int | None = None
    time: Time | None = None


@dataclasses.dataclass(frozen=True)
class FollowedEntry:
    """A LogEntry of a followed log. A read that starts at `cursor` returns everything after this entry."""

    task: str
    attempt: int
    stream: Stream
    text: str
    cursor: str
    process: int | None = None
    time: Time | None = None


@dataclasses.dataclass(frozen=True)
class LogAnswer:
    job: str
    entries: tuple[LogEntry, ...]
    cursor: str
    eof: bool


@dataclasses.dataclass(frozen=True)
class OutputProblem:
    why: str
    left_out: bool
    name: str | None = None


@dataclasses.dataclass(frozen=True)
class Outputs:
    """The outputs that the chief wrote to $TONY_OUTPUT_FILE."""

    job: str
    outputs: Mapping[str, Any]
    task: str | None = None
    problems: tuple[OutputProblem, ...] = ()


@dataclasses.dataclass(frozen=True)
class PlannedRole:
    name: str
    instances: int
    memory_mb: int
    vcores: int
    gpus: int
    command: str
    completion: Literal["tracked", "untracked", "sidecar"]
    min_succeeded: int | None = None
    min_failed: int | None = None
    max_parallel: int | None = None
    image: str | None = None
    placement_spec: str | None = None
    allocation_tags: tuple[str, ...] = ()
    resources: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])


@dataclasses.dataclass(frozen=True)
class PlannedSpec:
    name: str
    framework: str
    mode: Literal["GANG", "FCFS"]
    roles: tuple[PlannedRole, ...]
    execution_env: Mapping[str, str]
    container_env: Mapping[str, str]
    completion_rule: Literal["tony"] | None = None
    tags: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class PlannedStep:
    what: Literal["asked", "shipped", "started"]
    text: str


@dataclasses.dataclass(frozen=True)
class Plan:
    """The job that a submit would run, secrets masked."""

    spec: PlannedSpec
    warnings: tuple[str, ...]
    steps: tuple[PlannedStep, ...] = ()
    sources: Sources | None = None
    document: Mapping[str, Any] = dataclasses.field(
        default_factory=dict[str, Any], repr=False, compare=False, metadata={"whole": True}
    )


@dataclasses.dataclass(frozen=True)
class Version:
    version: str
    schemas: tuple[int, ...]
    commit: str | None = None
