"""Jobs on a real YARN, through the command line."""

import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

from common import (CLUSTER, HERE, LIMIT, PROGRAMS, VERSION, WORK, application, applications, begin, cluster, dfsadmin,
                    edited_conf, end, end_masters, environment, hdfs, hosts_of, jobs_in_hdfs, make_home, must, node_of, nodes_run,
                    nothing_is_left_of, parent_of, processes_of, put, resource_manager, restart, run, runs, site,
                    status, submit, tony, until)
from scenarios_takeover import leads, masters

TONY = "/user/root/.tony"
# A refusal takes at most 2 s on a machine without other load. The checks allow five times as long.
FACTOR = float(os.environ.get("TONY_JOBS_SLOWER", "5"))


def a_job_of_one_task_runs():
    ran = submit("-executes", "echo hello", "-conf", "tony.worker.instances=1")
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    app = application(job)
    must((app["state"], app["finalStatus"]) == ("FINISHED", "SUCCEEDED"), app)
    must(app["applicationType"] == "TONY" and app["queue"].endswith("default"), app)
    must(status(job)["state"] == "SUCCEEDED", status(job))
    must(tony("wait", job).returncode == 0, "wait")
    must(job in tony("list").stdout, "list:", tony("list"))
    must(not (WORK / "home" / "programs").exists(), "programs of this machine were kept for it")
    nothing_is_left_of(job)


def site_file(name, *keys):
    """Writes a site file with these keys of the cluster."""
    text = "".join(f"<property><name>{key}</name><value>{site(key)}</value></property>" for key in keys)
    (WORK / name).write_text(f"<configuration>{text}</configuration>")
    return str(WORK / name)


def the_conf_paths_of_a_job_override_hadoop_conf_dir():
    conf = WORK / "elsewhere"
    shutil.copytree(CLUSTER / "conf", conf)
    for name in ("yarn", "hdfs", "core"):
        file = conf / f"{name}-site.xml"
        file.write_text(file.read_text().replace("localhost:", "no-such-host.invalid:"))
    hdfs_site = site_file("h.xml", "fs.defaultFS", "dfs.namenode.http-address")
    yarn_site = site_file("y.xml", "yarn.resourcemanager.address", "yarn.resourcemanager.scheduler.address")
    words = ("-executes", "sleep 600", "-conf", "tony.worker.instances=1",
             "-conf", f"tony.application.hdfs-conf-path={hdfs_site}",
             "-conf", f"tony.application.yarn-conf-path={yarn_site}")
    for variable in ("", str(conf)):
        client, job = begin(*words, HADOOP_CONF_DIR=variable)
        runs(job)
        os.rename(yarn_site, yarn_site + ".away")
        for other in ("", str(conf), str(CLUSTER / "conf")):
            ran = tony("status", job, HADOOP_CONF_DIR=other)
            must(ran.returncode == 0 and job in ran.stdout, other, ran.returncode, ran.stdout, ran.stderr)
        listed = tony("list", HADOOP_CONF_DIR="")
        must(listed.returncode == 0 and job in listed.stdout, "list:", listed.stdout, listed.stderr)
        killed = tony("kill", job, HADOOP_CONF_DIR=variable)
        must(killed.returncode == 0, "kill:", killed.stdout, killed.stderr)
        must(end(client)[0] == 1, "its client")
        must(tony("wait", job, HADOOP_CONF_DIR=variable).returncode == 1, "wait")
        nothing_is_left_of(job)
        os.rename(yarn_site + ".away", yarn_site)


GANG = ("-conf", "tony.application.framework=tensorflow", "-conf", "tony.application.distributed-mode=GANG")


def a_gang_of_eight_with_placement_spread_runs_on_both_nodes_with_one_cluster_spec():
    out = WORK / "gang"
    out.mkdir()
    # A plain server, which sets neither SO_REUSEADDR nor SO_REUSEPORT, can bind the port of its task.
    bind = ("import json, os, socket; own = json.loads(os.environ['CLUSTER_SPEC'])['worker'][int(os.environ['TASK_INDEX'])]; "
            "socket.socket().bind(('', int(own.rpartition(':')[2])))")
    program = f'python3 -c "{bind}" && printf "%s %s %s" "$NM_HOST" "$TASK_INDEX" "$CLUSTER_SPEC" > {out}/$TASK_INDEX'
    ran = submit(*GANG, "-executes", program, "-conf", "tony.worker.instances=8", "-conf", "tony.worker.placement=spread")
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    told = [file.read_text().split(" ", 2) for file in sorted(out.iterdir())]
    must(len(told) == 8, told)
    hosts = sorted(host for host, _, _ in told)
    must(hosts == ["127.0.0.2"] * 4 + ["localhost"] * 4, hosts)
    must(all(len(json.loads(spec)["worker"]) == 8 for _, _, spec in told), told[0])
    must(len({spec for _, _, spec in told}) == 1, "one cluster spec")


def two_stages_run_one_after_the_other_on_a_cluster_with_room_for_one_stage():
    """Each of the two stages needs 24 of the cluster's 32 GB."""
    out = WORK / "stages"
    out.mkdir()
    program = (f'case $JOB_NAME in preprocess) echo "Model parameters: depth=$PREPROCESSING_JOB";; '
               f'data) touch {out}/data-$TASK_INDEX;; '
               f'worker) echo "$(ls {out} | grep -c data) $MODEL_PARAMS $CLUSTER_SPEC" > {out}/worker-$TASK_INDEX;; esac')
    ran = submit(*GANG, "-executes", program, "-conf", "tony.data.instances=6", "-conf", "tony.data.memory=4g",
                 "-conf", "tony.worker.instances=6", "-conf", "tony.worker.memory=4g",
                 "-conf", "tony.application.prepare-stage=data", "-conf", "tony.application.enable-preprocess=true")
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    for index in range(6):
        count, parameters, known = (out / f"worker-{index}").read_text().split(" ", 2)
        must((count, parameters) == ("6", "depth=true"), count, parameters)
        must(list(json.loads(known)) == ["worker"], known)
    nothing_is_left_of(ran.stdout.split()[0])


def a_job_killed_during_its_first_stage_never_starts_the_second_stage():
    client, job = begin("-executes", "sleep 600", "-conf", "tony.data.instances=1", "-conf", "tony.worker.instances=1",
                        "-conf", "tony.worker.depends-on=data")
    runs(job)
    waits = {task["task"]: task.get("waits_for", "") for task in status(job)["tasks"]}
    must(waits == {"data:0": "", "worker:0": "data"}, waits)
    must(tony("kill", job).returncode == 0, "kill")
    code, text = end(client)
    must(code == 1, code, text)
    must([task["attempt"] for task in status(job)["tasks"]] == [1, 0], status(job)["tasks"])
    nothing_is_left_of(job)


