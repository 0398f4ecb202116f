"""`tony reproduce` of jobs that ran on YARN: their records and files come from HDFS, and their tasks start here, or on
the cluster again."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

from common import (PROGRAMS, WORK, application, begin, environment, hdfs, must, nothing_is_left_of, put, runs,
                    site, submit, tony)

PROGRAM = """import os, sys, time
if os.environ["RANK"] != "1":
    time.sleep(60)
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], os.environ["COLOUR"])
raise ValueError("label in " + open("shard.txt").read().strip())
"""
KEYS = ("tony.application.framework=pytorch", "tony.application.distributed-mode=GANG", "tony.worker.instances=2",
        "tony.task.stop-grace-ms=100", "tony.execution.envs=COLOUR=blue")


def failed_job():
    folder = WORK / "program"
    folder.mkdir()
    (folder / "train.py").write_text(PROGRAM)
    (WORK / "shard.txt").write_text("shard 1\n")
    words = [word for key in (*KEYS, f"tony.containers.resources={WORK}/shard.txt") for word in ("-conf", key)]
    ran = submit("-executes", "python3 train.py", "-src_dir", str(folder), "--json", *words)
    must(ran.returncode == 1, ran)
    shutil.rmtree(folder)
    return json.loads(ran.stdout)["job"]


def forget_staged_files():
    """Removes this machine's copies of the jobs' files, which another machine of the user does not have."""
    staged = pathlib.Path(environment()["TONY_HOME"]) / "staged"
    subprocess.run(["chmod", "-R", "u+w", str(staged)], check=True)
    shutil.rmtree(staged)


def a_failed_task_starts_again_here_with_its_files_from_hdfs():
    job = failed_job()
    forget_staged_files()
    (WORK / "ledger").mkdir()
    alone = tony("reproduce", job, "--alone", TONY_LEDGER=str(WORK / "ledger"))
    must(alone.returncode == 1 and alone.stdout == "rank 1 of 2 blue\n", alone)
    must("ValueError: label in shard 1\n" in alone.stderr and "; it ended so before, too\n" in alone.stderr, alone)
    packed = tony("reproduce", job, "worker:1", "--pack", "rank.pack")
    must(packed.returncode == 0, packed)
    elsewhere = tony("reproduce", "rank.pack", TONY_LEDGER=str(WORK / "ledger"), TONY_HOME=str(WORK / "elsewhere"))
    must(elsewhere.returncode == 1 and elsewhere.stdout == "rank 1 of 2 blue\n", elsewhere)


def job_of(reproduction):
    return re.search(r"job (application_\S+): worker:", reproduction.stderr)[1]


def must_fail_as_before(ran, tasks):
    must(ran.returncode == 1 and ran.stdout == "rank 1 of 2 blue\n", ran)
    must("ValueError: label in shard 1\n" in ran.stderr and "; it ended so before, too\n" in ran.stderr, ran)
    must(f" again, {tasks}\n" in ran.stderr, ran)
    nothing_is_left_of(job_of(ran))
    must(application(job_of(ran))["finalStatus"] == "FAILED", application(job_of(ran)))


def a_failed_task_starts_again_on_the_cluster():
    job = failed_job()
    packed = tony("reproduce", job, "worker:1", "--pack", "cluster.pack")
    must(packed.returncode == 0, packed)
    forget_staged_files()
    must_fail_as_before(tony("reproduce", job, "--alone", "--on", "yarn"), "alone")
    must_fail_as_before(tony("reproduce", job, "--on", "yarn", "--memory", "200m"), "with all 2 tasks")
    must_fail_as_before(tony("reproduce", "cluster.pack", "--on", "yarn", TONY_HOME=str(WORK / "elsewhere")),
                        "with all 2 tasks")


def a_failed_task_of_this_machine_starts_again_on_the_cluster():
    (WORK / "ledger-of-jobs").mkdir()
    (WORK / "input.txt").write_text("from here\n")
    job = tony("run", "--framework", "standalone", "--memory", "64m", "-conf", f"tony.checkpoint.dir={WORK}/saved", "-conf",
               f"tony.containers.resources={WORK}/input.txt", "--", "cat input.txt; ls $TONY_CHECKPOINT_DIR; exit 6",
               TONY_LEDGER=str(WORK / "ledger-of-jobs")).stdout.split()[0]
    (WORK / "saved").mkdir(exist_ok=True)
    (WORK / "saved/ckpt-1").write_text("weights")
    again = tony("reproduce", job, "--on", "yarn", "--checkpoint", f"{WORK}/saved/ckpt-1", "--memory", "128m")
    must(again.returncode == 6 and again.stdout == "from here\nckpt-1\n", again)
    own = f"{WORK}/saved-{job_of(again)}"
    must(f"its checkpoints are in {own}, which you can remove after the job\n" in again.stderr, again)
    must(os.listdir(own) == ["ckpt-1"], own)


def a_reproduction_on_the_cluster_that_cannot_start_is_refused_in_one_line():
    job = failed_job()
    for words, code, expected in (
            (("--shell",), 64, "--shell needs the task on this machine; leave out --on yarn, or leave out --shell"),
            (("--debugger",), 64, "--debugger needs the task on this machine"),
            (("--queue", "none"), 65, 'tony.yarn.queue: "none"'),
            (("--memory", "900g"), 65, "; --memory and --gpus change the request of each task")):
        ran = tony("reproduce", job, "--on", "yarn", *words)
        must(ran.returncode == code and ran.stdout == "" and expected in ran.stderr, words, ran)
        must(ran.stderr.count("\n") == 1, words, ran)
    ran = tony("reproduce", job, "--on", "yarn", HADOOP_CONF_DIR="")
    must(ran.returncode == 65 and "HADOOP_CONF_DIR is not set" in ran.stderr, ran)


# Prints what it resumes from, and leaves a checkpoint.
RESUME = f"""curl -sfL "http://{site('dfs.namenode.http-address')}/webhdfs/v1$(sed 's|hdfs://[^/]*||' <<< \
$TONY_RESUME_FROM)/inside/state?op=OPEN&user.name=root"
curl -sfL -X PUT "http://{site('dfs.namenode.http-address')}/webhdfs/v1$(sed 's|hdfs://[^/]*||' <<< \
$TONY_CHECKPOINT_DIR)/ckpt-6?op=MKDIRS&user.name=root"
[ "$PASS" = good-pass ] || exit 9
exit 4"""


def a_reproduction_resumes_from_a_copy_of_the_checkpoint_in_hdfs_and_asks_for_secrets():
    saved = f"/kept/{WORK.name}"
    put(f"{saved}/ckpt-5/weights", b"w" * 5_000_000)
    put(f"{saved}/ckpt-5/inside/state", b"step 5\n")
    words = ["submit", "-executes", RESUME, "--secrets-fd", "9", *(word for key in (
        "tony.scheduler=yarn", "tony.application.framework=standalone", "tony.worker.instances=1",
        f"tony.checkpoint.dir=hdfs://{saved}", "tony.checkpoint.resume=latest") for word in ("-conf", key))]
    ran = subprocess.run(["bash", "-c", 'exec "$@" 9<<< \'{"PASS": "good-pass"}\'', "bash", PROGRAMS / "tony", *words],
                         env=environment(), text=True, capture_output=True, cwd=WORK)
    must(ran.returncode == 1, ran)
    hdfs("DELETE", f"{saved}/ckpt-6", op="DELETE")
    job = ran.stdout.split()[0]
    asked = tony("reproduce", job, "--on", "yarn")
    must(asked.returncode == 64 and "these are missing: PASS" in asked.stderr, asked)
    again = tony("reproduce", job, "--on", "yarn", PASS="good-pass")
    must(again.returncode == 4 and '"boolean":true' in again.stdout and "step 5\n" in again.stdout, again)
    names = {entry["pathSuffix"] for entry in json.loads(hdfs("GET", saved, op="LISTSTATUS"))["FileStatuses"]["FileStatus"]}
    must(names == {"ckpt-5"}, names)
    copy = f"/user/root/.tony/jobs/{job_of(again)}/checkpoints"
    must(len(hdfs("GET", f"{copy}/ckpt-5/weights", op="OPEN")) == 5_000_000, copy)
    must(json.loads(hdfs("GET", f"{copy}/ckpt-6", op="GETFILESTATUS"))["FileStatus"]["type"] == "DIRECTORY", copy)
    # The same checkpoint on this machine, and in a pack.
    (WORK / "ledger-of-checkpoints").mkdir()
    here = tony("reproduce", job, PASS="bad-pass", TONY_LEDGER=str(WORK / "ledger-of-checkpoints"))
    must(here.returncode == 9 and "before: exit code 4" in here.stderr, here)
    packed = tony("reproduce", job, "--pack", "checkpoint.pack")
    must(packed.returncode == 0, packed)
    again = tony("reproduce", "checkpoint.pack", "--on", "yarn", PASS="good-pass", TONY_HOME=str(WORK / "elsewhere-2"))
    must(again.returncode == 4 and "step 5\n" in again.stdout, again)
    put(f"{saved}/ckpt-5/inside/state", b"step 50\n")
    changed = tony("reproduce", job, "--on", "yarn", PASS="good-pass")
    must(changed.returncode == 66 and f"hdfs://{saved}/ckpt-5 was overwritten at " in changed.stderr, changed)
    hdfs("DELETE", saved, op="DELETE", recursive="true")
    gone = tony("reproduce", job, "--on", "yarn", PASS="good-pass")
    must(gone.returncode == 66 and f"hdfs://{saved}/ckpt-5 was removed; " in gone.stderr, gone)


def an_interrupt_ends_the_reproduction_on_the_cluster():
    _, job = begin("-executes", "sleep 600", "-conf", "tony.worker.instances=1")
    runs(job)
    must(tony("kill", job).returncode == 0, job)
    client = subprocess.Popen([PROGRAMS / "tony", "reproduce", job, "worker:0", "--on", "yarn"], env=environment(),
                              text=True, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    line = client.stderr.readline()
    runs(re.search(r"application_\S+(?=:)", line)[0])
    os.kill(client.pid, signal.SIGINT)
    client.communicate(timeout=60)
    must(client.returncode == 130, client.returncode)
    nothing_is_left_of(re.search(r"application_\S+(?=:)", line)[0])


TOGETHER = [a_failed_task_starts_again_here_with_its_files_from_hdfs, a_failed_task_starts_again_on_the_cluster,
            a_failed_task_of_this_machine_starts_again_on_the_cluster,
            a_reproduction_on_the_cluster_that_cannot_start_is_refused_in_one_line,
            a_reproduction_resumes_from_a_copy_of_the_checkpoint_in_hdfs_and_asks_for_secrets,
            an_interrupt_ends_the_reproduction_on_the_cluster]
ALONE = []
DEFAULT = []
