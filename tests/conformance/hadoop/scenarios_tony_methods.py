"""The methods of TonY's own end-to-end test on a real YARN, with the same property sets as on one machine.

The sets are tests/corpus/method-*.properties; ../../e2e/tony_scenarios_test.cc names the method of each.
"""

import os
import re
import shutil
import signal
import zipfile

from common import HERE, WORK, application, end_masters, must, nothing_is_left_of, status, tony, until

CORPUS = HERE.parent.parent / "corpus"


def user_files():
    """Writes the files that the sets name into the user's working folder."""
    shutil.copytree(CORPUS / "files", WORK, dirs_exist_ok=True)
    for name in ("common.zip", "test.zip", "test2.zip"):
        with zipfile.ZipFile(WORK / name, "w") as archive:
            archive.writestr("123.xml", "<configuration/>")
    for each in CORPUS.glob("*method-*.properties"):
        shutil.copy(each, WORK)


def words(name, *more):
    return (f"method-{name}.properties", "-conf", "tony.scheduler=yarn", *more)


def tasks(job):
    return [f"{task['task']} {task['attempt_state']}" for task in status(job)["tasks"]]


def wait_for(job, task):
    until(lambda: task in tasks(job), f"{task} of {job}, which has {tasks(job)}")


def ended(ran, exit_code, expected=None, message=None):
    """Returns the job's id, and checks that its verdict equals the application's."""
    must(ran.returncode == exit_code, ran.returncode, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    state = "SUCCEEDED" if exit_code == 0 else "FAILED"
    nothing_is_left_of(job)
    must(application(job)["finalStatus"] == state, application(job))
    verdict = status(job)["verdict"]
    must(verdict["state"] == state and (message is None or re.search(message, verdict["message"])), verdict)
    must(expected is None or tasks(job) == expected, tasks(job))
    return job


def whole(name, exit_code, expected=None, message=None, *more):
    def scenario():
        ended(tony("submit", *words(name, *more)), exit_code, expected, message)

    return scenario


def refused(name, line):
    def scenario():
        ran = tony("submit", f"{name}.properties", "-conf", "tony.scheduler=yarn")
        must(ran.returncode == 65 and re.search(line, ran.stderr), ran.returncode, ran.stderr)

    return scenario


def detached(name, *more):
    ran = tony("submit", "--detach", *words(name, *more))
    must(ran.returncode == 0, ran.returncode, ran.stderr)
    return ran.stdout.strip()


def process_of(job, task):
    wait_for(job, f"{task} running")
    return next(each["pid"] for each in status(job)["tasks"] if each["task"] == task)


def a_worker_killed_by_sigkill_fails_the_job():
    job = detached("worker-killed", "-conf", "tony.restart.lost.budget=0")
    os.kill(process_of(job, "worker:0"), signal.SIGKILL)
    ran = tony("wait", job)
    must(ran.returncode == 1, ran.returncode, ran.stderr)
    verdict = status(job)["verdict"]
    must(verdict.get("signal") == 9, verdict)
    nothing_is_left_of(job)


def a_failed_sidecar_does_not_fail_the_job():
    job = detached("sidecar-crash", "-shell_env", f"UNTIL={WORK}/sidecar-go")
    wait_for(job, "sidecarexecutor:0 failed")
    wait_for(job, "worker:0 running")
    (WORK / "sidecar-go").touch()
    must(tony("wait", job).returncode == 0, status(job))
    must(tasks(job) == ["sidecarexecutor:0 failed", "worker:0 succeeded"], tasks(job))
    nothing_is_left_of(job)


def ports(name, expected):
    """Returns the tasks whose standard output mentions TensorBoard's port."""

    def scenario():
        go = WORK / f"{name}-go"
        job = detached(name, "-shell_env", f"UNTIL={go}")
        names = [task["task"] for task in until(lambda: status(job)["tasks"], f"the tasks of {job}")]

        def said(task):
            return tony("logs", job, task, "--stdout").stdout

        until(lambda: all("TB_PORT=" in said(task) for task in names), f"all tasks of {job} to speak")
        with_port = [task for task in names if re.search(r"TB_PORT=\d+", said(task))]
        must(with_port == [expected], with_port)
        go.touch()
        must(tony("wait", job).returncode == 0, status(job))
        nothing_is_left_of(job)

    return scenario


def a_job_whose_application_masters_die_too_often_fails():
    """TonY's job fails when its first master dies. Ours fails when its masters die too often."""
    job = detached("sidecar-crash", "-shell_env", f"UNTIL={WORK}/master-go", "-conf", "tony.sidecarexecutor.instances=0")
    process_of(job, "worker:0")
    end_masters(job)
    waited = tony("wait", job)
    must(waited.returncode == 1, waited)
    must(status(job)["verdict"]["class"] == "infra", status(job))
    nothing_is_left_of(job)


def named(name, scenario):
    scenario.__name__ = name
    return scenario


user_files()
TOGETHER = (
    named("a job without roles succeeds", whole("single-node-pass", 0, ["driver:0 succeeded"])),
    named("a job without roles fails", whole("single-node-fail", 1, ["driver:0 failed"], "exit code 1")),
    named("a worker runs with its variable and its Python environment", whole("worker-with-venv", 0, ["worker:0 succeeded"])),
    named("a job fails if all its tasks fail", whole("ps-worker-fail", 1, None, "exit code 1")),
    named("a failed worker beside the chief fails the job", whole("non-chief-fails", 1, ["chief:0 killed", "worker:0 failed"])),
    named("two workers of PyTorch run with their ranks", whole("pytorch", 0, ["worker:0 succeeded", "worker:1 succeeded"])),
    named("one standalone task runs", whole("standalone", 0, ["worker:0 succeeded"])),
    named("resources reach the task under their names and unpacked", whole("resources", 0, ["worker:0 succeeded"])),
    named("a parameter server is stopped when the worker has succeeded", whole("callback", 0, ["ps:0 killed", "worker:0 succeeded"])),
    named("a failed parameter server fails the job and stops the worker", whole("ps-crash", 1, ["ps:0 failed", "worker:0 killed"], "ps:0 .*exit code 1")),
    named("a job succeeds with the configuration method-final-conf", whole("final-conf", 0, ["worker:0 succeeded"])),
    named("a job with a missing HDFS class path succeeds", whole("hdfs-classpath", 0, ["worker:0 succeeded"])),
    named("two standalone tasks are refused", refused("bad-method-standalone-two", "1 slave, 1 worker")),
    named("Horovod's workers get their places", whole("horovod", 0, ["driver:0 killed", "worker:0 succeeded", "worker:1 succeeded"])),
    named("a Horovod driver of the user's own decides the places", whole("horovod-debug", 0, ["driver:0 killed", "worker:0 succeeded", "worker:1 succeeded"])),
    named("a Horovod driver that fails fails the job", whole("horovod-driver-crash", 1, ["driver:0 failed", "worker:0 killed"], "driver:0 .*exit code 1")),
    named("only the chief has a TensorBoard port", ports("tb-port", "chief:0")),
    named("only the attached TensorBoard task has a TensorBoard port", ports("attached-tensorboard", "tensorboard:0")),
    a_worker_killed_by_sigkill_fails_the_job,
    a_failed_sidecar_does_not_fail_the_job,
    a_job_whose_application_masters_die_too_often_fails,
)
ALONE = ()
DEFAULT = ()
