"""Loops, which Airflow has since 3.4: each iteration has a job of its own."""

import os
import signal

from common import wait_for
from long.deaths import NEVER_SENT
from long.ends import requests_of
from long.expect import connection


def a_loop_iteration_whose_worker_died_before_its_submit_gets_its_own_job(airflow):
    """Both iterations have the same inputs, and a retry adopts the result of a job that has ended."""
    marks = connection(airflow, "tony_loop", NEVER_SENT)
    run = airflow.trigger("loop_retrains")
    wait_for("the first iteration's job", lambda: airflow.sandbox.all_jobs())
    (marks / "hold").touch()
    run.release()
    wait_for("the second iteration's submit", lambda: list(marks.glob("asked.*")))
    sql = "SELECT pid FROM task_instance WHERE dag_id = ? AND run_id = ? AND task_id = ? AND state = 'running'"
    (row,) = airflow.rows(sql, run.dag_id, run.id, "refine.train")
    os.kill(row["pid"], signal.SIGKILL)
    (marks / "hold").unlink()
    run.wait("success")
    requests = requests_of(airflow, run.dag_id)
    jobs = [airflow.sandbox.jobs(request) for request in requests]
    assert [len(each) for each in jobs] == [1, 1], dict(zip(requests, jobs, strict=True))
    assert all(airflow.sandbox.tony("status", job)["state"] == "SUCCEEDED" for (job,) in jobs), jobs


TOGETHER = {"loop_retrains": a_loop_iteration_whose_worker_died_before_its_submit_gets_its_own_job}
ALONE = {}
