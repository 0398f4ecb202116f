"""The parts of the checks that are specific to Airflow 2."""

SERVER = "webserver"
# seconds to wait for SQLite's lock; with the default of 5 a task may fail to start on a busy machine
SQLITE_OPTIONS = "?timeout=60"


def environment(port, airflow_home):
    return {
        "AIRFLOW__API__AUTH_BACKENDS": "airflow.api.auth.backend.default",
        "AIRFLOW__WEBSERVER__SECRET_KEY": "the-conformance-tests-secret-key",
        "AIRFLOW__WEBSERVER__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__WEBSERVER__CONFIG_FILE": str(airflow_home / "webserver_config.py"),
        "AIRFLOW__SCHEDULER__SCHEDULER_ZOMBIE_TASK_THRESHOLD": "20",
        "AIRFLOW__SCHEDULER__ZOMBIE_DETECTION_INTERVAL": "5",
        # Without this setting SQLite gets the SequentialExecutor, which blocks the scheduler while a task runs.
        "_AIRFLOW__SKIP_DATABASE_EXECUTOR_COMPATIBILITY_CHECK": "1",
    }


def prepare(airflow_home):
    """Makes everybody who can reach the port an administrator. The port is on the loopback device, for some minutes."""
    text = 'AUTH_ROLE_PUBLIC = "Admin"\nWTF_CSRF_ENABLED = False\n'
    (airflow_home / "webserver_config.py").write_text(text)


def daemons(port):
    return {
        "webserver": ["webserver", "--hostname", "127.0.0.1", "--port", str(port), "--workers", "1"],
        "scheduler": ["scheduler", "--skip-serve-logs"],
        "triggerer": ["triggerer", "--skip-serve-logs"],
    }


HEALTH = "/health"
API = "/api/v1"
WANTED_HEALTHY = ("metadatabase", "scheduler", "triggerer")


def token(rest):
    return None


def trigger_body(run_id, conf):
    return {"dag_run_id": run_id, "conf": conf}


def mark_body(state):
    return {"dry_run": False, "new_state": state}


def links_of(answer):
    return answer
