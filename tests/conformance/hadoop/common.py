"""Helpers that the checks of jobs on a real YARN share: the command line, and the cluster's view of a job.

Each of these programs is run as `NAME PROGRAMS_FOLDER CLUSTER_FOLDER`. PROGRAMS_FOLDER has tony, tony-executor and
tony-yarn-am.tar.gz; CLUSTER_FOLDER was made by `cluster start`.
"""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

NODES = {"localhost": "node1", "127.0.0.2": "node2"}  # the daemons of the hosts
LIMIT = float(os.environ.get("TONY_JOBS_LIMIT", "120"))  # seconds; far above any measured time
PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
CLUSTER = pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
KERBEROS = (CLUSTER / "kdc").exists()
HTTPS = (CLUSTER / "tls").exists()
# The site files of clients; on a cluster without WebHDFS or with AMRMProxies they differ from those of the daemons.
CONF = next(folder for folder in (CLUSTER / "conf-clients", CLUSTER / "conf") if folder.exists())
HAS_WEBHDFS = "dfs.webhdfs.enabled" not in (CONF / "hdfs-site.xml").read_text()
HAS_GATEWAY = (CLUSTER / "httpfs").exists()
HAS_VIEWFS = "viewfs://" in (CLUSTER / "conf/core-site.xml").read_text()
RM_WEB = "yarn.resourcemanager.webapp.https.address" if HTTPS else "yarn.resourcemanager.webapp.address"
VERSION = tuple(map(int, (CLUSTER / "cluster").read_text().split()[0].split(".")))  # of Hadoop, e.g. (3, 4, 3)
WORK = pathlib.Path(tempfile.mkdtemp(prefix="tony-yarn-jobs-"))  # a user's files and $TONY_HOME
# SIGINT is ignored in programs started in the background; our children would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)


class Failed(Exception):
    pass


def must(condition, *words):
    if not condition:
        raise Failed(" ".join(str(word) for word in words))


def site(key):
    for name in ("yarn-site.xml", "hdfs-site.xml", "core-site.xml"):
        found = re.search(f"<name>{re.escape(key)}</name><value>(.*?)</value>", (CLUSTER / "conf" / name).read_text())
        if found:
            return found.group(1)
    raise Failed(f"{key} is in no site file of {CLUSTER}")


def has_short_tokens():
    return "dfs.namenode.delegation.token.max-lifetime" in (CLUSTER / "conf/hdfs-site.xml").read_text()


def open_by_curl(url, method="GET", data=None):
    """Makes a request with the ticket of the cluster's owner if the cluster has Kerberos."""
    proof = ["--negotiate", "--user", ":"] if KERBEROS else []
    trust = ["--cacert", CLUSTER / "tls/ca.pem"] if HTTPS else []
    body = ["--header", "Content-Type: application/json", "--data", data] if data else []
    ran = subprocess.run(["curl", "--silent", "--location-trusted", *proof, *trust, "--noproxy", "*", "--max-time", "30",
                          "--request", method, *body, "--write-out", "%{http_code}", url], capture_output=True,
                         env=environment())
    body, code = ran.stdout[:-3], int(ran.stdout[-3:])
    if ran.returncode != 0:
        raise OSError(f"{url}: curl: {ran.returncode}")
    if code >= 400:
        raise urllib.error.HTTPError(url, code, body.decode(), None, io.BytesIO(body))
    return io.BytesIO(body)


def open_plain(url, **how):
    return urllib.request.urlopen(urllib.request.Request(url, **how), timeout=30)


def open_one_of(key, ids, path, **how):
    """Makes a request to the first of several servers that serves it. Their addresses are `key`, with the ids of the
    daemons behind it if the cluster has two of them."""
    text = "".join((CLUSTER / "conf" / f"{name}-site.xml").read_text() for name in ("hdfs", "yarn"))
    addresses = [found.group(1) for end in ("", *ids)
                 if (found := re.search(f"<name>{re.escape(key + end)}</name><value>(.*?)</value>", text))]
    scheme = "https" if key.endswith(("https-address", "https.address")) else "http"
    for address in addresses:
        try:
            return (open_by_curl if KERBEROS or HTTPS else open_plain)(f"{scheme}://{address}{path}", **how)
        except urllib.error.HTTPError as error:
            if address == addresses[-1] or error.code not in (403, 503):
                raise
        except OSError:
            if address == addresses[-1]:
                raise
    raise Failed(f"{key} is in no site file of {CLUSTER}")


acting = {}  # variables of all clients of a scenario, in addition to the usual ones


