"""Jobs on a cluster with Kerberos (TONY_HADOOP_KERBEROS=1): users with a ticket, with a keytab, with tokens only, and
without any of them."""

import http.server
import json
import re
import shutil
import subprocess
import threading

from common import (
    CLUSTER,
    HERE,
    PROGRAMS,
    WORK,
    application,
    applications,
    begin,
    end,
    jobs_in_hdfs,
    must,
    nothing_is_left_of,
    restart,
    runs,
    site,
    status,
    submit,
    ticket_of,
    tony,
    until,
)
from token_file import write_new

ONE = ("-conf", "tony.worker.instances=1")


IS_PAIR = "dfs.ha.namenodes" in (CLUSTER / "conf/hdfs-site.xml").read_text()
NAME_NODE = site("dfs.namenode.http-address" + (".pair.nn1" if IS_PAIR else ""))
# Reads a token of Hadoop's Writable format, whose lengths fit into one or two bytes here.
USE_TOKEN = f"""
import base64, os, urllib.request
left = open(os.environ["HADOOP_TOKEN_FILE_LOCATION"], "rb").read()[6:]
def take():
    global left
    size, skip = (left[0], 1) if left[0] < 128 else (left[1], 2)
    text, left = left[skip:skip + size], left[skip + size:]
    return text
while True:
    take()
    begin = left
    take(), take()
    kind = take()
    take()
    if kind == b"HDFS_DELEGATION_TOKEN":
        break
token = base64.urlsafe_b64encode(begin[:len(begin) - len(left)]).rstrip(b"=").decode()
url = "http://{NAME_NODE}/webhdfs/v1/user?op=LISTSTATUS&delegation=" + token
print("listed", "pathSuffix" in urllib.request.urlopen(url).read().decode())
"""


def succeeds(ran, *texts):
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    for text in texts:
        must(text in ran.stdout + ran.stderr, text, "is missing in", ran.stdout, ran.stderr)
    return ran.stdout.split("\n")[0]


def refused(ran, code, *texts):
    must(ran.returncode == code, "exit", ran.returncode, ran.stdout, ran.stderr)
    must(len(ran.stderr.splitlines()) == 1, "more than one line", ran.stderr)
    for text in texts:
        must(text in ran.stderr, text, "is missing in", ran.stderr)


def nothing_is_sent(ask):
    """Checks that `ask` leaves neither an application nor a job in HDFS."""
    before = applications(), jobs_in_hdfs()
    ask()
    must((applications(), jobs_in_hdfs()) == before, "a refused submit left something behind")


def kdc(*words):
    ran = subprocess.run([HERE / "kdc", "run", CLUSTER / "kdc", *words], text=True, capture_output=True, timeout=60)
    must(ran.returncode == 0, words, ran.stdout, ran.stderr)
    return ran.stdout


def conf_with(changes):
    """Returns a configuration folder in which some values are changed."""
    folder = WORK / "conf"
    shutil.copytree(CLUSTER / "conf", folder)
    for file in folder.glob("*-site.xml"):
        text = file.read_text()
        for key, value in changes.items():
            text = re.sub(f"(<name>{re.escape(key)}</name><value>).*?<", rf"\g<1>{value}<", text)
        file.write_text(text)
    return str(folder)


def a_user_with_a_keytab_runs_a_gang_and_reads_its_logs():
    eve = ticket_of("eve")
    client, job = begin("-executes", f"echo I am task $TASK_INDEX; until [ -e {WORK}/go ]; do sleep 0.1; done",
                        "-conf", "tony.worker.instances=2", "-conf", "tony.application.framework=tensorflow", **eve)
    until(lambda: tony("logs", job, **eve).stdout.count("I am task") == 2, "the logs of both tasks")
    (WORK / "go").touch()
    code, text = end(client)
    must(code == 0, code, text)
    succeeds(tony("status", job, **eve), "SUCCEEDED")
    must(job in jobs_in_hdfs("eve"), "the job is not in eve's folder")
    nothing_is_left_of(job)


def a_proxy_user_submits_watches_and_kills_as_another_user():
    eve = {**ticket_of("gateway"), "HADOOP_PROXY_USER": "eve"}
    client, job = begin("-executes", "sleep 600", *ONE, **eve)
    until(lambda: tony("status", job, **eve).returncode == 0, f"{job} to be seen")
    must(application(job)["user"] == "eve" and job in jobs_in_hdfs("eve"), application(job))
    succeeds(tony("kill", job, **ticket_of("eve")))
    end(client)
    nothing_is_left_of(job)
    refused(submit("-executes", "true", *ONE, **{**ticket_of("bob"), "HADOOP_PROXY_USER": "eve"}), 77,
            "bob", "is not allowed to impersonate eve")


