"""A job with many secrets on a cluster with Kerberos, and a search for them in everything that others can see, while the
job runs and after its end."""

import base64
import http.client
import json
import os
import pathlib
import re
import subprocess
import threading
import time
import urllib.parse

from common import (CLUSTER, PROGRAMS, RM_WEB, WORK, begun, end, environment, hdfs, must, nothing_is_left_of,
                    open_by_curl, open_one_of, parent_of, resource_manager, runs, site, submit_words, tony)
from scenarios_kerberos import IS_PAIR, NAME_NODE, kdc
from scenarios_page import Links, first_bytes, listening
from token_file import read

RMS = [site(RM_WEB + end) for end in ((".rm1", ".rm2") if IS_PAIR else ("",))]
PLANTED = {name: f"hush-{os.urandom(8).hex()}" for name in (
    "a secret variable", "a printed secret", "a variable of the tasks", "the submitter's environment", "a secret key",
    "a file of the program")}
GIVEN = {"a secret variable", "a printed secret", "a variable of the tasks"}  # to the task
# Each client of WebHDFS sends its token in the address, which NameNodes and DataNodes log.
LOGGED = {"the password of a token of kind HDFS_DELEGATION_TOKEN"}


def forms(secret):
    """Returns the forms in which bytes may be written: raw, hexadecimal, for URLs, and at any place in base64."""
    found = {secret, secret.hex().encode(), secret.hex().upper().encode(), urllib.parse.quote(secret).encode()}
    for skip in range(3):
        first, last = -(-skip * 8 // 6), (skip + len(secret)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(bytes(skip) + secret)[first:last])
    return found


class Search:
    def __init__(self):
        self.secrets, self.found, self.places = {}, set(), 0

    def add(self, name, secret):
        secret = secret.encode() if isinstance(secret, str) else secret
        must(len(secret) >= 8, name, "is too short to be found")
        self.secrets.setdefault(name, set()).update(forms(secret))

    def add_key(self, name, pem):
        """Each line of a private key, and the number itself."""
        lines = [line for line in pem.split("\n") if line and "-----" not in line]
        der = base64.b64decode("".join(lines))
        for part in (*(line for line in lines if len(line) == 64), der, der[der.index(b"\x04\x20") + 2:][:32]):
            self.add(name, part)

    def names_in(self, content):
        content = content.encode() if isinstance(content, str) else content
        return {name for name, forms in self.secrets.items() if any(form in content for form in forms)}

    def look(self, place, content, allowed=()):
        self.places += 1
        self.found |= {f"{place} has {name}" for name in self.names_in(content) if name not in allowed}


class Processes(threading.Thread):
    """Collects the command line and the environment of each process from start() to stop(). A process that executes
    another program counts again."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen, self.parents, self.stopped = {}, {}, threading.Event()

    def run(self):
        while not self.stopped.wait(0.02):
            for folder in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    words = (folder / "cmdline").read_bytes()
                    self.seen.setdefault((int(folder.name), words), (folder / "environ").read_bytes())
                    self.parents.setdefault(int(folder.name), parent_of(int(folder.name)))
                except (OSError, IndexError):
                    pass

    def stop(self):
        self.stopped.set()
        self.join()

    def descends(self, pid, ancestors):
        while pid and pid not in ancestors:
            pid = self.parents.get(pid)
        return bool(pid)


def files_below(root):
    """Returns the files below a folder, and whether other users of the machine can read them."""
    waiting = [(root, True)]
    while waiting:
        folder, is_open = waiting.pop()
        for entry in os.scandir(folder):
            mode = entry.stat(follow_symlinks=False).st_mode
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, is_open and bool(mode & 0o001)))
            elif entry.is_file(follow_symlinks=False):
                yield entry.path, pathlib.Path(entry.path).read_bytes(), is_open and bool(mode & 0o004)


def in_hdfs(path):
    """Returns the content of a file in HDFS and of its attributes, which have the small records of jobs."""
    with open_one_of("dfs.namenode.http-address", (".pair.nn1", ".pair.nn2"),
                     f"/webhdfs/v1{urllib.parse.quote(path)}?op=OPEN") as content:
        attributes = json.loads(hdfs("GET", path, op="GETXATTRS", encoding="hex"))["XAttrs"]
        return content.read() + b"".join(bytes.fromhex(attribute["value"][2:]) for attribute in attributes)


def files_in_hdfs(since):
    """As files_below(), for the files of HDFS that were written since a time."""
    waiting = [("", True)]
    while waiting:
        folder, is_open = waiting.pop()
        for entry in json.loads(hdfs("GET", folder or "/", op="LISTSTATUS"))["FileStatuses"]["FileStatus"]:
            path, mode = f"{folder}/{entry['pathSuffix']}", int(entry["permission"], 8)
            if entry["type"] == "DIRECTORY":
                waiting.append((path, is_open and bool(mode & 0o001)))
            elif entry["modificationTime"] >= since * 1000:
                yield f"hdfs:{path}", in_hdfs(path), is_open and bool(mode & 0o004)


def web_pages(job):
    """Returns the addresses of the pages and answers of all daemons, in particular those about the job."""
    nodes = [node["nodeHTTPAddress"] for node in resource_manager("nodes")["nodes"]["node"]]
    for host in (NAME_NODE, *RMS, *nodes):
        yield from (f"{host}/{path}" for path in ("conf", "jmx", "stacks", "logs/"))
    attempt = f"appattempt_{job[12:]}_000001"
    containers = [f"container_{job[12:]}_01_00000{number}" for number in (1, 2)]
    for path in ("cluster/apps", f"cluster/app/{job}", f"cluster/appattempt/{attempt}", "cluster/scheduler",
                 *(f"ws/v1/cluster/{path}" for path in ("info", "apps", f"apps/{job}", f"apps/{job}/appattempts",
                                                        f"apps/{job}/appattempts/{attempt}/containers")),
                 *(f"cluster/container/{container}" for container in containers)):
        yield from (f"{host}/{path}" for host in RMS)
    for host in nodes:
        for path in ("node/allApplications", f"node/application/{job}", "node/allContainers", "ws/v1/node/apps",
                     f"ws/v1/node/apps/{job}", "ws/v1/node/containers"):
            yield f"{host}/{path}"
        for container in containers:
            for path in (f"node/container/{container}", f"ws/v1/node/containers/{container}",
                         f"ws/v1/node/containers/{container}/logs",
                         *(f"node/containerlogs/{container}/root/{name}/?start=0"
                           for name in ("am.log", "executor.log", "launch_container.sh", "directory.info"))):
                yield f"{host}/{path}"


def own_page(job):
    """Returns the documents of the job's page, as the master gives them to YARN's proxy."""
    (port,) = [port for port in listening(job) if first_bytes("127.0.0.1", port).startswith(b"HTTP/1.1 200")]
    waiting, found = ["/"], {}
    while waiting:
        path = waiting.pop()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", path, headers={"Cookie": "proxy-user=root"})
        answer = connection.getresponse()
        found[path] = answer.read().decode()
        must(answer.status == 200, path, answer.status)
        links = Links(path, found[path]).found if answer.headers.get_content_type() == "text/html" else []
        waiting += {link for link in links if link.startswith("/")} - {*found, *waiting}
    return found


def start(*words):
    """Starts a command with the secret variables."""
    reading, writing = os.pipe()
    os.write(writing, json.dumps({"DB_PASSWORD": PLANTED["a secret variable"], "PRINTED": PLANTED["a printed secret"]}).encode())
    os.close(writing)
    more = {"MY_TOKEN": PLANTED["the submitter's environment"], "KRB5CCNAME": f"{WORK}/cache",
            "KRB5_CLIENT_KTNAME": f"{CLUSTER}/kdc/root.keytab"}
    client = subprocess.Popen([PROGRAMS / "tony", words[0], "--secrets-fd", str(reading), *words[1:]], text=True, cwd=WORK,
                              env=environment(**more), pass_fds=[reading], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(reading)
    return client


def answers(job, words):
    """Returns the output of commands about the job."""
    for more in ((), ("--json",), ("--explain",), ("--task", "worker:0")):
        code, text = end(start("plan", *more, *words))
        must(code == 0, code, text)
        yield f"tony plan {' '.join(more)}", text
    for verb in (("status", job), ("status", "--json", job), ("list", "--json"), ("logs", job), ("history", job),
                 ("history", "--json", job), ("history", job, "--conf"), ("doctor", "--yarn")):
        ran = tony(*verb)
        yield f"tony {' '.join(verb)}", ran.stdout + ran.stderr


class Bed:
    """The job, whose task prints a secret and fails when it gets the order."""

    def __init__(self):
        source = WORK / "source"
        source.mkdir()
        command = f"until [ -e {WORK}/go ]; do sleep 0.1; done; echo $PRINTED; echo $PRINTED >&2; exit 3"
        os.umask(0o077)  # for the user's own files
        (source / "train.sh").write_text(f"# {PLANTED['a file of the program']}\n{command}\n")
        (WORK / "job.properties").write_text(f"tony.execution.envs=CLIENT_SECRET={PLANTED['a variable of the tasks']}\n"
                                             f"tony.secret.key={PLANTED['a secret key']}\n")
        # The words of submit_words() without the verb.
        self.words = (f"{WORK}/job.properties", *submit_words(
            "-src_dir", source, "-executes", "sh train.sh", "-conf", "tony.worker.instances=1", "-conf",
            f"tony.history.location=hdfs:///tmp/history-{WORK.name}")[1:])
        self.search, self.began, self.processes = Search(), time.time(), Processes()
        self.processes.start()
        self.client = start("submit", *self.words)
        self.job = self.client.stdout.readline().strip()
        begun.append((self.client, self.job))
        self.task = runs(self.job)["tasks"][0]["pid"]
        self._know()

    def _know(self):
        """Collects the secrets, most of them from the token files of the containers."""
        for name, secret in PLANTED.items():
            self.search.add(name, secret)
        files = list(CLUSTER.glob(f"node*/local/usercache/root/appcache/{self.job}/container*/container_tokens"))
        must(len(files) == 2, "the token files of two containers:", files)
        for file in files:
            tokens, records = read(file.read_bytes())
            for _, password, kind, _ in tokens:
                self.search.add(f"the password of a token of kind {kind.decode()}", password)
            for alias, secret in records.items():
                if alias.endswith(".key"):
                    self.search.add_key(f"the key {alias}", secret.decode())
                elif alias == "tony.token":
                    self.search.add("the job's token", secret)
        keys = json.loads(in_hdfs(f"/user/root/.tony/jobs/{self.job}/tls.json"))
        self.search.add_key("the key of clients", keys["client"]["key"])
        for key in re.findall(r"\(0x(\w+)\)", kdc("klist", "-k", "-K", f"{CLUSTER}/kdc/root.keytab")):
            self.search.add("a key of the keytab", bytes.fromhex(key))
        self.search.add("the job's token", in_hdfs(f"/user/root/.tony/jobs/{self.job}/token"))
        kinds = sorted(name.split()[-1] for name in self.search.secrets if "of kind" in name)
        must(kinds == ["HDFS_DELEGATION_TOKEN", "RM_DELEGATION_TOKEN", "YARN_AM_RM_TOKEN"], kinds)

    def look_at_processes(self):
        self.processes.stop()
        for (pid, words), variables in self.processes.seen.items():
            self.search.look(f"the command line {words[:60]}", words)
            is_task = self.processes.descends(pid, {self.task})
            is_client = self.processes.descends(pid, {os.getpid()})
            self.search.look(f"the environment of {words[:60]}", variables,
                             GIVEN if is_task else {"the submitter's environment"} if is_client else ())
        must(any(GIVEN <= self.search.names_in(variables) for variables in self.processes.seen.values()),
             "the task's own environment was not seen")

    def look_at_files(self, in_jobs_folder):
        """No file that others can read has a secret. `in_jobs_folder` are the records with secrets in the job's folder
        in HDFS."""
        keeping = set()
        for root in (WORK, *(CLUSTER / name for name in ("log", "node1/local", "node1/logs", "node2/local", "node2/logs"))):
            for path, content, is_open in files_below(root):
                if path.endswith(("/stdout", "/stderr")):
                    self.search.look(path, content, {"a printed secret"} if not is_open else ())
                elif is_open or re.search("/logs?/|launch_container", path):
                    self.search.look(path, content, LOGGED if re.search("log/(namenode|datanode)", path) else ())
                else:
                    keeping |= self.search.names_in(content)
        records = set()
        for path, content, is_open in files_in_hdfs(self.began):
            if is_open:
                self.search.look(path, content)
            elif self.search.names_in(content) and f"/jobs/{self.job}/" in path:
                records.add(path.partition(f"/jobs/{self.job}/")[2])
        must({"the job's token", "a secret variable"} <= keeping, "the search did not find", keeping)
        must(records == in_jobs_folder, "secrets are in the records", records)

    def look_at_answers(self, least):
        for place, text in answers(self.job, self.words):
            self.search.look(place, text)
        found = 0
        for address in web_pages(self.job):
            try:
                with open_by_curl(f"http://{address}") as page:
                    self.search.look(address, page.read())
                    found += 1
            except OSError:
                pass  # a page of another node, or of a container that has ended
        must(found >= least, "only", found, "pages of daemons")

    def nothing_is_found(self):
        must(self.search.places > 100, "only", self.search.places, "places")
        must(not self.search.found, "; ".join(sorted(self.search.found)))


def no_secret_of_a_job_is_where_others_can_see_it():
    bed = Bed()
    bed.look_at_answers(40)
    for path, text in own_page(bed.job).items():
        bed.search.look(f"the page {path}", text)
    bed.look_at_files({"token", "secrets", "tls.json", "spec.json"})
    (WORK / "go").touch()
    code, text = end(bed.client)
    must(code == 1 and "exit code 3" in text and "***" in text, code, text)
    bed.search.look("the client's output", text)
    nothing_is_left_of(bed.job)
    bed.look_at_processes()
    bed.look_at_answers(30)
    bed.look_at_files({"spec.json"})
    bed.nothing_is_found()


TOGETHER = []
ALONE = [no_secret_of_a_job_is_where_others_can_see_it]
DEFAULT = []
