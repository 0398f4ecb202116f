"""The changes to the sources, and the tests that should notice each change."""

import dataclasses
import pathlib
import re

import finding
import orders

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Suite:
    program: str  # path below the build folder, and name of its target
    shards: int = 1  # parallel processes, for tests that mostly wait
    timed: bool = False  # real processes and files: a failure must repeat before it counts

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
KEEPER_PARTS = Suite("tests/keeper_parts_test", timed=True)
PLAYED_KEEPER = Suite("tests/played_keeper_test")
PLAYED_PROCESSES = Suite("tests/played_processes_test")
KEEPER = Suite("tests/keeper_test", shards=6, timed=True)
BASE = Suite("tests/base_test")
PROCESS = Suite("tests/process_test", timed=True)
REQUEST = Suite("tests/submit_core_test")
REQUEST_SIM = Suite("tests/request_sim_test")
CONTRACT = Suite("tests/contract_e2e_test", shards=4, timed=True)
LEDGER = Suite("tests/ledger_test", timed=True)
LEDGER_RESERVATION = Suite("tests/ledger_reservation_test", shards=4, timed=True)
RECORDS = Suite("tests/records_test", timed=True)
OS = Suite("tests/os_test", timed=True)
POWER_CUT = Suite("tests/power_cut_test")
JOURNAL_FAULTS = Suite("tests/journal_faults_test")
MASTER_POWER_CUT = Suite("tests/master_power_cut_test")
STAGING = Suite("tests/staging_test", shards=2, timed=True)
ENDED_JOBS = Suite("tests/ended_jobs_test")
ENDED_WRITERS = Suite("tests/ended_writers_test", timed=True)
HISTORY = Suite("tests/tony_history_test")
PAGE = Suite("tests/page_test", timed=True)
LOGS = Suite("tests/logs_test", timed=True)
LOG_FOLLOWER = Suite("tests/log_follower_test", timed=True)
PAGE_SERVER = Suite("tests/page_integration_test", timed=True)
TLS = Suite("tests/tls_test")
RPC = Suite("tests/rpc_test", timed=True)

# The most specific pattern comes first.
OF_AM_CORE = (AM_CORE, SIMULATOR)
OF_EXECUTOR_CORE = (TASK_RUN, SIMULATOR)
OF_AM_SHELL = (AM_SHELL,)
OF_EXECUTOR_SHELL = (EXECUTOR, EXECUTOR_PROCESSES, EXECUTOR_PROGRAM)
OF_KEEPER = (KEEPER_PARTS, PLAYED_KEEPER, KEEPER)
OF_LEDGER = (LEDGER, LEDGER_RESERVATION)
OF_RECORDS = (RECORDS, POWER_CUT, STAGING)
OF_FILES = (OS, RECORDS, POWER_CUT, STAGING)
OF_HISTORY = (ENDED_JOBS, HISTORY, ENDED_WRITERS)
OF_PAGE = (PAGE, PAGE_SERVER)
OF_LOGS = (LOGS, LOG_FOLLOWER)

