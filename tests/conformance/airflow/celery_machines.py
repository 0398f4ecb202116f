"""Airflow on several machines with Celery's workers, PostgreSQL and Redis. All of them are real and run in the sandbox.

For the runtime a machine is a home of jobs that no other machine can see.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import common
from daemons import Program, free_port

# PostgreSQL refuses to run as root. Its Debian package brings a user for it.
UNPRIVILEGED = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
EVERYBODYS_QUEUE = "default"


class Server(Program):
    """A server on a free port of the loopback device. `question` is a command that it answers as soon as it is
    ready."""

    def __init__(self, sandbox, name, words, question):
        super().__init__(sandbox, name, words, sandbox.environment())
        self.question = question

    def ready(self):
        answer = subprocess.run(self.question, env=self.environment, stdin=subprocess.DEVNULL, timeout=common.LIMIT,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # fmt: skip
        return answer.returncode == 0


class Redis(Server):
    """Redis without files: tasks that are queued when it ends are lost."""

    def __init__(self, sandbox):
        self.port = free_port()
        words = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        super().__init__(sandbox, "redis", words, ["redis-cli", "-e", "-p", str(self.port), "ping"])
        self.url = f"redis://127.0.0.1:{self.port}/0"


class PostgreSQL(Server):
    """PostgreSQL. Everybody who can reach the port has all rights; the port is on the loopback device, for some
    minutes."""

    END = signal.SIGINT  # ends without waiting for its clients

    def __init__(self, sandbox):
        self.port = free_port()
        self.programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.data = sandbox.folder / "postgresql"
        settings = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off",
                    "max_connections": 300}  # fmt: skip
        words = [*UNPRIVILEGED, self.programs / "postgres", "-D", self.data]
        words += [f"--{name}={value}" for name, value in settings.items()]
        super().__init__(sandbox, "postgresql", words, [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p",
                                                        str(self.port)])  # fmt: skip
        self.address = f"//airflow@127.0.0.1:{self.port}/postgres"
        self.url = f"postgresql+psycopg2:{self.address}"  # names the driver, because SQLAlchemy has changed its default

    def make(self):
        """Makes an empty database in a folder of PostgreSQL's user, below a folder that this user may enter."""
        self.folder.parent.chmod(0o711)
        self.data.mkdir()
        if UNPRIVILEGED:
            shutil.chown(self.data, "postgres", "postgres")
        words = [*UNPRIVILEGED, self.programs / "initdb", "-D", self.data, "-U", "airflow", "-A", "trust", "-E", "UTF8"]
        common.tool("initdb", [*words, "--no-sync"], common.LIMIT, env=self.environment, cwd=self.folder)

    def rows(self, sql, values):
        quoted = ["'" + str(value).replace("'", "''") + "'" for value in values]
        text = "".join(part for pair in zip(sql.split("?"), [*quoted, ""], strict=True) for part in pair)
        words = [self.programs / "psql", "-X", "-A", "-t", "-d", f"postgresql:{self.address}", "-c",
                 f"SELECT coalesce(json_agg(found), '[]') FROM ({text}) found"]  # fmt: skip
        return json.loads(common.tool("psql", words, common.LIMIT, env=self.environment, cwd=self.folder))


class Worker(Program):
    """A Celery worker on a machine of its own. It serves the shared queue and the queue of its machine."""

    def __init__(self, sandbox, program, environment, machine, name=None):
        self.sandbox, self.machine, self.home = sandbox, machine, sandbox.folder / f"home-of-{machine}"
        name = name or machine
        words = [program, "celery", "worker", "--queues", f"{EVERYBODYS_QUEUE},tony-{machine}",
                 "--celery-hostname", f"{name}@%h", "--concurrency", "2", "--skip-serve-logs", "--without-gossip",
                 "--without-mingle", "--pid", sandbox.folder / f"{name}.pid"]  # fmt: skip
        own = {"AIRFLOW_CONN_TONY_DEFAULT": sandbox.connection(self.home)}
        super().__init__(sandbox, name, words, {**environment, **own})

    def ready(self):
        return re.search(rf"{self.name}@\S+ ready\.", self.log())

    def runs(self, task):
        """Returns whether the task's process runs on this machine."""
        return task.pid() in self.session()

    def received(self):
        """Returns Celery's ids of the tasks that it received since its start, once for each delivery."""
        return re.findall(r"Task \S+\[([0-9a-f-]+)\] received", self.log())

    def jobs(self):
        """Returns the jobs that its machine knows."""
        return [job["job"] for job in self.sandbox.tony("list", "--limit", "0", home=self.home)["jobs"]]


class TwoMachines:
    """The CeleryExecutor with a worker on each machine; all other daemons are on the first machine."""

    NAMES = ("gpu1", "gpu2")

    def __init__(self, sandbox):
        self.sandbox = sandbox
        self.database, self.broker = PostgreSQL(sandbox), Redis(sandbox)

    def environment(self, _):
        return {
            "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self.database.url,
            "AIRFLOW__CELERY__BROKER_URL": self.broker.url,
            "AIRFLOW__CELERY__RESULT_BACKEND": f"db+{self.database.url}",
            "AIRFLOW__CELERY__SYNC_PARALLELISM": "1",
            "AIRFLOW__OPERATORS__DEFAULT_QUEUE": EVERYBODYS_QUEUE,
        }

    def workers(self, program, environment):
        workers = {name: Worker(self.sandbox, program, environment, name) for name in self.NAMES}
        self.sandbox.homes = [worker.home for worker in workers.values()]
        return workers

    def start(self):
        self.database.make()
        for server in (self.database, self.broker):
            server.start().wait_ready()

    def stop(self):
        for server in (self.broker, self.database):
            server.terminate()

    def database_is_free(self):
        return True  # PostgreSQL locks rows

    def rows(self, sql, values):
        return self.database.rows(sql, values)
