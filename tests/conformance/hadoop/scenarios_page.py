"""A job's page behind YARN's proxy, in a real browser; and the target of its link after the job has ended."""

import html.parser
import http.cookiejar
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

from common import (
    CLUSTER, HERE, PROGRAMS, WORK, Failed, begin, end, environment, must, processes_of, runs, status, tony, until,
)

sys.path.insert(0, str(HERE.parents[1] / "e2e/page"))
from chromium import Chromium, Tab  # noqa: E402

# Returns the status at an address; for a page also the targets of its links and parts.
LOOK = """fetch(%s).then(async answer => {
  const is_page = answer.headers.get('Content-Type').startsWith('text/html');
  const page = is_page ? new DOMParser().parseFromString(await answer.text(), 'text/html') : null;
  const found = page ? [...page.querySelectorAll('a, link[rel=stylesheet], script')] : [];
  return [answer.status, found.map(e => new URL(e.getAttribute('href') || e.getAttribute('src'), answer.url).href)];
})"""


class Browser:
    """The browser of one user. The first address names the user, and the browser keeps the name as a cookie."""

    def __init__(self, chromium, user):
        self.chromium, self.user = chromium, user
        self.context = chromium.ask("Target.createBrowserContext")["browserContextId"]

    def open(self, url, **words):
        """Opens the page; if it redirects to another site, the page there."""
        return Tab(self.chromium, f"{url}?user.name={self.user}", context=self.context, **words)


def in_chromium(look):
    def scenario():
        chromium = Chromium()
        try:
            look(chromium)
        except RuntimeError as why:
            raise Failed(why) from why
        finally:
            chromium.close()

    scenario.__name__ = look.__name__
    return scenario


def begin_two(*words, **more):
    """Starts a job with two tasks. Each task writes a line when it starts, and another one for each file that is made
    for it. Returns the client, the job and the folder of these files."""
    folder = WORK / f"job-{len(list(WORK.glob('job-*')))}"
    folder.mkdir()
    command = (f"echo '<b>line 1</b>'; until [ -e {folder}/end-$TASK_INDEX ]; do sleep 0.1; "
               f"if [ -e {folder}/say ]; then echo 'line 2'; rm -f {folder}/say; fi; done")
    client, job = begin("-executes", command, "-conf", "tony.worker.instances=2", *words, **more)
    runs(job)
    return client, job, folder


def let_end(client, folder):
    for task in range(2):
        (folder / f"end-{task}").touch()
    return end(client)


def every_link_is_good(look, page):
    """Visits all links below the page and returns what it found. `look` returns the status and the links of an
    address."""
    found, waiting = {page}, [page]
    while waiting:
        at = waiting.pop()
        code, links = look(at)
        must(code == 200, at, code)
        for link in links:
            must(link.startswith(page), at, "leads out of the proxy's folder:", link)
            if link not in found:
                waiting.append(link)
            found.add(link)
    return found


def all_parts_are_among(found, page):
    for name in ("conf", "status.json", "history.json", "logs/", "logs/worker-1/1/stdout", "page.js", "page.css"):
        must(f"{page}{name}" in found, name, "is not among", found)


class Links(html.parser.HTMLParser):
    """The links and the parts of a page."""

    def __init__(self, url, text):
        super().__init__()
        self.url, self.found = url, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag in ("a", "script") or (tag == "link" and attributes.get("rel") == "stylesheet"):
            self.found.append(urllib.parse.urljoin(self.url, attributes.get("href") or attributes.get("src")))


class Reader:
    """A user's client as Browser, but without a browser."""

    def __init__(self, user):
        self.user = user
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def text(self, url):
        return self._open(url)[2]

    def look(self, url):
        code, kind, text = self._open(url)
        return code, Links(url, text).found if kind == "text/html" else []

    def _open(self, url):
        try:
            with self.opener.open(f"{url}{'&' if '?' in url else '?'}user.name={self.user}", timeout=30) as answer:
                return answer.status, answer.headers.get_content_type(), answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, "", refused.read().decode(errors="replace")