def two_gangs_succeed_although_only_one_gang_fits_at_a_time():
    """Each queue has half of the cluster, and may borrow the rest from the other queue. Each gang gets about half of
    its request."""
    words = (*GANG, "-executes", "sleep 1", "-conf", "tony.worker.instances=10", "-conf", "tony.worker.memory=2g",
             "-conf", "tony.yarn.gang-hold=2000")  # 20 of 32 GB
    began = [begin(*words, "-conf", f"tony.yarn.queue={queue}") for queue in ("default", "ml")]
    for client, job in began:
        code, text = end(client)
        must(code == 0, code, text)
        print(f"     {job}: gave back {text.count('containers back at')} times", flush=True)
        nothing_is_left_of(job)


def the_source_folder_and_resources_reach_the_tasks_and_edits_reach_the_next_job():
    source = WORK / "program"
    (source / "package").mkdir(parents=True)
    (source / "train.py").write_text("import package.part\nprint(open('data.txt').read())\n"
                                     "raise SystemExit(package.part.CODE)\n")
    (source / "package" / "__init__.py").touch()
    (source / "package" / "part.py").write_text("CODE = 0\n")
    (WORK / "data.txt").write_text("data")
    words = ("-executes", "train.py", "-src_dir", str(source), "-conf", "tony.worker.instances=2",
             "-conf", f"tony.containers.resources={WORK}/data.txt")
    first = submit(*words)
    must(first.returncode == 0, first.returncode, first.stdout, first.stderr)
    (source / "package" / "part.py").write_text("CODE = 4\n")  # edited between two runs
    second = submit(*words)
    must(second.returncode == 1 and "exit code 4" in second.stdout + second.stderr, second.stdout, second.stderr)


def a_failure_is_reported_with_exit_code_host_and_last_output():
    ran = submit("-executes", "echo bad thing >&2; exit 3", "-conf", "tony.worker.instances=2")
    text = ran.stdout + ran.stderr
    must(ran.returncode == 1, ran.returncode, text)
    must("exit code 3" in text and "bad thing" in text, text)
    app = application(ran.stdout.split()[0])
    must(app["finalStatus"] == "FAILED", app)
    must("exit code 3" in app["diagnostics"] and "bad thing" in app["diagnostics"], app["diagnostics"])
    must("localhost" in app["diagnostics"] or "127.0.0.2" in app["diagnostics"], app["diagnostics"])


def no_private_key_is_in_a_container_log_or_left_in_hdfs():
    """The logs of all earlier jobs are searched, too."""
    ran = submit("-executes", "cat /proc/$PPID/environ; env", "-conf", "tony.worker.instances=1")
    must(ran.returncode == 0, ran.stderr)
    job = ran.stdout.split()[0]

    def left():
        listed = json.loads(hdfs("GET", f"/user/root/.tony/jobs/{job}", op="LISTSTATUS"))["FileStatuses"]["FileStatus"]
        return {entry["pathSuffix"] for entry in listed}
    must("spec.json" in left(), left())
    until(lambda: not left() & {"token", "tls.json", "clock"}, f"the keys of {job} in HDFS to be removed")
    records = subprocess.run(["grep", "-rlE", "BEGIN (EC )?PRIVATE KEY", str(CLUSTER / "node1" / "logs"),
                              str(CLUSTER / "node2" / "logs")], text=True, capture_output=True, check=False)
    must(records.stdout == "", "keys in", records.stdout)


def an_executor_uses_less_than_7500_kb_of_memory():
    """A node pays for the private memory of each executor. A container's limit counts all resident memory."""
    client, job = begin("-executes", "sleep 600", "-conf", "tony.worker.instances=1")
    runs(job)
    executors = [pid for pid, command in processes_of(job).items() if command.startswith("./tony-executor ")]
    (executor,) = set(executors) - {parent_of(pid) for pid in executors}
    rollup = pathlib.Path(f"/proc/{executor}/smaps_rollup").read_text()
    resident, own = (int(re.search(rf"^{field}: +(\d+) kB", rollup, re.M)[1]) for field in ("Rss", "Anonymous"))
    killed = tony("kill", job)
    must(killed.returncode == 0, killed.stdout, killed.stderr)
    end(client)
    must(resident < 7500 and own < 650, f"{resident} KB resident, {own} KB of that its own")


def a_job_whose_staged_file_changed_fails_without_a_restart():
    text = f"changed {WORK}"  # no node has this file yet
    (WORK / "changed.txt").write_text(text)
    client, job = begin("-executes", "true", "-conf", "tony.worker.instances=1",
                        "-conf", f"tony.containers.resources={WORK}/changed.txt")
    staged = json.loads(hdfs("GET", "/user/root/.tony/staged", op="LISTSTATUS"))["FileStatuses"]["FileStatus"]
    file, = [entry["pathSuffix"] for entry in staged if entry["length"] == len(text)]
    # The file changes before its master has a container.
    hdfs("PUT", f"/user/root/.tony/staged/{file}", op="SETTIMES", modificationtime="1000")
    code, text = end(client)
    hdfs("DELETE", f"/user/root/.tony/staged/{file}", op="DELETE")
    must(code == 1 and "has changed since the job was submitted" in text, code, text)
    told = status(job)
    must(told["verdict"]["class"] == "user_config" and not told["verdict"]["retryable"], told["verdict"])
    must(told.get("restart_count", 0) == 0, told)
    nothing_is_left_of(job)


def a_kill_ends_a_running_job_and_its_application():
    client, job = begin("-executes", "sleep 600", "-conf", "tony.worker.instances=2")
    runs(job)
    killed = tony("kill", job, "--reason", "enough")
    must(killed.returncode == 0, killed.stdout, killed.stderr)
    code, text = end(client)
    must(code == 1 and "enough" in text, code, text)
    must(application(job)["finalStatus"] == "KILLED", application(job))
    nothing_is_left_of(job)


def sigint_to_the_waiting_client_ends_the_job():
    client, job = begin("-executes", "sleep 600", "-conf", "tony.worker.instances=2")
    runs(job)
    client.send_signal(signal.SIGINT)
    code, text = end(client)
    must(code == 130, code, text)
    nothing_is_left_of(job)


