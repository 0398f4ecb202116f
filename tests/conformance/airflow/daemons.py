"""Airflow as it runs in production: separate daemons with one database, used as a person uses them."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import airflow_2
import airflow_3
import common
from runs import Run

# the same in all processes, because triggers are stored encrypted
FERNET_KEY = "YSBrZXkgb2YgdGhlIGNvbmZvcm1hbmNlIHRlc3RzLi4="
MOST_RESTARTS = 3  # restarts of daemons that exit by themselves; after these the checks fail
TRIGGERER_THRESHOLD = 8  # seconds without a heartbeat until another triggerer takes the triggers


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def version_in(python_environment):
    """Returns the version of the Airflow that is installed in a Python environment."""
    program = "import importlib.metadata as m; print(m.version('apache-airflow'))"
    return common.tool("asking for Airflow's version", [f"{python_environment}/bin/python", "-c", program], 60).strip()


class DatabaseBusy(AssertionError):
    """Airflow 3's server waits for SQLite on its event loop, and the lock's holder needs that server."""


class Program:
    """A program that runs until it is ended, with all its children, in a session of its own."""

    END = signal.SIGTERM

    def __init__(self, sandbox, name, words, environment):
        self.name, self.words, self.environment = name, words, environment
        self.folder = sandbox.folder / "airflow"
        self.process = None
        self.wanted = False  # started, and not ended by us
        self.starting = threading.Lock()
        self.log_start = 0
        self.log_path = sandbox.folder / f"{name}.log"

    @property
    def pid(self):
        return self.process.pid

    def start(self):
        assert not self.running(), f"{self.name} runs already"
        with self.log_path.open("ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(self.words, env=self.environment, cwd=self.folder,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)  # fmt: skip
        self.wanted = True
        return self

    def start_again(self):
        """Returns whether the program had exited and was restarted."""
        with self.starting:
            if self.running():
                return False
            self.kill()  # ends the rest of its session
            self.start()
            return True

    def running(self):
        return self.process is not None and self.process.poll() is None

    def session(self):
        """Returns the processes of its session. A task of Airflow 3 leads a group of its own and stays in the
        session."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError, IndexError):
                if entry.name.isdigit():
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    if int(fields[3]) == self.pid and fields[0] not in "ZX":
                        found.append(int(entry.name))
        return found

    def signal(self, number):
        for pid in self.session():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        """Sends SIGKILL to the daemon and to all its children, as if its machine had failed."""
        self.wanted = False
        while (began := time.monotonic()) and self.session():
            self.signal(signal.SIGKILL)
            common.rest(began)
            self.process.poll()
        self.process.wait(common.LIMIT)

    def kill_alone(self):
        """Sends SIGKILL to the daemon's own process only."""
        self.wanted = False
        self.process.kill()
        self.process.wait(common.LIMIT)

    def terminate(self, limit=5):
        """Sends SIGTERM, and kills the processes that still run after the limit. A triggerer of Airflow 3 takes 12 s to
        exit."""
        if self.process is None:
            return
        self.wanted = False
        self.signal(signal.SIGCONT)
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(self.END)
        end = time.monotonic() + limit
        while (began := time.monotonic()) < end and self.session():
            self.process.poll()
            common.rest(began)
        self.kill()

    def pause(self):
        """Sends SIGSTOP to all its processes, as if its virtual machine were paused."""
        self.airflow.pause(self.signal)

    def go_on(self):
        self.signal(signal.SIGCONT)

    def log(self):
        """Returns what the daemon has printed since its last start."""
        return self.log_path.read_bytes()[self.log_start :].decode(errors="replace")

    def wait_ready(self):
        """Waits until this process, and not its predecessor, sends heartbeats or answers."""
        common.wait_for(f"{self.name} to be ready", self._runs_and_is_ready, common.LIMIT)
        return self

    def _runs_and_is_ready(self):
        assert self.running(), f"{self.name} has ended with {self.process.returncode}"
        return self.ready()


