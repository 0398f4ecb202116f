"""Files that a job on a real YARN names by hdfs://."""

import hashlib
import io
import json
import random
import re
import signal
import subprocess
import tarfile
import zipfile

from common import (LIMIT, PROGRAMS, WORK, applications, begin, cluster, end, environment, hdfs, make_home, must,
                    nothing_is_left_of, put, run, site, status, submit, submit_words, tony)

IN = f"/in/{WORK.name}"  # a folder in HDFS
ONE = b"what only HDFS has\n"
ONE_WORKER = ("-conf", "tony.worker.instances=1")


TRAIN = b"""
import os
print(os.listdir("."))
assert open("renamed").read() == "what only HDFS has\\n" and os.environ["IN_ENVIRONMENT"] == "yes"
files = ("a.txt", "b.txt", "pack/inner/x.txt", "own.txt")
assert [open(file).read() for file in files] == ["a\\n", "b\\n", "x\\n", "own\\n"]
assert not os.path.exists("below") and not os.path.exists("c.txt")
"""


def zip_of(**files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tar_of_environment():
    """Makes an archive of a Python environment whose Python identifies itself."""
    program = b'#!/bin/sh\nIN_ENVIRONMENT=yes exec python3 "$@"\n'
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("bin/python")
        entry.size, entry.mode = len(program), 0o755
        archive.addfile(entry, io.BytesIO(program))
    return packed.getvalue()


def staged(user="root"):
    hdfs("PUT", f"/user/{user}/.tony/staged", user, op="MKDIRS", permission="700")
    listing = json.loads(hdfs("GET", f"/user/{user}/.tony/staged", user, op="LISTSTATUS"))
    return {entry["pathSuffix"] for entry in listing["FileStatuses"]["FileStatus"]}


def resources_in_hdfs_reach_the_tasks_without_a_copy_by_the_client():
    put(f"{IN}/one.txt", ONE)
    put(f"{IN}/lib/a.txt", b"a\n")
    put(f"{IN}/lib/b.txt", b"b\n")
    put(f"{IN}/lib/below/c.txt", b"c\n")
    put(f"{IN}/pack.zip", zip_of(**{"inner/x.txt": "x\n"}))
    put(f"{IN}/own.txt", b"own\n")
    put(f"{IN}/train.py", TRAIN)
    put(f"{IN}/venv.tar.gz", tar_of_environment())
    user, name_node = "carrier", site("fs.defaultFS")
    make_home(user)
    ran = submit("-executes", "train.py", "-python_venv", f"hdfs://{IN}/venv.tar.gz", "-python_binary_path", "bin/python",
                 "-conf", "tony.worker.instances=2", "-conf", f"tony.worker.resources=hdfs:{IN}/own.txt", "-conf",
                 f"tony.containers.resources={name_node}{IN}/one.txt::renamed,hdfs://{IN}/lib,"
                 f"hdfs://{IN}/pack.zip::pack#archive,hdfs://{IN}/train.py", HADOOP_USER_NAME=user)
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    must(not staged(user), "the client has copied", staged(user))
    home = WORK / "home" / "staged"
    must(not home.exists() or not [name for name in home.iterdir() if not name.name.startswith(".")], "staged here")


def tree(program, **more):
    """Makes a program of two modules in a folder of HDFS. An empty folder is not copied to the tasks."""
    put(f"{IN}/app/train.py", program, **more)
    put(f"{IN}/app/lib/__init__.py", b"")
    put(f"{IN}/app/lib/deep/value.txt", b"from below\n", **more)
    put(f"{IN}/app/lib/model.py", b"import pathlib\n"
        b"def value():\n    return (pathlib.Path(__file__).parent / 'deep/value.txt').read_text()\n")
    hdfs("PUT", f"{IN}/app/empty", op="MKDIRS")


OF_TREE = b"""
import os, lib.model
assert lib.model.value() == "from below\\n" and not os.path.exists("empty")
assert not os.path.islink("train.py") and open("named.txt").read() == "what only HDFS has\\n"
open("train.py", "a").write("# a copy of the task's own\\n")
open("lib/beside.txt", "w").write("x")
"""


def a_source_folder_or_archive_in_hdfs_reaches_the_tasks_without_a_copy_by_the_client():
    put(f"{IN}/one.txt", ONE)
    tree(OF_TREE)
    put(f"{IN}/app/named.txt", b"what is asked for by name goes before this\n")
    put(f"{IN}/app.zip", zip_of(**{"train.py": OF_TREE.decode(), "lib/model.py": "def value(): return 'from below\\n'"}))
    user = "author"
    make_home(user)
    for source, workers in ((f"hdfs://{IN}/app", 2), (f"{site('fs.defaultFS')}{IN}/app.zip", 1)):
        ran = submit("-src_dir", source, "-executes", "train.py", "-conf", f"tony.worker.instances={workers}", "-conf",
                     f"tony.worker.resources=hdfs://{IN}/one.txt::named.txt", HADOOP_USER_NAME=user)
        must(ran.returncode == 0, source, ran.returncode, ran.stdout, ran.stderr)
    must(not staged(user), "the client has copied", staged(user))
    planned = tony("plan", "-src_dir", f"hdfs://{IN}/app", "-executes", "train.py", "-conf", "tony.scheduler=yarn")
    must(f"hdfs://{IN}/app to each task's folder, fetched from there by the nodes" in planned.stderr, planned.stderr)


def a_conf_file_is_read_from_hdfs():
    def conf(**values):
        return "".join(f"<property><name>tony.{key.replace('_', '.')}</name><value>{value}</value></property>"
                       for key, value in values.items())

    xml = f"<configuration>{conf(worker_instances=1, worker_command='echo $WHO', scheduler='yarn')}</configuration>"
    put(f"{IN}/tony.xml", xml.encode())
    put(f"{IN}/job.properties", b"tony.worker.instances=1\ntony.scheduler=yarn\ntony.worker.command=exit 3\n")
    (WORK / "main.properties").write_text(f"main.args=-conf_file hdfs://{IN}/tony.xml\n")
    words = ("-conf", "tony.application.framework=standalone", "-conf", "tony.worker.memory=128m")
    ran = tony("submit", "-conf_file", f"hdfs://{IN}/tony.xml", *words, "-shell_env", "WHO=told")
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    for files, said in ((("-conf_file", f"hdfs:{IN}/tony.xml"), f"tony.worker.instances = 1  (hdfs:{IN}/tony.xml:1)"),
                        ((f"hdfs://{IN}/job.properties",), f"tony.worker.command = exit 3  (hdfs://{IN}/job.properties:3)"),
                        (("main.properties",), f"tony.worker.command = echo $WHO  (hdfs://{IN}/tony.xml:1)")):
        planned = tony("plan", *files, "--explain")
        must(said in planned.stdout, files, planned.stdout, planned.stderr)
    document = {"properties": {"main.args": f"-conf_file hdfs://{IN}/tony.xml"}}
    ran = subprocess.run([PROGRAMS / "tony", "plan", "-"], env=environment(), text=True, capture_output=True, cwd=WORK,
                         input=json.dumps(document), timeout=LIMIT)
    must(ran.returncode == 0 and "echo $WHO" in ran.stdout, "a document:", ran.returncode, ran.stdout, ran.stderr)


def an_invalid_source_or_conf_file_in_hdfs_is_refused_in_one_line():
    put(f"{IN}/one.txt", ONE)
    put(f"{IN}/secret.xml", b"<configuration/>", permission="600")
    put(f"{IN}/large.xml", b" " * (17 << 20))
    put(f"{IN}/broken.xml", b"<configuration>")
    tree(b"", permission="600")
    hdfs("PUT", f"{IN}/hollow/below", op="MKDIRS")
    make_home("eve")
    before, ran_before = staged("eve"), applications(user="eve")
    for words, code, *expected in (
        (("-src_dir", f"hdfs://{IN}/none"), 65, f"src_dir hdfs://{IN}/none", "no such file"),
        (("-src_dir", f"hdfs://{IN}/one.txt"), 65, f"src_dir hdfs://{IN}/one.txt", "a file", ".tar.gz"),
        (("-src_dir", f"hdfs://{IN}/hollow"), 65, f"src_dir hdfs://{IN}/hollow", "have no files"),
        (("-src_dir", f"hdfs://{IN}/app"), 77, f"src_dir hdfs://{IN}/app", "user=eve", "access=READ"),
        (("-src_dir", "s3://in/app"), 65, "tony.src-dir", "s3:"),
        (("-src_dir", "hdfs://elsewhere:8020/in/app"), 69, "src_dir hdfs://elsewhere:8020/in/app", "NameNode elsewhere:8020"),
        (("-conf_file", f"hdfs://{IN}/none.xml"), 65, f"conf file hdfs://{IN}/none.xml", "no such file"),
        (("-conf_file", f"hdfs://{IN}/app"), 65, f"conf file hdfs://{IN}/app", "a folder, not a file"),
        (("-conf_file", f"hdfs://{IN}/secret.xml"), 77, f"conf file hdfs://{IN}/secret.xml", "user=eve"),
        (("-conf_file", f"hdfs://{IN}/large.xml"), 65, f"conf file hdfs://{IN}/large.xml", "larger than 16 MiB"),
        (("-conf_file", f"hdfs://{IN}/broken.xml"), 65, f"hdfs://{IN}/broken.xml"),
        (("-conf_file", "hdfs://elsewhere:8020/in/x.xml"), 69, "conf file", "NameNode elsewhere:8020"),
        (("-conf_file", "s3://in/x.xml"), 65, "conf file s3://in/x.xml", "hdfs://HOST:PORT/PATH"),
    ):
        ran = submit("-executes", "true", *ONE_WORKER, *words, HADOOP_USER_NAME="eve")
        must(ran.returncode == code, words, ran.returncode, ran.stderr)
        must(all(word in ran.stderr for word in expected), words, ran.stderr)
        must(ran.stderr.count("\n") == 1, words, ran.stderr)
    must(staged("eve") == before and applications(user="eve") == ran_before, "begun:", staged("eve"), applications(user="eve"))
    ran = tony("submit", "-executes", "true", *ONE_WORKER, "-src_dir", f"hdfs://{IN}/app")
    must(ran.returncode == 65 and "tony.scheduler=yarn" in ran.stderr, "on this machine:", ran.returncode, ran.stderr)
    ran = tony("submit", "-conf_file", f"hdfs://{IN}/tony.xml", HADOOP_CONF_DIR="")
    must(ran.returncode == 65 and "HADOOP_CONF_DIR" in ran.stderr, "no cluster:", ran.returncode, ran.stderr)


def a_large_upload_shows_its_progress_and_sigint_stops_the_upload():
    """The DataNode is stopped, so that there is time to check."""
    (WORK / "large.bin").write_bytes(random.randbytes(8 << 20))
    words = ("-executes", "test -s large.bin", *ONE_WORKER, "-conf", f"tony.worker.resources={WORK}/large.bin")
    before, ran_before = staged(), applications()
    cluster("kill", "datanode", "STOP")
    try:
        client = subprocess.Popen([PROGRAMS / "tony", *submit_words(*words)], env=environment(), text=True, cwd=WORK,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = client.stderr.readline()
        while line and not line.startswith("sending "):
            line = client.stderr.readline()
        must(re.fullmatch(r"sending \S+: [0-9]+ of [0-9]+ MB\n", line), line)
        client.send_signal(signal.SIGINT)
        code, text = end(client)
    finally:
        cluster("kill", "datanode", "CONT")
    must(code == 130 and "interrupted while sending; nothing was submitted" in text, code, text)
    left = {name for name in staged() - before if not name.startswith(".put-")}
    must(not left and applications() == ran_before, "begun:", left, applications() - ran_before)
    ran = submit(*words)
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)


def the_task_of_a_job_without_roles_receives_tony_am_resources():
    put(f"{IN}/one.txt", ONE)
    ran = submit("-executes", "cat one.txt | grep 'only HDFS'", "-conf", "tony.worker.instances=0", "-conf",
                 f"tony.am.resources=hdfs://{IN}/one.txt")
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)


