"""Jobs that outlive their Kerberos tokens, on a cluster whose tokens end soon (TONY_HADOOP_TOKEN_LIFE_S): commands that
follow a job push fresh tokens, and a job without valid tokens waits for them."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
from datetime import datetime, timezone

import common
from common import (CLUSTER, WORK, begin, end, hdfs, jobs_in_hdfs, must, nothing_is_left_of, parent_of, site, status, submit,
                    ticket_of, tony, until)
from scenarios_kerberos import USE_TOKEN, refused, succeeds
from token_file import write_new
from scenarios_takeover import alive, attempts, kill_leader, leads, masters

RENEWED = int(site("dfs.namenode.delegation.token.renew-interval")) / 1000  # seconds; the life without renewal
LONGEST = int(site("dfs.namenode.delegation.token.max-lifetime")) / 1000  # seconds
ONE = ("-conf", "tony.worker.instances=1")
SHARED = "/apps/tony"
WAIT = f"while [ ! -e {WORK}/go ]; do sleep 0.1; done"

NOTICE = WORK / "notice"
KEEP_NOTICE = f"while [ ! -e {WORK}/go ]; do cp $TONY_NOTICE_FILE {NOTICE} 2>/dev/null; sleep 0.1; done"


def go():
    (WORK / "go").touch()


def tokens_until(job):
    return datetime.fromisoformat(status(job)["tokens_until"].replace("Z", "+00:00"))


def left(job):
    """Returns the seconds for which the job's tokens are valid."""
    return (tokens_until(job) - datetime.now(timezone.utc)).total_seconds()


def all_run(job):
    until(lambda: all(pid for _, pid in attempts(job).values()), f"the tasks of {job}")
    return attempts(job)


def begin_unwatched(*words, **more):
    """Starts a job that no command follows, so that nobody pushes tokens."""
    client, job = begin(*words, **more)
    before = all_run(job)
    client.send_signal(signal.SIGKILL)
    client.communicate()
    return job, before


def wait_for_the_end_of_the_tokens(job):
    time.sleep(max(0, left(job)) + 1)


def begin_job_that_waits():
    """Starts a job whose tokens end, and whose AM dies after that, so that the next AM cannot lead."""
    job, before = begin_unwatched("-executes", KEEP_NOTICE, *ONE)
    until(lambda: status(job).get("tokens_overdue") or left(job) < 0, "half of the tokens' life to pass")
    must(left(job) > 0 and not NOTICE.exists(), "no warning in time", status(job))
    wait_for_the_end_of_the_tokens(job)
    must("tokens for the cluster end" in NOTICE.read_text(encoding="utf-8"), "the task had no notice")
    kill_leader(job)
    until(lambda: masters(job)[1], f"another AM process of {job}")
    return job, before


def kill_executor(job):
    """Kills the executor of worker:1, so that the task gets another container."""
    os.kill(parent_of(attempts(job)["worker:1"][1]), signal.SIGKILL)


def a_followed_job_outlives_its_tokens_and_the_deaths_of_its_master():
    """The AM dies between two pushes, and a container that starts late gets fresh tokens."""
    program = WORK / "use_token.py"
    program.write_text(USE_TOKEN)
    client, job = begin("-executes", f"{WAIT}; python3 {program}", "-conf", "tony.worker.instances=2")
    before, began, deaths = all_run(job), time.monotonic(), 0
    while time.monotonic() - began < 3 * LONGEST:
        time.sleep(LONGEST / 3)
        kill_leader(job)
        deaths += 1
        leads(job, 1001 + deaths)
        must(left(job) > 0, "the tokens have ended", status(job))
    must(attempts(job) == before, before, attempts(job))
    kill_executor(job)
    until(lambda: attempts(job)["worker:1"][1] not in (0, before["worker:1"][1]), "another container of worker:1")
    go()
    code, text = end(client)
    must(code == 0, code, text)
    must("no fresh tokens" not in text, text)
    for task in before:
        succeeds(tony("logs", job, task), "listed True")
    nothing_is_left_of(job)


def forget_programs():
    """Removes TonY's programs from the caches of the nodes, so that the next container needs them from HDFS."""
    for found in [*CLUSTER.glob("node?/local/filecache/*"), *CLUSTER.glob("node?/local/usercache/*/filecache/*")]:
        if any(".tar.gz" in name.name for name in found.iterdir()):
            shutil.rmtree(found)