def a_plan_shows_the_requested_containers_the_uploaded_files_and_the_commands():
    user = "planner"
    make_home(user)
    put("/in/planned.txt", b"there")
    words = ("-executes", "python3 train.py", "-src_dir", str(HERE), "-conf", "tony.scheduler=yarn",
             "-conf", "tony.worker.instances=3", "-conf", "tony.worker.memory=192m", "-conf", "tony.worker.gpus=1",
             "-conf", "tony.yarn.queue=ml", "-conf", "tony.yarn.priority=4", "-conf", "tony.application.timeout=60000",
             "-conf", "tony.yarn.view-acl=eve", "-conf", "tony.containers.resources=hdfs:///in/planned.txt")
    known = applications(user=user), jobs_in_hdfs(user)
    ran = tony("plan", "--json", *words, HADOOP_USER_NAME=user)
    must(ran.returncode == 0, ran.returncode, ran.stderr)
    must((applications(user=user), jobs_in_hdfs(user)) == known, "something was started")
    steps = [f"{step['what']}: {step['text']}" for step in json.loads(ran.stdout)["steps"]]

    def told(*parts):
        must(any(all(part in step for part in parts) for step in steps), parts, steps)

    told("asked: ", site("yarn.resourcemanager.address"), f"user {user}", "type TONY", "queue ml", "priority 4")
    told("asked: ", 'may be viewed by its user and "eve", and ended by its user only')
    told("asked: ", "a lifetime of 130 s")
    told("asked: ", "1 container of 512 MB, 1 vcore for the application master")
    told("asked: ", "3 containers of 192 MB, 1 vcore and 1 GPU for role worker")
    for program in ("tony-yarn-am.tar.gz", "tony-executor"):
        told("shipped: ", f"{PROGRAMS / program} ({(PROGRAMS / program).stat().st_size} bytes)")
    told("shipped: ", f"{HERE} to each task's folder")
    told("shipped: ", "hdfs:///in/planned.txt to each task as planned.txt, fetched from there by the nodes")
    told("started: ", "./tony-am/bin/tony-yarn-am")
    told("started: ", "./tony-executor --container")
    told("started: ", "as worker: bash -c ", "train.py")
    text = tony("plan", *words, HADOOP_USER_NAME=user)
    must(all(step in text.stderr for step in steps) and "  in all 3 tasks, 576 MB of memory, 3 cores, 3 GPUs\n" in
         text.stdout, text.stdout, text.stderr)
    must(json.loads(ran.stdout)["spec"]["yarn"]["priority"] == 4, ran.stdout)


def a_job_that_waits_for_its_master_shows_its_pending_reason_and_can_be_killed():
    client, job = begin("-executes", "true", "-conf", "tony.worker.instances=1", "-conf", "tony.am.memory=8g",
                        "-conf", "tony.am.vcores=32")
    others = [begin("-executes", "sleep 600", "-conf", "tony.worker.instances=1", "-conf", "tony.am.memory=8g",
                    "-conf", "tony.am.vcores=32") for _ in range(4)]
    last = others[-1][1]
    until(lambda: application(last)["state"] == "ACCEPTED", "the last to wait")
    why = until(lambda: status(last).get("delay"), "the reason")
    must(why.startswith("waits for its application master: ") and "default" in why and "MB" in why, why)
    must(why in tony("status", last).stdout and why in tony("list").stdout, "status and list:", why)

    def queues():
        told = json.loads(tony("list", "--queue", "--json").stdout)["clusters"][0]
        return {one["name"].split(".")[-1]: one for one in told["queues"]}, {one["job"]: one for one in told["jobs"]}

    until(lambda: queues()[0]["default"]["running"] >= 1, "the first master")
    shares, jobs = queues()
    must(jobs[last]["state"] == "waiting" and jobs[last]["queue"].endswith("default"), jobs[last])
    must(jobs[last]["why"].startswith("waits for its application master: "), jobs[last])
    ours = shares["default"]
    must(ours["waiting"] >= 1 and ours["used"] > 0 and ours["takes_jobs"], shares)
    must(shares["closed"]["takes_jobs"] and not shares["closed"]["open"], shares)
    table = tony("list", "--queue").stdout
    must(last in table and "waits for its application master: " in table and "not open to you" in table, table)
    watch = subprocess.Popen([PROGRAMS / "tony", "watch", "--json", last], env=environment(), text=True, cwd=WORK,
                             stdout=subprocess.PIPE)
    until(lambda: json.loads(watch.stdout.readline()).get("delay", "").startswith("waits for its application master: "), "watch")
    limited, too_late = begin("-executes", "true", "-conf", "tony.worker.instances=1", "-conf", "tony.am.memory=8g",
                              "-conf", "tony.am.vcores=32", "-conf", "tony.am.startup-timeout=3000")
    code, text = end(limited)
    told = r"had not started [\d.]+ s after the submission \(tony.am.startup-timeout=3000\): the job waits for its application master"
    must(code == 1 and re.search(told, text), code, text)
    must(status(too_late)["verdict"]["class"] == "timeout", status(too_late))
    nothing_is_left_of(too_late)
    for client_, job_ in [(client, job), *others]:
        tony("kill", job_)
        code, text = end(client_)
        must(job_ != last or "job waits for its application master: " in text, text)
        nothing_is_left_of(job_)
    watch.communicate(timeout=LIMIT)


def a_job_whose_masters_die_too_often_fails_and_leaves_no_process():
    client, job = begin("-executes", "sleep 600", "-conf", "tony.worker.instances=2")
    runs(job)
    end_masters(job)
    code, text = end(client)
    must(code == 1 and "application master" in text, code, text)
    must(status(job)["verdict"]["class"] == "infra", status(job)["verdict"])
    nothing_is_left_of(job)


def a_killed_executor_leaves_no_process_of_its_task():
    client, job = begin("-executes", "setsid sleep 600 & exec sleep 600", "-conf", "tony.worker.instances=1")
    runs(job)
    tasks = until(lambda: {pid for pid, command in processes_of(job).items() if command.startswith("sleep 600")},
                  "the task")
    executor = parent_of(status(job)["tasks"][0]["pid"])
    must(b"tony-executor" in open(f"/proc/{executor}/cmdline", "rb").read(), executor)
    os.kill(executor, signal.SIGKILL)
    until(lambda: not tasks & set(processes_of(job)), f"{tasks} to end")
    tony("kill", job)
    end(client)
    nothing_is_left_of(job)


