"""Submit, watch and kill distributed training jobs, and read their logs and outputs, with the program `tony`.

    job = tony.submit(executes="python train.py", src_dir="src", tasks={"worker": {"instances": 2}})
    for line in job.logs(follow=True):
        print(line)
    job.wait()
    print(job.outputs)

tony.aio offers these calls to event loops. All objects are values: any thread may use them.
"""

from tony.job_answers import LogLine
from tony.api import job, jobs, plan, run, submit, version
from tony.asks import JobDocument, Members, Role
from tony.documents import JobStatus, Outcome, Plan, Submitted, TaskStatus, Usage, Verdict, Version
from tony.errors import (
    CannotWrite,
    InternalError,
    JobFailed,
    NoProgram,
    NotFound,
    NotPermitted,
    SpecInvalid,
    TonyError,
    Unavailable,
    UsageError,
    VersionMismatch,
    WaitTimeout,
)
from tony.one_job import Job
from tony.program import Program

__version__ = "0.1.0"
__all__ = [
    "CannotWrite",
    "InternalError",
    "Job",
    "JobDocument",
    "JobFailed",
    "JobStatus",
    "LogLine",
    "Members",
    "NoProgram",
    "NotFound",
    "NotPermitted",
    "Outcome",
    "Plan",
    "Program",
    "Role",
    "SpecInvalid",
    "Submitted",
    "TaskStatus",
    "TonyError",
    "Unavailable",
    "Usage",
    "UsageError",
    "Verdict",
    "Version",
    "VersionMismatch",
    "WaitTimeout",
    "job",
    "jobs",
    "plan",
    "run",
    "submit",
    "version",
]