def invalid_resources_in_hdfs_are_refused_in_one_line():
    put(f"{IN}/one.txt", ONE)
    put(f"{IN}/lib/a.txt", b"a\n")
    put(f"{IN}/secret.txt", b"s\n", permission="600")
    hdfs("PUT", f"{IN}/empty", op="MKDIRS")
    hdfs("PUT", f"{IN}/closed", op="MKDIRS", permission="700")
    make_home("mallory")
    (WORK / "local.txt").write_text("local")
    before = staged("mallory")
    for resource, code, *words in (
        (f"hdfs://{IN}/none.txt", 65, f"hdfs://{IN}/none.txt", "no such file", site("fs.defaultFS")),
        (f"{WORK}/local.txt,hdfs://{IN}/one.txt/x", 77, f"hdfs://{IN}/one.txt/x", "one.txt (is not a directory)"),
        ("hdfs://elsewhere:8020/in/one.txt", 69, "hdfs://elsewhere:8020/in/one.txt", "NameNode elsewhere:8020"),
        (f"hdfs://{IN}/lib::jars", 65, f"hdfs://{IN}/lib", "a folder", "::NAME"),
        (f"hdfs://{IN}/empty", 65, f"hdfs://{IN}/empty", "has no files directly in it"),
        (f"hdfs://{IN}/one.txt#archive", 65, "tony.containers.resources", "(from -conf)", ".tar.gz"),
        ("hdfs://in", 65, "tony.containers.resources", "(from -conf)", "hdfs://HOST:PORT/PATH"),
        (f"hdfs://{IN}/secret.txt", 77, f"hdfs://{IN}/secret.txt", "user=mallory", "access=READ"),
        (f"hdfs://{IN}/closed/x.txt", 77, f"hdfs://{IN}/closed/x.txt", "user=mallory", "access=EXECUTE"),
    ):
        ran = submit("-executes", "true", *ONE_WORKER, "-conf", f"tony.containers.resources={resource}",
                     HADOOP_USER_NAME="mallory")
        must(ran.returncode == code, resource, ran.returncode, ran.stderr)
        must(all(word in ran.stderr for word in words), resource, ran.stderr)
        must(ran.stderr.count("\n") == 1, resource, ran.stderr)
    hdfs("PUT", f"{IN}/folder.zip", op="MKDIRS")
    ran = submit("-executes", "true", *ONE_WORKER, "-conf",
                 f"tony.containers.resources=hdfs://{IN}/folder.zip::f#archive", HADOOP_USER_NAME="mallory")
    must(ran.returncode == 65 and "a folder" in ran.stderr, ran.returncode, ran.stderr)
    must(staged("mallory") == before, "sent:", staged("mallory") - before)
    ran = tony("submit", "-executes", "true", *ONE_WORKER, "-conf", f"tony.containers.resources=hdfs://{IN}/one.txt")
    must(ran.returncode == 65 and "tony.scheduler=yarn" in ran.stderr, "on this machine:", ran.returncode, ran.stderr)
    must(ran.stderr.count("\n") == 1, ran.stderr)
    planned = tony("plan", "-executes", "true", *ONE_WORKER, "-conf", "tony.scheduler=yarn", "-conf",
                   f"tony.containers.resources=hdfs://{IN}/none.txt")
    must(planned.returncode == 0 and "no such file" in planned.stderr, planned.returncode, planned.stderr)


