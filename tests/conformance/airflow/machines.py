"""The machines below Airflow: an executor, a database, and the workers outside of the scheduler."""

import contextlib
import sqlite3


class OneMachine:
    """The LocalExecutor, whose workers belong to the scheduler, and SQLite."""

    def __init__(self, sandbox):
        self.database = sandbox.folder / "airflow/airflow.db"

    def environment(self, sqlite_options):
        """Returns Airflow's settings for these machines."""
        return {"AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
                "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.database}{sqlite_options}"}  # fmt: skip

    def workers(self, program, environment):
        """Returns the names of additional Airflow daemons."""
        return {}

    def start(self):
        """Prepares the database. With its write-ahead log a writer never waits for readers."""
        self.database.parent.mkdir(exist_ok=True)
        with contextlib.closing(sqlite3.connect(self.database)) as db:
            db.execute("PRAGMA journal_mode=WAL")

    def stop(self):
        """Called after the daemons have ended."""

    def rows(self, sql, values):
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=30)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql, values)]

    def database_is_free(self):
        """Returns whether no process holds SQLite's lock, which covers the whole database."""
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=rw", uri=True, timeout=2)) as db:
            try:
                db.execute("BEGIN EXCLUSIVE")  # writes nothing; closing ends the transaction
            except sqlite3.OperationalError:
                return False
            return True
