"""Request ids on a real YARN, which are known on all machines of a user.

A machine is a $TONY_HOME of its own. It knows of another machine's jobs only what HDFS and YARN know.
"""

import concurrent.futures
import hashlib
import json
import subprocess
import urllib.error

from common import (CLUSTER, LIMIT, PROGRAMS, WORK, application, applications, environment, hdfs, jobs_in_hdfs,
                    make_home, must, nothing_is_left_of, runs, site, submit_words, tony)
from cutting_proxy import CutConfiguration, CutWhere

LONG_AGO = 1_000_000_000_000


class Machine:
    def __init__(self, name, user="root"):
        self.home, self.user = WORK / name, user
        self.env = {"TONY_HOME": str(self.home), "HADOOP_USER_NAME": user}

    def tony(self, *words):
        return tony(*words, **self.env)

    def told(self, *words):
        """Returns a verb's JSON output."""
        ran = self.tony(*words, "--json")
        must(ran.returncode == 0, words, ran.returncode, ran.stdout, ran.stderr)
        return json.loads(ran.stdout)

    def submit(self, request, *words, program="true"):
        return self.tony(*submit_words("-executes", program, "-conf", "tony.worker.instances=1", "--request-id", request,
                                       *words))

    def made(self, request, *words, program="true"):
        """Submits without waiting and returns the JSON output."""
        ran = self.submit(request, "--detach", "--json", *words, program=program)
        must(ran.returncode == 0, request, words, ran.returncode, ran.stdout, ran.stderr)
        return json.loads(ran.stdout)


def simultaneous_submits_of_one_request_from_two_machines_create_one_job():
    machines = [Machine("racer-a"), Machine("racer-b")]
    machines[0].made("warm up")  # uploads the programs, so that all clients reach the same step at the same time
    go = WORK / "go-race"

    def submit(number):
        return machines[number % 2].made("race", "--owner", f"o{number}", "-conf", "tony.application.name=raced",
                                         program=f"until [ -e {go} ]; do sleep 0.2; done")

    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = list(pool.map(submit, range(6)))
    jobs = {document["job"] for document in made}
    must(len(jobs) == 1, made)
    must(sorted(document["decision"] for document in made) == ["attached"] * 5 + ["created"], made)
    (job,) = jobs
    go.touch()
    for machine in machines:
        must(machine.told("find", "--request-id", "race")["job"] == job, machine.home)
        must(machine.tony("wait", job).returncode == 0, "wait")
    must(applications(name="raced") == jobs, applications(name="raced"), jobs)
    nothing_is_left_of(job)


def every_verb_works_on_a_job_that_was_submitted_on_another_machine():
    here, there, go = Machine("here"), Machine("there"), WORK / "go"
    program = f'until [ -e {go} ]; do sleep 0.2; done; echo "{{\\"loss\\":1}}" > $TONY_OUTPUT_FILE'
    job = here.made("step", "--owner", "a", "--submission", "1", program=program)["job"]
    runs(job)
    must(there.told("status", job)["state"] == "RUNNING", there.told("status", job))
    must(there.told("find", "--request-id", "step")["job"] == job, "find")
    must(job in there.tony("list").stdout, "list:", there.tony("list"))
    history = there.tony("history", job)
    must(history.returncode == 0 and "worker:0#1" in history.stdout, "history:", history)
    must(there.told("recover", job)["jobs"][0]["recovery"] == "none", "recover")
    must(there.tony("outputs", job).returncode == 69, "its outputs are not there yet")
    fenced = there.told("kill", "--request-id", "step", "--if-owner", "nobody")
    must(not fenced["killed"] and fenced["fenced"], fenced)
    lower = there.submit("step", "--submission", "0", program=program)
    must(lower.returncode == 77 and "newer than 0" in lower.stderr, lower.returncode, lower.stderr)
    other = there.submit("step", "--submission", "1", program="false")
    must(other.returncode == 65 and f"job {job} runs with other" in other.stderr, other.returncode, other.stderr)
    again = there.made("step", "--owner", "b", "--submission", "1", program=program)
    must((again["job"], again["decision"]) == (job, "attached"), again)
    with subprocess.Popen([PROGRAMS / "tony", "watch", "--json", job], env=environment(**there.env), text=True,
                          stdout=subprocess.PIPE, cwd=WORK) as watch:
        must(json.loads(watch.stdout.readline())["state"] == "RUNNING", "watch: what is")
        go.touch()
        states = [json.loads(line)["state"] for line in watch.stdout]
    must(states[-1] == "SUCCEEDED", "watch: what becomes of it:", states)
    must(there.tony("wait", job).returncode == 0, "wait")
    must(there.told("outputs", job)["outputs"] == {"loss": 1}, there.tony("outputs", job))

    adopted = there.made("step", "--owner", "c", "--submission", "1", program=program)
    must((adopted["job"], adopted["decision"]) == (job, "adopted"), adopted)
    must(here.told("find", "--request-id", "step")["adopter"] == "c", here.told("find", "--request-id", "step"))
    must(not here.told("ack", job, "--owner", "b")["acked"], "b has it no more")
    must(here.told("ack", job, "--owner", "c")["acked"] and there.told("status", job)["acked"], "ack")
    anew = there.made("step", "--owner", "d", "--submission", "1", "--first-try", program=program)
    must(anew["decision"] == "created" and anew["job"] != job, "its result was consumed:", anew)
    must(here.tony("wait", anew["job"]).returncode == 0, "wait")
    must(there.tony("history").stdout.count("application_") == 0, "the list of what has ended is each machine's own")
    nothing_is_left_of(anew["job"])


