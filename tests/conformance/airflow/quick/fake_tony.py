"""A stand-in for `tony`: a program that plays the jobs that a test has scripted and records each call.

Its folder is its world: `script.json` holds what the test wants to happen, `jobs.json` the known jobs, and
`calls.jsonl` the calls and their answers. World (world.py) writes the first file and reads the last one. It checks the
answers against the schemas, so that this program cannot drift from the real one.
"""

import fcntl
import io
import json
import os
import select
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FINAL = ("SUCCEEDED", "FAILED", "KILLED")
PAGED = ("RUNNING", "RESTARTING", "STOPPING")  # the states in which an application master shows the job's page
TURN = 0.02  # seconds between two checks
STOPPING_TIME = 0.1  # seconds that a killed job takes to end
ERRORS = {64: "usage", 65: "spec_invalid", 66: "not_found", 69: "unavailable", 70: "internal", 77: "auth"}
FLAGS = {"--json", "--detach", "--no-wait", "--first-try"}


class Failure(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message

    def document(self):
        return {"code": self.code, "class": ERRORS[self.code], "message": self.message, "retryable": self.code == 69}


class Store:
    """Access to `jobs.json` for one process at a time."""

    def __init__(self):
        self.path = os.path.join(HERE, "jobs.json")
        self.lock_path = os.path.join(HERE, "lock")

    def __enter__(self):
        self.lock = open(self.lock_path, "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        try:
            with open(self.path) as file:
                self.world = json.load(file)
        except FileNotFoundError:
            self.world = {"jobs": {}, "revoked": [], "newest": {}, "mischief": {}}
        return self.world

    def __exit__(self, *failure):
        with open(self.path + ".new", "w") as file:
            json.dump(self.world, file)
        os.replace(self.path + ".new", self.path)
        self.lock.close()


def script():
    with open(os.path.join(HERE, "script.json")) as file:
        return json.load(file)


def note(**what):
    line = json.dumps({**what, "pid": os.getpid(), "time": time.time()}) + "\n"
    handle = os.open(os.path.join(HERE, "calls.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)  # not every file system appends whole lines
    os.write(handle, line.encode())
    os.close(handle)


def answer(document, code=0):
    line = json.dumps(document)
    note(answered=document, code=code)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return code


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03}Z"


# A job's course consists of [when, state] pairs. The newest pair that is due gives its state.
def course(job):
    return [step for step in job["course"] if step[0] <= time.time()]


def state(job):
    return course(job)[-1][1]


def force(job, *steps):
    job["course"] = course(job) + [[time.time() + delay, word] for delay, word in steps]


def verdict(job, ended_as):
    if ended_as == "SUCCEEDED":
        said = {"class": "success", "retryable": False, "message": "all tracked tasks succeeded"}
    elif ended_as == "KILLED":
        said = {"class": "killed", "retryable": False, "message": job.get("reason") or "tony kill"}
    else:
        said = {"class": "user_error", "retryable": True, "message": "worker:0 failed: exit code 3 (user_error)",
                "task": "worker:0", "attempt": 1, "exit_code": 3}  # fmt: skip
    said.update({"state": ended_as, "host": "127.0.0.1", "stderr_tail": ""})
    said.update(job["verdict"] if ended_as != "SUCCEEDED" else {})
    return {name: value for name, value in said.items() if value is not None}


def status(job):
    now = state(job)
    task = {"task": "worker:0", "state": "done" if now in FINAL else "active", "attempt": 1, "host": "127.0.0.1",
            "attempt_state": {"SUCCEEDED": "succeeded", "FAILED": "failed", "KILLED": "killed"}.get(now, "running"),
            "pid": 0, "suspect": False}  # fmt: skip
    document = {
        "schema": 1, "job": job["job"], "name": "played", "user": "somebody", "framework": "standalone", "state": now,
        "seq": len(course(job)) + job["bumps"], "epoch": 1, "generation": 1, "submitted": iso(job["submitted"]),
        "tasks": [{**task, "task": name} for name in (task["task"], *script()["beside"])], "restart_count": 0, "restarts": [],
        "request_id": job["request_id"], "submission": job["submission"],
    }  # fmt: skip
    for name in ("owner", "watcher"):
        if job[name]:
            document[name] = job[name]
    if now in PAGED:
        document["tracking_url"] = "http://127.0.0.1:1/" + job["job"] + "/"
    document.update({} if now in FINAL else script()["more"])
    if now in FINAL:
        document.update(verdict=verdict(job, now), ended=iso(course(job)[-1][0]))
        if job["acked"]:
            document["acked"] = True
        if now == "SUCCEEDED" and script()["outputs_problem"]:
            document["outputs_problem"] = script()["outputs_problem"]
    return document


def find(world, job_id):
    if job_id not in world["jobs"]:
        raise Failure(66, f'job "{job_id}" is not in {HERE}')
    return world["jobs"][job_id]


def newest(world, request_id):
    jobs = [job for job in world["jobs"].values() if job["request_id"] == request_id]
    return jobs[-1] if jobs else None


def kill(job, reason):
    job["reason"] = reason
    force(job, [0, "STOPPING"], [STOPPING_TIME, "KILLED"])


def submit(options, words, stdin):
    document = json.loads(stdin)
    request, number, owner = options["--request-id"], int(options["--submission"]), options["--owner"]
    with Store() as world:
        if number < world["newest"].get(request, 0):
            raise Failure(77, f"request {request}: a submission newer than {number} exists; nothing was submitted")
        if owner in world["revoked"]:
            raise Failure(77, f"request {request}: owner {owner} was revoked by a kill before this submit")
        world["newest"][request] = number
        job, decision = newest(world, request), "created"
        policy = options.get("--on-existing", "adopt")
        digest = digest_of(document)
        run = options.get("--run", "")
        same = job and job["submission"] == number
        is_anothers = bool(job and run and job["run"] and job["run"] != run)
        first = "--first-try" in options or is_anothers
        differs = bool(job) and job["digest"] != digest
        if same and state(job) == "SUCCEEDED" and policy == "adopt" and not is_anothers:
            if not (job["acked"] and first) and (not differs or not (first or job["acked"])):
                decision = "adopted"
        elif job and state(job) not in FINAL + ("STOPPING",):
            if same and policy != "never" and not (differs and first):
                decision = "attached"
            else:
                kill(job, "replaced")
        if decision == "created":
            job = create(world, request, number, digest)
        job["run"] = run or job["run"]
        if decision == "adopted":  # An ended job does not change; the request records whose result was adopted.
            job["adopter"] = owner
        else:
            job.update(owner=owner, document=document, bumps=job["bumps"] + 1)
    differs = differs and decision != "created"
    return answer({"schema": 1, "job": job["job"], "request_id": request, "submission": number, "decision": decision,
                   "spec_differs": differs, **({"differs_in": ["environment"]} if differs else {}),
                   "warnings": script()["warnings"]})  # fmt: skip


def digest_of(document):
    """Computes a digest that follows one rule of the real one: values of secrets are not part of it."""
    return json.dumps({**document, "secrets": sorted(document.get("secrets", {}))}, sort_keys=True)


def create(world, request, number, digest):
    now, wanted = time.time(), script()
    job = {"job": f"played-{len(world['jobs']) + 1}", "request_id": request, "submission": number,
           "submitted": now, "run": "",
           "course": [[now + delay, word] for delay, word in wanted["timeline"]], "verdict": wanted["verdict"],
           "outputs": wanted["outputs"], "owner": "", "watcher": "", "acked": False, "bumps": 0, "digest": digest}  # fmt: skip
    world["jobs"][job["job"]] = job
    return job


def look(world, options, job_id):
    job = find(world, job_id)
    if options.get("--watcher"):
        job["watcher"] = options["--watcher"]
    return job, status(job)


def wait(options, words, stdin):
    limit = time.time() + float(options.get("--timeout", 3600))
    since = int(options["--since"]) if "--since" in options else None
    while True:
        with Store() as world:
            job, document = look(world, options, words[0])
        if document["state"] in FINAL:
            return answer(document, 0 if document["state"] == "SUCCEEDED" else 1)
        anothers = bool(options.get("--owner")) and options["--owner"] != job["owner"]
        if anothers or (since is not None and document["seq"] > since):
            return answer(document)
        if time.time() >= limit:
            if since is not None:
                return answer({**document, "timed_out": True})
            failure = Failure(69, f"job {words[0]} has not ended")
            return answer({**document, "timed_out": True, "error": failure.document()}, 69)
        time.sleep(TURN)


def watch(options, words, stdin):
    """Lines of standard input start and stop the watching of jobs. Each change is reported in one line."""
    told, open_input, buffer = {}, True, b""
    mischief = script()["watch"]
    dies = time.time() + mischief["life"] if mischief.get("life") else None
    while open_input or told:
        if open_input and select.select([0], [], [], TURN)[0]:
            chunk = os.read(0, 4096)
            open_input = bool(chunk)
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in filter(None, (line.decode().strip() for line in lines)):
                note(verb="watch input", line=line)
                told.pop(line.lstrip("-"), None)
                if not line.startswith("-"):
                    told[line] = None
        elif not open_input:
            time.sleep(TURN)
        if dies and time.time() > dies:
            if mischief.get("garbage"):
                sys.stdout.write("Killed\nnot JSON {\n")
                sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        tell(options, told)
    return 0


def tell(options, told):
    mischief = script()["watch"]
    for job_id in list(told):
        try:
            if mischief.get("unreachable"):
                raise Failure(69, "the application master does not answer")
            with Store() as world:
                document = look(world, options, job_id)[1]
        except Failure as failure:
            answer({"schema": 1, "job": job_id, "error": failure.document()})
            del told[job_id]
            continue
        if mischief.get("mute") or told[job_id] == document["seq"]:
            continue
        told[job_id] = document["seq"]
        answer(document)
        if document["state"] in FINAL:
            del told[job_id]


def kill_verb(options, words, stdin):
    owner, said = options.get("--if-owner"), {"killed": False, "planned": False, "fenced": False}
    with Store() as world:
        job = newest(world, options["--request-id"]) if "--request-id" in options else find(world, words[0])
        if job is None:
            world["revoked"].append(owner)
            return answer({"schema": 1, "job": None, "request_id": options["--request-id"], **said, "remembered": True})
        if state(job) in FINAL:
            said["killed"] = state(job) == "KILLED"
        elif owner not in (None, job["owner"]) or options.get("--if-watcher", job["watcher"]) != job["watcher"]:
            said["fenced"] = True
        elif options.get("--delay"):
            said["planned"] = True
        else:
            kill(job, options.get("--reason"))
            said["killed"] = True
        return answer({**status(job), **said})


def status_verb(options, words, stdin):
    with Store() as world:
        return answer(look(world, options, words[0])[1])


def find_verb(options, words, stdin):
    with Store() as world:
        job = newest(world, options["--request-id"])
        if job is None:
            raise Failure(66, f"request {options['--request-id']} has no job")
        adopter = {"adopter": job["adopter"]} if "adopter" in job else {}
        return answer({"schema": 1, "request_id": job["request_id"], "submission": job["submission"],
                       "job": job["job"], "state": state(job), **adopter})  # fmt: skip


def outputs(options, words, stdin):
    with Store() as world:
        job = find(world, words[0])
    if state(job) not in FINAL:
        raise Failure(69, f"job {words[0]} has not ended ({state(job)})")
    if script()["outputs_problem"]:
        raise Failure(65, script()["outputs_problem"])
    document = {"schema": 1, "job": words[0], "task": "worker:0", "outputs": job["outputs"]}
    if script()["output_problems"]:
        document["problems"] = script()["output_problems"]
    return answer(document)


def ack(options, words, stdin):
    with Store() as world:
        job = find(world, words[0])
        if state(job) not in FINAL:
            raise Failure(65, f"job {words[0]} has not ended, so its result cannot be acknowledged")
        mine = options["--owner"] == job.get("adopter", job["owner"])
        job["acked"] = job["acked"] or mine
    return answer({"schema": 1, "job": words[0], "acked": mine})


def logs(options, words, stdin):
    with Store() as world:
        find(world, words[0])
    entries = []
    for entry in script()["logs"]:
        if len(words) > 1 and entry["task"] != words[1].split("#")[0]:
            continue
        lines = entry["text"].splitlines(keepends=True)
        tail = int(options.get("--tail", len(lines)))
        entries.append({**entry, "text": "".join(lines[len(lines) - min(tail, len(lines)):])})  # fmt: skip
    return answer({"schema": 1, "job": words[0], "entries": entries, "cursor": "end", "eof": True})


def version(options, words, stdin):
    return answer({"schema": 1, "version": "0.1.0", "schemas": script()["schemas"]})


def plan(options, words, stdin):
    json.loads(stdin)
    role = {"name": "worker", "instances": 1, "memory_mb": 1024, "vcores": 1, "gpus": 0, "command": "true",
            "completion": "tracked"}  # fmt: skip
    spec = {"schema": 1, "name": "played", "framework": "standalone", "mode": "GANG", "roles": [role]}
    return answer({"schema": 1, "warnings": [], "spec": {**spec, "execution_env": {}, "container_env": {}}})


VERBS = {"submit": submit, "wait": wait, "watch": watch, "kill": kill_verb, "status": status_verb, "find": find_verb,
         "outputs": outputs, "ack": ack, "logs": logs, "version": version, "plan": plan}  # fmt: skip


def read_command_line(arguments):
    words, options, rest = [], {}, list(arguments)
    while rest:
        word = rest.pop(0)
        if word in FLAGS:
            options[word] = True
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            options[name] = value if equals else rest.pop(0)
        else:
            words.append(word)
    return words[0], options, words[1:]


def mischief_of(verb):
    """Returns the fault for this call of the verb: the next one in the list that the test has scripted."""
    planned = script()["mischief"].get(verb, [])
    with Store() as world:
        done = world["mischief"].get(verb, 0)
        world["mischief"][verb] = done + 1
    if not planned:
        return {}
    return planned[done] if done < len(planned) else planned[-1] if planned[-1].get("always") else {}


def misbehave(mischief):
    """Ends the call as scripted, or returns after a delay."""
    if mischief.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(mischief.get("delay", 0))
    while mischief.get("hang"):
        time.sleep(1)
    if "signal" in mischief:
        os.kill(os.getpid(), mischief["signal"])
    if "stderr" in mischief:
        sys.stderr.write(mischief["stderr"])
    if "stdout" in mischief:
        sys.stdout.write(mischief["stdout"])
        sys.stdout.flush()
    if "error" in mischief:
        failure = Failure(mischief["error"], mischief.get("message", "scripted trouble"))
        sys.stderr.write(f"tony: {failure.message}\n")
        os._exit(answer({"schema": 1, "error": failure.document()}, failure.code))
    if "exit" in mischief:
        os._exit(mischief["exit"])


def main():
    verb, options, words = read_command_line(sys.argv[1:])
    stdin = sys.stdin.read() if "-" in words and verb != "watch" else None
    note(verb=verb, argv=sys.argv[1:], options=options, words=words, stdin=stdin, environment=dict(os.environ),
         cwd=os.getcwd(), parent=os.getppid(), session=os.getsid(0), group=os.getpgid(0))  # fmt: skip
    mischief = mischief_of(verb)
    if not mischief.get("after"):
        misbehave(mischief)
    try:
        if mischief.get("after"):  # the request is executed, but the caller learns it late or never
            aside, sys.stdout = sys.stdout, io.StringIO()
            code = VERBS[verb](options, words, stdin)
            said, sys.stdout = sys.stdout.getvalue(), aside
            misbehave(mischief)
            sys.stdout.write(said)
            return code
        return VERBS[verb](options, words, stdin)
    except Failure as failure:
        sys.stderr.write(f"tony: {failure.message}\n")
        return answer({"schema": 1, "error": failure.document()}, failure.code)


if __name__ == "__main__":
    code = main()
    note(exited=code)
    sys.exit(code)
