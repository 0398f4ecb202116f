"""Jobs on a cluster whose containers run as the job's user, by Hadoop's LinuxContainerExecutor
($TONY_HADOOP_CONTAINER_EXECUTOR). The NodeManagers are another user, who is not root."""

import contextlib
import importlib
import os
import signal
import time

import common
import scenarios_takeover
from common import WORK, begin, end, make_home, must, nothing_is_left_of, processes_of, submit, tony, until

importlib.reload(scenarios_takeover)  # so that it uses the folder of this scenario
from scenarios_takeover import attempts, go, kill_leader, leads, masters, start, succeeds_unchanged  # noqa: E402

USERS = ("nobody", "games")  # the second one is in allowed.system.users of container-executor.cfg


def become(user):
    make_home(user)
    WORK.chmod(0o755)
    common.acting.update(HADOOP_USER_NAME=user)


def owners_of(job):
    owners = set()
    for pid in processes_of(job):
        with contextlib.suppress(FileNotFoundError):  # the process may have ended
            owners.add(os.stat(f"/proc/{pid}").st_uid)
    return owners


def log_of(job, *words):
    ran = tony("logs", job, "worker:0", *words)
    must(ran.returncode == 0, words, ran.returncode, ran.stderr)
    return ran.stdout


def a_job_runs_as_its_user_and_its_files_are_private():
    become("nobody")
    client, job = begin("-conf", "tony.worker.instances=1", "-executes",
                        f"id -un; stat -c '%a %U' $HADOOP_TOKEN_FILE_LOCATION $PWD; {scenarios_takeover.WAIT}; echo late")
    until(lambda: "nobody" in log_of(job), "the log of a running task")
    must(log_of(job).split()[:5] == ["nobody", "600", "nobody", "700", "nobody"], log_of(job))
    must(owners_of(job) == {65534}, owners_of(job))
    go()
    code, text = end(client)
    must(code == 0, code, text)
    must("late" in log_of(job), "the log after the end", log_of(job))
    nothing_is_left_of(job)


def jobs_of_two_users_run_at_the_same_time_on_the_same_nodes():
    begun = []
    for user in USERS:
        become(user)
        begun.append((user, *begin("-conf", "tony.worker.instances=4", "-conf", "tony.worker.placement=spread",
                                   "-executes", scenarios_takeover.WAIT)))
    for user, _, job in begun:
        common.acting.update(HADOOP_USER_NAME=user)
        until(lambda job=job: all(pid for _, pid in attempts(job).values()), f"the tasks of {job}")
    go()
    for _, client, job in begun:
        code, text = end(client)
        must(code == 0, code, text)
        nothing_is_left_of(job)


def a_failed_task_is_reported_with_its_output():
    become("nobody")
    ran = submit("-executes", "echo bad thing >&2; exit 3", "-conf", "tony.worker.instances=2")
    must(ran.returncode == 1 and "exit code 3" in ran.stderr + ran.stdout and "bad thing" in ran.stderr + ran.stdout, ran)
    nothing_is_left_of(ran.stdout.split()[0])


def a_killed_am_and_a_killed_am_container_leave_the_tasks_running():
    become("nobody")
    client, job, before = start()
    kill_leader(job)
    leads(job, 1002)
    time.sleep(2.5)
    os.kill(masters(job)[0], signal.SIGKILL)
    leads(job, 2001)
    until(lambda: attempts(job) == before, "the tasks to be heard again")
    succeeds_unchanged(client, job, before)


def a_task_beyond_its_memory_is_killed_by_the_nodes_cgroup():
    become("nobody")
    ran = submit("-executes", "head -c 600m /dev/zero | tail -c 600m", "-conf", "tony.worker.instances=1",
                 "-conf", "tony.worker.memory=256m", "-conf", "tony.task.max-attempts=1")
    must(ran.returncode == 1 and "the cgroup's limit of 256 MB was reached" in ran.stdout + ran.stderr, ran)
    nothing_is_left_of(ran.stdout.split()[0])


def a_kill_leaves_no_process_of_a_task_that_ignores_signals():
    become("nobody")
    client, job = begin("-executes", "trap '' TERM; setsid sleep 600 & while :; do sleep 1; done", "-conf",
                        "tony.worker.instances=2", "-conf", "tony.task.stop-grace-ms=1000")
    until(lambda: all(pid for _, pid in attempts(job).values()), f"the tasks of {job}")
    must(tony("kill", job).returncode == 0, "kill")
    must(end(client)[0] == 1, "the client of a killed job")
    nothing_is_left_of(job)


TOGETHER = []
ALONE = [a_job_runs_as_its_user_and_its_files_are_private, jobs_of_two_users_run_at_the_same_time_on_the_same_nodes,
         a_failed_task_is_reported_with_its_output, a_task_beyond_its_memory_is_killed_by_the_nodes_cgroup,
         a_killed_am_and_a_killed_am_container_leave_the_tasks_running,
         a_kill_leaves_no_process_of_a_task_that_ignores_signals]
DEFAULT = []
