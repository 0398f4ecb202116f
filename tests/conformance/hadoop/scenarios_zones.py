"""Jobs and files in encryption zones and in folders with an erasure coding, by WebHDFS and by RPC, on a cluster with a
key management server, three DataNodes, an observer, and clients that have no WebHDFS (TONY_HADOOP_KMS=1,
TONY_HADOOP_DATANODES=3, TONY_HADOOP_OBSERVER=1, TONY_HADOOP_NO_WEBHDFS=1)."""

import json
import os
import subprocess
from datetime import datetime, timezone

from common import (CLUSTER, KERBEROS, PROGRAMS, WORK, begin, cluster, environment, hdfs, must, nothing_is_left_of,
                    site, submit, ticket_of, tony, until)

BY_WEBHDFS = {"HADOOP_CONF_DIR": str(CLUSTER / "conf")}
POLICY = "XOR-2-1-1024k"
ONE = ("-conf", "tony.worker.instances=1")
DATA = bytes(range(256)) * 20_000 + b"end"  # five cells of 1 MiB, the last one short
TOOLS = "org.apache.hadoop.hdfs.tools"


def make_key():
    kms = site("hadoop.security.key.provider.path").replace("kms://http@", "http://")
    body = json.dumps({"name": "key", "cipher": "AES/CTR/NoPadding", "length": 256})
    proof = ["--negotiate", "--user", ":"] if KERBEROS else []
    subprocess.run(["curl", "--silent", "--max-time", "30", "--noproxy", "*", *proof, "--header",
                    "Content-Type: application/json", "--data", body, f"{kms}/v1/keys?user.name=root"],
                   env=environment(), check=True, capture_output=True)


def make_new(path, owner="root"):
    hdfs("DELETE", path, op="DELETE", recursive="true")
    hdfs("PUT", path, op="MKDIRS")
    hdfs("PUT", path, op="SETOWNER", owner=owner)


def make_zone(path, owner="root"):
    make_new(path, owner)
    make_key()
    cluster("java", f"{TOOLS}.CryptoAdmin", "-createZone", "-keyName", "key", "-path", path)


def make_coded(path, owner="root"):
    make_new(path, owner)
    cluster("java", f"{TOOLS}.ECAdmin", "-enablePolicy", "-policy", POLICY)
    cluster("java", f"{TOOLS}.ECAdmin", "-setPolicy", "-path", path, "-policy", POLICY)


def entries(path):
    return json.loads(hdfs("GET", path, op="LISTSTATUS"))["FileStatuses"]["FileStatus"]


def tree(path):
    """Returns the entries of all files below a folder."""
    for entry in entries(path):
        if entry["type"] == "FILE":
            yield entry
        else:
            yield from tree(f"{path}/{entry['pathSuffix']}")


def runs_in_home_of(user):
    """Runs a job of the user by each way to HDFS, with a file that is sent to the home folder and read by the task."""
    file = WORK / "data"
    who = ticket_of(user) if KERBEROS else {"HADOOP_USER_NAME": user}
    for way in ({}, BY_WEBHDFS):
        file.write_bytes(DATA + str(way).encode())  # a file that is not in HDFS yet
        checksum = os.popen(f"cksum < {file}").read()
        ran = submit("-executes", "cksum < data", *ONE, "-conf", f"tony.worker.resources={file}", **who, **way)
        must(ran.returncode == 0, way, ran.returncode, ran.stdout, ran.stderr)
        must("encryption zones" not in ran.stderr, ran.stderr)
        job = ran.stdout.split()[0]
        nothing_is_left_of(job)
        logs = tony("logs", job, "--stdout", **who, **way)
        must(logs.stdout == checksum, way, logs.stdout, logs.stderr, checksum)
        status = tony("status", "--json", job, **who, **way)
        must(json.loads(status.stdout)["state"] == "SUCCEEDED", status.stdout, status.stderr)


def a_job_runs_in_a_home_folder_that_is_an_encryption_zone():
    make_zone("/user/eve", "eve")
    runs_in_home_of("eve")


def a_job_runs_in_a_home_folder_with_an_erasure_coding_and_its_files_are_replicated():
    make_coded("/user/bob", "bob")
    runs_in_home_of("bob")
    files = list(tree("/user/bob"))
    coded = [entry["pathSuffix"] for entry in files if "ecPolicy" in entry]
    must(len(files) > 10 and not coded, len(files), coded)


