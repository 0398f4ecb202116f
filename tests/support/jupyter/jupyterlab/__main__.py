"""Stands in for JupyterLab, which needs seconds to start. It has JupyterLab's options, its token, its exit codes, and
the address that ends it. The tests of the long lane use the real one.

    GET /             what this process is: options, environment, process id
    GET /program      what a kernel sees: the version that `tony` reports through the package `tony`
    GET /submit       the exit code and the output of a job that a kernel submits with `tony`
    POST /api/shutdown
"""

import http.server
import json
import os
import subprocess
import sys
import urllib.parse

TOKEN = os.environ.get("JUPYTER_TOKEN") or open(os.environ["JUPYTER_TOKEN_FILE"], encoding="ascii").read()
OPTIONS = dict(word[2:].split("=", 1) for word in sys.argv[1:])
PACKAGE = "import tony; print(tony.__file__, tony.version().version)"
JOB = ["tony", "submit", "-executes", "echo job of a kernel", "-conf", "tony.worker.instances=1",
       "-conf", "tony.worker.memory=150m"]  # fmt: skip


def output(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/", check=False)
    return f"{done.returncode} {done.stdout}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        place = urllib.parse.urlsplit(self.path)
        if urllib.parse.parse_qs(place.query).get("token") != [TOKEN]:
            return self.answer(403, "Forbidden")
        if place.path == "/program":
            return self.answer(200, output(sys.executable, "-c", PACKAGE))
        if place.path == "/submit":
            return self.answer(200, output(*JOB))
        return self.answer(200, json.dumps({"options": OPTIONS, "environment": dict(os.environ), "pid": os.getpid()}))

    def do_POST(self):
        self.answer(200, "")
        os._exit(0)

    def answer(self, code, text):
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


address = (OPTIONS["ServerApp.ip"], int(OPTIONS["ServerApp.port"]))
http.server.ThreadingHTTPServer(address, Handler).serve_forever()
