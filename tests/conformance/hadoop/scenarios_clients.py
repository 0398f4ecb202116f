"""Clients of a job on a real YARN: they write the verdict of a job that YARN has ended, and a signal ends them while the
NameNode is dead or hangs."""

import json
import signal
import time
import urllib.error
import urllib.request

from common import (LIMIT, application, begin, cluster, end, hdfs, must, nothing_is_left_of, runs, site,
                    status, submit, submit_words, tony, until)

ENDLESS = ("-executes", "sleep 600", "-conf", "tony.worker.instances=1")
# A client exits this many seconds after its second signal. The test allows more, because the machine has other work.
BOUND, MOST = 10, 30


def end_in_yarn(job):
    """Kills the application as an administrator does, so that its master leaves no verdict."""
    url = f"http://{site('yarn.resourcemanager.webapp.address')}/ws/v1/cluster/apps/{job}/state?user.name=root"
    body = json.dumps({"state": "KILLED"}).encode()
    request = urllib.request.Request(url, method="PUT", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30):
        pass
    until(lambda: application(job)["state"] == "KILLED", f"{job} to end")


def settled(job):
    """Returns when the verdict of a job was written that no master wrote; None: it was not."""
    try:
        entry = json.loads(hdfs("GET", f"/user/root/.tony/jobs/{job}/settled.json", op="GETFILESTATUS"))
    except urllib.error.HTTPError:
        return None
    return entry["FileStatus"]["modificationTime"]


def detached(*words):
    ran = submit(*ENDLESS, "--detach", *words)
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    runs(job)
    return job


def is_settled_once_by(first, code, *words):
    """Checks that `status` only reports how the job ended, that the verb `first` writes it, and that nothing writes it
    again."""
    job = detached(*words)
    end_in_yarn(job)
    told = status(job)
    must(told["state"] == "KILLED" and told["verdict"]["message"].startswith("killed in YARN by user root"), told)
    must(settled(job) is None, "status has written the end")
    ran = first(job)
    must(ran.returncode == code, ran.returncode, ran.stdout, ran.stderr)
    written = settled(job)
    must(written is not None, "it was not written:", ran.stdout, ran.stderr)
    before = status(job)
    must(before["verdict"] == told["verdict"], before, told)
    for verb, expected in (("wait", 1), ("kill", 0), ("recover", 0)):
        must(tony(verb, job).returncode == expected, verb)
    must(settled(job) == written and status(job) == before, "it was written again")
    nothing_is_left_of(job)


def a_wait_writes_the_verdict_of_a_job_that_yarn_has_ended():
    is_settled_once_by(lambda job: tony("wait", job), 1)


def a_kill_writes_the_verdict_of_a_job_that_yarn_has_ended():
    is_settled_once_by(lambda job: tony("kill", job), 0)


def a_recover_writes_the_verdict_of_a_job_that_yarn_has_ended():
    is_settled_once_by(lambda job: tony("recover", job), 0)


def a_resubmission_writes_the_verdict_of_a_job_that_yarn_has_ended():
    again = submit_words(*ENDLESS, "--detach", "--request-id", "settled", "--owner", "b", "--json")

    def resubmit(job):
        ran = tony(*again)
        document = json.loads(ran.stdout)
        must(document["decision"] == "created" and document["job"] != job, document)
        must(tony("kill", document["job"]).returncode == 0, "kill")
        return ran

    is_settled_once_by(resubmit, 0, "--request-id", "settled", "--owner", "a")


def a_waiting_client_writes_the_verdict_of_a_job_that_yarn_ends():
    client, job = begin(*ENDLESS)
    runs(job)
    end_in_yarn(job)
    code, text = end(client)
    must(code == 1 and "KILLED" in text and "killed in YARN by user root" in text, code, text)
    must(settled(job) is not None, "it was not written")
    nothing_is_left_of(job)


def two_signals_end(client, job, first, second):
    """Returns what the client said. Its job ends in YARN, and the next client writes its verdict."""
    client.send_signal(first)
    time.sleep(1)  # no condition shows that the client has the signal
    client.send_signal(second)
    began = time.monotonic()
    try:
        out, err = client.communicate(timeout=LIMIT)
    except Exception:
        client.kill()
        raise
    took = time.monotonic() - began
    print(f"   the client exited {took:.1f} s after the second signal (limit {BOUND})", flush=True)
    must(client.returncode == 128 + first, client.returncode, out, err)
    must(took < MOST, "it took", took, out, err)
    until(lambda: application(job)["state"] in ("KILLED", "FAILED", "FINISHED"), f"{job} to end: {out} {err}")
    return out + err


def with_name_node(stop, begin_again):
    """Checks the signals while the NameNode is away."""
    client, job = begin(*ENDLESS)
    runs(job)
    stop()
    try:
        text = two_signals_end(client, job, signal.SIGINT, signal.SIGINT)
        must(job in text, text)
    finally:
        begin_again()
    until(lambda: tony("recover", job).returncode == 0, "HDFS")
    must(status(job)["state"] == "KILLED", status(job))
    must("received SIGINT" in status(job)["verdict"]["message"], status(job))
    nothing_is_left_of(job)


def two_sigints_end_client_and_job_while_the_namenode_is_dead():
    def begin_again():
        cluster("begin", "namenode")
        cluster("ready")

    with_name_node(lambda: cluster("kill", "namenode"), begin_again)


def two_sigints_end_client_and_job_while_the_namenode_hangs():
    with_name_node(lambda: cluster("kill", "namenode", "STOP"), lambda: cluster("kill", "namenode", "CONT"))


def a_kill_ends_a_job_while_the_namenode_is_dead():
    job = detached()
    waiting, waiting_job = begin(*ENDLESS)
    runs(waiting_job)
    cluster("kill", "namenode")
    try:
        ran = tony("kill", job)
        must(ran.returncode == 0 and "KILLED" in ran.stdout, ran.returncode, ran.stdout, ran.stderr)
        must(application(job)["state"] == "KILLED", application(job))
        # A single signal suffices here, because the ResourceManager ends the job after the grace of the tasks.
        waiting.send_signal(signal.SIGTERM)
        code, text = end(waiting)
        must(code == 143 and waiting_job in text, code, text)
    finally:
        cluster("begin", "namenode")
        cluster("ready")
    for one in (job, waiting_job):
        until(lambda id=one: tony("recover", id).returncode == 0, "HDFS")
        must(status(one)["state"] == "KILLED", status(one))
        nothing_is_left_of(one)


TOGETHER = (
    a_wait_writes_the_verdict_of_a_job_that_yarn_has_ended,
    a_kill_writes_the_verdict_of_a_job_that_yarn_has_ended,
    a_recover_writes_the_verdict_of_a_job_that_yarn_has_ended,
    a_resubmission_writes_the_verdict_of_a_job_that_yarn_has_ended,
    a_waiting_client_writes_the_verdict_of_a_job_that_yarn_ends,
)
ALONE = (  # they stop the NameNode
    two_sigints_end_client_and_job_while_the_namenode_is_dead,
    two_sigints_end_client_and_job_while_the_namenode_hangs,
    a_kill_ends_a_job_while_the_namenode_is_dead,
)
DEFAULT = ()