def environment(**more):
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(WORK),
        "TONY_HOME": str(WORK / "home"),
        "HADOOP_CONF_DIR": str(CONF),
        "HADOOP_USER_NAME": "root",
        **(ticket_of("root") if KERBEROS else {}),
        **acting,
        **more,
    }


def ticket_of(user):
    """Returns the variables that make Kerberos use the ticket of the cluster's owner or the keytab of another user."""
    place = {"KRB5CCNAME": f"{CLUSTER}/kdc/cache"} if user == "root" else {
        "KRB5CCNAME": f"{WORK}/cache-{user}", "KRB5_CLIENT_KTNAME": f"{CLUSTER}/kdc/{user}.keytab"}
    return {"KRB5_CONFIG": f"{CLUSTER}/kdc/krb5.conf", **place}


def tony(*words, program="tony", **more):
    began = time.monotonic()
    ran = subprocess.run([PROGRAMS / program, *words], env=environment(**more), text=True, capture_output=True,
                         timeout=LIMIT, cwd=WORK)
    ran.seconds = time.monotonic() - began
    return ran


def submit_words(*words):
    return ("submit", "-conf", "tony.scheduler=yarn", "-conf", "tony.application.framework=standalone",
            "-conf", "tony.application.distributed-mode=FCFS", "-conf", "tony.worker.memory=128m", *words)


def submit(*words, **more):
    return tony(*submit_words(*words), **more)


begun = []  # clients and their jobs


def begin(*words, **more):
    """Submits a job of plain tasks in the background; returns the client and the job's id."""
    return begin_client(*submit_words(*words), **more)