def refused_by_a_node(key, change):
    """Runs a job whose file is changed between its submit and the start of its containers; returns what its user
    reads."""
    put(f"{IN}/changes/data.txt", b"first\n")
    source = f"hdfs://{IN}/changes" if key == "tony.src-dir" else f"hdfs://{IN}/changes/data.txt"
    client, job = begin("-executes", "cat data.txt", *ONE_WORKER, "-conf", f"{key}={source}")
    change()
    code, text = end(client)
    must(code == 1, code, text)
    must(status(job)["verdict"]["class"] == "user_config", status(job)["verdict"])
    must(not status(job)["restarts"], "tried again:", status(job)["restarts"])
    nothing_is_left_of(job)
    return text


def cause_in(text):
    """Returns the line that names why the job failed, and checks that there is no stack trace."""
    lines = [line for line in text.splitlines() if "first cause: " in line]
    must(len(lines) == 1 and "java" not in text, text)
    return lines[0]


def an_hdfs_file_that_changed_after_the_submit_is_named_in_the_verdict():
    def touch():
        hdfs("PUT", f"{IN}/changes/data.txt", op="SETTIMES", modificationtime="1700000000000")

    for key, whose in (("tony.worker.resources", "worker:0"), ("tony.am.resources", "application master"),
                       ("tony.src-dir", "worker:0")):
        text = refused_by_a_node(key, touch)
        cause = cause_in(text)
        must(f"{IN}/changes/data.txt has changed since the job was submitted" in cause and whose in cause, text)


