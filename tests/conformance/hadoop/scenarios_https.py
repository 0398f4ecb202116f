"""Jobs on a cluster whose web servers have HTTPS only (TONY_HADOOP_HTTPS=1), with and without Kerberos."""

import importlib
import json
import os
import shutil
import signal
import socket
import socketserver
import ssl
import subprocess
import threading

import scenarios_takeover
from common import (CLUSTER, KERBEROS, WORK, applications, begin, end, jobs_in_hdfs, must, nothing_is_left_of,
                    open_by_curl, parent_of, runs, status, submit, tony, variables_of)
from scenarios_page import first_bytes, listening

importlib.reload(scenarios_takeover)  # so that it uses the folder of this scenario
# Executors find the next attempt by the lease, because it has another address.
from scenarios_takeover import a_killed_am_container_leaves_the_tasks_running, masters  # noqa: E402

ONE = ("-conf", "tony.worker.instances=1")
STORE = CLUSTER / "tls/trust.p12"


def conf_with(replace, file="ssl-client.xml", name="conf"):
    """Returns a configuration folder in which each key of `replace` is replaced by its value in one file."""
    folder = WORK / name
    shutil.copytree(CLUSTER / "conf", folder)
    text = (folder / file).read_text()
    for old, new in replace.items():
        must(str(old) in text, old, "is not in", text)
        text = text.replace(str(old), str(new))
    (folder / file).write_text(text)
    return {"HADOOP_CONF_DIR": str(folder)}


def refused(code, *texts, **more):
    """Checks that a submit prints one line with the texts, and leaves neither an application nor a job in HDFS."""
    before = applications(), jobs_in_hdfs()
    ran = submit("-executes", "true", *ONE, **more)
    must(ran.returncode == code and len(ran.stderr.splitlines()) == 1, "exit", ran.returncode, ran.stdout, ran.stderr)
    for text in texts:
        must(text in ran.stderr, text, "is missing in", ran.stderr)
    must((applications(), jobs_in_hdfs()) == before, "a refused submit left something behind")


def keytool(*words):
    ran = subprocess.run(["keytool", *words, "-storepass", "changeit", "-noprompt"], capture_output=True, text=True,
                         check=False)
    must(ran.returncode == 0, words, ran.stdout, ran.stderr)


def a_job_runs_and_its_logs_stay():
    ran = submit("-executes", "echo I used HTTPS", *ONE)
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    nothing_is_left_of(job)
    ran = tony("logs", job)
    must("I used HTTPS" in ran.stdout, ran.stdout, ran.stderr)


def a_node_and_the_page_are_read_by_https():
    """The logs of a hung executor are read from its node."""
    client, job = begin("-executes", "echo before; sleep 600", *ONE)
    executor = parent_of(runs(job)["tasks"][0]["pid"])
    os.kill(executor, signal.SIGSTOP)
    try:
        ran = tony("logs", job)
    finally:
        os.kill(executor, signal.SIGCONT)
    must(ran.stdout == "before\n" and "are read from the attempt's node" in ran.stderr, ran.stdout, ran.stderr)
    page = status(job)["tracking_url"]
    must(page.startswith("https:"), page)
    if not KERBEROS:  # the proxy of two ResourceManagers on one machine does not find out which one it is
        text = open_by_curl(f"{page}?user.name=root").read().decode()
        must("RUNNING" in text, text)
    tony("kill", job)
    end(client)