def a_replaced_master_that_wakes_up_exits_without_changing_the_job():
    """A master that is stopped with its node wakes up when the master of the next attempt leads."""
    client, job = begin("-executes", "sleep 600", "-conf", "tony.worker.instances=2", "-conf",
                        "tony.task.cutoff-after-ms=22000", "-conf", "tony.task.stop-grace-ms=1000", "-conf",
                        "tony.task.lost-after-ms=29000")
    runs(job)
    stopped = masters(job)
    node = node_of(stopped[0])  # it would kill the master
    for pid in (node, *stopped):
        os.kill(pid, signal.SIGSTOP)
    try:
        leads(job, 2001)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        until(lambda: not set(stopped) & set(processes_of(job)), "the master to leave")
        must(status(job)["epoch"] >= 2001 and status(job)["state"] == "RUNNING", status(job))
    finally:
        os.kill(node, signal.SIGCONT)
    tony("kill", job)
    code, text = end(client)
    must(code == 1 and status(job)["state"] == "KILLED", code, text)
    nothing_is_left_of(job)
    until(nodes_run, "both nodes")


def staged():
    return {one["pathSuffix"] for one in json.loads(hdfs("GET", f"{TONY}/staged", op="LISTSTATUS"))["FileStatuses"]
            ["FileStatus"]}


def make_file(path):
    place = json.loads(hdfs("PUT", path, op="CREATE", noredirect="true"))["Location"]
    urllib.request.urlopen(urllib.request.Request(place, method="PUT", data=b"x"), timeout=30).close()


def make_old(path, hours=100):
    hdfs("PUT", path, op="SETTIMES", modificationtime=int((time.time() - hours * 3600) * 1000))


def gc(*words):
    ran = tony("gc", "--json", *words)
    must(ran.returncode == 0, "gc:", ran.returncode, ran.stdout, ran.stderr)
    return json.loads(ran.stdout)


def gc_removes_ended_jobs_and_staged_files_that_no_job_needs():
    data = WORK / "old-data.txt"
    data.write_text("old")
    words = ("-executes", "cat old-data.txt", "-conf", "tony.worker.instances=1",
             "-conf", f"tony.containers.resources={data}")
    ended = submit(*words).stdout.split()[0]
    must(gc()["jobs"] == [], "it ended just now")
    client, running = begin("-executes", "sleep 600", "-conf", "tony.worker.instances=1")
    runs(running)
    half = "application_1700000000000_0001"
    hdfs("PUT", f"{TONY}/jobs/{half}", op="MKDIRS")
    make_file(f"{TONY}/staged/.put-dead")
    for name in staged():
        make_old(f"{TONY}/staged/{name}")
    make_old(f"{TONY}/jobs/{half}")
    before = staged()
    said = gc("--older-than", "0m", "--dry-run")
    must(ended in said["jobs"] and half in said["unfinished"] and said["staged"], said)
    must(running not in said["jobs"] and staged() == before, said)
    done = gc("--older-than", "0m")
    must({**done, "dry_run": True, "history_lines": said["history_lines"]} == said, done, said)
    must(staged() == before - set(done["staged"]) - {".put-dead"}, staged(), before)
    must(tony("status", ended).returncode == 66 and tony("status", running).returncode == 0, "status")
    must(ended in tony("history").stdout, "its line in the history")
    tony("kill", running)
    end(client)
    again = submit(*words)
    must(again.returncode == 0, "what was removed is sent again:", again.stdout, again.stderr)


def gc_removes_local_records_of_jobs_that_were_removed_from_hdfs():
    yarn_site = site_file("noted.xml", "yarn.resourcemanager.address", "yarn.resourcemanager.scheduler.address")
    words = ("-executes", "true", "-conf", "tony.worker.instances=1",
             "-conf", f"tony.application.yarn-conf-path={yarn_site}")
    there, gone, fresh = [submit(*words).stdout.split()[0] for _ in range(3)]
    for job in (gone, fresh):
        hdfs("DELETE", f"{TONY}/jobs/{job}", op="DELETE", recursive="true")
    notes = WORK / "home" / "yarn" / "clusters"
    for job in (there, gone):
        os.utime(notes / job, (time.time() - 100 * 86400,) * 2)
    said = gc("--dry-run")
    must(said["notes"] == [gone] and len(said["kept"]) == 1 and there in said["kept"][0], said)
    must(gc()["notes"] == [gone], "the same")
    left = {note.name for note in notes.iterdir()}
    must({there, fresh} <= left and gone not in left, left)


def a_submit_succeeds_while_gc_removes_unused_staged_files():
    data = WORK / "shared-data.txt"
    data.write_text("shared")
    words = ("-executes", "cat shared-data.txt", "-conf", "tony.worker.instances=1",
             "-conf", f"tony.containers.resources={data}")
    must(submit(*words).returncode == 0, "the first one")
    taken = 0
    for _ in range(4):
        gc("--older-than", "0m")  # no job names its files any more
        for name in staged():
            make_old(f"{TONY}/staged/{name}")
        stop = threading.Event()
        removed = []

        def collect():
            while not stop.is_set():
                ran = tony("gc", "--json")
                removed.extend(json.loads(ran.stdout)["staged"] if ran.stdout else [])

        collector = threading.Thread(target=collect)
        collector.start()
        try:
            ran = submit(*words)
        finally:
            stop.set()
            collector.join()
        must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
        taken += bool(removed)
    print(f"   gc removed content in {taken} of 4 submits", flush=True)


def a_job_continues_after_its_client_was_killed():
    client, job = begin("-executes", "sleep 3", "-conf", "tony.worker.instances=1")
    client.kill()
    client.communicate()
    waited = tony("wait", job)
    must(waited.returncode == 0, waited.stdout, waited.stderr)


