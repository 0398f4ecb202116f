"""A whole Azkaban 2.5.0: web server, executor server and database in one process, in a folder of its own."""

import contextlib
import http.client
import pathlib
import secrets
import signal
import socket
import subprocess
import urllib.request

from common import tool, wait_for

SCHEMA = pathlib.Path(__file__).with_name("schema.sql")
START_LIMIT = 60  # seconds; 2 to 5 were measured on two cores


def free_ports(count):
    """Returns ports that no process uses at this moment."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class SoloServer:
    """Azkaban's home and its process, which may be ended and restarted on the same database."""

    user = "conformance"

    def __init__(self, home, jobtypes, jars, environment):
        self.home, self.jobtypes, self.jars, self.environment = home, jobtypes, jars, environment
        self.password = secrets.token_hex(16)
        self.web_port, self.executor_port = free_ports(2)
        self.url = f"http://127.0.0.1:{self.web_port}"
        self.output = self.home / "logs/server.log"
        self.process = None
        for name in ("conf", "logs", "web", "temp"):
            (self.home / name).mkdir(parents=True)
        self._configure()
        self._create_tables()

    def start(self):
        # Azkaban reads a process's number from a private field of Java's class.
        command = [
            "java", "-Xmx512m", "-Dfile.encoding=UTF-8", "-XX:TieredStopAtLevel=1", "--add-opens",
            "java.base/java.lang=ALL-UNNAMED", "-cp", f"{self.jars}/*", "azkaban.webapp.AzkabanSingleServer",
            "-conf", "conf",
        ]  # fmt: skip
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                command, cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
        wait_for("Azkaban's start", self._answers, START_LIMIT)

    def kill(self):
        """Kills the process without warning, as a fault of the machine would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=10)

    def close(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            self.kill()

    def adapter(self, step):
        """Returns the process of a running step, or None."""
        name = f"JOB_NAME={step}".encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has exited meanwhile
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == self.process.pid and name in (entry / "environ").read_bytes().split(b"\0"):
                    return int(entry.name)
        return None

    def _configure(self):
        properties = {
            "azkaban.name": "Conformance",
            "azkaban.label": "TonY",
            "azkaban.color": "#FF3601",
            "azkaban.default.servlet.path": "/index",
            "azkaban.execution.dir": "executions",
            "azkaban.jobtype.plugin.dir": self.jobtypes,
            "azkaban.project.dir": "projects",
            "azkaban.temp.dir": "temp",
            "database.check.version": "false",
            "database.type": "h2",
            "default.timezone.id": "UTC",
            "executor.global.properties": "conf/global.properties",
            "executor.port": self.executor_port,
            "h2.path": self.home / "database",
            "jetty.port": self.web_port,
            "jetty.use.ssl": "false",
            "user.manager.class": "azkaban.user.XmlUserManager",
            "user.manager.xml.file": "conf/azkaban-users.xml",
            "velocity.dev.mode": "false",
            "web.resource.dir": "web/",
        }
        lines = [f"{key}={value}\n" for key, value in properties.items()]
        (self.home / "conf/azkaban.properties").write_text("".join(lines))
        (self.home / "conf/global.properties").touch()
        users = self.home / "conf/azkaban-users.xml"
        users.touch(mode=0o600)
        users.write_text(
            f'<azkaban-users>\n  <user username="{self.user}" password="{self.password}" roles="admin"/>\n'
            '  <role name="admin" permissions="ADMIN"/>\n</azkaban-users>\n'
        )

    def _create_tables(self):
        # The server connects as the user with the empty name, and the first user to connect owns the database.
        command = [
            "java", "-cp", f"{self.jars}/*", "org.h2.tools.RunScript", "-user", "", "-script", str(SCHEMA),
            "-url", f"jdbc:h2:file:{self.home}/database;IGNORECASE=TRUE",
        ]  # fmt: skip
        tool("creating the tables", command, START_LIMIT, env=self.environment)

    def _answers(self):
        assert self.process.poll() is None, f"Azkaban has ended: {self.output.read_text(errors='replace')[-2000:]}"
        try:
            urllib.request.urlopen(self.url, timeout=5).close()
        except (OSError, http.client.HTTPException):
            return False
        return True
