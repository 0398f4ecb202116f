"""Jobs on a cluster without WebHDFS (TONY_HADOOP_NO_WEBHDFS=1), with and without Kerberos."""

import importlib
import json
import os
import signal
import time

import scenarios_takeover
from common import KERBEROS, WORK, begin, edited_conf, end, must, nothing_is_left_of, runs, status, submit, tony, until

importlib.reload(scenarios_takeover)  # so that it uses the folder of this scenario
from scenarios_takeover import attempts, leads, masters, start, succeeds_unchanged  # noqa: E402

ONE = ("-conf", "tony.worker.instances=1")
MEGABYTES = 150  # above the size of a block


def a_job_with_a_file_of_two_blocks_runs_and_its_logs_stay():
    large = WORK / "large"
    with large.open("wb") as file:
        for _ in range(MEGABYTES):
            file.write(os.urandom(1 << 20))
    ran = submit("-executes", "stat -Lc %s large; cksum < large | cut -d' ' -f1", *ONE, "-conf",
                 f"tony.worker.resources={large}")
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    nothing_is_left_of(job)
    ran = tony("logs", job)
    sum_of_large = os.popen(f"cksum < {large}").read().split()[0]
    must(ran.stdout.split() == [str(MEGABYTES << 20), sum_of_large], ran.stdout, ran.stderr)
    must(tony("gc").returncode == 0, "gc")


def executors_find_the_next_attempt_by_the_lease():
    """The next attempt has another address. The containers are older than a heartbeat of their nodes."""
    client, job, before = start()
    time.sleep(2.5)
    os.kill(masters(job)[0], signal.SIGKILL)
    leads(job, 2001)
    until(lambda: attempts(job) == before and not any(task.get("suspect") for task in status(job)["tasks"]),
          "the tasks to be heard again")
    succeeds_unchanged(client, job, before)


def a_kill_ends_a_job():
    client, job = begin("-executes", "sleep 600", *ONE)
    runs(job)
    ran = tony("kill", job)
    must(ran.returncode == 0, ran.returncode, ran.stderr)
    code, text = end(client)
    must(code != 0 and "KILLED" in text, code, text)
    nothing_is_left_of(job)


def the_doctor_says_that_hdfs_is_called_by_rpc():
    checks = {check["name"]: check for check in json.loads(tony("doctor", "--yarn", "--json").stdout)["checks"]}
    must(checks["namenode"]["text"].startswith("hdfs://"), checks["namenode"])
    must(checks["hdfs"]["health"] == "ok" and " ms, by RPC" in checks["hdfs"]["text"], checks["hdfs"])
    must("HDFS by RPC is hdfs://" in checks["network"]["text"] if KERBEROS else
         "dfs.data.transfer.protection is not privacy" in checks["network"]["text"], checks["network"])


def bad_settings_are_refused_in_one_line():
    for code, change, *texts in (
            (65, ("<value>false</value>", "<value>off</value>"), "dfs.webhdfs.enabled", '"off", expected true or false'),
            *(((77, ("nn/_HOST", "other/_HOST"), "nn/localhost"),
               (69, ("dfs.data.transfer.protection", "x"), "dfs.data.transfer.protection in hdfs-site.xml must have"))
              if KERBEROS else ())):
        ran = submit("-executes", "true", *ONE, HADOOP_CONF_DIR=edited_conf("conf", hdfs=change))
        must(ran.returncode == code and len(ran.stderr.splitlines()) == 1, code, ran.returncode, ran.stdout, ran.stderr)
        for text in texts:
            must(text in ran.stderr, text, "is missing in", ran.stderr)


TOGETHER = [a_job_with_a_file_of_two_blocks_runs_and_its_logs_stay, executors_find_the_next_attempt_by_the_lease,
            a_kill_ends_a_job, the_doctor_says_that_hdfs_is_called_by_rpc, bad_settings_are_refused_in_one_line]
ALONE = []
DEFAULT = []