def invalid_queues_and_resources_are_refused_before_any_upload():
    staged = WORK / "home" / "staged"
    before = sorted(staged.iterdir()) if staged.exists() else []
    words = ("-executes", "true", "-src_dir", str(HERE), "-conf", "tony.worker.instances=1")
    for more, code, expected in (
        (("-conf", "tony.yarn.queue=no-such"), 65, ('tony.yarn.queue: "no-such": ', "unknown queue", "; use one of ",
                                                    "root.default", "root.ml")),
        (("-conf", "tony.yarn.queue=stopped"), 77, ('tony.yarn.queue: "stopped": ', "does not have permission",
                                                    "root.default")),
        (("-conf", "tony.yarn.queue=twin"), 65, ('tony.yarn.queue: "twin": ', "mbiguous", "root.east.twin",
                                                 "root.west.twin")),
        (("-conf", "tony.worker.resource.tape=1"), 65, ("tony.worker.resource.tape: this cluster has no resource of the "
                                                        "type tape; it has disk, memory-mb, vcores, yarn.io/gpu",)),
        (("-conf", "tony.worker.resource.disk=9G"), 65, ("tony.worker.resource.disk: 9G of disk is above 8G",)),
        (("-conf", "tony.worker.resource.disk=500M"), 65, ("500M is not a whole number of G",)),
        (("-conf", "tony.worker.memory=64g"), 65, ("65536", "8192")),
        (("-conf", "tony.am.memory=64g"), 65, ("65536", "8192")),
    ):
        refused(submit(*words, *more), code, 2 * FACTOR, *expected)
    must((sorted(staged.iterdir()) if staged.exists() else []) == before, "something was staged")


def refused(ran, code, seconds, *expected):
    must(ran.returncode == code, expected, ran.returncode, ran.stdout, ran.stderr)
    must(all(word in ran.stderr for word in expected), expected, ran.stderr)
    must(ran.stderr.count("\n") == 1 and ran.seconds < seconds, expected, ran.seconds, ran.stderr)


def nothing_is_begun_by(user, *words, **more):
    """Checks that a submit of a user without other jobs leaves no application, no job in HDFS and no file in the
    store of this machine. Returns the result of the submit."""
    staged = WORK / "home" / "staged"
    look = lambda: (applications(user=user), jobs_in_hdfs(user), sorted(staged.iterdir()) if staged.exists() else [])
    before = look()
    ran = submit(*words, HADOOP_USER_NAME=user, **more)
    must(look() == before, "something is left", before, look())
    return ran


ACLS = "<name>yarn.acl.enable</name><value>true<"


def a_submit_to_a_closed_queue_is_refused_with_the_list_of_open_queues():
    user = "outsider"
    make_home(user)
    (WORK / "unique").mkdir()
    (WORK / "unique" / "file").write_text(f"nobody has it yet {WORK}")
    words = ("-executes", "true", "-src_dir", f"{WORK}/unique", "-conf", "tony.worker.instances=1")
    silent = edited_conf("silent", yarn=(ACLS, ACLS.replace("true", "false")))  # the ResourceManager itself has ACLs on
    mute = edited_conf("mute", yarn=(site("yarn.resourcemanager.webapp.address"), "localhost:1"))
    for queue in ("closed", "root.closed", "inner"):
        for conf in (str(CLUSTER / "conf"), silent, mute):
            ran = nothing_is_begun_by(user, *words, "-conf", f"tony.yarn.queue={queue}", HADOOP_CONF_DIR=conf)
            refused(ran, 77, 2 * FACTOR, f'tony.yarn.queue: "{queue}": ', "does not have permission to submit",
                    "; use one of root.default, root.ml\n")
    ran = submit(*words, "-conf", "tony.yarn.queue=no-such", HADOOP_USER_NAME=user)
    refused(ran, 65, 2 * FACTOR, '"no-such": ', "unknown queue", "; use one of root.default, root.ml\n")
    must(not jobs_in_hdfs(user), jobs_in_hdfs(user))

    make_home("member")  # a user that the ACLs of the queue above admit
    ran = tony("plan", "--strict", "-executes", "true", "-conf", "tony.worker.instances=1", "-conf",
               "tony.scheduler=yarn", "-conf", "tony.yarn.queue=root.team.inner", HADOOP_USER_NAME="member")
    must(ran.returncode == 0, "a member of the team:", ran.returncode, ran.stderr)


def a_job_may_name_a_queue_that_yarn_creates_for_the_job():
    if VERSION < (3, 4):  # without auto-queue-creation-v2
        return
    known = applications()
    ran = submit("-executes", "true", "-conf", "tony.worker.instances=1", "-conf", "tony.yarn.queue=root.auto.fresh")
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    must(application(job)["queue"].endswith("auto.fresh"), application(job))
    must(len(applications(name=application(job)["name"], queue=application(job)["queue"]) - known) == 1, "applications")
    told = json.loads(tony("list", "--queue", "--json").stdout)["clusters"][0]
    takes_jobs = {one["name"]: one["takes_jobs"] for one in told["queues"]}
    must(takes_jobs["root.auto.fresh"] and not takes_jobs["root.auto"], takes_jobs)
    ran = submit("-executes", "true", "-conf", "tony.worker.instances=1", "-conf", "tony.yarn.queue=root.auto")
    refused(ran, 65, 2 * FACTOR, 'tony.yarn.queue: "root.auto": ', "non-leaf queue", "; use one of ", "root.auto.fresh")


def queues_with_the_same_last_name_are_distinguished_by_their_path():
    twins = ["root.east.twin", "root.west.twin"]
    client, job = begin("-executes", "sleep 600", "-conf", "tony.worker.instances=1", "-conf",
                        f"tony.yarn.queue={twins[1]}")
    runs(job)
    told = json.loads(tony("list", "--queue", "--json").stdout)["clusters"][0]
    found = {one["name"]: one["running"] for one in told["queues"] if one["name"] in twins}
    must(found == {twins[0]: 0, twins[1]: 1}, told["queues"])
    must([one["queue"] for one in told["jobs"] if one["job"] == job] == [twins[1]], told["jobs"])
    text = doctor(0)["queues"]["text"]
    must(all(twin in text for twin in twins) and "full" not in text, text)
    tony("kill", job)
    end(client)


def each_submit_uses_exactly_one_application_id():
    words = ("-executes", "true", "-conf", "tony.worker.instances=1", "--detach")
    jobs = [submit(*words, *more).stdout.split()[0] for more in ((), ("--request-id", WORK.name), (), ())]
    numbers = [int(job.rsplit("_", 1)[1]) for job in jobs]
    must(numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers)
    for job in jobs:
        must(tony("wait", job).returncode == 0, job)


def restart_changed(daemons, site_name, change):
    """Restarts YARN's daemons with a changed site file."""

    def change_files():
        for daemon in daemons:
            file = CLUSTER / (f"conf-{daemon}" if daemon.startswith("node") else "conf") / f"{site_name}-site.xml"
            file.write_text(change(file.read_text()))
    restart(*daemons, meanwhile=change_files)
    until(nodes_run, "the nodes to register again")