def outlives_its_first_tokens(*words):
    """YARN starts the next AM container with the tokens of the submit, which only a node's own identity can replace."""
    client, job = begin("-executes", WAIT, "-conf", "tony.worker.instances=2", *words)
    before = all_run(job)
    time.sleep(1.2 * LONGEST)
    forget_programs()
    os.kill(masters(job)[0], signal.SIGKILL)
    leads(job, 2001)
    until(lambda: attempts(job) == before, "the tasks to be heard again")
    must(left(job) > 0, "the tokens have ended", status(job))
    go()
    code, text = end(client)
    must(code == 0, code, text)
    nothing_is_left_of(job)


def a_container_of_the_master_dies_after_the_first_tokens_have_ended():
    outlives_its_first_tokens()


def a_master_with_shared_programs_outlives_its_tokens_although_nobody_else_may_enter_the_home_folder():
    """The administrator of HDFS, nn, has TonY's programs in a folder of all users."""
    shared = ("-conf", f"tony.yarn.programs=hdfs://{SHARED}")
    succeeds(submit("-executes", "true", *ONE, *shared))  # by a superuser of HDFS
    names = json.loads(hdfs("GET", SHARED, op="LISTSTATUS"))["FileStatuses"]["FileStatus"]
    for path in (*(f"{SHARED}/{entry['pathSuffix']}" for entry in names), SHARED, pathlib.PurePath(SHARED).parent):
        hdfs("PUT", str(path), op="SETOWNER", owner="nn")
    hdfs("PUT", "/user/bob", op="SETPERMISSION", permission="700")
    common.acting.update(ticket_of("bob"))
    outlives_its_first_tokens(*shared)


def a_job_whose_tokens_have_ended_waits_for_fresh_ones():
    """Nobody pushes tokens. Its AM dies, and the next one cannot lead. The tasks do not notice."""
    job, before = begin_job_that_waits()
    time.sleep(5)
    must(all(alive(pid) for _, pid in before.values()), "a task has ended")
    must(not status(job).get("am_reachable"), status(job))
    began = time.monotonic()
    succeeds(tony("credentials", "push", job), "can use the cluster until")
    print(f"a push took {time.monotonic() - began:.3f} s")
    leads(job, 1002)
    must(attempts(job) == before and left(job) > 0, before, status(job))
    go()
    succeeds(tony("wait", job), "SUCCEEDED")
    nothing_is_left_of(job)


def a_follower_that_comes_late_pushes_tokens_to_a_job_that_waits():
    job, _ = begin_job_that_waits()
    go()
    succeeds(tony("wait", job), "SUCCEEDED")
    nothing_is_left_of(job)


def tokens_reach_a_master_that_does_not_answer_through_the_job_folder():
    job, before = begin_unwatched("-executes", WAIT, *ONE)
    leader = masters(job)[1]
    first = tokens_until(job)
    os.kill(leader, signal.SIGSTOP)
    ran = tony("credentials", "push", job)
    os.kill(leader, signal.SIGCONT)
    succeeds(ran, "in its folder")
    until(lambda: tokens_until(job) != first, "the AM to read the tokens")
    must(attempts(job) == before, before, attempts(job))
    go()
    succeeds(tony("wait", job), "SUCCEEDED")
    nothing_is_left_of(job)


def a_proxy_user_keeps_a_job_of_another_user_alive():
    """The cluster has no keytab of eve, and neither HDFS nor a node gets one of the gateway."""
    proxy = {**ticket_of("gateway"), "HADOOP_PROXY_USER": "eve"}
    client, job = begin("-executes", WAIT, *ONE, **proxy)
    until(lambda: "running" in tony("status", job, **proxy).stdout, f"{job} to run")
    time.sleep(LONGEST * 1.3)
    told = json.loads(tony("status", "--json", job, **proxy).stdout)
    must(datetime.fromisoformat(told["tokens_until"].replace("Z", "+00:00")) > datetime.now(timezone.utc), told)
    found = subprocess.run(["grep", "-rlaE", "gateway.keytab|KEYTAB", CLUSTER / "node1", CLUSTER / "node2"],
                           text=True, capture_output=True)
    must(not found.stdout, found.stdout)
    go()
    code, text = end(client)
    must(code == 0, code, text)


