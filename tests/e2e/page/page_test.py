#!/usr/bin/env python3
"""Job pages in a real browser: the pages of a job that restarts and fails, while it runs, when it fails, and afterwards.

    page_test.py BIN_FOLDER
"""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from chromium import LIMIT, Chromium, Tab
from reverse_proxy import OtherSite, ReverseProxy

NAME = "<script>alert(1)</script>"
# The gang restarts once. In its second attempt worker:1 prints a line on request, waits for the file "go", and fails.
COMMAND = """
echo "step 1 of $TASK_INDEX: <b>loss</b> 0.31"
if [ $TASK_INDEX = 1 ]; then
  if [ $TONY_ATTEMPT = 1 ]; then echo 'ConnectionError: peer closed the stream' >&2; exit 7; fi
  until [ -e {go} ]; do
    if [ -e {line} ]; then rm {line}; echo 'a line that came later' >&2; fi
    sleep 0.05
  done
  echo 'Traceback (most recent call last):
  File "train.py", line 42, in <module>
ValueError: learning rate <= 0' >&2
  exit 3
fi
exec sleep 600
"""
LINKS = "[...document.querySelectorAll('[href], [src]')].map(e => e.getAttribute('href') || e.getAttribute('src'))"


class PageTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tony-page-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        ledger = self.folder / "ledger"
        ledger.mkdir()
        (ledger / "machine.json").write_text('{"memory_mb": 1000000, "gpus": []}')
        self.env = dict(os.environ, TONY_HOME=str(self.folder / "home"), TONY_LEDGER=str(ledger))

    def start_chromium(self):
        self.chromium = Chromium()
        self.addCleanup(self.chromium.close)

    def tony(self, *words):
        return subprocess.run([BIN / "tony", *words], env=self.env, capture_output=True, text=True, timeout=LIMIT)

    def submit(self, command, workers):
        submitted = self.tony(
            "submit", "--detach", "-executes", command, "-conf", "tony.application.framework=pytorch",
            "-conf", f"tony.application.name={NAME}", "-conf", f"tony.worker.instances={workers}",
            "-conf", "tony.worker.memory=200m", "-conf", "tony.restart.gang.budget=1",
        )  # fmt: skip
        self.assertEqual(submitted.returncode, 0, submitted.stderr)
        (self.job,) = [path.name for path in (self.folder / "home/jobs").glob("local-*")]
        self.addCleanup(self.tony, "kill", self.job)

    def tracking_url(self):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            url = json.loads(self.tony("status", self.job, "--json").stdout).get("tracking_url")
            if url:
                return url
            time.sleep(0.05)
        self.fail("no tracking_url in the status")

    def assert_page_is_well(self, tab):
        for link in tab.value(LINKS):
            self.assertFalse(link.startswith(("/", "http:", "https:")), f"not relative: {link}")
        self.assertEqual(tab.complaints(), [])

    def assert_failure_is_reported(self, tab):
        report = " ".join(tab.text("section.report"))
        for what in ("What failed first", "worker:1#2", "exit code 3", "user_error", "ValueError: learning rate <= 0"):
            self.assertIn(what, report)
        self.assertIn(f"tony logs {self.job} worker:1#2", report)

    def test_the_job_page_is_updated_live_and_the_history_page_shows_the_failure(self):
        self.start_chromium()
        self.submit(COMMAND.format(go=self.folder / "go", line=self.folder / "line"), workers=3)
        url = self.tracking_url()
        proxy = ReverseProxy(int(url.split(":")[2].split("/")[0]))
        self.addCleanup(proxy.close)
        job = Tab(self.chromium, proxy.url(url))
        job.wait("[...document.querySelectorAll('td .badge')].filter(e => e.textContent === 'running').length === 3")
        job.wait("[...document.querySelectorAll('tr:has(.task) td:nth-child(3)')].every(e => e.textContent === '2')")
        job.value("window.never_reloaded = true")
        self.assertEqual(job.text(".task"), ["worker:0", "worker:1", "worker:2"])
        self.assertEqual(job.text("h1"), [f"{NAME} RUNNING"])
        self.assertIn("exit code 7", " ".join(job.text("section:not(:has(.task)) td")), "the restart's cause")
        self.assert_page_is_well(job)

        self.look_at_log(proxy.url(url))
        self.look_at_list_of_logs(proxy.url(url))
        self.look_without_script(proxy.url(url))

        (self.folder / "go").touch()
        job.wait("document.querySelector('main').dataset.live === '0'")
        self.assertEqual(job.text("h1"), [f"{NAME} FAILED"])
        self.assertTrue(job.value("window.never_reloaded"), "the page was exchanged, not loaded anew")
        self.assert_failure_is_reported(job)
        self.assert_page_is_well(job)
        self.assertEqual([path for path in proxy.asked if not path.startswith("/some/prefix/")], [])
        self.look_afterwards()

    def test_the_job_page_continues_with_the_next_application_master(self):
        self.start_chromium()
        go = self.folder / "go"
        self.submit(f"until [ -e {go} ]; do sleep 0.05; done", workers=1)
        job = Tab(self.chromium, self.tracking_url())
        job.wait("document.querySelector('td .badge').textContent === 'running'")
        job.value("window.never_reloaded = true")
        os.kill(self.pid_of("tony-am"), signal.SIGKILL)
        job.wait("document.querySelector('dl').textContent.includes('Application masters2')")
        job.wait("document.getElementById('note').textContent === ''")
        go.touch()
        job.wait("document.querySelector('main').dataset.live === '0'")
        self.assertEqual(job.text("h1"), [f"{NAME} SUCCEEDED"])
        self.assertEqual(job.text("section.report"), [])
        self.assertTrue(job.value("window.never_reloaded"))

    def pid_of(self, program):
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            words = (process / "cmdline").read_bytes().split(b"\0") if (process / "cmdline").exists() else [b""]
            if words[0].endswith(program.encode()) and any(self.job.encode() in word for word in words):
                return int(process.name)
        self.fail(f"no {program} runs")

    def look_at_log(self, url):
        log = Tab(self.chromium, url + "logs/worker-1/2/stdout")
        log.wait("document.getElementById('log').textContent.includes('step 1 of 1: <b>loss</b> 0.31')")
        log.open(url + "logs/worker-1/2/stderr")
        (self.folder / "line").touch()
        log.wait("document.getElementById('log').textContent.includes('a line that came later')")
        self.assert_page_is_well(log)
        log.close()

    def look_at_list_of_logs(self, url):
        """Opens the list of logs, to which workflow engines link, in a browser without script."""
        plain = Tab(self.chromium, url + "logs", script=False)
        self.assertEqual(plain.value("location.pathname.endsWith('/logs/')"), True)
        self.assertEqual(plain.text(".task"), [f"worker:{index}" for index in (0, 0, 1, 1, 2, 2)])
        self.assertEqual(plain.text("td:nth-child(2)"), ["2", "1"] * 3)
        self.assert_page_is_well(plain)
        plain.value("document.querySelector('a[href=\"worker-1/1/stderr\"]').click()")
        plain.wait("document.getElementById('log') && document.readyState === 'complete'")
        self.assertIn("ConnectionError: peer closed the stream", plain.text("#log")[0])
        self.assert_page_is_well(plain)
        plain.close()

    def follow_link_of_another_site(self, page):
        """Workflow engines link to the portal. Browsers do not send its cookie with the first request after a click."""
        other = OtherSite(page)
        self.addCleanup(other.close)
        tab = Tab(self.chromium, other.url)
        tab.value("document.querySelector('a').click()")
        tab.wait(f"location.href === {json.dumps(page)} && document.querySelector('.report') !== null")
        tab.close()

    def place_behind(self, url):
        """Returns the path to which the portal redirects a browser that brings the token."""
        place = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=LIMIT)
        with contextlib.closing(connection):
            connection.request("GET", place.path, headers={"Host": "tony.example"})
            answer = connection.getresponse()
            self.assertEqual(answer.status, 303)
            return urllib.parse.urljoin(f"/some/prefix{place.path}", answer.headers["Location"])

    def look_at_comparison(self, tab, url, place):
        other = json.loads(self.tony("run", "--json", "--memory", "64m", "--", "true").stdout.splitlines()[0])["job"]
        tab.open(url, at=place)
        tab.value("document.querySelectorAll('.choice input').forEach(e => e.click())")
        tab.value("document.querySelector('.jobs button').click()")
        tab.wait("location.pathname.endsWith('/compare') && document.readyState === 'complete'")
        self.assertEqual(sorted(tab.text("header small")), sorted([self.job, other]))
        self.assertIn("tony.application.name", tab.text(".compared > .wide th"))
        self.assert_page_is_well(tab)
        self.assert_fits(tab)

    def assert_fits(self, tab):
        """The page needs no scrolling to the side, neither in a window nor on a phone."""
        for width in (1200, 400):
            tab.set_width(width)
            self.assertLessEqual(tab.value("document.documentElement.scrollWidth"), width)
        tab.set_width(1200)

    def look_without_script(self, url):
        plain = Tab(self.chromium, url, script=False)
        self.assertEqual(plain.text(".task"), ["worker:0", "worker:1", "worker:2"])
        self.assert_page_is_well(plain)
        plain.close()

    def look_afterwards(self):
        """After the exit of the application master `tony portal` shows the same pages, also behind a proxy."""
        self.assertEqual(self.tony("wait", self.job).returncode, 1)
        words = [BIN / "tony", "portal", "--url", "http://tony.example/some/prefix/"]
        serve = subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, text=True)
        try:
            public = serve.stdout.readline().strip()
            self.assertTrue(public.startswith("http://tony.example/some/prefix/"), public)
            port = (self.folder / "home/history/portal-port").read_text()
            url = f"http://127.0.0.1:{port}/{public.split('/')[-2]}/"
            proxy = ReverseProxy(int(port))
            self.addCleanup(proxy.close)
            place = self.place_behind(url)
            jobs = Tab(self.chromium, proxy.url(url), dark=True, at=place)
            self.assertEqual(jobs.text("tbody .id"), [self.job])
            self.assertIn(NAME, jobs.text("td a"))
            self.assert_page_is_well(jobs)
            self.assert_fits(jobs)
            jobs.value("document.querySelector('.jobs [name=state], [name=name]').value = 'ALERT'")
            jobs.value("document.querySelector('.search button').click()")
            jobs.wait("location.search.includes('name=ALERT') && document.readyState === 'complete'")
            self.assertEqual(jobs.text("tbody .id"), [self.job])
            jobs.value("document.querySelector('tbody a').click()")
            jobs.wait("document.querySelector('.report') && document.readyState === 'complete'")
            self.assert_failure_is_reported(jobs)
            self.assert_page_is_well(jobs)
            self.assertEqual(len(jobs.text(".lane")), 4)
            self.assert_fits(jobs)
            jobs.value("document.querySelector('.report a').click()")
            jobs.wait("document.getElementById('log') && document.readyState === 'complete'")
            self.assertIn("ValueError: learning rate <= 0", jobs.text("#log")[0])
            self.assert_page_is_well(jobs)
            page = jobs.value("location.pathname").split("/logs/")[0]
            self.look_at_comparison(jobs, proxy.url(url), place)
            self.follow_link_of_another_site(urllib.parse.urljoin(proxy.url(url), page + "/"))
            jobs.open(proxy.url(url) + self.job + "/logs/", at=page + "/logs/")
            self.assertIn("worker-1/2/stderr", jobs.value(LINKS))
            self.assert_page_is_well(jobs)
        finally:
            serve.send_signal(signal.SIGINT)
            self.assertEqual(serve.wait(LIMIT), 0)
            serve.stdout.close()


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1], verbosity=2)
