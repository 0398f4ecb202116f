"""Files in HDFS in addition to the records of a job on a real YARN: its program's checkpoints, and its history for
TonY's tools."""

import json
import os
import re
import signal
import sys
import urllib.error

from common import (WORK, application, applications, begin, end, end_masters, hdfs, make_home, must,
                    nothing_is_left_of, put, runs, site, status, submit, tony, until)

ONE_WORKER = ("-conf", "tony.worker.instances=1", "-conf", "tony.restart.backoff-ms=1")
WEB = f"http://{site('dfs.namenode.http-address')}/webhdfs/v1"

# Resumes from TONY_RESUME_FROM, writes the next checkpoint, and fails before the $LAST one.
LEARN = """
import json, os, sys, urllib.request
came = os.environ.get("TONY_RESUME_FROM", "")
step = int(came.rsplit("-", 1)[1]) + 1 if came else 1
folder = os.environ["TONY_CHECKPOINT_DIR"].removeprefix("hdfs://")
url = f"{os.environ['WEB']}{folder}/ckpt-{step}?op=CREATE&overwrite=true&noredirect=true&user.name=root"
with urllib.request.urlopen(urllib.request.Request(url, method="PUT")) as answer:
    place = json.load(answer)["Location"]
urllib.request.urlopen(urllib.request.Request(place, data=(came or "nothing").encode(), method="PUT")).close()
sys.exit(0 if step >= int(os.environ["LAST"]) else 3)
"""


def learn(folder, last, *more):
    (WORK / "program").mkdir(exist_ok=True)
    (WORK / "program/learn.py").write_text(LEARN)
    return ("-src_dir", str(WORK / "program"), "-executes", "learn.py", *ONE_WORKER, "-shell_env", f"WEB={WEB}",
            "-shell_env", f"LAST={last}", "-conf", f"tony.checkpoint.dir=hdfs://{folder}", *more)


def text_of(path):
    return hdfs("GET", path, op="OPEN")


def job_in(ran):
    return ran.stdout.split()[0]


def clear(folder):
    hdfs("DELETE", folder, op="DELETE", recursive="true")


def checkpoint_of(job):
    return status(job)["checkpoint"]


RESTART = ("-conf", "tony.restart.task.budget=1")


def a_restarted_task_resumes_only_from_a_checkpoint_of_its_own_job():
    clear("/kept/own")
    put("/kept/own/ckpt-9", b"an earlier job's")
    ran = submit(*learn("/kept/own", 2, *RESTART))
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    must(text_of("/kept/own/ckpt-1") == "nothing", "the first attempt:", text_of("/kept/own/ckpt-1"))
    must(text_of("/kept/own/ckpt-2") == "hdfs:///kept/own/ckpt-1", "the second:", text_of("/kept/own/ckpt-2"))
    told = checkpoint_of(job_in(ran))
    must(told["resumed_from"] == {"path": "hdfs:///kept/own/ckpt-1", "step": 1, "writer": "this_job"}, told)
    must("hdfs:///kept/own/ckpt-1" in ran.stderr + ran.stdout, "told:", ran.stdout, ran.stderr)


def with_resume_latest_a_job_resumes_from_the_newest_checkpoint_of_any_writer():
    clear("/kept/latest")
    put("/kept/latest/ckpt-9", b"an earlier job's")
    ran = submit(*learn("/kept/latest", 10, "-conf", "tony.checkpoint.resume=latest"))
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    must(text_of("/kept/latest/ckpt-10") == "hdfs:///kept/latest/ckpt-9", "not resumed")
    told = checkpoint_of(job_in(ran))["resumed_from"]
    must(told["writer"] == "others" and told["step"] == 9, told)


def a_second_job_of_the_same_request_resumes_from_the_checkpoint_of_the_first_job():
    clear("/kept/request")
    words = learn("/kept/request", 2, "--request-id", f"kept-{os.getpid()}")
    first = submit(*words)
    must(first.returncode == 1, first.returncode, first.stdout, first.stderr)
    second = submit(*words)
    must(second.returncode == 0, second.returncode, second.stdout, second.stderr)
    must(text_of("/kept/request/ckpt-2") == "hdfs:///kept/request/ckpt-1", "not resumed")
    told = checkpoint_of(job_in(second))["resumed_from"]
    must(told["writer"] == "earlier_job" and told["job"] == job_in(first), told)


