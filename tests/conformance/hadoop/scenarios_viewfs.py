"""Jobs on a cluster whose fs.defaultFS is a mount table of two namespaces (TONY_HADOOP_VIEWFS=1), with and without
Kerberos. The user's home folder is in the first namespace, and viewfs://both/far in the second one."""

import json
import time
import urllib.parse

from common import (KERBEROS, WORK, must, nothing_is_left_of, open_by_curl, open_one_of, open_plain, restart, site,
                    submit, tony, until)
from scenarios_httpfs import ONE, a_running_job_is_watched_and_killed

FAR = f"hdfs://{site('dfs.namenode.rpc-address.far')}"
IN = f"/far/{WORK.name}"  # a folder in the second namespace, where it is /data/...


def far(method, path, **parameters):
    """Makes one call of WebHDFS to the second NameNode; returns the answer as text."""
    words = urllib.parse.urlencode({"user.name": "root", **parameters})
    with open_one_of("dfs.namenode.http-address.far", (), f"/webhdfs/v1/data/{WORK.name}/{path}?{words}",
                     method=method) as answer:
        return answer.read().decode()


def put_far(name, text):
    place = json.loads(far("PUT", name, op="CREATE", overwrite="true", noredirect="true"))["Location"]
    with open_by_curl(place, "PUT", text) if KERBEROS else open_plain(place, method="PUT", data=text.encode()):
        pass


def a_job_uses_files_checkpoints_and_a_history_of_another_namespace():
    put_far("one.txt", "by the mount table\n")
    put_far("two.txt", "by the address\n")
    put_far("train.py", "import os; print(open('one.txt').read() + open('two.txt').read() + open('three').read())")
    service = FAR.removeprefix("hdfs://").replace("localhost", "127.0.0.1")
    find_token = WORK / "find_token"  # not in the command, which is in the token file, too
    find_token.write_text(f"grep -aq {service} $HADOOP_TOKEN_FILE_LOCATION" if KERBEROS else "true")
    ran = submit("-executes", f"sh {find_token} && python3 train.py && echo resumes from $TONY_RESUME_FROM", *ONE,
                 "-src_dir", f"viewfs://both{IN}",
                 "-conf", f"tony.containers.resources=viewfs://both{IN}/one.txt,{FAR}/data/{WORK.name}/two.txt,"
                          f"hdfs://{IN}/two.txt::three",
                 "-conf", f"tony.checkpoint.dir=viewfs://both{IN}", "-conf", "tony.checkpoint.resume=latest",
                 "-conf", "tony.checkpoint.pattern=one.txt", "-conf", f"tony.history.location=viewfs://both{IN}/kept")
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    nothing_is_left_of(job)
    logs = tony("logs", job).stdout
    must("by the mount table\nby the address\nby the address" in logs, logs)
    must(f"resumes from viewfs://both{IN}/one.txt" in logs, logs)
    must("DIRECTORY" in far("GET", f"kept/intermediate/{job}", op="GETFILESTATUS"), "no history")
    must(tony("gc").returncode == 0, "gc")


def a_path_that_leads_nowhere_is_refused_in_one_line():
    def refused(source, code, *texts):
        ran = submit("-executes", "true", *ONE, "-conf", f"tony.containers.resources={source}")
        must(ran.returncode == code and len(ran.stderr.splitlines()) == 1, source, ran.returncode, ran.stderr)
        for text in texts:
            must(text in ran.stderr, text, "is missing in", ran.stderr)

    refused(f"viewfs://both{IN}/none", 65, f"resource viewfs://both{IN}/none", f"no such file or folder in {FAR}")
    refused("viewfs://none/x", 65, "viewfs://none/x", "no mount table of this name")
    refused("webhdfs://localhost:1/x", 65, "webhdfs://localhost:1/x", "no NameNode of the site files has the web address")
    refused("hdfs://localhost:1/x", 69, "hdfs://localhost:1", "connection refused")


def moved_logs_are_read_through_the_mount_table():
    ran = submit("-executes", "echo a line that moves", *ONE)
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    # The outcome of a failed attempt has its logs; that of a successful one leaves them to the node.
    nothing_is_left_of(job)
    time.sleep(5)  # the nodes move the logs

    def read():
        logs = until(lambda: tony("logs", job).stdout, "the logs")
        must("a line that moves" in logs, logs)

    restart("node1", "node2", meanwhile=read)


def the_doctor_names_the_namenode_behind_the_mount_table():
    ran = tony("doctor", "--yarn", "--json")
    checks = {check["name"]: check for check in json.loads(ran.stdout)["checks"]}
    must(checks["hdfs"]["health"] == "ok" and "/user/root" in checks["hdfs"]["text"], checks)


TOGETHER = [a_job_uses_files_checkpoints_and_a_history_of_another_namespace, a_running_job_is_watched_and_killed,
            a_path_that_leads_nowhere_is_refused_in_one_line, the_doctor_names_the_namenode_behind_the_mount_table]
ALONE = [moved_logs_are_read_through_the_mount_table]  # it stops the nodes
DEFAULT = []