def each_link_of_the_page_works_for_users_in_the_view_acl():
    client, job, folder = begin_two("-conf", "tony.yarn.view-acl=bob")
    page = status(job)["tracking_url"]
    for user in ("root", "bob"):
        all_parts_are_among(every_link_is_good(Reader(user).look, page), page)
    for name in ("", "status.json", "logs/worker-0/1/stdout"):
        text = Reader("mallory").text(page + name)
        must("mallory may not see this job" in text, name, text)
    must(let_end(client, folder)[0] == 0, "its client")


@in_chromium
def the_page_updates_without_a_reload_and_each_link_works(chromium):
    client, job, folder = begin_two()
    page = status(job)["tracking_url"]
    browser = Browser(chromium, "root")
    log, tab = browser.open(f"{page}logs/worker-0/1/stdout"), browser.open(page)
    running = "[...document.querySelectorAll('td .badge')].filter(e => e.textContent === 'running').length"
    tab.wait(f"{running} === 2")
    must("<b>line 1</b>" in log.text("#log")[0], "as text:", log.text("#log"))
    for one in (tab, log):
        one.value("window.never_reloaded = true")
    (folder / "end-1").touch()
    tab.wait(f"{running} === 1 && document.querySelector('tbody').textContent.includes('succeeded')")
    must(tab.value("window.never_reloaded"), "the page was loaded anew")
    must(tab.text("h1") == ["TonyApplication RUNNING"], tab.text("h1"))
    all_parts_are_among(every_link_is_good(lambda at: tab.value(LOOK % json.dumps(at)), page), page)
    for name in ("conf", "logs/"):
        other = browser.open(page + name)
        must(other.complaints() == [], name, other.complaints())
        other.close()
    must(tab.complaints() == [] and log.complaints() == [], tab.complaints(), log.complaints())

    code, text = let_end(client, folder)
    must(code == 0, code, text)
    tab.ask("Page.bringToFront")  # a hidden page gets no updates
    tab.wait(f"location.pathname === '/cluster/app/{job}' && document.body?.innerText.includes('SUCCEEDED')")
    log.ask("Page.bringToFront")
    log.wait("document.getElementById('note').textContent.startsWith('The job has ended')")
    must(log.value("window.never_reloaded"), "the log was taken away from its reader")


@in_chromium
def a_new_log_line_appears_on_the_page_without_a_reload(chromium):
    client, job, folder = begin_two("-conf", "tony.worker.instances=1")
    log = Browser(chromium, "root").open(f"{status(job)['tracking_url']}logs/worker-0/1/stdout")
    log.wait("document.getElementById('log').textContent === '<b>line 1</b>\\n'")
    log.value("window.never_reloaded = true")
    (folder / "say").touch()
    log.wait("document.getElementById('log').textContent === '<b>line 1</b>\\nline 2\\n'")
    must(log.value("window.never_reloaded"), "the log was loaded anew")
    must(let_end(client, folder)[0] == 0, "its client")


@in_chromium
def the_page_links_to_the_tensorboard_in_a_container(chromium):
    logs = WORK / "board"
    client, job, folder = begin_two("-sidecar_tensorboard_log_dir", logs, "-conf", "tony.tensorboard.memory=128m",
                                    "-conf", f"tony.tensorboard.command=mkdir {logs}; cd {logs}; touch a-curve; "
                                    "exec python3 -m http.server $TB_PORT")
    url = until(lambda: status(job).get("tensorboard_url"), "the address of TensorBoard")
    (container,) = [pid for pid, command in processes_of(job).items() if "-m http.server" in command]
    must(urllib.parse.urlsplit(url).port and str(urllib.parse.urlsplit(url).port) in processes_of(job)[container], url)
    page = status(job)["tracking_url"]
    browser = Browser(chromium, "root")
    tab = browser.open(page)
    must(tab.value(f"[...document.querySelectorAll('dl a')].map(e => e.href).includes({json.dumps(url)})"), "no link")
    board = browser.open(f"{page}tensorboard", at="/")
    must(board.value("location.href") == url and "a-curve" in board.text("body")[0], board.text("body"))
    must(tony("status", job).stdout.count(f"tensorboard: {url}\n") == 1, "tony status")
    code, text = let_end(client, folder)
    must(code == 0 and f"tensorboard: {url}" in text, code, text)
    must("tensorboard_url" not in status(job), "TensorBoard outlived the job")