def a_second_job_with_the_same_checkpoint_folder_is_refused_while_the_first_job_runs():
    clear("/kept/shared")
    holds = ("-executes", "sleep 600", *ONE_WORKER, "-conf", "tony.checkpoint.dir=hdfs:///kept/shared/")
    client, first = begin(*holds)
    runs(first)
    again = submit(*learn("/kept/shared", 1))
    must(again.returncode != 0 and first in again.stderr + again.stdout, again.returncode, again.stdout, again.stderr)
    end_masters(first)
    after = submit(*learn("/kept/shared", 1))  # this also holds if the end of the first job is not written yet
    must(after.returncode == 0, after.returncode, after.stdout, after.stderr)
    end(client)
    nothing_is_left_of(first)


def checkpoints_of_another_user_are_ignored():
    clear("/kept/open")
    hdfs("PUT", "/kept/open", op="MKDIRS", permission="777")
    client, job = begin(*learn("/kept/open", 2, *RESTART, "-conf", "tony.restart.backoff-ms=3000"))
    until(lambda: "ckpt-1" in hdfs("GET", "/kept/open", op="LISTSTATUS"), "the first checkpoint")
    put("/kept/open/ckpt-7", b"another user's", user="mallory")
    code, text = end(client)
    must(code == 0, code, text)
    must(text_of("/kept/open/ckpt-2") == "hdfs:///kept/open/ckpt-1", text)


def invalid_checkpoint_folders_are_refused_in_one_line():
    put("/kept/file", b"")
    hdfs("PUT", "/kept/closed/x", op="MKDIRS", permission="700")
    make_home("eve")
    before = applications(user="eve")
    for folder, code, *expected in (
        ("hdfs:///kept/file", 65, "hdfs:///kept/file", "a file"),
        ("hdfs:///kept/closed", 77, "hdfs:///kept/closed", "user=eve"),
        ("hdfs:///kept/closed/x", 77, "hdfs:///kept/closed/x", "user=eve"),
        ("hdfs://elsewhere:8020/x", 69, "hdfs://elsewhere:8020/x", "NameNode elsewhere:8020"),
        ("hdfs://x", 65, "hdfs://HOST:PORT/PATH"),
        ("s3://x/y", 65, "hdfs://HOST:PORT/PATH"),
    ):
        ran = submit("-executes", "true", *ONE_WORKER, "-conf", f"tony.checkpoint.dir={folder}", HADOOP_USER_NAME="eve")
        must(ran.returncode == code, folder, ran.returncode, ran.stderr)
        must(all(word in ran.stderr for word in ("tony.checkpoint.dir", *expected)), folder, ran.stderr)
        must(ran.stderr.count("\n") == 1, folder, ran.stderr)
    must(applications(user="eve") == before, "begun:", applications(user="eve") - before)
    ran = tony("submit", "-executes", "true", *ONE_WORKER, "-conf", "tony.checkpoint.dir=hdfs:///kept/own")
    must(ran.returncode == 65 and "tony.scheduler=yarn" in ran.stderr, "on this machine:", ran.returncode, ran.stderr)


def gc_removes_the_records_of_checkpoint_folders_of_removed_jobs():
    def records():
        try:
            listed = json.loads(hdfs("GET", "/user/root/.tony/checkpoint-folders", op="LISTSTATUS"))
        except urllib.error.HTTPError:
            return set()
        return {entry["pathSuffix"] for entry in listed["FileStatuses"]["FileStatus"]}

    before = records()
    ran = submit("-executes", "true", *ONE_WORKER, "-conf", "tony.checkpoint.dir=hdfs:///kept/forgotten")
    must(ran.returncode == 0 and len(records() - before) == 1, ran.returncode, ran.stderr, records() - before)
    new = records() - before
    hdfs("DELETE", f"/user/root/.tony/jobs/{job_in(ran)}", op="DELETE", recursive="true")
    gone = tony("gc", "--older-than", "7d")
    must(gone.returncode == 0 and not new & records(), gone.returncode, gone.stderr, new & records())


# ---- history

def history_of(job):
    """Returns the entries of the job's folder, by name."""
    try:
        listed = json.loads(hdfs("GET", f"/histories/intermediate/{job}", op="LISTSTATUS"))
    except urllib.error.HTTPError:
        return {}
    return {entry["pathSuffix"]: entry for entry in listed["FileStatuses"]["FileStatus"]}


def finished(job, state):
    """Returns the name of the complete history, which must be the only one."""
    def look():
        names = [name for name in history_of(job) if "jhist" in name]
        return names if len(names) == 1 and re.fullmatch(rf"{job}-\d+-\d+-root-{state}\.jhist", names[0]) else None

    return until(look, f"the history of {job}: {list(history_of(job))}")[0]


IN_HISTORY = ("-conf", "tony.history.location=/histories")