FILES = {
    "am/core/states.cc": OF_AM_CORE,
    "am/core/tasks.cc": OF_AM_CORE,
    "am/core/job.cc": OF_AM_CORE,
    "am/core/deadlines.cc": OF_AM_CORE,
    "am/core/job_decide.cc": OF_AM_CORE,
    "am/core/restarts.cc": OF_AM_CORE,
    "am/core/late_roles.cc": OF_AM_CORE,
    "am/core/job_evolve.cc": OF_AM_CORE,
    "am/core/restart_policy.cc": OF_AM_CORE,
    "am/core/judgement.cc": OF_AM_CORE,
    "executor/states.cc": OF_EXECUTOR_CORE,
    "executor/task_run.cc": OF_EXECUTOR_CORE,
    "executor/task_run_link.cc": OF_EXECUTOR_CORE,
    "executor/task_run.cc": OF_EXECUTOR_CORE,
    "executor/lease_sight.cc": OF_EXECUTOR_CORE,
    "runtime/spec/completion_parser.cc": (JOB,),
    "runtime/spec/restart_parser.cc": (JOB,),
    "runtime/spec/restart_parser.cc": (JOB,),
    "runtime/framework/framework.cc": (FRAMEWORK, AM_CORE),
    "runtime/records/journal_format.cc": (JOURNAL,),
    "am/application_master.cc": OF_AM_SHELL,
    "am/application_master_files.cc": (AM_SHELL, MASTER_POWER_CUT),
    "am/application_master_degraded.cc": OF_AM_SHELL,
    "am/parked_calls.cc": OF_AM_SHELL,
    "am/journal.cc": (AM_SHELL, JOURNAL_FAULTS, POWER_CUT),
    "am/core/ownership.cc": OF_AM_CORE,
    "am/application_master.h": OF_AM_SHELL,
    "executor/executor.cc": OF_EXECUTOR_SHELL,
    "executor/executor.cc": OF_EXECUTOR_SHELL,
    "runtime/keeper/am_supervision.cc": OF_KEEPER,
    "runtime/keeper/am_supervision.cc": OF_KEEPER,
    "runtime/keeper/containers.cc": OF_KEEPER,
    "runtime/keeper/containers_end.cc": OF_KEEPER,
    "runtime/keeper/keeper_end.cc": OF_KEEPER,
    "runtime/keeper/keeper.cc": OF_KEEPER,
    "runtime/keeper/keeper_end.cc": OF_KEEPER,
    "runtime/local/local_scheduler.cc": (KEEPER,),
    "runtime/keeper/message_channel.cc": OF_KEEPER,
    "runtime/keeper/container_cgroup.cc": OF_KEEPER,
    "runtime/base/secret.h": (BASE,),
    "runtime/os/cgroup.cc": (PROCESS, KEEPER_PARTS),
    "runtime/os/process_tree.cc": (PROCESS,),
    "runtime/os/process_tree.cc": (PROCESS, PLAYED_PROCESSES),
    "runtime/os/process_tree.cc": (PROCESS,),
    "runtime/records/submit_machine.cc": (REQUEST, REQUEST_SIM),
    "runtime/records/submit_machine.cc": (REQUEST, REQUEST_SIM),
    "runtime/client/submit_steps.cc": (CONTRACT,),
    "runtime/keeper/lost_job.cc": (POWER_CUT,),
    "runtime/cli/gc.cc": (POWER_CUT,),
    "runtime/net/tls.cc": (TLS,),
    "runtime/rpc/rpc_server.cc": (RPC,),
}

# Texts and field lists: a wrong line fails the test of its own format.
WITHOUT_MUTANTS = {"decisions.cc", "describe.cc", "history.cc", "history_json.cc", "submit_digest.cc"}
# All sources of a part: folder, pattern, suites. The lines of FILES take precedence.
PARTS = [
    ("runtime/ledger", "ledger*.cc", OF_LEDGER),
    ("runtime/os", "*file*.cc", OF_FILES),
    ("runtime/os", "machine_boot.cc", OF_FILES),
    ("runtime/os", "remove_tree.cc", OF_FILES),
    ("runtime/os", "sha256.cc", OF_FILES),
    ("runtime/records", "*.cc", OF_RECORDS),
    ("runtime/staging", "*.cc", (STAGING, POWER_CUT)),
    ("runtime/history", "*.cc", OF_HISTORY),
    ("runtime/page", "*.cc", OF_PAGE),
    ("runtime/logs", "*.cc", OF_LOGS),
]
for folder, pattern, suites in PARTS:
    for path in sorted(pathlib.Path(ROOT, folder).glob(pattern)):
        if path.name not in WITHOUT_MUTANTS:
            FILES.setdefault(f"{folder}/{path.name}", suites)

# Outer layers whose comparisons are not policy, such as which message to log or which error to report. Their
# orders are still changed.
WITHOUT_COMPARISONS = {"executor/executor.cc", "executor/executor.cc", "runtime/keeper/containers.cc",
                       "runtime/keeper/containers_end.cc", "runtime/keeper/keeper_end.cc",
                       "runtime/keeper/keeper.cc", "runtime/keeper/message_channel.cc",
                       "runtime/local/local_scheduler.cc",
                       "runtime/keeper/container_cgroup.cc", "runtime/os/cgroup.cc",
                       "runtime/os/process_tree.cc", "runtime/os/process_tree.cc",
                       "runtime/client/submit_steps.cc", "runtime/cli/gc.cc", "runtime/base/secret.h",
                       "am/application_master.h", "runtime/net/tls.cc", "runtime/rpc/rpc_server.cc"}


def find_mutants(root):
    """Returns all mutants; for each file its content with all comparisons mutable; and the orders that do not fit their
    file any more."""
    mutants, mutable, number = [], {}, 1
    unfit = [f"tests/mutants/orders.py: '{name}': catalogue.py says of no test that it is to notice changes of {file}"
             for name, file, *_ in orders.ALL if file not in FILES]
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
    """Returns key -> why no test can or needs to catch the mutant, from survivors.txt: a key on a line, then indented
    lines."""
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


def stale_survivors(root, mutants):
    """Finds reasons for mutants that do not exist any more, because such a reason would be lost when its line is
    written again."""
    keys = {mutant.key for mutant in mutants}
    return [f"survivors.txt: no mutant has this name: {key}" for key in known_survivors(root) if key not in keys]