@in_chromium
def users_outside_the_view_acl_cannot_open_the_page(chromium):
    client, job, folder = begin_two("-conf", "tony.yarn.view-acl=bob")
    page = status(job)["tracking_url"]
    for name in ("", "status.json", "logs/worker-0/1/stdout"):
        text = Browser(chromium, "mallory").open(page + name).value("document.body.innerText")
        must("mallory may not see this job" in text, name, text)
    # Hadoop's web servers use this name for anonymous users.
    text = Tab(chromium, page).value("document.body.innerText")
    must("dr.who may not see this job" in text, text)
    bob = Browser(chromium, "bob").open(page)
    must(bob.text("h1") == ["TonyApplication RUNNING"], "whom the job's ACL names", bob.text("body"))
    must(let_end(client, folder)[0] == 0, "its client")


def listening(job):
    """Returns the ports on which the job's master listens on all addresses."""
    masters = [pid for pid, command in processes_of(job).items() if "bin/tony-yarn-am" in command]
    sockets = {link for pid in masters for link in sockets_of(pid)}
    ports = []
    for line in open("/proc/net/tcp", encoding="ascii").read().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and words[9] in sockets:
            ports.append(int(words[1].split(":")[1], 16))
    return ports


def sockets_of(pid):
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[8:-1]


def first_bytes(source, port):
    """Returns the first bytes of the answer to an HTTP request from another address than the proxy's."""
    with socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(source, 0)) as to:
        try:
            to.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nCookie: proxy-user=root\r\n\r\n")
            return to.recv(100)
        except ConnectionError:
            return b""


def the_master_refuses_requests_from_addresses_other_than_the_proxys():
    client, job, folder = begin_two()
    ports = listening(job)
    must(len(ports) == 2, "one for calls, one for the page:", ports)
    answers = [first_bytes("127.0.0.1", port) for port in ports]
    must(sum(answer.startswith(b"HTTP/1.1 200") for answer in answers) == 1, "the proxy's address", answers)
    strangers = [first_bytes("127.0.0.9", port) for port in ports]
    must(not any(answer.startswith(b"HTTP") for answer in strangers), "another address", strangers)
    must(let_end(client, folder)[0] == 0, "its client")


def a_job_whose_page_must_have_https_and_gets_no_keystore_runs_without_a_page():
    """Only the client's configuration demands HTTPS, so that YARN makes no keystore."""
    conf = WORK / "conf"
    shutil.copytree(CLUSTER / "conf", conf)
    policy = "<name>yarn.resourcemanager.application-https.policy</name><value>"
    sites = (conf / "yarn-site.xml").read_text()
    must(f"{policy}NONE<" in sites, sites)
    (conf / "yarn-site.xml").write_text(sites.replace(f"{policy}NONE<", f"{policy}STRICT<"))
    client, job, folder = begin_two(HADOOP_CONF_DIR=str(conf))
    (log,) = CLUSTER.glob(f"node*/logs/{job}/*_000001/am.log")
    reasons = [line for line in log.read_text().splitlines() if "the job has no page" in line]
    must(len(reasons) == 1 and "application-https.policy is STRICT" in reasons[0], log.read_text())
    text = Reader("root").text(status(job)["tracking_url"])
    must("page.js" not in text and "Application Overview" in text, "not the ResourceManager's own page", text)
    must(let_end(client, folder)[0] == 0, "its client")