def the_history_of_a_job_is_written_to_tonys_intermediate_folder_in_hdfs():
    client, job = begin("-executes", "sleep 600", *ONE_WORKER, *IN_HISTORY)
    runs(job)
    until(lambda: any(name.endswith(".jhist.inprogress") for name in history_of(job)), "the beginning of a history")
    must("tony-final.xml" in history_of(job), history_of(job))
    tony("kill", job)
    end(client)
    finished(job, "KILLED")
    for command, code, state in (("true", 0, "SUCCEEDED"), ("exit 3", 1, "FAILED")):
        ran = submit("-executes", command, *ONE_WORKER, "-conf",
                     f"tony.history.intermediate={site('fs.defaultFS')}/histories/intermediate")
        must(ran.returncode == code and "history" not in ran.stderr, ran.returncode, ran.stderr)
        name = finished(job_in(ran), state)
        entries = history_of(job_in(ran))
        must(entries[name]["permission"] == entries["tony-final.xml"]["permission"] == "640", entries)
        must(entries[name]["length"] > 1000 and entries["tony-final.xml"]["length"] > 1000, entries)
        folder = json.loads(hdfs("GET", f"/histories/intermediate/{job_in(ran)}", op="GETFILESTATUS"))["FileStatus"]
        must(folder["permission"] == "770", folder)
        clear(f"/histories/intermediate/{job_in(ran)}")
        again = tony("history", job_in(ran), "--export")
        must(again.returncode == 0 and again.stdout.strip().endswith(f"/histories/intermediate/{job_in(ran)}"), again)
        must(finished(job_in(ran), state) == name, history_of(job_in(ran)))


def the_client_that_writes_the_verdict_of_a_lost_job_writes_its_history_too():
    client, job = begin("-executes", "sleep 600", *ONE_WORKER, *IN_HISTORY)
    runs(job)
    until(lambda: any(name.endswith(".jhist.inprogress") for name in history_of(job)), "the beginning of a history")
    end_masters(job)
    end(client)
    tony("wait", job)
    finished(job, "FAILED")
    nothing_is_left_of(job)


def an_unwritable_history_folder_is_reported_in_one_line_and_does_not_fail_the_job():
    put("/kept/plain", b"")
    hdfs("PUT", "/kept/locked", op="MKDIRS", permission="700")
    make_home("mallory")
    for folder, *expected in (
        ("hdfs:///kept/plain", "hdfs:///kept/plain/intermediate", "/kept/plain"),
        ("hdfs:///kept/locked", "hdfs:///kept/locked/intermediate", "user=mallory"),
        ("hdfs://elsewhere:8020/x", "hdfs://elsewhere:8020/x", "NameNode elsewhere:8020"),
        ("s3://x/y", "s3://x/y", "hdfs://HOST:PORT/PATH"),
        ("histories", "tony.history.location", "hdfs://HOST:PORT/PATH"),
    ):
        words = ("-executes", "true", *ONE_WORKER, "-conf", f"tony.history.location={folder}")
        is_known_before = not folder.startswith("hdfs:")
        ran = (tony("plan", *words, "-conf", "tony.scheduler=yarn") if is_known_before
               else submit(*words, HADOOP_USER_NAME="mallory"))
        must(ran.returncode == 0, folder, ran.returncode, ran.stderr)
        lines = [line for line in ran.stderr.splitlines() if "history" in line]
        must(len(lines) == 1 and all(word in lines[0] for word in expected), folder, ran.stderr)


TOGETHER = (
    the_history_of_a_job_is_written_to_tonys_intermediate_folder_in_hdfs,
    an_unwritable_history_folder_is_reported_in_one_line_and_does_not_fail_the_job,
    a_second_job_with_the_same_checkpoint_folder_is_refused_while_the_first_job_runs,
    a_second_job_of_the_same_request_resumes_from_the_checkpoint_of_the_first_job,
    a_restarted_task_resumes_only_from_a_checkpoint_of_its_own_job,
    with_resume_latest_a_job_resumes_from_the_newest_checkpoint_of_any_writer,
    checkpoints_of_another_user_are_ignored,
    the_client_that_writes_the_verdict_of_a_lost_job_writes_its_history_too,
    invalid_checkpoint_folders_are_refused_in_one_line,
)
ALONE = (gc_removes_the_records_of_checkpoint_folders_of_removed_jobs,)  # it removes files that others need
DEFAULT = (
    a_restarted_task_resumes_only_from_a_checkpoint_of_its_own_job,
    a_second_job_with_the_same_checkpoint_folder_is_refused_while_the_first_job_runs,
    the_client_that_writes_the_verdict_of_a_lost_job_writes_its_history_too,
)