def run_our_client(verb, path, content=b"", of="rpc"):
    """Runs a program with our client as the user root."""
    key, scheme = ("rpc-address", "rpc://") if of == "rpc" else ("http-address", "http://")
    servers = [site(f"dfs.namenode.{key}.pair.{node}") for node in site("dfs.ha.namenodes.pair").split(",")]
    place = scheme + ("," if of == "rpc" else ",http://").join(servers)
    return subprocess.run([PROGRAMS.parent / "tests/hadoop_files_check", place, verb, path], input=content,
                          capture_output=True, timeout=60, env=environment(USER="root"))


def our_client(verb, path, content=b"", of="rpc"):
    ran = run_our_client(verb, path, content, of)
    must(ran.returncode == 0, verb, path, of, ran.stderr)
    return ran.stdout


def shell(*words):
    cluster("java", "org.apache.hadoop.fs.FsShell", *words)


def files_of_hadoops_own_client_are_read_and_it_reads_ours():
    (WORK / "data").write_bytes(DATA)
    make_zone("/both/zone")
    make_coded("/both/coded")
    shell("-put", f"{WORK}/data", "/both/zone/theirs")
    shell("-put", f"{WORK}/data", "/both/coded/theirs")
    must(entries("/both/coded")[0].get("ecPolicy") == POLICY, entries("/both/coded"))
    for folder in ("/both/zone", "/both/coded"):
        for way in ("rpc", "http"):
            must(our_client("get", f"{folder}/theirs", of=way) == DATA, folder, way)
            our_client("put", f"{folder}/by-{way}", DATA, of=way)
            shell("-get", f"{folder}/by-{way}", f"{WORK}/copy")
            must((WORK / "copy").read_bytes() == DATA, folder, way)
            (WORK / "copy").unlink()
    must({entry.get("ecPolicy") for entry in entries("/both/coded") if entry["pathSuffix"] != "theirs"} == {None},
         entries("/both/coded"))


def an_erasure_coded_file_is_read_while_any_data_node_is_dead():
    (WORK / "data").write_bytes(DATA)
    make_coded("/lost")
    shell("-put", f"{WORK}/data", "/lost/data")
    for node in ("datanode", "datanode2", "datanode3"):
        cluster("kill", node)
        try:
            # The node that was killed before may not be back yet.
            until(lambda: run_our_client("get", "/lost/data").stdout == DATA, f"the file without {node}")
        finally:
            cluster("begin", node)


def an_observer_that_is_behind_answers_no_read():
    name = f"/fresh-{os.getpid()}"
    observer = site("dfs.namenode.http-address.pair.nn3")
    hdfs("PUT", name, op="MKDIRS")
    words = "op=GETFILESTATUS&user.name=root"
    stale = subprocess.run(["curl", "--silent", "--noproxy", "*", f"http://{observer}/webhdfs/v1{name}?{words}"],
                           capture_output=True, check=True)
    must(b"FileNotFoundException" in stale.stdout, "the observer is not behind", stale.stdout)
    for way in ("rpc", "http"):
        must(our_client("list", name, of=way) == b"", way)


def the_end_of_the_key_management_servers_token_is_reported():
    """This server's tokens end before those of HDFS: after two hours, and four hours if they are renewed."""
    make_zone("/user/eve", "eve")
    proxy = {**ticket_of("gateway"), "HADOOP_PROXY_USER": "eve"}
    go = WORK / "go"
    go.unlink(missing_ok=True)
    client, job = begin("-executes", f"until [ -e {go} ]; do sleep 0.2; done", *ONE, **proxy)

    def hours_left():
        told = json.loads(tony("status", "--json", job, **proxy).stdout)
        until_then = datetime.fromisoformat(told["tokens_until"].replace("Z", "+00:00")) - datetime.now(timezone.utc)
        return until_then.total_seconds() / 3600

    until(lambda: "running" in tony("status", job, **proxy).stdout, f"{job} to run")
    must(3.5 < hours_left() < 4, hours_left())
    ran = tony("credentials", "push", job, **proxy)
    must(ran.returncode == 0, ran.stdout, ran.stderr)
    until(lambda: 1.5 < hours_left() < 2, "the end of the pushed token")
    go.touch()
    client.communicate()
    must(client.returncode == 0, client.returncode)


TOGETHER = []
# The DataNode's death would reach the other scenarios.
ALONE = [a_job_runs_in_a_home_folder_that_is_an_encryption_zone,
         a_job_runs_in_a_home_folder_with_an_erasure_coding_and_its_files_are_replicated,
         *([the_end_of_the_key_management_servers_token_is_reported] if KERBEROS else
           [files_of_hadoops_own_client_are_read_and_it_reads_ours,
            an_erasure_coded_file_is_read_while_any_data_node_is_dead,
            an_observer_that_is_behind_answers_no_read])]
DEFAULT = []
