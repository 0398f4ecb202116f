"""`tony reproduce` of jobs that ran on YARN: their records and files come from HDFS, and their tasks start here."""

import json
import pathlib
import shutil
import subprocess

from common import WORK, environment, must, submit, tony

PROGRAM = """import os, sys, time
if os.environ["RANK"] != "1":
    time.sleep(60)
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], os.environ["COLOUR"])
raise ValueError("label in " + open("shard.txt").read().strip())
"""
KEYS = ("tony.application.framework=pytorch", "tony.application.distributed-mode=GANG", "tony.worker.instances=2",
        "tony.task.grace-ms=100", "tony.execution.envs=COLOUR=blue")


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


TOGETHER = [a_failed_task_starts_again_here_with_its_files_from_hdfs]
ALONE = []
DEFAULT = []
