#!/usr/bin/env python3
"""`tony portal`, spoken to as a browser does, by sockets: its list, its pages, its address, and who gets in.

Tests of several users need root.
"""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
import urllib.parse

BIN = pathlib.Path(os.environ["TONY_BIN_DIR"])
LIMIT = 60  # seconds for each wait
EVIL = "<script>alert(1)</script>"
# Users that every Debian has.
ANN, BOB = (1, "daemon"), (2, "bin")


class Portal:
    """A running `tony portal`."""

    def __init__(self, env, *options, code=None):
        self.process = subprocess.Popen(
            [BIN / "tony", "portal", *options], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.url = self.process.stdout.readline().strip()
        place = urllib.parse.urlsplit(self.url)
        self.port, self.token = place.port, place.path.strip("/")
        self.cookie = f"tony-portal-{self.port}={self.token}"
        self.base = ""
        if self.token:
            self.base = "/" + self.get(f"/{self.token}/", cookie="", base="")[2]["Location"].strip("./")

    def connection(self):
        if not self.url.startswith("https:"):
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        anybody = ssl.create_default_context()
        anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=LIMIT, context=anybody)

    def get(self, path, cookie=None, host=None, method="GET", body=None, base=None, **headers):
        connection = self.connection()
        with contextlib.closing(connection):
            headers = {name.replace("_", "-"): value for name, value in headers.items()}
            headers["Cookie"] = self.cookie if cookie is None else cookie
            if host:
                headers["Host"] = host
            connection.request(method, (self.base if base is None else base) + path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers

    def page(self, path, status=200):
        got, text, _ = self.get(path)
        assert got == status, (path, got, text)
        return text

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        said = self.process.communicate(timeout=LIMIT)[1]
        return self.process.returncode, said


class PortalTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-portal-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        ledger = self.folder / "ledger"
        ledger.mkdir()
        ledger.chmod(0o1777)
        (ledger / "machine.json").write_text('{"memory_mb": 1000000, "gpus": []}')
        self.home = self.folder / "home"
        self.env = dict(os.environ, TONY_HOME=str(self.home), TONY_LEDGER=str(ledger))

    def tony(self, *words, user=None):
        as_user = {"user": user, "group": user, "extra_groups": [], "cwd": "/"} if user else {}
        return subprocess.run(
            [BIN / "tony", *words], env=self.env, capture_output=True, text=True, timeout=LIMIT, **as_user
        )

    def run_job(self, *words, code=0, user=None):
        done = self.tony("run", "--json", "--memory", "64m", *words, user=user)
        self.assertEqual(done.returncode, code, done.stderr)
        job = json.loads(done.stdout.splitlines()[0])["job"]
        self.addCleanup(self.tony, "kill", job, user=user)
        return job

    def portal(self, *options):
        portal = Portal(self.env, *options)
        self.addCleanup(portal.process.wait, LIMIT)
        self.addCleanup(portal.process.kill)
        self.addCleanup(portal.process.stderr.close)
        self.addCleanup(portal.process.stdout.close)
        return portal

    def test_running_and_ended_jobs_are_listed_searched_and_shown(self):
        good = self.run_job("--name", "good", "--", "true")
        bad = self.run_job("--name", EVIL, "--conf", "tony.application.tags=red", "--", "false", code=1)
        runs = self.run_job("--name", "runs", "--detach", "--", "sleep", "600")
        portal = self.portal()
        text = portal.page("/")
        for job in (good, bad, runs):
            self.assertIn(f'href="~{user_name()}/{job}/"', text)
        self.assertNotIn(EVIL, text)
        for query, shown in (
            ("q=GOOD", {good}), ("state=active", {runs}), ("state=FAILED", {bad}), ("tag=red", {bad}),
            ("name=r", {runs, bad}), ("user=nobody", set()), (f"q={runs}", {runs}), ("q=exit+code+1", set()),
            ("q=exit%20code%201", {bad}), ("page=2", set()),
        ):  # fmt: skip
            text = portal.page(f"/?{query}")
            self.assertEqual({job for job in (good, bad, runs) if job in text}, shown, query)
        order = portal.page("/?sort=submitted")
        self.assertLess(order.index(good), order.index(runs))
        self.assertIn("What failed first", portal.page(f"/~{user_name()}/{bad}/"))
        self.assertIn("RUNNING", portal.page(f"/~{user_name()}/{runs}/"))
        self.assertEqual(json.loads(portal.page(f"/~{user_name()}/{runs}/status.json"))["job"], runs)
        compared = portal.page(f"/compare?~{user_name()}/{good}=1&~{user_name()}/{bad}=1")
        self.assertLess(compared.index("<th>tony.containers.command</th>"), compared.rindex("<details>"))
        portal.page("/compare", status=400)

    def test_short_addresses_lead_to_the_page_of_a_job(self):
        job = self.run_job("--", "true")
        portal = self.portal()
        for path in (f"/jobs/{job}", f"/jobs/{job}/", f"/{job}/"):
            status, _, headers = portal.get(path)
            self.assertEqual(status, 307)
            self.assertEqual(urllib.parse.urljoin(path, headers["Location"]), f"/~{user_name()}/{job}/")
        self.assertTrue(portal.get(f"/{job}/logs/")[2]["Location"].endswith(f"~{user_name()}/{job}/logs/"))
        self.assertEqual(portal.get(f"/~{user_name()}/{job}")[2]["Location"], f"./{job}/")
        portal.page("/jobs/local-1", status=404)
        portal.page(f"/~nobody-at-all/{job}/", status=404)
        portal.page(f"/~{user_name()}/{job}/nothing", status=404)

    def test_a_cluster_that_does_not_answer_hides_no_job_of_this_machine(self):
        job = self.run_job("--", "true")
        conf = self.folder / "conf"
        conf.mkdir()
        silent = socket.create_server(("127.0.0.1", 0))  # accepts connections, and never answers
        self.addCleanup(silent.close)
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        masters = ("address", "scheduler.address", "webapp.address")
        for name, values in (
            ("core", {"fs.defaultFS": f"hdfs://{place}"}), ("hdfs", {"dfs.namenode.http-address": place}),
            ("yarn", {f"yarn.resourcemanager.{master}": place for master in masters}),
        ):  # fmt: skip
            pairs = (f"<name>{key}</name><value>{value}</value>" for key, value in values.items())
            rows = "".join(f"<property>{pair}</property>" for pair in pairs)
            (conf / f"{name}-site.xml").write_text(f"<configuration>{rows}</configuration>")
        self.env["HADOOP_CONF_DIR"] = str(conf)
        portal = self.portal()
        began = time.monotonic()
        text = portal.page("/")
        self.assertLess(time.monotonic() - began, 20)
        self.assertIn(f"/{job}/", text)
        self.assertIn("The cluster has not answered yet", text)
        self.assertIn("SUCCEEDED", portal.page(f"/~{user_name()}/{job}/"))

    def test_links_of_a_job_lead_to_the_portal_that_it_names(self):
        portal = self.portal()
        url = f"http://127.0.0.1:{portal.port}{portal.base}"
        job = self.run_job("--conf", f"tony.page.url={url}/", "--", "true")
        link = json.loads(self.tony("status", job, "--json").stdout)["tracking_url"]
        self.assertEqual(link, f"{url}/jobs/{job}/")
        place = urllib.parse.urljoin(link, portal.get(f"/jobs/{job}/")[2]["Location"])
        self.assertIn("SUCCEEDED", portal.get(urllib.parse.urlsplit(place).path, base="")[1])
        refused = self.tony("run", "--conf", "tony.page.url=portal:1", "--", "true")
        self.assertEqual(refused.returncode, 65)
        self.assertIn("tony.page.url", refused.stderr)

    def test_the_address_stays_after_ctrl_c_and_after_kill_9(self):
        first = self.portal()
        code, said = first.end()
        self.assertEqual((code, said), (0, ""))
        second = self.portal()
        second.page("/")
        reader = children(second.process.pid)
        self.assertEqual(len(reader), 1)
        second.end(signal.SIGKILL)
        third = self.portal()
        third.page("/")
        self.assertEqual({first.url, second.url, third.url}, {first.url})
        wait(lambda: not alive(reader[0]), "the reader ends with its portal")
        self.assertEqual((self.home / "history/page-token").stat().st_mode & 0o777, 0o600)

    def test_without_a_place_for_the_token_each_start_has_another_address(self):
        (self.home / "history/page-token").mkdir(parents=True)
        portal = self.portal()
        portal.page("/")
        code, said = portal.end()
        self.assertEqual(code, 0)
        self.assertIn("the address of this page will be different at the next start", said)

    def test_a_second_portal_at_the_same_port_is_refused_in_one_line(self):
        portal = self.portal()
        unknown = ("--user", "nobody-of-this-name")
        for words, code in (
            ((), 69), (("--port", str(portal.port)), 69), (("--port", "x"), 64), (("--port", "70000"), 64),
            (("--listen", "no.address"), 64), (unknown, 66 if os.geteuid() == 0 else 64),
        ):  # fmt: skip
            refused = self.tony("portal", *words)
            self.assertEqual((refused.returncode, refused.stdout), (code, ""), refused.stderr)
            self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)
        other = self.portal("--port", "0")
        other.page("/")
        portal.page("/")

    def test_only_the_token_admits_and_only_once_in_an_address(self):
        job = self.run_job("--", "true")
        portal = self.portal()
        status, text, headers = portal.get(f"/{portal.token}/{job}/", cookie="", base="")
        self.assertEqual(status, 303)
        self.assertIn(f"; Path={portal.base}/; HttpOnly; SameSite=Strict", headers["Set-Cookie"])
        self.assertEqual(portal.get("/", base="")[0], 401, "the cookie counts only below its folder")
        for cookie in ("", portal.cookie[:-1], portal.cookie + "0", "tony-portal-1=" + portal.token):
            for path in ("/", f"/~{user_name()}/{job}/", f"/jobs/{job}", f"/{portal.token[:-1]}/", "/compare"):
                status, text, headers = portal.get(path, cookie=cookie)
                self.assertEqual(status, 401, (path, cookie))
                self.assertNotIn(job, text)
        self.assertEqual(portal.get("/", host="evil.example")[0], 421)
        self.assertEqual(portal.get("/", method="POST", body="x")[0], 405)
        self.assertEqual(portal.get("/", method="DELETE")[0], 405)
        login = {"cookie": "", "method": "POST", "body": f"token={portal.token}"}
        self.assertEqual(portal.get("/login", **login)[0], 303)
        self.assertEqual(portal.get("/login", **login, Sec_Fetch_Site="cross-site")[0], 403)
        self.assertEqual(portal.get("/login", **login, Origin="http://evil.example")[0], 403)
        self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])

    def test_hostile_paths_lead_nowhere(self):
        job = self.run_job("--", "true")
        portal = self.portal()
        base = f"/~{user_name()}/{job}"
        for path in ("/..", f"{base}/../..", f"{base}/%2e%2e/token", f"{base}/..%2ftoken", "/~root/%2e%2e%2f/",
                     f"{base}/logs/worker-0/1/%2e%2e", f"{base}/%00", f"/~{user_name()}/..%2fhistory/"):  # fmt: skip
            self.assertEqual(portal.get(path)[0], 400, path)
        for path in (f"{base}/token", f"{base}/logs/worker-0/1/token", f"/~{user_name()}/%2A/", f"/~{user_name()}//",
                     "/jobs/%20", f"{base}/logs/..%5c/1/stdout", "/" + "x" * 5000):  # fmt: skip
            self.assertEqual(portal.get(path)[0], 404, path)
        self.assertEqual(portal.get("/?q=" + "x" * 9000)[0], 431)
        self.assertEqual(portal.get(f"{base}/" + "%C3%BC" * 1250)[0], 431)
        self.assertEqual(portal.get("/?q=" + "%C3%BC" * 1100)[0], 200)
        portal.page("/")

    def test_a_slow_client_and_a_damaged_job_do_not_disturb_others(self):
        good, damaged = (self.run_job("--", "true") for _ in range(2))
        (self.home / f"jobs/{damaged}/status.json").write_text("{")
        (self.home / f"jobs/{damaged}/spec.json").write_text("{")
        (self.home / "history/ended.log").unlink(missing_ok=True)
        portal = self.portal()
        with contextlib.ExitStack() as slow:
            for _ in range(20):
                client = slow.enter_context(socket.create_connection(("127.0.0.1", portal.port)))
                client.sendall(b"GET / HTTP/1.1\r\nHost: ")
            text = portal.page("/")
            self.assertIn(f"/{good}/", text)
            self.assertIn(f"Job {damaged} cannot be read", text)
            portal.page(f"/~{user_name()}/{good}/")
            portal.page(f"/~{user_name()}/{damaged}/", status=503)

    def certificate(self):
        if not shutil.which("openssl"):
            self.skipTest("there is no program openssl, which makes a certificate")
        cert, key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
             "-subj", "/CN=localhost", "-keyout", key, "-out", cert], check=True, capture_output=True,
        )  # fmt: skip
        return ["--cert", cert, "--key", key]

    def tokens(self, *names):
        file = self.folder / "tokens"
        file.touch(0o600)
        file.write_text("".join(f"{name} {name.ljust(20, '0')}\n" for name in names))
        return ["--tokens", file]

    def test_another_address_than_loopback_needs_tls_and_a_login(self):
        tls, tokens = self.certificate(), self.tokens("ann")
        broken = self.folder / "broken.pem"
        broken.write_text("x")
        away = ("--listen", "0.0.0.0")
        for words, code, said in (
            (away, 64, "--cert FILE and --key FILE"),
            ((*away, *tls), 64, "--tokens FILE, or --user-header NAME"),
            ((*away, *tokens), 64, "--cert FILE and --key FILE"),
            ((*away, *tls, *tokens), 64, "--url"),
            ((*away, *tls, "--user-header", "X-User"), 64, "--proxy"),
            ((*away, *tls, "--user-header", "X-User", "--proxy", "127.0.0.1"), 64, "every user of this machine"),
            ((*away, *tls, "--user-header", "X-User", "--proxy", own_address(), "--url", "https://a/"), 64, "every user"),
            ((*tls, *tokens, "--user-header", "X-User", "--proxy", "192.0.2.1"), 64, "not both"),
            (tls[:2], 64, "belong together"),
            (("--cert", broken, "--key", broken), 65, "expected a certificate"),
            (("--cert", tls[1], "--key", self.folder / "none"), 66, "none"),
            (("--tokens", broken), 77, "chmod 600"),
        ):  # fmt: skip
            refused = self.tony("portal", "--port", "0", *words)
            self.assertEqual((refused.returncode, refused.stdout), (code, ""), (words, refused.stderr))
            self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)
            self.assertIn(said, refused.stderr)
        self.assertFalse((self.home / "history/portal-port").exists())

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_visitor_sees_only_own_jobs_and_those_that_a_view_acl_allows(self):
        self.home.mkdir()
        self.home.chmod(0o1777)
        own = self.run_job("--", "true", user=ANN[0])
        shared = self.run_job("--conf", f"tony.yarn.view-acl={ANN[1]}", "--", "true", user=BOB[0])
        group = self.run_job("--conf", f"tony.yarn.view-acl= {ANN[1]}", "--", "true", user=BOB[0])
        closed = self.run_job("--name", "closed", "--", "true", user=BOB[0])
        jobs = {own, shared, group, closed}
        portal = self.portal("--port", "0", *self.certificate(), *self.tokens(ANN[1], BOB[1], "boss"), "--admin", "boss")
        self.assertEqual(portal.get("/", cookie="")[0], 401)
        seen = {}
        for name in (ANN[1], BOB[1], "boss"):
            _, _, headers = portal.get(f"/{name.ljust(20, '0')}/", cookie="")
            self.assertIn("; Secure", headers["Set-Cookie"])
            portal.cookie = headers["Set-Cookie"].split(";")[0]
            seen[name] = {job for job in jobs if job in portal.page("/")}
            self.assertEqual(closed in portal.page("/?q=closed"), name != ANN[1])
        self.assertEqual(seen, {ANN[1]: {own, shared, group}, BOB[1]: jobs - {own}, "boss": jobs})
        portal.cookie = portal.cookie.split("=")[0] + "=" + ANN[1].ljust(20, "0")
        self.assertIn(shared, portal.page(f"/~{BOB[1]}/{shared}/status.json"))
        for path in ("", "status.json", "conf", "logs/", "logs/all", "logs/worker-0/1/stdout.txt", "history.json"):
            text = portal.page(f"/~{BOB[1]}/{closed}/{path}", status=403)
            self.assertNotIn(closed, text)
        portal.page(f"/jobs/{closed}", status=403)
        portal.page(f"/compare?~{BOB[1]}/{closed}=1&~{BOB[1]}/{shared}=1", status=403)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_root_shows_the_jobs_of_all_users_and_opens_files_as_their_owner(self):
        self.home.mkdir()
        self.home.chmod(0o1777)
        anns = self.run_job("--name", "anns", "--", "true", user=ANN[0])
        bobs = self.run_job("--name", "bobs", "--", "false", user=BOB[0], code=1)
        # A link to a file of root only: the reader of ann's files may not follow it.
        secret = self.folder / "secret.json"
        secret.write_text((self.home / f"1/jobs/{anns}/conf.json").read_text().replace("tony.", "roots."))
        secret.chmod(0o600)
        (self.home / f"1/jobs/{anns}/conf.json").unlink()
        (self.home / f"1/jobs/{anns}/conf.json").symlink_to(secret)
        self.env["HADOOP_USER_NAME"] = "root"
        portal = self.portal()
        text = portal.page("/")
        for job, (_, name) in ((anns, ANN), (bobs, BOB)):
            self.assertIn(f'href="~{name}/{job}/"', text)
        self.assertNotIn("roots.", portal.get(f"/~{ANN[1]}/{anns}/conf")[1])
        readers = {owner(pid): pid for pid in children(portal.process.pid)}
        variables = pathlib.Path(f"/proc/{readers[(1,) * 4]}/environ").read_text()
        self.assertIn("TONY_LEDGER=", variables)
        self.assertNotIn("HADOOP_USER_NAME=", variables)
        self.assertEqual(set(readers), {(0,) * 4, (1,) * 4, (2,) * 4})
        for owners, pid in readers.items():
            if owners[0] != 0:
                self.assertEqual(fields(pid)["CapEff"], "0" * 16)
                self.assertEqual(fields(pid)["CapPrm"], "0" * 16)
                self.assertEqual(fields(pid)["NoNewPrivs"], "1")
                self.assertNotIn("0", fields(pid)["Groups"].split())
        # Other users' rows stay if one reader dies, hangs, or cannot read its home.
        os.kill(readers[(1,) * 4], signal.SIGSTOP)
        text = portal.page("/")
        self.assertIn("The jobs of daemon cannot be read", text)
        self.assertIn(bobs, text)
        self.assertNotIn(anns, text)
        os.kill(readers[(1,) * 4], signal.SIGKILL)
        wait(lambda: anns in portal.page("/"), "the reader of ann's files is started again")
        (self.home / "2/jobs").chmod(0o000)
        text = portal.page("/")
        self.assertIn("home/2/jobs: permission denied", text)
        self.assertIn(f'href="~{ANN[1]}/{anns}/"', text)


def own_address():
    """Returns the address from which this machine reaches others; without a network, one of the loopback device."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing
        return probe.getsockname()[0]
    return "127.0.0.2"


def user_name():
    return subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()


def fields(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def owner(pid):
    return tuple(int(word) for word in fields(pid)["Uid"].split())


def children(pid):
    listed = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(word) for word in listed]


def alive(pid):
    with contextlib.suppress(OSError):
        return fields(pid)["State"][0] not in "ZX"
    return False


def wait(holds, what):
    end = time.monotonic() + LIMIT
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.02)


if __name__ == "__main__":
    unittest.main(verbosity=2)