def answer_by_tls(port, certificate):
    """Returns the first bytes of the answer to an HTTPS request; empty if the server refuses the client."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate)
    try:
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30)) as to:
            to.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nCookie: proxy-user=root\r\n\r\n")
            return to.recv(100)
    except OSError:
        return b""


def certificate_of_master(job):
    """Returns a PEM file with the key and the certificates that YARN has given the master."""
    master, store, pem = masters(job)[1], WORK / "master.p12", WORK / "master.pem"
    given = variables_of(master)
    words = (("keytool", "-importkeystore", "-noprompt", "-srckeystore", given["KEYSTORE_FILE_LOCATION"],
              "-srcstorepass", given["KEYSTORE_PASSWORD"], "-destkeystore", store, "-deststoretype", "PKCS12",
              "-deststorepass", "changeit"),
             ("openssl", "pkcs12", "-in", store, "-passin", "pass:changeit", "-nodes", "-out", pem))
    for command in words:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        must(ran.returncode == 0, command, ran.stdout, ran.stderr)
    return pem


def only_yarns_proxy_reads_the_page_of_a_master():
    """The page itself is read in a_node_and_the_page_are_read_by_https()."""
    client, job = begin("-executes", "sleep 600", *ONE)
    runs(job)
    ports, own = listening(job), certificate_of_master(job)
    must(len(ports) == 2, "one for calls, one for the page:", ports)
    answers = [first_bytes("127.0.0.1", port) for port in ports]
    answers += [answer_by_tls(port, certificate) for port in ports for certificate in (None, own)]
    must(not any(answers), "clients other than the proxy were answered", answers)
    tony("kill", job)
    end(client)


def a_jks_without_its_password_is_trusted():
    store = WORK / "trust.jks"
    keytool("-importcert", "-alias", "a", "-file", str(CLUSTER / "tls/ca.pem"), "-keystore", str(store),
            "-storetype", "JKS")
    conf = conf_with({STORE: store, "PKCS12": "jks", "ssl.client.truststore.password": "unused"})
    ran = submit("-executes", "true", *ONE, **conf)
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)


def another_authority_is_refused():
    store = WORK / "other.jks"
    keytool("-genkeypair", "-alias", "a", "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=other",
            "-storetype", "JKS", "-keystore", str(store), "-keypass", "changeit")
    refused(77, "dfs.namenode.https-address", "is not trusted", str(store), "ssl.client.truststore.location",
            **conf_with({STORE: store}))


def a_truststore_that_cannot_be_used_is_refused():
    damaged = WORK / "damaged"
    damaged.write_bytes(STORE.read_bytes()[:200])
    for number, (code, change, *texts) in enumerate((
            (65, {STORE: "/none.p12"}, "ssl.client.truststore.location", "/none.p12", "no such file"),
            (65, {STORE: damaged}, "ssl.client.truststore.location", "damaged"),
            (65, {"changeit": "other"}, "ssl.client.truststore.password", "the password is wrong"),
            (65, {"PKCS12": "bcfks"}, 'ssl.client.truststore.type is "bcfks", expected jks or pkcs12'))):
        refused(code, "ssl-client.xml:", *texts, **conf_with(change, name=f"conf{number}"))


def a_name_that_the_certificate_lacks_is_refused():
    if KERBEROS:
        return  # the KDC refuses this name earlier
    sites = (CLUSTER / "conf/hdfs-site.xml").read_text()
    old = [line for line in sites.splitlines() if "namenode.https-address" in line]
    refused(77, "dfs.namenode.https-address", "is for other hosts",
            **conf_with({line: line.replace("localhost", "127.0.0.1") for line in old}, "hdfs-site.xml"))


class PlainHttp(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1)
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def plain_http_at_the_https_port_is_refused():
    sites = (CLUSTER / "conf/hdfs-site.xml").read_text()
    old = [line for line in sites.splitlines() if "namenode.https-address" in line]
    with socketserver.TCPServer(("127.0.0.1", 0), PlainHttp) as plain:
        threading.Thread(target=plain.serve_forever).start()
        web = f"localhost:{plain.server_address[1]}"
        changes = {line: line.split("<value>")[0] + f"<value>{web}</value></property>" for line in old}
        try:
            refused(65, "dfs.namenode.https-address", "answers without TLS", **conf_with(changes, "hdfs-site.xml"))
        finally:
            plain.shutdown()


def the_doctor_says_what_crosses_the_network_in_clear_text():
    checks = {check["name"]: check for check in json.loads(tony("doctor", "--yarn", "--json").stdout)["checks"]}
    must(checks["namenode"]["text"].startswith("https://"), checks["namenode"])
    must("Hadoop 3" in checks["resourcemanager"]["text"], checks["resourcemanager"])
    network = checks["network"]
    must("WebHDFS is" not in network["text"] or network["health"] == "ok", network)
    is_private = KERBEROS and "hadoop.rpc.protection is privacy" in network["text"]
    must(network["health"] == ("ok" if is_private else "warn"), network)


TOGETHER = [a_job_runs_and_its_logs_stay, a_node_and_the_page_are_read_by_https,
            only_yarns_proxy_reads_the_page_of_a_master,
            a_killed_am_container_leaves_the_tasks_running, a_jks_without_its_password_is_trusted,
            the_doctor_says_what_crosses_the_network_in_clear_text]
ALONE = [another_authority_is_refused, a_truststore_that_cannot_be_used_is_refused,
         a_name_that_the_certificate_lacks_is_refused, plain_http_at_the_https_port_is_refused]
DEFAULT = []
