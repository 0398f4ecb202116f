"""`tony notebook` on YARN: the client's relay, --attach, the page behind the ResourceManager's proxy, and jobs that a
kernel submits. A small server stands in for JupyterLab (tests/support/jupyter)."""

import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

from common import (
    HERE, PROGRAMS, WORK, Failed, begun, end, environment, must, nothing_is_left_of, processes_of, status, tony,
)  # fmt: skip

STAND_IN = HERE.parents[1] / "support/jupyter"


def start(*words):
    """Starts a client; returns it, the job and the address that the client prints."""
    client = subprocess.Popen([PROGRAMS / "tony", "notebook", *words], env=environment(), text=True, cwd=WORK,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    lines = [client.stdout.readline().strip() for _ in range(1 if "--attach" in words else 2)]
    if not lines[-1].startswith("http://127.0.0.1:"):
        client.kill()
        raise Failed("no address:", lines, client.communicate())
    if "--attach" not in words:
        begun.append((client, lines[0]))
    return client, lines[0], lines[-1]


def on_yarn():
    return start("-conf", "tony.scheduler=yarn", "--memory", "256m", "-conf", "tony.am.memory=128m",
                 "--shell_env", f"PYTHONPATH={STAND_IN}", "--idle", "1h")  # fmt: skip


def fetch(address, path="/", method="GET"):
    url, token = address.split("/?token=")
    data = b"" if method == "POST" else None
    request = urllib.request.Request(f"{url}{path}?token={token}", method=method, data=data)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read().decode()


def a_notebook_is_reached_through_the_relay_and_its_kernel_submits_to_the_cluster():
    client, job, address = on_yarn()
    url = status(job)["notebook_url"]
    seen = json.loads(fetch(address))
    must(url == f"http://{seen['options']['ServerApp.ip']}:{seen['options']['ServerApp.port']}/", url, seen["options"])
    try:
        urllib.request.urlopen(address.split("?")[0], timeout=30)
        raise Failed("the server answered without its token")
    except urllib.error.HTTPError as refused:
        must(refused.code == 403, refused.code)
    token = address.split("=")[1]
    for pid, words in processes_of(job).items():
        must(token not in words, pid, "has the token in its arguments")
    must(token not in tony("status", job, "--json").stdout, "the status has the token")
    package = fetch(address, "/program")
    must(package.startswith("0 ") and "tony-python.zip" in package, package)
    submitted = fetch(address, "/submit")
    must(submitted.startswith("0 ") and re.search(r"job application_\S+ SUCCEEDED", submitted), submitted)
    fetch(address, "/api/shutdown", "POST")
    code, text = end(client)
    must(code == 0, code, text)
    nothing_is_left_of(job)


def attach_opens_the_relay_again_after_the_client_and_the_master_died():
    client, job, address = on_yarn()
    pid = json.loads(fetch(address))["pid"]
    client.kill()
    client.communicate()
    masters = [each for each, words in processes_of(job).items() if "bin/tony-yarn-am" in words]
    for master in masters:
        os.kill(master, signal.SIGKILL)
    again, _, other = start("--attach", job)
    must(address.split("=")[1] == other.split("=")[1], "another token")
    must(json.loads(fetch(other))["pid"] == pid, "another server")
    again.send_signal(signal.SIGINT)
    code, text = end(again)
    must(code == 130 and "continues" in text, code, text)
    must(tony("kill", job).returncode == 0, "the kill")
    nothing_is_left_of(job)
    ended = tony("notebook", "--attach", job)
    must(ended.returncode == 65 and "has ended" in ended.stderr, ended.returncode, ended.stderr)


def the_page_behind_the_proxy_names_the_address_and_the_way_to_it():
    client, job, address = on_yarn()
    told = status(job)
    with urllib.request.urlopen(f"{told['tracking_url']}?user.name=root", timeout=30) as answer:
        page = answer.read().decode()
    must(told["notebook_url"] in page and f"tony notebook --attach {job}" in page, page)
    must(address.split("=")[1] not in page, "the page has the token")
    client.send_signal(signal.SIGINT)
    code, text = end(client)
    must(code == 130, code, text)
    nothing_is_left_of(job)


def an_environment_without_jupyter_fails_with_the_command_that_installs_it():
    ran = tony("notebook", "-conf", "tony.scheduler=yarn", "--memory", "256m")
    must(ran.returncode == 1 and "pip install jupyterlab" in ran.stdout, ran.returncode, ran.stdout, ran.stderr)


TOGETHER = (
    a_notebook_is_reached_through_the_relay_and_its_kernel_submits_to_the_cluster,
    attach_opens_the_relay_again_after_the_client_and_the_master_died,
    the_page_behind_the_proxy_names_the_address_and_the_way_to_it,
    an_environment_without_jupyter_fails_with_the_command_that_installs_it,
)
ALONE = ()
DEFAULT = ()