class Daemon(Program):
    """A daemon of Airflow."""

    def __init__(self, airflow, name, words):
        super().__init__(airflow.sandbox, name, [airflow.program, *words], airflow.environment)
        self.airflow = airflow
        self.newest_before = 0
        self.job_id_known = None

    def start(self):
        self.newest_before = self.airflow.rows("SELECT coalesce(max(id), 0) AS id FROM job")[0]["id"]
        self.job_id_known = None
        return super().start()

    def ready(self):
        if self.name == self.airflow.version.SERVER:
            with contextlib.suppress(OSError):
                return self.airflow.rest("GET", self.airflow.version.HEALTH)
            return None
        return self.job_id() is not None

    def job_id(self):
        """Returns the id of this process in Airflow's table of jobs. Triggers are assigned to this id."""
        kind = {"scheduler": "SchedulerJob", "dag-processor": "DagProcessorJob"}.get(self.name, "TriggererJob")
        sql = "SELECT max(id) AS id FROM job WHERE job_type = ? AND state = 'running' AND id > ?"
        return self.job_id_known or self._keep(self.airflow.rows(sql, kind, self.newest_before)[0]["id"])

    def _keep(self, job_id):
        self.job_id_known = job_id
        return job_id


class Airflow:
    """The daemons of one installation, their database and their REST server.

    `machines` chooses executor and database: OneMachine, or another class with the same methods.
    """

    def __init__(self, sandbox, number, machines):
        self.sandbox = sandbox
        self.number = number
        self.major = int(number.split(".")[0])
        self.release = tuple(map(int, re.findall(r"\d+", number)[:3]))  # ignores the b2 of a beta
        # `tells_triggers`: triggers learn that a user marked or cleared the task
        self.keeps_task_state = self.tells_triggers = self.release >= (3, 3)
        self.retries_what_was_killed = not (3, 0) <= self.release < (3, 1, 2)  # apache/airflow#55753
        self.version = {2: airflow_2, 3: airflow_3}[self.major]
        self.home = sandbox.folder / "airflow"
        self.program = sandbox.python_environment / "bin/airflow"
        self.port = free_port()
        self.machines = machines(sandbox)
        self.environment = self._environment()
        self.daemons = {name: Daemon(self, name, words) for name, words in self.version.daemons(self.port).items()}
        self.daemons.update(self.machines.workers(self.program, self.environment))
        self.token = None
        self.restarts = 0
        self.count = 0
        self.lock = threading.Lock()
        self.of_check = threading.local()
        self.begin_check()

    def _environment(self):
        return self.sandbox.environment(
            AIRFLOW_HOME=str(self.home),
            AIRFLOW__CORE__DAGS_FOLDER=str(self.home / "dags"),
            AIRFLOW__CORE__LOAD_EXAMPLES="False",
            AIRFLOW__CORE__PARALLELISM="8",
            AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION="False",
            AIRFLOW__CORE__FERNET_KEY=FERNET_KEY,
            AIRFLOW__LOGGING__BASE_LOG_FOLDER=str(self.home / "logs"),
            AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC="2",
            AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD=str(TRIGGERER_THRESHOLD),
            AIRFLOW__TONY__CLI_FOLDERS=f"{self.sandbox.bin}:{self.sandbox.folder}",
            AIRFLOW__USAGE_DATA_COLLECTION__ENABLED="False",
            SCARF_ANALYTICS="false",
            DO_NOT_TRACK="1",
            SPT_NOENV="1",  # without it a process that sets its title could not be found by its environment
            AIRFLOW_CONN_TONY_DEFAULT=self.sandbox.connection(self.sandbox.home),
            **self.machines.environment(self.version.SQLITE_OPTIONS),
            **self.version.environment(self.port, self.home),
        )

    # ---- start and end

    def prepare(self):
        """Makes an empty database."""
        self.machines.start()
        self.version.prepare(self.home)
        self.command("db", "migrate")

    def start(self, dag_ids):
        """Starts all daemons and waits until they are healthy and know the Dags."""
        for daemon in self.daemons.values():
            daemon.start()
        for daemon in self.daemons.values():
            daemon.wait_ready()
        self.token = self.version.token(self.rest)
        common.wait_for("the Dags", lambda: self._known(dag_ids), common.LIMIT)
        threading.Thread(target=self._supervise, daemon=True).start()

    def _supervise(self):
        """Restarts daemons that exit by themselves, as systemd does: Airflow's own units have Restart=always.

        3.1.0's scheduler dies of a StaleDataError when it handles a task that is being cleared. 3.3.2's triggerer dies
        when SQLite is locked for longer than five seconds, as happens on a busy machine.
        """
        while self.restarts < MOST_RESTARTS:
            time.sleep(1)
            for daemon in (self.daemons["scheduler"], self.daemons["triggerer"]):
                # The database is stopped; the check that stopped it restarts all daemons.
                with contextlib.suppress(AssertionError):
                    if daemon.wanted and daemon.start_again():
                        self.restarts += 1
                        print(f"   Airflow's {daemon.name} had ended by itself and was restarted", flush=True)

    def _known(self, dag_ids):
        errors = self.rows("SELECT filename, stacktrace FROM import_error")
        assert not errors, f"a Dag file cannot be imported: {errors[0]}"
        return set(dag_ids) <= {row["dag_id"] for row in self.rows("SELECT dag_id FROM serialized_dag")}

    def stop(self):
        """Stops all daemons as an administrator would. Sessions that do not end in time are killed."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(Program.terminate, self.daemons.values()))
        self.machines.stop()

    def daemon(self, name):
        return self.daemons[name]

    def another_triggerer(self, name):
        """Starts another triggerer and waits until it is ready."""
        words = self.version.daemons(self.port)["triggerer"]
        daemon = self.daemons[name] = Daemon(self, name, words)
        return daemon.start().wait_ready()

    # ---- use and observation

    def command(self, *words, limit=common.LIMIT):
        """Returns the output of a command of `airflow`."""
        words = [str(word) for word in words]
        return common.tool(f"airflow {' '.join(words)}", [self.program, *words], limit, env=self.environment,
                           cwd=self.home)  # fmt: skip

    def rows(self, sql, *values):
        """Returns rows of the database as dicts. Nothing is written to the database, because it belongs to Airflow."""
        return self.machines.rows(sql, values)

    def pause(self, send):
        """Calls `send` to send SIGSTOP to some processes, at a moment when none of them holds SQLite's lock."""

        def paused():
            send(signal.SIGSTOP)
            if self.machines.database_is_free():
                return True
            send(signal.SIGCONT)
            return False

        common.wait_for("a moment without a transaction", paused)

    def rest(self, method, path, body=None):
        """Returns the answer of the REST server. The path is relative to the server's address."""
        if method == "GET":
            return self._ask(method, path, body)
        with self.lock:
            for _ in range(4):
                with contextlib.suppress(DatabaseBusy):
                    return self._ask(method, path, body)
                time.sleep(1)
            return self._ask(method, path, body)

    def _ask(self, method, path, body):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method, headers=headers,
                                         data=None if body is None else json.dumps(body).encode())  # fmt: skip
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            if error.code == 500 and "Database error" in text:
                raise DatabaseBusy(f"{method} {path}: {error.code}: {text}") from error
            raise AssertionError(f"{method} {path}: {error.code}: {text}") from error

    def trigger(self, dag_id, conf=None):
        """Starts a new run of a Dag. Its id contains the special characters of real run ids."""
        with self.lock:
            self.count += 1
            run = Run(self, dag_id, f"check__{self.count}:00+00:00")
        self.of_check.runs.append(run)
        self.rest("POST", f"{self.version.API}/dags/{dag_id}/dagRuns", self.version.trigger_body(run.id, conf or {}))
        return run

    # ---- reports of a failed check

    def begin_check(self):
        self.of_check.runs = []

    def end_check(self):
        """Ends the jobs of this check that still wait to be released, e.g. after it failed half-way."""
        for run in self.of_check.runs:
            run.release()

    def last_words(self):
        """Returns the ends of the logs of this check."""
        parts = []
        for run in self.of_check.runs:
            for row in self.rows("SELECT * FROM task_instance WHERE dag_id = ? AND run_id = ?", run.dag_id, run.id):
                index = row["region_index" if self.release >= (3, 4) else "map_index"]
                parts.append(f"  {row['task_id']} [{index}]: {row['state']}, try {row['try_number']}")
                for path in run.task(row["task_id"], index).log_paths():
                    parts.append(f"  {path.name}\n{common.last_lines(path, 40)}")
        ids = [run.id for run in self.of_check.runs]
        for daemon in self.daemons.values():
            parts += [f"  {daemon.name}", common.lines_about(daemon.log_path, ids), "    ..."]
            parts.append(common.last_lines(daemon.log_path))
        return "\n".join(parts)
