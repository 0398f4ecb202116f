"""What Airflow runs on: an executor, a database, and the workers that are no part of the scheduler."""

import contextlib
import sqlite3


class OneMachine:
    """The LocalExecutor, whose workers are the scheduler's, and SQLite."""

    def __init__(self, sandbox):
        self.database = sandbox.folder / "airflow/airflow.db"

    def environment(self, sqlite_options):
        """Airflow's settings for it."""
        return {"AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
                "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.database}{sqlite_options}"}  # fmt: skip

    def workers(self, program, environment):
        """More of Airflow's daemons, by their names."""
        return {}

    def start(self):
        """Before there is a database. Who writes to this one waits for no reader: its log is written ahead."""
        self.database.parent.mkdir(exist_ok=True)
        with contextlib.closing(sqlite3.connect(self.database)) as db:
            db.execute("PRAGMA journal_mode=WAL")

    def stop(self):
        """After the daemons."""

    def rows(self, sql, values):
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=30)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql, values)]

    def database_is_free(self):
        """Whether nobody keeps SQLite's lock, which one process has for all of the database."""
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=rw", uri=True, timeout=2)) as db:
            try:
                db.execute("BEGIN EXCLUSIVE")  # nothing is written, and closing ends it
            except sqlite3.OperationalError:
                return False
            return True
