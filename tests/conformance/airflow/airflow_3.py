"""The parts of the checks that are specific to Airflow 3."""

SERVER = "api-server"
SQLITE_OPTIONS = ""  # its server waits for the lock on its event loop, where waiting longer is worse


def environment(port, airflow_home):
    return {
        "AIRFLOW__API_AUTH__JWT_SECRET": "the-conformance-tests-json-web-token-secret-of-64-bytes-and-more",
        "AIRFLOW__API_AUTH__JWT_ISSUER": "the-conformance-tests",  # without it 3.1.0 names an empty list
        "AIRFLOW__API__SECRET_KEY": "the-conformance-tests-secret-key",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",  # no Dag changes
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
        # On a busy machine an answer may take longer than the default of 5 s, and a repeated request is refused.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
        # The end of a process is reported up to this many seconds late. With the default of 5 a short deferral may be
        # over before, and Airflow takes the resumed task for a failed one.
        "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
    }


def prepare(airflow_home):
    pass


def daemons(port):
    return {
        "api-server": ["api-server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"],
        "scheduler": ["scheduler", "--skip-serve-logs"],
        "dag-processor": ["dag-processor"],
        "triggerer": ["triggerer", "--skip-serve-logs"],
    }


HEALTH = "/api/v2/monitor/health"
API = "/api/v2"
WANTED_HEALTHY = ("metadatabase", "scheduler", "triggerer", "dag_processor")


def token(rest):
    return rest("GET", "/auth/token", None)["access_token"]


def trigger_body(run_id, conf):
    return {"dag_run_id": run_id, "logical_date": None, "conf": conf}


def mark_body(state):
    return {"new_state": state}


def links_of(answer):
    return answer["extra_links"]
