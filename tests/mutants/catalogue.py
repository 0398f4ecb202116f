"""What is changed, and which tests are to notice."""

import dataclasses
import pathlib
import re

import finding
import orders


@dataclasses.dataclass(frozen=True)
class Suite:
    program: str  # below the build folder, and the name of its target
    shards: int = 1  # at once; for tests that mostly wait
    timed: bool = False  # real processes and files: a failure is seen twice before it counts

    @property
    def target(self):
        return self.program.rsplit("/", 1)[-1]


SIMULATOR = Suite("tests/tony-sim")
JOB = Suite("tests/job_test")
AM_CORE = Suite("tests/am_core_test")
AM_SHELL = Suite("tests/am_shell_test", shards=4, timed=True)
TASK_RUN = Suite("tests/task_run_test")
EXECUTOR = Suite("tests/executor_test", timed=True)
EXECUTOR_PROCESSES = Suite("tests/executor_process_test", timed=True)
EXECUTOR_PROGRAM = Suite("tests/executor_program_test", timed=True)
FRAMEWORK = Suite("tests/framework_test")
JOURNAL = Suite("tests/journal_test")
KEEPER_PARTS = Suite("tests/scheduler_test", timed=True)
KEEPER = Suite("tests/keeper_test", shards=6, timed=True)

# The most specific first.
OF_AM_CORE = (AM_CORE, SIMULATOR)
OF_EXECUTOR_CORE = (TASK_RUN, SIMULATOR)
OF_AM_SHELL = (AM_SHELL,)
OF_EXECUTOR_SHELL = (EXECUTOR, EXECUTOR_PROCESSES, EXECUTOR_PROGRAM)
OF_KEEPER = (KEEPER_PARTS, KEEPER)

FILES = {
    "am/states.cc": OF_AM_CORE,
    "am/job.cc": OF_AM_CORE,
    "am/job_deadlines.cc": OF_AM_CORE,
    "am/job_decide.cc": OF_AM_CORE,
    "am/job_restart.cc": OF_AM_CORE,
    "am/job_evolve.cc": OF_AM_CORE,
    "am/job_evolve_restart.cc": OF_AM_CORE,
    "am/job_evolve_stop.cc": OF_AM_CORE,
    "am/restart_policy.cc": OF_AM_CORE,
    "am/completion_policy.cc": OF_AM_CORE,
    "executor/states.cc": OF_EXECUTOR_CORE,
    "executor/task_run.cc": OF_EXECUTOR_CORE,
    "executor/task_run_link.cc": OF_EXECUTOR_CORE,
    "executor/lease_sight.cc": OF_EXECUTOR_CORE,
    "runtime/job/timer_parser.cc": (JOB,),
    "runtime/job/restart_parser.cc": (JOB,),
    "runtime/framework/restart_scope.cc": (FRAMEWORK, AM_CORE),
    "runtime/journal/journal_format.cc": (JOURNAL,),
    "am/application_master.cc": OF_AM_SHELL,
    "am/application_master_files.cc": OF_AM_SHELL,
    "am/application_master_trouble.cc": OF_AM_SHELL,
    "am/parked_calls.cc": OF_AM_SHELL,
    "am/journal.cc": OF_AM_SHELL,
    "am/journal_file.cc": OF_AM_SHELL,
    "executor/executor.cc": OF_EXECUTOR_SHELL,
    "runtime/scheduler/local/am_deaths.cc": OF_KEEPER,
    "runtime/scheduler/local/am_supervision.cc": OF_KEEPER,
    "runtime/scheduler/local/containers.cc": OF_KEEPER,
    "runtime/scheduler/local/containers_end.cc": OF_KEEPER,
    "runtime/scheduler/local/keeper_end.cc": OF_KEEPER,
}

# Shells, whose comparisons are no policy: what to log, which error to tell. Their orders are changed all the same.
WITHOUT_COMPARISONS = {"executor/executor.cc", "runtime/scheduler/local/containers.cc",
                       "runtime/scheduler/local/containers_end.cc", "runtime/scheduler/local/keeper_end.cc"}


def find_mutants(root):
    """All mutants; by file its content with all of its comparisons mutable; and what does not fit any more."""
    mutants, mutable, unfit, number = [], {}, [], 1
    for file in FILES:
        source = pathlib.Path(root, file).read_text()
        if file in WITHOUT_COMPARISONS:
            mutable[file] = source
            continue
        of_file, mutable[file], number = finding.comparisons(file, source, number)
        mutants += of_file
    for file in FILES:
        source = pathlib.Path(root, file).read_text()
        mutants += finding.rows(file, source)
        for name, _, *texts in [entry for entry in orders.ALL if entry[1] == file]:
            try:
                mutants.append(finding.order(file, source, name, *texts))
            except finding.Unfit as error:
                unfit.append(str(error))
    return mutants, mutable, unfit


def known_survivors(root):
    """Key -> why no test can or need catch it, from survivors.txt: a key on a line, then indented lines."""
    reasons, key = {}, None
    for line in pathlib.Path(root, "tests/mutants/survivors.txt").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if re.match(r"\s", line):
            reasons[key] = f"{reasons[key]} {line.strip()}".strip()
        else:
            key = line.strip()
            reasons[key] = ""
    return reasons