def begin_resource_manager(settings):
    """Restarts the ResourceManager with other values of these keys."""

    def change(text):
        for key, value in settings.items():
            text = re.sub(f"(<name>{re.escape(key)}</name><value>)[^<]*", rf"\g<1>{value}", text)
        return text
    restart_changed(["resourcemanager"], "yarn", change)


def doctor(code, **more):
    ran = tony("doctor", "--yarn", "--json", **more)
    must(ran.returncode == code, "doctor:", ran.returncode, ran.stdout, ran.stderr)
    told = json.loads(ran.stdout)
    must(told["healthy"] == (code == 0), told)
    return {check["name"]: check for check in told["checks"]}


def the_doctor_reports_each_part_of_a_healthy_cluster():
    found = doctor(0)
    for name, words in (("configuration", (str(CLUSTER / "conf"), "user root")), ("programs", ("tony-yarn-am.tar.gz",)),
                        ("resourcemanager", (site("yarn.resourcemanager.address"), "Hadoop 3.")),
                        ("containers", ("8192 MB", "32 vcores")), ("nodes", ("2 nodes", "MB", "vcores")),
                        ("queues", ("default", "ml")), ("labels", ()),
                        ("namenode", (site("dfs.namenode.http-address"), "Hadoop 3.")), ("hdfs", ("/user/root",)),
                        ("attributes", ())):
        must(found[name]["health"] == "ok" and all(word in found[name]["text"] for word in words), name, found[name])
    must("closed" not in found["queues"]["text"], found["queues"])
    must(found["network"]["health"] == "warn" and "in clear" in found["network"]["text"], found["network"])
    left = json.loads(hdfs("GET", "/user/root", op="LISTSTATUS"))["FileStatuses"]["FileStatus"]
    must(not [one for one in left if "doctor" in one["pathSuffix"]], left)
    text = tony("doctor", "--yarn").stdout
    must("ok    hdfs: " in text and "ok    attributes: " in text, text)


def the_doctor_reports_a_failed_check_with_its_fix():
    make_home("mended")

    def fails(name, words, advice, **more):
        check = doctor(1, **{"HADOOP_USER_NAME": "mended", **more})[name]
        must(check["health"] == "fail" and all(word in check["text"] for word in words), check)
        must(all(word in check["advice"] for word in advice), check)

    rm, name_node = site("yarn.resourcemanager.address"), site("dfs.namenode.http-address")
    fails("configuration", ("HADOOP_CONF_DIR",), ("HADOOP_CONF_DIR",), HADOOP_CONF_DIR=str(WORK / "nowhere"))
    fails("resourcemanager", ("localhost:1",), ("yarn.resourcemanager.address", "yarn-site.xml"),
          HADOOP_CONF_DIR=edited_conf("ill", yarn=(f"<value>{rm}<", "<value>localhost:1<")))
    fails("namenode", ("localhost:1",), ("dfs.namenode.http-address", "hdfs-site.xml"),
          HADOOP_CONF_DIR=edited_conf("ill", hdfs=(f"<value>{name_node}<", "<value>localhost:1<")))
    fails("hdfs", ("/user/homeless",), ("hdfs dfs -mkdir -p /user/homeless", "-chown homeless"),
          HADOOP_USER_NAME="homeless")
    make_home("pauper")
    dfsadmin("-setSpaceQuota", "1", "/user/pauper")
    fails("hdfs", ("QuotaExceeded", "/user/pauper"), ("tony gc", "-setSpaceQuota"), HADOOP_USER_NAME="pauper")
    left = json.loads(hdfs("GET", "/user/pauper", op="LISTSTATUS"))["FileStatuses"]["FileStatus"]
    must(not left, left)


def keys_for_queue_priority_type_tags_timeout_and_acl_reach_yarn():
    words = ("-executes", "sleep 600", "-conf", "tony.worker.instances=1", "-conf", "tony.yarn.queue=ml",
             "-conf", "tony.yarn.priority=7", "-conf", "tony.application.type=training",
             "-conf", "tony.application.tags=Team,nightly", "-conf", "tony.application.timeout=3600000",
             "-conf", "tony.am.memory=640m", "-conf", "tony.am.vcores=3", "-conf", "tony.yarn.view-acl=eve")
    client, job = begin(*words)
    runs(job)
    app = application(job)
    must(app["priority"] == 7 and app["applicationType"] == "training", app)
    must(app["queue"].endswith("ml") and set(app["applicationTags"].split(",")) == {"team", "nightly"}, app)
    must(app["allocatedMB"] == 640 + 128 and app["allocatedVCores"] == 3 + 1, app)
    timeout = resource_manager(f"apps/{job}/timeouts/LIFETIME")["timeout"]
    must(3600 < int(timeout["remainingTimeInSeconds"]) <= 3670, timeout)
    must("amContainerLogs" in application(job, "eve"), "eve may see it:", application(job, "eve"))
    must("amContainerLogs" not in application(job, "bob"), "bob may not:", application(job, "bob"))
    tony("kill", job)
    end(client)
    client, job = begin("-executes", "sleep 600", "-conf", "tony.worker.instances=1")
    runs(job)
    must("amContainerLogs" not in application(job, "eve"), "nobody else may:", application(job, "eve"))
    must(application(job)["priority"] == 0 and application(job)["applicationType"] == "TONY", application(job))
    tony("kill", job)
    end(client)

    user = "demanding"
    make_home(user)
    words = ("-executes", "true", "-conf", "tony.worker.instances=1")
    for more, expected in (
        ("tony.yarn.priority=11", "tony.yarn.priority: 11 is above 10, "),
        ("tony.yarn.priority=-1", "tony.yarn.priority: "),
        ("tony.application.type=far-too-long-to-be-listed", "tony.application.type: "),
        ("tony.worker.node-label=no-such", 'tony.worker.node-label: "no-such" is not a label of this cluster'),
    ):
        refused(nothing_is_begun_by(user, *words, "-conf", more), 65, 2 * FACTOR, expected)


def label(node, name):
    ports = {"localhost": "node1", "127.0.0.2": "node2"}
    conf = (CLUSTER / f"conf-{ports[node]}" / "yarn-site.xml").read_text()
    address = re.search("<name>yarn.nodemanager.address</name><value>(.*?)</value>", conf).group(1)
    rmadmin("-replaceLabelsOnNode", f"{address}={name}" if name else address)


def rmadmin(*words):
    cluster("java", "org.apache.hadoop.yarn.client.cli.RMAdminCLI", *words)