@in_chromium
def the_tracking_link_of_an_ended_job_leads_to_the_verdict(chromium):
    client, job = begin("-executes", "echo the learning rate is negative >&2; exit 3", "-conf",
                        "tony.worker.instances=1")
    must(end(client)[0] == 1, "its client")
    browser = Browser(chromium, "root")
    tab = browser.open(status(job)["tracking_url"], at=f"/cluster/app/{job}")
    text = tab.value("document.body.innerText")
    for what in ("FAILED", "worker:0#1", "exit code 3", "the learning rate is negative"):
        must(what in text, what, "is not in", text)
    deeper = browser.open(f"{status(job)['tracking_url']}logs/", at=f"/cluster/app/{job}")
    must("exit code 3" in deeper.value("document.body.innerText"), "Airflow's link to the logs")


class Portal(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"the portal's {urllib.parse.urlsplit(self.path).path}".encode())

    def log_message(self, *_):
        pass


@in_chromium
def the_tracking_link_of_an_ended_job_leads_to_the_configured_portal(chromium):
    portal = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Portal)
    threading.Thread(target=portal.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{portal.server_port}"
        client, job = begin("-executes", "true", "-conf", "tony.worker.instances=1", "-conf", f"tony.portal.url={url}/")
        must(end(client)[0] == 0, "its client")
        tab = Browser(chromium, "root").open(status(job)["tracking_url"], at=f"/jobs/{job}")
        must(tab.value("document.body.innerText").startswith(f"the portal's /jobs/{job}"), tab.text("body"))
    finally:
        portal.shutdown()


def the_portal_lists_and_shows_the_jobs_of_the_cluster():
    client, job, folder = begin_two("-conf", "tony.application.name=on-the-cluster")
    portal = subprocess.Popen([PROGRAMS / "tony", "portal", "--port", "0"], env=environment(), stdout=subprocess.PIPE,
                              text=True)
    try:
        url = portal.stdout.readline().strip()
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)

        with opener.open(url, timeout=60) as answer:
            place = answer.geturl().rstrip("/")

        def look(path):
            with opener.open(place + path, timeout=60) as answer:
                return answer.read().decode()

        until(lambda: f"/{job}/" in look("/?state=active"), "the running job in the list")
        must("RUNNING" in look(f"/jobs/{job}/"), "the page of the running job")
        must(let_end(client, folder)[0] == 0, "its client")
        until(lambda: f"/{job}/" in look("/?state=SUCCEEDED&q=on-the-cluster"), "the ended job in the list")
        must("Timeline" in look(f"/jobs/{job}/"), "the page of the ended job")
        until(lambda: "line 1" in look(f"/jobs/{job}/logs/all?task=worker:1"), "its logs")
        must("on-the-cluster" in look(f"/jobs/{job}/conf"), "its configuration")
    finally:
        portal.terminate()
        must(portal.wait(30) == 0, "the portal ends")


TOGETHER = (
    the_portal_lists_and_shows_the_jobs_of_the_cluster,
    the_page_updates_without_a_reload_and_each_link_works,
    users_outside_the_view_acl_cannot_open_the_page,
    the_page_links_to_the_tensorboard_in_a_container,
    a_new_log_line_appears_on_the_page_without_a_reload,
    the_tracking_link_of_an_ended_job_leads_to_the_verdict,
    the_tracking_link_of_an_ended_job_leads_to_the_configured_portal,
    each_link_of_the_page_works_for_users_in_the_view_acl,
    the_master_refuses_requests_from_addresses_other_than_the_proxys,
    a_job_whose_page_must_have_https_and_gets_no_keystore_runs_without_a_page,
)
ALONE = ()
# These run without a browser; tests/e2e tests the same page in a browser without a proxy.
DEFAULT = (
    each_link_of_the_page_works_for_users_in_the_view_acl,
    the_master_refuses_requests_from_addresses_other_than_the_proxys,
)
