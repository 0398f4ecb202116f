"""Checks of steps that run as their users."""

import json
import os
import pwd
import re
import signal
import stat

from common import wait_for
from level1.projects import HOLD, command, project, tony

MARGIN = 20  # seconds, for busy machines


def held_as(user, **more):
    """Starts a step of this user whose task prints its user and waits for let_go()."""
    script = f'id -un > "$HERE/who"; echo "$TONY_JOB_ID" >> "$HERE/starts"; {HOLD}'
    return tony("train", script, properties={"user.to.proxy": user.pw_name, **more})


def status_for(azkaban, user, job):
    done = azkaban.as_user(user, azkaban.sandbox.bin / "tony", "status", job, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def expect_own(path, user, mode):
    found = path.stat()
    assert (found.st_uid, oct(stat.S_IMODE(found.st_mode))) == (user.pw_uid, oct(mode)), path


def steps_of_two_users_train_at_the_same_time_in_separate_homes(azkaban):
    both = (azkaban.ann, azkaban.bob)
    executions = [azkaban.run(project("1.0", [held_as(user)]), "train") for user in both]
    jobs = [execution.running("train") for execution in executions]
    for user, execution, job in zip(both, executions, jobs, strict=True):
        assert (execution.folder / "who").read_text() == f"{user.pw_name}\n"
        expect_own(azkaban.home(user), user, 0o700)
        expect_own(azkaban.home(user) / "jobs" / job, user, 0o700)
        assert status_for(azkaban, user, job)["state"] == "RUNNING"
    strange = azkaban.as_user(azkaban.bob, azkaban.sandbox.bin / "tony", "status", jobs[0], "--json")
    assert strange.returncode == 66, strange.stdout
    logs = azkaban.home(azkaban.ann) / "jobs" / jobs[0] / "logs"
    assert azkaban.as_user(azkaban.bob, "ls", logs).returncode != 0
    for user, execution, job in zip(both, executions, jobs, strict=True):
        execution.let_go()
        ended = execution.must("SUCCEEDED", "train")
        assert ended["outputs"]["tony.job.id"] == job, ended
        assert ended["attachment"][0]["state"] == "SUCCEEDED", ended
        assert status_for(azkaban, user, job)["acked"], "Azkaban has taken the result"


def outputs_of_one_users_step_become_properties_of_another_users_step(azkaban):
    train = tony("train", "echo '{\"model\": \"/models/7\"}' > $TONY_OUTPUT_FILE",
                 properties={"user.to.proxy": azkaban.ann.pw_name})  # fmt: skip
    deploy = {**command("deploy", "", after=["train"]), "command": "echo deployed ${tony.model.path}",
              "user.to.proxy": azkaban.bob.pw_name}  # fmt: skip
    execution = azkaban.run(project("1.0", [train, deploy]), "deploy")
    execution.must("SUCCEEDED")
    assert "deployed /models/7" in execution.log("deploy"), execution.log("deploy")


def a_cancelled_step_of_a_user_leaves_no_process(azkaban):
    execution = azkaban.run(project("1.0", [held_as(azkaban.ann)]), "train")
    job = execution.running("train")
    execution.cancel()
    assert execution.must("KILLED", "train")["exit"] == 143
    wait_for(f"the end of {job}", lambda: not azkaban.sandbox.processes(job), 10 + MARGIN)
    assert status_for(azkaban, azkaban.ann, job)["state"] == "KILLED"


def a_retry_of_a_users_step_continues_with_the_job_after_its_process_died(azkaban):
    execution = azkaban.run(project("1.0", [held_as(azkaban.bob, retries=1)]), "train")
    job = execution.running("train")
    os.kill(execution.adapter("train"), signal.SIGKILL)
    assert execution.job("train", attempt=1) == job
    execution.let_go()
    execution.must("SUCCEEDED")
    assert (execution.folder / "starts").read_text() == f"{job}\n"


def a_step_whose_home_belongs_to_another_user_fails_and_names_the_fix(azkaban):
    """The home looks as if the first user's step had made it."""
    taken = azkaban.sandbox.folder / "taken"
    taken.mkdir()
    os.chown(taken, azkaban.ann.pw_uid, azkaban.ann.pw_gid)
    step = tony("train", "true", properties={"user.to.proxy": azkaban.bob.pw_name, "env.TONY_HOME": str(taken)})
    execution = azkaban.run(project("1.0", [step]), "train")
    execution.must("FAILED")
    log = execution.log("train")
    assert re.search(rf"exit 77: .*{azkaban.bob.pw_name}.*chmod 1777 {taken}", log), log


def doctor(azkaban, *words, user=None, **variables):
    """Returns the result of each check by its name; run as root, or as a user."""
    asked = [azkaban.sandbox.bin / "tony-azkaban", "doctor", azkaban.sandbox.jobtypes, "--json", *words]
    done = azkaban.as_user(user or pwd.getpwuid(0), *asked, **variables)
    assert done.returncode in (0, 1), done.stderr
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def the_doctor_checks_the_users_who_run_steps(azkaban):
    names = [azkaban.ann.pw_name, azkaban.bob.pw_name]
    server = ("--executor", str(azkaban.executor.process.pid))
    sound = doctor(azkaban, *server, "--user", names[0], "--user", names[1])
    for name in ("execute.as.user", "home", *(f"user {name}" for name in names)):
        assert sound[name]["health"] == "ok", sound[name]
    others = doctor(azkaban, *server, "--user", "root", "--user", "nobody-of-all")
    assert others["user root"]["health"] == others["user nobody-of-all"]["health"] == "fail", others
    closed = azkaban.sandbox.folder / "closed"
    closed.mkdir(mode=0o700)
    refused = doctor(azkaban, "--user", names[0], TONY_HOME=str(closed))[f"user {names[0]}"]
    assert refused["health"] == "fail" and str(closed) in refused["text"], refused


def the_doctor_warns_about_files_that_it_may_not_read(azkaban):
    server = ("--executor", str(azkaban.executor.process.pid))
    hidden = doctor(azkaban, *server, user=azkaban.bob)["execute.as.user"]
    assert hidden["health"] == "warn" and "is not visible to you" in hidden["text"], hidden
    assert "as root" in hidden["advice"], hidden


CHECKS = [steps_of_two_users_train_at_the_same_time_in_separate_homes, a_cancelled_step_of_a_user_leaves_no_process,
          a_retry_of_a_users_step_continues_with_the_job_after_its_process_died,
          outputs_of_one_users_step_become_properties_of_another_users_step,
          a_step_whose_home_belongs_to_another_user_fails_and_names_the_fix, the_doctor_checks_the_users_who_run_steps,
          the_doctor_warns_about_files_that_it_may_not_read]  # fmt: skip