def node_labels_select_the_nodes_of_master_and_workers():
    rmadmin("-addToClusterNodeLabels", "big(exclusive=true)")
    label("127.0.0.2", "big")
    until(lambda: resource_manager("scheduler") and "big" in json.dumps(resource_manager("get-node-to-labels")), "big")
    try:
        words = ("-executes", "sleep 600", "-conf", "tony.worker.instances=2")
        for more, master, workers in (
            (("tony.worker.node-label=big",), "localhost", "127.0.0.2"),
            (("tony.am.node-label=big",), "127.0.0.2", "localhost"),
            (("tony.application.node-label=big",), "127.0.0.2", "127.0.0.2"),
        ):
            client, job = begin(*words, *(word for one in more for word in ("-conf", one)))
            runs(job)
            must(application(job)["amHostHttpAddress"].split(":")[0] == master, more, application(job))
            must(hosts_of(job) == {workers}, more, status(job))
            tony("kill", job)
            end(client)
        for queue, expected in (("default", 'is not a label of this cluster; it has the labels big'),
                                ("ml", 'is not a label of queue root.ml, which may use small')):
            name = "small" if queue == "default" else "big"
            ran = nothing_is_begun_by("root", *words, "-conf", f"tony.worker.node-label={name}", "-conf",
                                      f"tony.yarn.queue={queue}")
            refused(ran, 65, 2 * FACTOR, f'tony.worker.node-label: "{name}" {expected}')
    finally:
        label("127.0.0.2", "")
        rmadmin("-removeFromClusterNodeLabels", "big")


def a_cluster_without_acls_accepts_jobs_in_every_queue():
    begin_resource_manager({"yarn.acl.enable": "false"})
    try:
        claims = edited_conf("claims", yarn=(ACLS.replace("true", "false"), ACLS))  # the ResourceManager decides
        for conf in (str(CLUSTER / "conf"), claims):
            ran = submit("-executes", "true", "-conf", "tony.worker.instances=1", "-conf", "tony.yarn.queue=closed",
                         "--detach", HADOOP_CONF_DIR=conf)
            must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
            job = ran.stdout.split()[0]
            must(application(job)["queue"].endswith("closed"), application(job))
            tony("kill", job)
            nothing_is_left_of(job)
    finally:
        begin_resource_manager({"yarn.acl.enable": "true"})


def the_fair_scheduler_creates_the_queue_that_a_job_names():
    fair = {"yarn.resourcemanager.scheduler.class":
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
            "yarn.resourcemanager.placement-constraints.handler": "disabled"}
    usual = {key: site(key) for key in fair}
    begin_resource_manager(fair)
    try:
        queues = doctor(0)["queues"]
        must(queues["health"] == "ok" and "full" not in queues["text"], queues)
        client, job = begin("-executes", "sleep 600", "-conf", "tony.worker.instances=1", "-conf",
                            "tony.yarn.queue=team.fresh")
        runs(job)
        told = json.loads(tony("list", "--queue", "--json").stdout)["clusters"][0]
        found = {one["name"]: (one["running"], one["most"]) for one in told["queues"]}
        must(found["root.team.fresh"] == (1, 1) and "root.team" in found, found)
        must([one["queue"] for one in told["jobs"]] == ["root.team.fresh"], told["jobs"])
        tony("kill", job)
        end(client)
    finally:
        begin_resource_manager(usual)


def a_submit_to_an_unwritable_hdfs_is_refused_with_the_reason_and_leaves_no_files():
    words = ("-executes", "true", "-conf", "tony.worker.instances=1")
    known = applications()

    def submit_as(user, code, *expected):
        ran = submit(*words, HADOOP_USER_NAME=user, TONY_HOME=str(WORK / f"home-{user}"))
        refused(ran, code, 2 * FACTOR, *expected)
        must(not jobs_in_hdfs(user), user, jobs_in_hdfs(user))
        must(applications() == known, user, "an application")

    for user in ("reads", "names", "bytes", "safe"):
        make_home(user)
    hdfs("PUT", "/user/reads", op="SETPERMISSION", permission="500")
    submit_as("reads", 77, "AccessControlException", "user=reads", "/user/reads")
    dfsadmin("-setQuota", "1", "/user/names")
    submit_as("names", 73, "NSQuotaExceededException", "/user/names")
    dfsadmin("-setSpaceQuota", "1", "/user/bytes")
    submit_as("bytes", 73, "DSQuotaExceededException", "/user/bytes")
    dfsadmin("-safemode", "enter")
    try:
        submit_as("safe", 69, "SafeModeException", "dfs.namenode.http-address")
    finally:
        dfsadmin("-safemode", "leave")
    cluster("kill", "datanode")
    try:
        submit_as("safe", 69, "tony-executor")
    finally:
        cluster("begin", "datanode")
        until(lambda: submit(*words, HADOOP_USER_NAME="safe").returncode == 0, "the DataNode")


class StandbyNameNode(http.server.BaseHTTPRequestHandler):
    ANSWER = json.dumps({"RemoteException": {
        "exception": "StandbyException", "javaClassName": "org.apache.hadoop.ipc.StandbyException",
        "message": "Operation category READ is not supported in state standby."}}).encode()

    def do_GET(self):
        self.send_response(403)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.ANSWER)))
        self.end_headers()
        self.wfile.write(self.ANSWER)

    def log_message(self, *_):
        pass


