"""Steps with tony.scheduler=yarn in Azkaban 3.58.0's job type manager, on a Hadoop cluster of the suite's own."""

import contextlib
import os
import signal
import subprocess
import time
import urllib.request

from common import ROOT, wait_for
from level1.executor import Executor
from level1.projects import HOLD, command, project, tony

AT_ONCE = 5
CLUSTER = ROOT / "tests/conformance/hadoop/cluster"
START_LIMIT = 600  # seconds; Maven may have to download
ON_YARN = {"tony.scheduler": "yarn", "tony.worker.memory": "128m", "tony.am.memory": "256m"}


class OnCluster(Executor):
    """An executor server on a machine whose configuration names a cluster."""

    def __init__(self, sandbox, folder):
        self.cluster = folder
        super().__init__(sandbox)

    @property
    def resource_manager(self):
        pages = subprocess.run([CLUSTER, "pages", self.cluster], check=True, capture_output=True, text=True).stdout
        return dict(line.split() for line in pages.splitlines())["resourcemanager"]


@contextlib.contextmanager
def started(sandbox):
    # The cluster is in the sandbox, so the processes of its containers are found by the sandbox.
    folder = sandbox.folder / "cluster"
    subprocess.run([CLUSTER, "start", folder, "", str(os.getpid())], check=True, timeout=START_LIMIT,
                   stdin=subprocess.DEVNULL)
    sandbox.variables = {"HADOOP_CONF_DIR": str(folder / "conf")}
    executor = OnCluster(sandbox, folder)
    try:
        yield executor
    finally:
        executor.close()
        subprocess.run([CLUSTER, "stop", folder], check=True)


def held(name, **properties):
    return tony(name, f'echo "$TONY_JOB_ID" >> "$HERE/{name}.starts"; {HOLD}', properties=ON_YARN | properties)


def page(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


def nothing_is_left_of(azkaban, job):
    wait_for(f"the end of {job}", lambda: not azkaban.sandbox.processes(job))


def a_step_on_yarn_passes_its_result_to_the_next_step(azkaban):
    take = "echo color=${color} url=${tony.job.url} logs=${tony.job.logs}"
    seen_by_all = {**ON_YARN, "tony.yarn.view-acl": "*"}  # the page is requested without a user
    steps = [tony("train", 'echo \'{"color": "red"}\' > "$TONY_OUTPUT_FILE"', properties=seen_by_all),
             {**command("deploy", "", after=["train"]), "command": take}]  # fmt: skip
    execution = azkaban.run(project("2.0", steps), "flow")
    execution.must("SUCCEEDED")
    job, log = execution.job("train"), execution.log("train")
    url = f"{azkaban.resource_manager}proxy/{job}/"
    assert job.startswith("application_") and f"TonY UI: {url}\n" in log, log
    assert f"logs: tony logs {job} -f\n" in log, log
    assert f"color=red url={url} logs=tony logs {job}" in execution.log("deploy"), execution.log("deploy")
    assert job in page(url) and "SUCCEEDED" in page(url), page(url)
    nothing_is_left_of(azkaban, job)


def the_log_of_a_step_that_fails_on_yarn_names_the_cause(azkaban):
    steps = [tony("train", "echo the data is gone >&2; exit 3", properties=ON_YARN),
             command("deploy", "true", after=["train"])]  # fmt: skip
    execution = azkaban.run(project("1.0", steps), "deploy")
    execution.must("FAILED")
    assert execution.must("FAILED", "train")["exit"] == 1
    execution.must("CANCELLED", "deploy")
    log = execution.log("train")
    assert "the data is gone" in log and "exit code 3" in log, log
    assert "tony-azkaban: exit 1: job application_" in log, log
    nothing_is_left_of(azkaban, execution.job("train"))


def a_step_with_an_unknown_yarn_queue_is_refused(azkaban):
    step = tony("train", "true", properties=ON_YARN | {"tony.yarn.queue": "nowhere"})
    execution = azkaban.run(project("2.0", [step]), "flow")
    assert execution.must("FAILED", "train")["exit"] == 65
    assert "tony.yarn.queue" in execution.log("train"), execution.log("train")


def a_cancelled_step_leaves_no_process_on_yarn(azkaban):
    execution = azkaban.run(project("2.0", [held("train")]), "flow")
    job = execution.running("train")
    began = time.monotonic()
    execution.cancel()
    ended = execution.must("KILLED", "train")
    assert ended["exit"] == 143 and time.monotonic() - began < 12, (ended, time.monotonic() - began)
    nothing_is_left_of(azkaban, job)
    told = azkaban.sandbox.tony("status", job)
    assert told["state"] == "KILLED" and "Azkaban cancelled the step" in told["verdict"]["message"], told


def a_step_cancelled_before_its_master_runs_starts_no_task(azkaban):
    execution = azkaban.run(project("1.0", [held("train")]), "train")
    job = execution.job("train")
    execution.cancel()
    assert execution.must("KILLED", "train")["exit"] == 143
    nothing_is_left_of(azkaban, job)
    wait_for("its end", lambda: azkaban.sandbox.tony("status", job)["state"] == "KILLED")
    assert not (execution.folder / "train.starts").exists()


def a_retry_continues_with_the_application_after_the_steps_process_died(azkaban):
    execution = azkaban.run(project("1.0", [held("train", retries=1)]), "train")
    job = execution.running("train")
    os.kill(execution.adapter("train"), signal.SIGKILL)
    assert execution.job("train", attempt=1) == job
    execution.let_go()
    execution.must("SUCCEEDED")
    assert (execution.folder / "train.starts").read_text() == f"{job}\n"


CHECKS = [a_cancelled_step_leaves_no_process_on_yarn,
          a_retry_continues_with_the_application_after_the_steps_process_died,
          a_step_cancelled_before_its_master_runs_starts_no_task,
          a_step_on_yarn_passes_its_result_to_the_next_step, the_log_of_a_step_that_fails_on_yarn_names_the_cause,
          a_step_with_an_unknown_yarn_queue_is_refused]  # fmt: skip