def a_failing_job_is_reported_with_its_exit_code():
    ran = submit("-executes", "echo bad input >&2; exit 7", *ONE)
    must(ran.returncode == 1 and "7" in ran.stderr and "bad input" in ran.stderr, ran.returncode, ran.stderr)
    nothing_is_left_of(ran.stdout.split()[0])


def another_user_may_neither_read_nor_kill_a_job():
    client, job = begin("-executes", "sleep 600", *ONE)
    runs(job)
    for verb in ("kill", "logs", "status"):
        ran = tony(verb, job, **ticket_of("bob"))
        must(ran.returncode == 77, verb, ran.returncode, ran.stdout, ran.stderr)
    succeeds(tony("kill", job))
    end(client)
    nothing_is_left_of(job)


def a_task_uses_hdfs_with_the_tokens_of_its_container():
    """The task reads its token as every Hadoop client does, and calls WebHDFS without a ticket."""
    program = WORK / "use_token.py"
    program.write_text(USE_TOKEN)
    ran = submit("-executes", f"python3 {program}", *ONE)
    succeeds(ran)
    succeeds(tony("logs", ran.stdout.split()[0]), "listed True")


def a_job_gets_tokens_for_other_hdfs():
    """One of the two NameNodes plays another HDFS, because it has an address of its own."""
    def submit_with(*others):
        return submit("-executes", f"sh {program}", *ONE,
                      *(word for other in others for word in ("-conf", f"tony.other.namenodes={other}")))

    host, port = site("dfs.namenode.rpc-address" + (".pair.nn1" if IS_PAIR else "")).rsplit(":", 1)
    program = WORK / "find_token"
    program.write_text(f"grep -aq 127.0.0.1:{port} $HADOOP_TOKEN_FILE_LOCATION")
    must(not IS_PAIR or submit_with().returncode == 1, "the token is there without the key")
    succeeds(submit_with(f"hdfs://{host}:{port}"))
    refused(submit_with("hdfs://localhost:1"), 69, "tony.other.namenodes: hdfs://localhost:1")
    refused(submit_with("ftp://other"), 65, 'tony.other.namenodes is "ftp://other", expected hdfs://HOST:PORT')


def a_client_without_a_ticket_uses_the_tokens_of_a_file():
    tokens = WORK / "tokens"
    client, job = begin("-executes", f"cp $HADOOP_TOKEN_FILE_LOCATION {tokens}.new; mv {tokens}.new {tokens}; sleep 600", *ONE)
    until(tokens.exists, "the task to copy its tokens")
    only_tokens = {"KRB5CCNAME": "/none", "HADOOP_TOKEN_FILE_LOCATION": str(tokens)}
    succeeds(submit("-executes", "true", *ONE, **only_tokens), "SUCCEEDED")
    must(status(job)["state"] == "RUNNING", status(job))
    succeeds(tony("kill", job, **only_tokens))
    end(client)
    nothing_is_left_of(job)


def a_client_without_a_ticket_is_refused_before_any_upload():
    def ask():
        refused(submit("-executes", "true", *ONE, KRB5CCNAME=f"{WORK}/no-cache"), 77, "Kerberos: ", "run kinit")
    nothing_is_sent(ask)


def an_expired_ticket_is_refused_before_any_upload():
    cache = WORK / "short"
    kdc("kinit", "-k", "-t", f"{CLUSTER}/kdc/root.keytab", "-c", str(cache), "-l", "1s", "root")

    def is_refused():
        ran = submit("-executes", "true", *ONE, KRB5CCNAME=str(cache))
        return ran if ran.returncode else None

    refused(until(is_refused, "the ticket to expire"), 77, "Kerberos: ", "expired", "run kinit")


def a_keytab_that_others_may_read_is_refused():
    keytab = WORK / "open.keytab"
    shutil.copy(CLUSTER / "kdc/eve.keytab", keytab)
    keytab.chmod(0o644)
    more = {**ticket_of("eve"), "KRB5_CLIENT_KTNAME": f"FILE:{keytab}"}
    refused(submit("-executes", "true", *ONE, **more), 77, "KRB5_CLIENT_KTNAME", str(keytab), "chmod 600")


def a_cluster_with_another_principal_is_refused():
    conf = conf_with({"yarn.resourcemanager.principal": "other/_HOST@TONY.TEST"})
    refused(submit("-executes", "true", *ONE, HADOOP_CONF_DIR=conf), 77, "rm/localhost", "other/localhost@TONY.TEST",
            "yarn.resourcemanager.principal")