def a_wrong_hadoop_configuration_is_refused_with_the_name_of_the_key():
    words = ("-executes", "true", "-conf", "tony.worker.instances=1")

    def refused_with(expected, code, **changes):
        refused(submit(*words, HADOOP_CONF_DIR=edited_conf("conf", **changes)), code, 2 * FACTOR, expected)

    rm, web = site("yarn.resourcemanager.address"), site("yarn.resourcemanager.webapp.address")
    refused_with("core-site.xml", 65, core=("<configuration>", "<configuration"))
    refused_with("fs.defaultFS", 65, core=("hdfs://", "viewfs://"))
    security = "<configuration><property><name>hadoop.security.authentication</name><value>kerberos</value></property>"
    refused_with("yarn.resourcemanager.principal is not set", 65, core=("<configuration>", security))
    refused_with("localhost:1", 69, yarn=(rm, "localhost:1"))
    refused_with("yarn.resourcemanager.address: getNewApplication at no-such-host.invalid:8032: ", 69,
                 yarn=(f"<value>{rm}<", "<value>no-such-host.invalid<"))
    refused_with("yarn.resourcemanager.address: getNewApplication at " + web + ": received HTTP", 69,
                 yarn=(f"<value>{rm}<", f"<value>{web}<"))
    name_node, rpc = site("dfs.namenode.http-address"), site("fs.defaultFS").removeprefix("hdfs://")
    for other in ("no-such-host.invalid:9870", "localhost:1", rpc):
        refused_with(f"dfs.namenode.http-address: http://{other}: ", 69,
                     hdfs=(f"<value>{name_node}<", f"<value>{other}<"))
    standby = http.server.ThreadingHTTPServer(("localhost", 0), StandbyNameNode)
    threading.Thread(target=standby.serve_forever, daemon=True).start()
    refused_with("StandbyException", 69, hdfs=(f"<value>{name_node}<", f"<value>localhost:{standby.server_port}<"))
    standby.shutdown()
    ran = submit(*words, HADOOP_CONF_DIR=str(WORK / "nowhere"))
    must(ran.returncode == 65 and "HADOOP_CONF_DIR" in ran.stderr, ran.returncode, ran.stderr)
    ran = submit(*words, HADOOP_CONF_DIR="")
    must(ran.returncode == 65 and "HADOOP_CONF_DIR" in ran.stderr, ran.returncode, ran.stderr)
    ran = submit(*words, HADOOP_USER_NAME="nobody-here")
    must(ran.returncode == 65 and "/user/nobody-here" in ran.stderr, ran.returncode, ran.stderr)


def added(key, value):
    return "<configuration>", f"<configuration><property><name>{key}</name><value>{value}</value></property>"


def a_job_runs_on_a_cluster_that_demands_integrity_or_privacy():
    words = ("-executes", "true", "-conf", "tony.worker.instances=2")
    daemons = ("resourcemanager", "node1", "node2")
    plain = current = "<configuration>"

    def restart_with(settings):
        nonlocal current
        restart_changed(daemons, "core", lambda text: text.replace(current, settings))
        current = settings

    try:
        for protection in ("integrity", "privacy"):
            restart_with(added("hadoop.rpc.protection", protection)[1])
            check = doctor(0)["network"]
            must(f"hadoop.rpc.protection is {protection} for application masters only" in check["text"], check)
            ran = submit(*words)
            must(ran.returncode == 0, protection, ran.stdout, ran.stderr)
    finally:
        restart_with(plain)


# The longest scenarios come first, except that the very first one needs a cluster that has never run a job.
TOGETHER = (
    a_job_of_one_task_runs,
    two_stages_run_one_after_the_other_on_a_cluster_with_room_for_one_stage,
    a_gang_of_eight_with_placement_spread_runs_on_both_nodes_with_one_cluster_spec,
    the_source_folder_and_resources_reach_the_tasks_and_edits_reach_the_next_job,
    keys_for_queue_priority_type_tags_timeout_and_acl_reach_yarn,
    the_conf_paths_of_a_job_override_hadoop_conf_dir,
    a_failure_is_reported_with_exit_code_host_and_last_output,
    a_kill_ends_a_running_job_and_its_application,
    sigint_to_the_waiting_client_ends_the_job,
    a_job_continues_after_its_client_was_killed,
    a_job_killed_during_its_first_stage_never_starts_the_second_stage,
    a_job_whose_masters_die_too_often_fails_and_leaves_no_process,
    a_killed_executor_leaves_no_process_of_its_task,
    an_executor_uses_less_than_7500_kb_of_memory,
    a_job_whose_staged_file_changed_fails_without_a_restart,
    a_plan_shows_the_requested_containers_the_uploaded_files_and_the_commands,
    invalid_queues_and_resources_are_refused_before_any_upload,
    a_submit_to_a_closed_queue_is_refused_with_the_list_of_open_queues,
    a_job_may_name_a_queue_that_yarn_creates_for_the_job,
    queues_with_the_same_last_name_are_distinguished_by_their_path,
    the_doctor_reports_each_part_of_a_healthy_cluster,
    the_doctor_reports_a_failed_check_with_its_fix,
    a_wrong_hadoop_configuration_is_refused_with_the_name_of_the_key,
)
# These scenarios fill the cluster, remove files that others need, check everything that exists, or change the cluster.
ALONE = (
    two_gangs_succeed_although_only_one_gang_fits_at_a_time,
    a_job_that_waits_for_its_master_shows_its_pending_reason_and_can_be_killed,
    each_submit_uses_exactly_one_application_id,
    gc_removes_ended_jobs_and_staged_files_that_no_job_needs,
    gc_removes_local_records_of_jobs_that_were_removed_from_hdfs,
    a_submit_succeeds_while_gc_removes_unused_staged_files,
    node_labels_select_the_nodes_of_master_and_workers,
    a_cluster_without_acls_accepts_jobs_in_every_queue,
    the_fair_scheduler_creates_the_queue_that_a_job_names,
    a_replaced_master_that_wakes_up_exits_without_changing_the_job,
    a_submit_to_an_unwritable_hdfs_is_refused_with_the_reason_and_leaves_no_files,
    no_private_key_is_in_a_container_log_or_left_in_hdfs,
    a_job_runs_on_a_cluster_that_demands_integrity_or_privacy,
)
DEFAULT = (
    a_job_of_one_task_runs,
    two_stages_run_one_after_the_other_on_a_cluster_with_room_for_one_stage,
    a_gang_of_eight_with_placement_spread_runs_on_both_nodes_with_one_cluster_spec,
    the_source_folder_and_resources_reach_the_tasks_and_edits_reach_the_next_job,
    keys_for_queue_priority_type_tags_timeout_and_acl_reach_yarn,
    a_failure_is_reported_with_exit_code_host_and_last_output,
    a_kill_ends_a_running_job_and_its_application,
    a_job_whose_masters_die_too_often_fails_and_leaves_no_process,
    a_killed_executor_leaves_no_process_of_its_task,
    a_job_whose_staged_file_changed_fails_without_a_restart,
    a_plan_shows_the_requested_containers_the_uploaded_files_and_the_commands,
    invalid_queues_and_resources_are_refused_before_any_upload,
    a_submit_to_a_closed_queue_is_refused_with_the_list_of_open_queues,
    the_doctor_reports_each_part_of_a_healthy_cluster,
    a_wrong_hadoop_configuration_is_refused_with_the_name_of_the_key,
    gc_removes_ended_jobs_and_staged_files_that_no_job_needs,
    no_private_key_is_in_a_container_log_or_left_in_hdfs,
)