def a_job_with_a_keytab_needs_no_client():
    """The AM gets fresh tokens with the keytab, also in a container that starts after the first tokens have ended."""
    keytab = CLUSTER / "kdc/eve.keytab"
    common.acting.update(ticket_of("eve"))
    job, before = begin_unwatched("-executes", WAIT, *ONE, "-conf", f"tony.yarn.keytab={keytab}")
    time.sleep(1.2 * LONGEST)
    forget_programs()
    os.kill(masters(job)[0], signal.SIGKILL)
    leads(job, 2001)
    time.sleep(LONGEST)
    must(left(job) > 0 and not status(job).get("tokens_overdue"), status(job))
    must(attempts(job) == before, before, attempts(job))
    go()
    succeeds(tony("wait", job), "SUCCEEDED")


def a_keytab_that_the_master_must_not_have_is_refused_before_any_upload():
    def with_keytab(file, **more):
        return submit("-executes", "true", *ONE, "-conf", f"tony.yarn.keytab={file}", **more)

    open_to_all = WORK / "open.keytab"
    shutil.copy(CLUSTER / "kdc/eve.keytab", open_to_all)
    open_to_all.chmod(0o644)
    no_keytab = WORK / "no.keytab"
    no_keytab.touch(0o600)
    refused(with_keytab(CLUSTER / "kdc/eve.keytab"), 77, "is a keytab of eve@", "belongs to user root")
    refused(with_keytab(open_to_all), 77, "tony.yarn.keytab: other users have access")
    refused(with_keytab(WORK / "none.keytab"), 66, "tony.yarn.keytab: ", "none.keytab")
    refused(with_keytab(no_keytab), 77, "tony.yarn.keytab: ")
    refused(with_keytab(CLUSTER / "kdc/gateway.keytab", **ticket_of("gateway"), HADOOP_PROXY_USER="eve"), 77,
            "tony.yarn.keytab: ", "HADOOP_PROXY_USER")


def a_push_that_cannot_work_is_refused_in_one_line():
    job, _ = begin_unwatched("-executes", WAIT, *ONE)
    refused(tony("credentials", "push", job, KRB5CCNAME=f"{WORK}/no-cache"), 77, "run kinit")
    refused(tony("credentials", "push", job, **ticket_of("bob")), 77)
    refused(tony("credentials", "pull", job), 64, 'expected "push JOB"')
    go()
    succeeds(tony("wait", job), "SUCCEEDED")
    refused(tony("credentials", "push", job), 66, "has ended")


def tokens_of_a_launcher_are_renewed_and_not_cancelled_and_refused_after_their_end():
    tokens, began = WORK / "tokens", time.monotonic()
    write_new(tokens)
    only_tokens = {"KRB5CCNAME": "/none", "HADOOP_TOKEN_FILE_LOCATION": str(tokens)}

    def sleep_until(seconds):
        time.sleep(max(0, began + seconds - time.monotonic()))

    sleep_until(RENEWED - 5)
    job = succeeds(submit("-executes", "true", *ONE, **only_tokens), "SUCCEEDED")
    sleep_until(LONGEST - 5)  # more than 5 s after the end of the job, when the ResourceManager cancels its tokens
    succeeds(tony("status", job, **only_tokens), "SUCCEEDED")
    sleep_until(LONGEST + 1)
    before = jobs_in_hdfs()
    ran = submit("-executes", "true", *ONE, **only_tokens)
    refused(ran, 77, "expired", f"the tokens in {tokens} (HADOOP_TOKEN_FILE_LOCATION) have ended", "fetch new ones")
    must(not ran.stdout and jobs_in_hdfs() == before, ran.stdout)


TOGETHER = [a_followed_job_outlives_its_tokens_and_the_deaths_of_its_master,
            a_container_of_the_master_dies_after_the_first_tokens_have_ended,
            a_master_with_shared_programs_outlives_its_tokens_although_nobody_else_may_enter_the_home_folder,
            a_job_whose_tokens_have_ended_waits_for_fresh_ones,
            a_follower_that_comes_late_pushes_tokens_to_a_job_that_waits,
            tokens_reach_a_master_that_does_not_answer_through_the_job_folder,
            a_proxy_user_keeps_a_job_of_another_user_alive,
            a_job_with_a_keytab_needs_no_client,
            a_keytab_that_the_master_must_not_have_is_refused_before_any_upload,
            a_push_that_cannot_work_is_refused_in_one_line]
# This scenario checks that a refused submit leaves no job in HDFS, so no other scenario may submit a job meanwhile.
ALONE = [tokens_of_a_launcher_are_renewed_and_not_cancelled_and_refused_after_their_end]
DEFAULT = []