def an_hdfs_file_that_was_removed_after_the_submit_is_named_in_the_verdict():
    text = refused_by_a_node("tony.worker.resources", lambda: hdfs("DELETE", f"{IN}/changes/data.txt", op="DELETE"))
    must(f"{IN}/changes/data.txt no longer exists" in cause_in(text), text)


TOGETHER = (
    resources_in_hdfs_reach_the_tasks_without_a_copy_by_the_client,
    a_source_folder_or_archive_in_hdfs_reaches_the_tasks_without_a_copy_by_the_client,
    an_hdfs_file_that_changed_after_the_submit_is_named_in_the_verdict,
    a_conf_file_is_read_from_hdfs,
    an_invalid_source_or_conf_file_in_hdfs_is_refused_in_one_line,
    the_task_of_a_job_without_roles_receives_tony_am_resources,
    invalid_resources_in_hdfs_are_refused_in_one_line,
    an_hdfs_file_that_was_removed_after_the_submit_is_named_in_the_verdict,
)
ALONE = (a_large_upload_shows_its_progress_and_sigint_stops_the_upload,)  # it stops the DataNode
DEFAULT = (
    resources_in_hdfs_reach_the_tasks_without_a_copy_by_the_client,
    a_conf_file_is_read_from_hdfs,
    invalid_resources_in_hdfs_are_refused_in_one_line,
)