def a_clock_that_differs_is_refused():
    """The clock of tony-gss is 15 minutes ahead or behind. The KDC or, if the service's ticket is cached, the NameNode
    notices that."""
    shim, clock = PROGRAMS.parent / "tests/libclock_shim.so", WORK / "clock"
    must(shim.exists(), shim, "is missing: build the target hadoop_checks")
    loader = PROGRAMS / "tony-gpu-loader"
    shifted = {"LD_PRELOAD": str(shim), "CLOCK_SHIM_FILE": str(clock),
               "CLOCK_SHIM_PROGRAM": loader.name if loader.exists() else "tony-gss"}
    for number, (seconds, is_cached, text) in enumerate((
            (900, False, "Clock skew too great; synchronize the clock"),
            (900, True, "Clock skew too great (37)); synchronize the clock"),
            (-900, True, "Ticket not yet valid; synchronize the clock"))):
        cache = f"{WORK}/cache-{number}"
        kdc("kinit", "-k", "-t", f"{CLUSTER}/kdc/root.keytab", "-c", cache, "root")
        if is_cached:
            kdc("kvno", "-c", cache, "HTTP/localhost")
        clock.write_text(f"{seconds} 0")
        nothing_is_sent(lambda: refused(submit("-executes", "true", *ONE, KRB5CCNAME=cache, **shifted), 77, text))


class WithoutKerberos(http.server.BaseHTTPRequestHandler):
    """The answer of a NameNode whose hadoop.http.authentication.type is simple."""

    def do_GET(self):
        self.send_response(403)
        self.end_headers()
        self.wfile.write(json.dumps({"RemoteException": {
            "exception": "SecurityException", "javaClassName": "java.lang.SecurityException", "message":
            "Failed to obtain user group information: java.io.IOException: Security enabled but user not authenticated "
            "by filter"}}).encode())

    def log_message(self, *_):
        pass


def web_hdfs_without_kerberos_is_refused():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), WithoutKerberos)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    conf = conf_with({f"dfs.namenode.http-address{end}": f"localhost:{server.server_port}"
                      for end in ("", ".pair.nn1", ".pair.nn2")})
    nothing_is_sent(lambda: refused(submit("-executes", "true", *ONE, HADOOP_CONF_DIR=conf), 77,
                                    "WebHDFS does not accept Kerberos", "hadoop.http.authentication.type"))
    server.shutdown()


def tokens_with_another_renewer_are_refused():
    tokens, before = WORK / "tokens", jobs_in_hdfs()
    write_new(tokens, renewer="eve")
    ran = submit("-executes", "true", *ONE, KRB5CCNAME="/none", HADOOP_TOKEN_FILE_LOCATION=str(tokens))
    refused(ran, 65, "Failed to renew token", f"the tokens in {tokens} (HADOOP_TOKEN_FILE_LOCATION) must be valid",
            "have the ResourceManager as their renewer")
    must(jobs_in_hdfs() == before, "the refused job is still in HDFS")


def a_dead_kdc_is_reported_and_a_running_job_goes_on():
    client, job = begin("-executes", f"until [ -e {WORK}/go ]; do sleep 0.1; done", *ONE)
    runs(job)

    def meanwhile():
        ran = submit("-executes", "true", *ONE, **ticket_of("eve"))
        refused(ran, 69, "Kerberos: ", "KDC")
        (WORK / "go").touch()
        code, text = end(client)
        must(code == 0, code, text)

    restart("kdc", meanwhile=meanwhile)
    nothing_is_left_of(job)


def the_doctor_names_the_user_and_the_end_of_the_ticket():
    ran = tony("doctor", "--yarn", "--json", **ticket_of("eve"))
    checks = {check["name"]: check for check in json.loads(ran.stdout)["checks"]}
    must("eve@TONY.TEST" in checks["kerberos"]["text"], checks)
    ran = tony("doctor", "--yarn", KRB5CCNAME=f"{WORK}/no-cache")
    must(ran.returncode == 1 and "kinit" in ran.stdout, ran.returncode, ran.stdout, ran.stderr)


TOGETHER = [a_job_gets_tokens_for_other_hdfs,
            a_user_with_a_keytab_runs_a_gang_and_reads_its_logs,
            a_proxy_user_submits_watches_and_kills_as_another_user,
            a_failing_job_is_reported_with_its_exit_code,
            another_user_may_neither_read_nor_kill_a_job,
            a_task_uses_hdfs_with_the_tokens_of_its_container,
            a_client_without_a_ticket_uses_the_tokens_of_a_file,
            a_keytab_that_others_may_read_is_refused,
            a_cluster_with_another_principal_is_refused,
            an_expired_ticket_is_refused_before_any_upload,
            the_doctor_names_the_user_and_the_end_of_the_ticket]
ALONE = [a_client_without_a_ticket_is_refused_before_any_upload,
         a_clock_that_differs_is_refused,
         web_hdfs_without_kerberos_is_refused,
         tokens_with_another_renewer_are_refused,
         a_dead_kdc_is_reported_and_a_running_job_goes_on]
DEFAULT = []
