"""The installed plugin in a whole Azkaban 2.5.0: web server, executor server and its FlowRunner, over HTTP."""

import contextlib
import io
import pathlib
import runpy
import zipfile

from common import ROOT, fetched

from . import own_network, steps, stops
from .client import Client
from .execution import Execution
from .solo_server import SoloServer

HERE = pathlib.Path(__file__).resolve().parent
VERSION = "2.5.0"
PROJECT = "conformance"
SAMPLE = "digits"

CHECKS = [*steps.CHECKS, *stops.CHECKS]
AT_ONCE = len(CHECKS)  # the checks mostly wait


class Azkaban:
    """A running server with our project, and a user's session."""

    def __init__(self, sandbox, jars, name="azkaban"):
        self.sandbox, self.jars = sandbox, jars
        self.server = SoloServer(sandbox.folder / name, sandbox.jobtypes, jars, sandbox.environment())
        self.client = Client(self.server.url, self.server.user, self.server.password)

    def start(self):
        self.server.start()
        self.client.login()

    def add(self, project, archive):
        self.client.create(project, "what the suite checks")
        self.client.upload(project, archive)

    def execute(self, flow, project=PROJECT, **overrides):
        number = self.client.execute(project, flow, **overrides)
        return Execution(self.sandbox, self.server, self.client, number)

    def gate(self, name):
        """Returns the path of a file that does not exist yet. Tasks run until it exists."""
        return self.sandbox.folder / f"gate-{name}"

    @contextlib.contextmanager
    def another(self):
        """Starts a second server with the same plugin and project, which a check may kill."""
        other = Azkaban(self.sandbox, self.jars, "azkaban-to-kill")
        try:
            other.start()
            other.add(PROJECT, project_archive())
            yield other
        finally:
            other.server.close()


def project_archive():
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for file in sorted((HERE / "project").iterdir()):
            out.write(file, file.name)
    return archive.getvalue()


def sample_archive(sandbox):
    out = sandbox.folder / "digits.zip"
    runpy.run_path(str(ROOT / "samples/azkaban/make-zip"))["make"]("flow-1.0", out)
    return out.read_bytes()


@contextlib.contextmanager
def started(sandbox):
    jars = fetched(HERE / "pom.xml", VERSION)
    if why := own_network.enter():
        print(f"server: its random ports are open to other machines: no network of its own: {why}", flush=True)
    # A default that an administrator may set for all flows; a flow or a step may override it.
    with (sandbox.jobtypes / "tony/plugin.properties").open("a") as defaults:
        defaults.write("tony.worker.instances=1\n")
    azkaban = Azkaban(sandbox, jars)
    try:
        azkaban.start()
        azkaban.add(SAMPLE, sample_archive(sandbox))
        azkaban.add(PROJECT, project_archive())
        given = {"python": sandbox.python, "work.dir": sandbox.folder / "digits"}
        azkaban.sample = azkaban.execute("deploy", SAMPLE, **given)
        yield azkaban
    finally:
        azkaban.server.close()