def begin_client(*words, **more):
    client = subprocess.Popen([PROGRAMS / "tony", *words], env=environment(**more), text=True, cwd=WORK,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    job = client.stdout.readline().strip()
    if not job.startswith("application_"):
        out, err = client.communicate(timeout=LIMIT)
        raise Failed("no application id:", job, out, err)
    begun.append((client, job))
    return client, job


def end_what_is_left():
    """Ends the clients of a failed scenario and the jobs that they follow."""
    for client, job in begun:
        if client.poll() is None:
            client.kill()
            client.communicate()
            tony("kill", job)
    begun.clear()


def end(client):
    out, err = client.communicate(timeout=LIMIT)
    return client.returncode, out + err


def hosts_of(job):
    return {task["host"] for task in status(job)["tasks"]}


def status(job):
    ran = tony("status", "--json", job)
    must(ran.returncode == 0, "status:", ran.returncode, ran.stderr)
    return json.loads(ran.stdout)


def until(fits, what):
    give_up = time.monotonic() + LIMIT
    while time.monotonic() < give_up:
        found = fits()
        if found:
            return found
        time.sleep(0.2)
    raise Failed("waited in vain for", what)


def runs(job):
    """Returns the job's status when one of its tasks runs."""

    def look():
        told = status(job)
        return told if any(task["pid"] for task in told["tasks"]) else None

    return until(look, f"{job} to run")


def resource_manager(path, user="root", **parameters):
    """Returns the ResourceManager's answer to a user by HTTP."""
    words = urllib.parse.urlencode({"user.name": user, **parameters})
    with open_one_of(RM_WEB, (".rm1", ".rm2"), f"/ws/v1/cluster/{path}?{words}") as answer:
        return json.load(answer)


def application(job, user="root"):
    try:
        return resource_manager(f"apps/{job}", user)["app"]
    except urllib.error.HTTPError:  # the id is printed before the application is submitted
        return {"state": "NEW", "finalStatus": "UNDEFINED", "diagnostics": ""}


def processes_of(job):
    """Returns the command lines of processes that have the job's id in their environment or command line, without
    this one."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            text = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
            if job.replace("application_", "").encode() in text:
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            pass
    return found


def end_masters(job):
    """Kills the job's application masters until YARN starts no other one."""

    def look():
        for pid, words in processes_of(job).items():
            if "bin/tony-yarn-am" in words:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return application(job)["state"] == "FAILED"

    until(look, f"{job} to fail")


def variables_of(pid):
    words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    return dict(word.split("=", 1) for word in words if "=" in word)


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def node_of(pid):
    """Returns the process of the NodeManager that started a container's process."""
    name = "node1" if variables_of(pid)["NM_HOST"] == "localhost" else "node2"
    return int((CLUSTER / "pid" / name).read_text().split()[0])


def nodes_run():
    """Returns whether the ResourceManager answers and both nodes are registered with it."""
    try:
        return resource_manager("metrics")["clusterMetrics"]["activeNodes"] == 2
    except OSError:
        return False


def nothing_is_left_of(job):
    until(lambda: application(job)["state"] in ("FINISHED", "FAILED", "KILLED"), f"{job} to end")
    until(lambda: not processes_of(job), f"the processes of {job} to end: {processes_of(job)}")


def hdfs(method, path, user="root", **parameters):
    """Makes one call of WebHDFS; returns the answer as text."""
    words = urllib.parse.urlencode({"user.name": user, **parameters})
    with open_one_of("dfs.namenode.https-address" if HTTPS else "dfs.namenode.http-address", (".pair.nn1", ".pair.nn2"),
                     f"/webhdfs/v1{urllib.parse.quote(path)}?{words}", method=method) as answer:
        return answer.read().decode()


def takes_writes():
    """Returns whether the NameNode is active and has left its safe mode."""
    try:
        return hdfs("PUT", "/tmp/takes-writes", op="MKDIRS")
    except OSError:
        return False


def applications(**wanted):
    """Returns the ids of the applications that the ResourceManager knows, optionally of one user or name only."""
    found = (resource_manager("apps")["apps"] or {"app": []})["app"]
    return {app["id"] for app in found if all(app[key] == value for key, value in wanted.items())}


def jobs_in_hdfs(user="root"):
    """Returns the names in the user's folder of jobs, including incomplete ones."""
    try:
        listed = json.loads(hdfs("GET", f"/user/{user}/.tony/jobs", op="LISTSTATUS"))
    except urllib.error.HTTPError:
        return set()
    return {entry["pathSuffix"] for entry in listed["FileStatuses"]["FileStatus"]}


def edited_conf(name, **changes):
    """Makes a copy of the clients' configuration in which one text of each given file is replaced."""
    conf = WORK / name
    shutil.rmtree(conf, ignore_errors=True)
    shutil.copytree(CONF, conf)
    for site_name, (old, new) in changes.items():
        file = conf / f"{site_name}-site.xml"
        must(old in file.read_text(), old)
        file.write_text(file.read_text().replace(old, new))
    return str(conf)


def cluster(verb, *words):
    ran = subprocess.run([HERE / "cluster", verb, CLUSTER, *words], text=True, capture_output=True, timeout=LIMIT)
    must(ran.returncode == 0, verb, words, ran.stdout, ran.stderr)


def restart(*daemons, meanwhile=lambda: time.sleep(3)):
    """Kills the daemons, calls `meanwhile`, and starts the daemons again."""
    for daemon in daemons:
        cluster("kill", daemon)
    try:
        meanwhile()
    finally:
        for daemon in daemons:
            cluster("begin", daemon)


@contextlib.contextmanager
def only(host):
    """Keeps the other node from sending heartbeats, so that the next AM runs on this host."""
    (other,) = NODES.keys() - {host}
    cluster("kill", NODES[other], "STOP")
    try:
        yield
    finally:
        cluster("kill", NODES[other], "CONT")


def dfsadmin(*words):
    cluster("java", "org.apache.hadoop.hdfs.tools.DFSAdmin", *words)


def put(path, content, **more):
    """Writes a file in HDFS and makes the folders above it."""
    place = json.loads(hdfs("PUT", path, op="CREATE", overwrite="true", noredirect="true", **more))["Location"]
    with urllib.request.urlopen(urllib.request.Request(place, data=content, method="PUT"), timeout=30):
        pass


def make_home(user):
    hdfs("PUT", f"/user/{user}", op="MKDIRS")
    hdfs("PUT", f"/user/{user}", op="SETOWNER", owner=user)


def perform(suite, name, scenario):
    """Runs a scenario, prints the result, and returns whether it passed."""
    began = time.monotonic()
    try:
        scenario()
    except Exception as why:  # a scenario that breaks has failed; the others still run
        told = "" if isinstance(why, Failed) else f"{type(why).__name__}: "
        print(f"FAILED {suite}: {name}: {told}{' '.join(str(why).split())}", flush=True)
        return False
    finally:
        end_what_is_left()
    print(f"ok {suite}: {name} ({time.monotonic() - began:.1f} s)", flush=True)
    return True


def run(suite, scenarios):
    """Runs each pair of name and function, one after the other; returns the exit code."""
    passed = [perform(suite, name, scenario) for name, scenario in scenarios]
    if all(passed):
        shutil.rmtree(WORK)
    return 0 if all(passed) else 1
