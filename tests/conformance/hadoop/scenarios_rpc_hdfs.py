"""Jobs on a cluster without WebHDFS (TONY_HADOOP_NO_WEBHDFS=1), with and without Kerberos."""

import importlib
import json
import os

import scenarios_takeover
from common import KERBEROS, WORK, begin, edited_conf, end, must, nothing_is_left_of, runs, site, submit, tony

importlib.reload(scenarios_takeover)  # so that it uses the folder of this scenario
# Executors find the next attempt by the lease, because it has another address.
from scenarios_takeover import a_killed_am_container_leaves_the_tasks_running  # noqa: E402

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
    is_private = KERBEROS and site("dfs.data.transfer.protection") == "privacy"
    must(("HDFS by RPC is hdfs://" if is_private else "dfs.data.transfer.protection is not privacy") in
         checks["network"]["text"], checks["network"])


def bad_settings_are_refused_in_one_line():
    new = WORK / "new"
    new.write_bytes(os.urandom(100))  # so that a DataNode gets bytes
    words = ("-executes", "true", *ONE, "-conf", f"tony.worker.resources={new}")

    def refused(code, *texts, **change):
        ran = submit(*words, HADOOP_CONF_DIR=edited_conf("conf", **change))
        must(ran.returncode == code and len(ran.stderr.splitlines()) == 1, code, ran.returncode, ran.stdout, ran.stderr)
        for text in texts:
            must(text in ran.stderr, text, "is missing in", ran.stderr)

    refused(65, "dfs.webhdfs.enabled", '"off", expected true or false', hdfs=(">false<", ">off<"))
    if not KERBEROS:
        name_node = site("fs.defaultFS")
        refused(69, "fs.defaultFS: hdfs://localhost:1: getFileInfo", "connection refused",
                core=(name_node, "hdfs://localhost:1"))
        return
    refused(77, "other/localhost", hdfs=("nn/_HOST", "other/_HOST"))
    refused(69, "dfs.data.transfer.protection in hdfs-site.xml must have", hdfs=("dfs.data.transfer.protection", "x"))


TOGETHER = [a_job_with_a_file_of_two_blocks_runs_and_its_logs_stay, a_killed_am_container_leaves_the_tasks_running,
            a_kill_ends_a_job, the_doctor_says_that_hdfs_is_called_by_rpc, bad_settings_are_refused_in_one_line]
ALONE = []
DEFAULT = []
