"""Jobs whose client reads and writes the bytes of files through HttpFS (TONY_HADOOP_HTTPFS=1), with and without
Kerberos."""

import contextlib
import json
import os

from common import (CONF, WORK, begin, edited_conf, end, must, nothing_is_left_of, processes_of, restart, runs, status,
                    submit, tony, variables_of)

ONE = ("-conf", "tony.worker.instances=1")
MEGABYTES = 20


def gateway():
    text = (CONF / "core-site.xml").read_text()
    return text.split("webhdfs://", 1)[1].split("<", 1)[0]


def large_file():
    large = WORK / "large"
    with large.open("wb") as file:
        for _ in range(MEGABYTES):
            file.write(os.urandom(1 << 20))
    return large


def a_job_with_a_large_file_runs_and_its_programs_do_not_use_the_gateway():
    large = large_file()
    client, job = begin("-executes", f"cksum < large | cut -d' ' -f1; until [ -e {WORK}/go ]; do sleep 0.1; done", *ONE,
                        "-conf", f"tony.worker.resources={large}")
    runs(job)
    clusters = []
    for pid in processes_of(job):
        with contextlib.suppress(OSError):  # the process has ended
            clusters.append(variables_of(pid).get("TONY_YARN_CLUSTER", ""))
    must(any(clusters) and all(gateway() not in value for value in clusters), clusters)
    (WORK / "go").touch()
    code, text = end(client)
    must(code == 0, code, text)
    nothing_is_left_of(job)
    ran = tony("logs", job)
    must(ran.stdout.split() == os.popen(f"cksum < {large}").read().split()[:1], ran.stdout, ran.stderr)
    must(tony("gc").returncode == 0, "gc")


def a_running_job_is_watched_and_killed():
    client, job = begin("-executes", "sleep 600", *ONE)
    runs(job)
    must(status(job)["state"] == "RUNNING", status(job))
    ran = tony("kill", job)
    must(ran.returncode == 0, ran.returncode, ran.stderr)
    code, text = end(client)
    must(code != 0 and "KILLED" in text, code, text)
    nothing_is_left_of(job)


def the_doctor_names_the_gateway():
    checks = {check["name"]: check for check in json.loads(tony("doctor", "--yarn", "--json").stdout)["checks"]}
    must(checks["hdfs"]["health"] == "ok" and f"by RPC and http://{gateway()}" in checks["hdfs"]["text"], checks["hdfs"])
    must(f"http://{gateway()}" in checks["network"]["text"], checks["network"])


def a_dead_gateway_is_reported_and_a_running_job_goes_on():
    large = large_file()
    client, job = begin("-executes", f"until [ -e {WORK}/go ]; do sleep 0.1; done", *ONE)
    runs(job)

    def meanwhile():
        ran = submit("-executes", "true", *ONE, "-conf", f"tony.worker.resources={large}")
        must(ran.returncode == 69 and f"http://{gateway()}" in ran.stderr, ran.returncode, ran.stderr)
        must(status(job)["state"] == "RUNNING", "status without the gateway", status(job))
        (WORK / "go").touch()
        code, text = end(client)
        must(code == 0, code, text)

    restart("httpfs", meanwhile=meanwhile)
    nothing_is_left_of(job)


def an_address_that_cannot_serve_a_job_is_refused_in_one_line():
    def refused(*texts, **change):
        ran = submit("-executes", "true", *ONE, HADOOP_CONF_DIR=edited_conf("conf", **change))
        must(ran.returncode == 65 and len(ran.stderr.splitlines()) == 1, ran.returncode, ran.stdout, ran.stderr)
        for text in texts:
            must(text in ran.stderr, text, "is missing in", ran.stderr)

    refused("fs.defaultFS", "Knox", core=(f"webhdfs://{gateway()}", "swebhdfs://knox:8443/gateway/default"))
    refused("fs.defaultFS", "set dfs.namenode.rpc-address", hdfs=("dfs.namenode.rpc-address", "x"))


TOGETHER = [a_job_with_a_large_file_runs_and_its_programs_do_not_use_the_gateway, a_running_job_is_watched_and_killed,
            the_doctor_names_the_gateway, an_address_that_cannot_serve_a_job_is_refused_in_one_line]
ALONE = [a_dead_gateway_is_reported_and_a_running_job_goes_on]
DEFAULT = []