def a_running_job_is_killed_from_another_machine():
    here, there = Machine("killed-here"), Machine("killed-there")
    job = here.made("endless", "--owner", "a", program="sleep 600")["job"]
    runs(job)
    must(there.told("kill", "--request-id", "endless", "--if-owner", "a")["killed"], "kill")
    late = here.submit("endless", "--owner", "a", program="sleep 600")
    must(late.returncode == 77 and "revoked by a kill" in late.stderr, "its owner was told:", late.returncode, late.stderr)
    must(here.told("status", job)["state"] == "KILLED", here.told("status", job))
    nothing_is_left_of(job)


def is_gone_on_with(user, cut, left):
    """Checks that another machine continues a submit that was killed, and that there is one job. `left` tells how many
    folders of jobs, jobs and applications the first machine leaves."""
    make_home(user)
    first, second = Machine(f"{user}-first", user), Machine(f"{user}-second", user)
    conf = CutConfiguration(WORK / f"{user}-conf", CLUSTER / "conf", site)
    first.env["HADOOP_CONF_DIR"] = str(conf.folder)
    must(second.tony(*submit_words("-executes", "true", "-conf", "tony.worker.instances=1", "--detach")).returncode == 0,
         "what sends the programs")
    before = jobs_in_hdfs(user)
    conf.cut(cut)
    words = submit_words("-executes", "true", "-conf", "tony.worker.instances=1", "--request-id", "cut", "--owner", "a",
                         "--detach")
    client = cut.start([PROGRAMS / "tony", *words], env=environment(**first.env), cwd=WORK, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = client.communicate(timeout=LIMIT)
    must(client.returncode == -9, "it was not killed:", client.returncode, out, err)
    folders = {one for one in jobs_in_hdfs(user) - before if one.startswith("application_")}
    made = {one for one in folders if second.tony("status", one).returncode == 0}
    submitted = {one for one in folders if application(one)["state"] != "NEW"}
    must((len(folders), len(made), len(submitted)) == left, folders, made, submitted)
    found = second.tony("find", "--request-id", "cut")
    must(found.returncode == (0 if made else 66), "find:", found.returncode, found.stdout, found.stderr)
    ran = second.submit("cut", "--owner", "b")
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    job = second.told("find", "--request-id", "cut")["job"]
    must(not made or {job} == made, job, made)
    whole = {one for one in jobs_in_hdfs(user) - before if second.tony("status", one).returncode == 0}
    must(whole == {job}, "not one job:", whole, job)
    nothing_is_left_of(job)
    print(f"   the second submit took {ran.seconds:.1f} s", flush=True)


def where_the_request_is(user):
    return f"destination=/user/{user}/.tony/requests/"


def another_machine_continues_a_submit_killed_before_the_request_record_was_written():
    is_gone_on_with("unwritten", CutWhere(where_the_request_is("unwritten")), (1, 0, 0))


def another_machine_continues_a_submit_killed_after_the_request_record_was_written():
    is_gone_on_with("written", CutWhere(where_the_request_is("written"), after=True), (1, 0, 0))


def another_machine_continues_a_submit_killed_before_the_job_record_was_written():
    is_gone_on_with("unmade", CutWhere("submission.json"), (1, 0, 0))


def another_machine_continues_a_submit_killed_after_the_job_record_was_written():
    is_gone_on_with("made", CutWhere("submission.json", after=True), (1, 1, 0))


def another_machine_continues_a_submit_killed_before_its_call_of_submit_application():
    is_gone_on_with("unasked", CutWhere("submitApplication"), (1, 1, 0))


def another_machine_continues_a_submit_killed_after_its_call_of_submit_application():
    is_gone_on_with("asked", CutWhere("submitApplication", after=True), (1, 1, 1))


def record_of(request, user="root"):
    name = hashlib.sha256(request.encode()).hexdigest()
    return f"/user/{user}/.tony/requests/{name[:2]}/{name[2:]}.1.json"


def gc_removes_the_record_of_a_request_together_with_its_job():
    here, there = Machine("gc-here"), Machine("gc-there")
    job = here.made("old")["job"]
    must(there.tony("wait", job).returncode == 0, "wait")
    nothing_is_left_of(job)
    path = record_of("old")
    (found,) = json.loads(hdfs("GET", path, **{"op": "GETXATTRS", "xattr.name": "user.tony.bytes",
                                               "encoding": "text"}))["XAttrs"]
    record = {**json.loads(found["value"][1:-1]), "written": LONG_AGO}
    hdfs("PUT", path, **{"op": "SETXATTR", "xattr.name": "user.tony.bytes", "xattr.value": json.dumps(record),
                         "flag": "REPLACE"})
    must(there.told("gc")["requests"] == 0, "its job is there")
    must(here.told("find", "--request-id", "old")["job"] == job, "find")
    done = there.told("gc", "--older-than", "0m")
    must(job in done["jobs"] and done["requests"] == 1, done)
    must(here.tony("find", "--request-id", "old").returncode == 66, "it is forgotten")
    try:
        hdfs("GET", path, op="GETFILESTATUS")
        must(False, "its record is there")
    except urllib.error.HTTPError as missing:
        must(missing.code == 404, missing)


def another_machine_finds_a_request_of_an_older_release_after_its_resubmit():
    here, there = Machine("older-here"), Machine("older-there")
    job = there.made("other")["job"]
    must(there.tony("wait", job).returncode == 0, "wait")
    folder = here.home / "yarn" / "requests" / hashlib.sha256(b"older").hexdigest()
    folder.mkdir(parents=True, mode=0o700)
    (folder / "record.json").write_text(json.dumps({"schema": 2, "request_id": "older", "newest_submission": 0,
                                                    "job": job, "submission": 0}))
    must(here.told("find", "--request-id", "older")["job"] == job, "find")
    must(there.tony("find", "--request-id", "older").returncode == 66, "there it is not known yet")
    adopted = here.made("older", "--owner", "a")
    must((adopted["job"], adopted["decision"]) == (job, "adopted"), adopted)
    must(there.told("find", "--request-id", "older")["job"] == job, "it was carried over")


def a_second_machine_that_names_the_same_cluster_finds_the_job_of_a_request():
    places = {"hdfs": ("fs.defaultFS", "dfs.namenode.http-address"),
              "yarn": ("yarn.resourcemanager.address", "yarn.resourcemanager.scheduler.address")}
    words = []
    for name, keys in places.items():
        text = "".join(f"<property><name>{key}</name><value>{site(key)}</value></property>" for key in keys)
        (WORK / f"{name}.xml").write_text(f"<configuration>{text}</configuration>")
        words += ["-conf", f"tony.application.{name}-conf-path={WORK}/{name}.xml"]
    here, there = Machine("named-here"), Machine("named-there")
    here.env["HADOOP_CONF_DIR"] = there.env["HADOOP_CONF_DIR"] = ""
    job = here.made("named", "--owner", "a", *words)["job"]
    must(here.tony("wait", job).returncode == 0, "wait")
    adopted = there.made("named", "--owner", "b", *words)
    must((adopted["job"], adopted["decision"]) == (job, "adopted"), adopted)
    must(there.told("find", "--request-id", "named")["job"] == job, "find")
    notes = sorted(one.name for one in (there.home / "yarn" / "clusters").iterdir())
    must(notes == [job], "of an id that was not used there is a note:", notes)


TOGETHER = (
    every_verb_works_on_a_job_that_was_submitted_on_another_machine,
    simultaneous_submits_of_one_request_from_two_machines_create_one_job,
    another_machine_continues_a_submit_killed_after_the_job_record_was_written,
    another_machine_continues_a_submit_killed_before_the_job_record_was_written,
    another_machine_continues_a_submit_killed_before_the_request_record_was_written,
    another_machine_continues_a_submit_killed_after_the_request_record_was_written,
    another_machine_continues_a_submit_killed_before_its_call_of_submit_application,
    another_machine_continues_a_submit_killed_after_its_call_of_submit_application,
    a_running_job_is_killed_from_another_machine,
    another_machine_finds_a_request_of_an_older_release_after_its_resubmit,
    a_second_machine_that_names_the_same_cluster_finds_the_job_of_a_request,
)
ALONE = (gc_removes_the_record_of_a_request_together_with_its_job,)  # it removes files that others need
DEFAULT = (
    every_verb_works_on_a_job_that_was_submitted_on_another_machine,
    simultaneous_submits_of_one_request_from_two_machines_create_one_job,
    another_machine_continues_a_submit_killed_after_the_job_record_was_written,
    a_second_machine_that_names_the_same_cluster_finds_the_job_of_a_request,
)
