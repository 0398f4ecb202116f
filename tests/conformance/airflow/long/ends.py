"""How jobs end by themselves, and the state that Airflow derives from it."""

import contextlib
import hashlib
import json
import os
import pathlib
import secrets
import sqlite3

import common

from .expect import HELD_BEFORE, connection, ends, expect_ends, expect_gone, wait_deferred, wait_running


def a_failing_task_is_retried_and_its_downstream_task_does_not_run(airflow):
    run = airflow.trigger("fail_retry")
    run.wait("failed")
    train = run.task("train")
    assert train.row()["try_number"] == 2, train.row()
    assert run.task("after").state() == "upstream_failed", run.task("after").state()
    expect_ends(train, (0, "FAILED"), (0, "FAILED"))
    for number, job in enumerate(train.jobs(), 1):
        log = train.log(number)
        assert f"{job} FAILED user_error: " in log, log
        assert "no rows left" in log, log


def an_exit_code_in_skip_on_exit_code_skips_the_task(airflow):
    run = airflow.trigger("skip_exit_code")
    run.wait("success")
    assert (run.task("train").state(), run.task("after").state()) == ("skipped", "skipped")
    expect_ends(run.task("train"), (0, "FAILED"))


def each_instance_of_a_mapped_task_has_its_own_job(airflow):
    run = airflow.trigger("mapped")
    tasks = [run.task("train", number) for number in range(3)]
    for task in tasks:
        task.wait("deferred", "running")
    for task in tasks:
        common.wait_for(f"{task.request_id} to be deferred", lambda task=task: task.state() == "deferred")
    assert len({task.jobs()[0] for task in tasks}) == 3
    run.release()
    run.wait("success")
    for number, task in enumerate(tasks):
        assert task.row()["try_number"] == 1, task.row()
        assert task.xcoms()["return_value"] == {"shard": str(number)}, task.xcoms()
        expect_ends(task, (0, "SUCCEEDED"))


def a_job_that_ends_while_its_task_defers_runs_only_once(airflow):
    run = airflow.trigger("short_deferral")
    run.wait("success")
    train = run.task("train")
    expect_ends(train, (0, "SUCCEEDED"))
    assert train.xcoms()["return_value"] == {"model_path": "/models/short"}, train.xcoms()


def simultaneous_submits_under_one_request_id_make_one_job(airflow):
    """The program of this connection delays submits until all of them have arrived."""
    marks = connection(airflow, "tony_held_together", HELD_BEFORE)
    run = airflow.trigger("same_request_at_once")
    common.wait_for("all submits", lambda: len(list(marks.glob("*/asked"))) == 8)
    (marks / "go").touch()
    run.wait("success")
    answers = [json.loads(file.read_text()) for file in marks.glob("*/answer")]
    assert sorted(answer["decision"] for answer in answers) == ["attached"] * 7 + ["created"], answers
    (job,) = airflow.sandbox.jobs(run.id)
    assert {answer["job"] for answer in answers} == {job}, answers
    tasks = [run.task("train", number) for number in range(8)]
    assert {task.xcoms()["return_value"] for task in tasks} == {job}
    run.release()
    common.wait_for("its end", lambda: airflow.sandbox.tony("status", job)["state"] == "SUCCEEDED")
    expect_gone(tasks[0], job)


def outputs_and_links_of_a_job_remain_after_its_end(airflow):
    run = airflow.trigger("outputs_and_links")
    tasks = [run.task("deferred"), run.task("running")]
    wait_deferred(tasks[0])
    wait_running(tasks[1])
    before = [task.links() for task in tasks]
    run.release()
    run.wait("success")
    for task, links in zip(tasks, before, strict=True):
        (job,) = task.jobs()
        outputs = {"model_path": "/models/m", "accuracy": "0.97"}
        xcoms = task.xcoms()
        assert airflow.sandbox.tony("outputs", job)["outputs"] == outputs
        assert (xcoms["return_value"], xcoms["job_id"], xcoms["final_state"]) == (outputs, job, "SUCCEEDED"), xcoms
        assert set(links) == {"TonY job", "TonY logs"}, links
        assert all(links.values()), links
        assert task.links() == links, f"{task.links()}, before the end {links}"
        assert links["TonY job"] == xcoms["tracking_url"], (links, xcoms)
        expect_ends(task, (0, "SUCCEEDED"))


def command_lines(airflow):
    found = []
    for pid in airflow.sandbox.processes():
        try:
            found.append(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            continue
    return found


def no_password_is_in_a_log_a_view_or_a_command_line(airflow):
    word, token = secrets.token_hex(16), secrets.token_hex(16)
    body = {"connection_id": "the_token", "conn_type": "http", "host": "h", "password": token}
    airflow.rest("POST", f"{airflow.version.API}/connections", body)
    run = airflow.trigger("secrets", {"word": word})
    train = run.task("train")
    job = wait_running(train)
    lines = command_lines(airflow)
    assert any(job.encode() in line for line in lines), lines
    assert not [line for line in lines if word.encode() in line or token.encode() in line]
    run.release()
    run.wait("failed")

    stderr_tail = airflow.sandbox.tony("status", job)["verdict"]["stderr_tail"]
    for secret, what in ((word, "variable of its environment"), (token, "password of the connection")):
        told = hashlib.sha256(f"{secret}\n".encode()).hexdigest()
        assert told in stderr_tail, f"the job has not got the {what}"
    assert "signed in with ***" in stderr_tail, stderr_tail
    assert "signed in with ***" in train.log(), "the job's last words are not in the log, or as they were"
    logs = [file for file in airflow.home.glob("logs/**/*") if file.is_file()]
    assert [str(file) for file in logs if word.encode() in file.read_bytes()] == []
    everywhere = [file for file in airflow.sandbox.folder.rglob("*") if file.is_file() and file.suffix != ".db"]
    assert [str(file) for file in everywhere if token.encode() in contents(file)] == []
    views = airflow.rows("SELECT * FROM rendered_task_instance_fields WHERE run_id = ?", run.id)
    assert "PASSWORD" in str(views), views
    assert word not in str(views) and token not in str(views), views
    assert word not in str(train.xcoms()), train.xcoms()
    expect_ends(train, (0, "FAILED"))


def contents(file):
    try:
        return file.read_bytes()
    except OSError:  # removed meanwhile
        return b""


def airflow_trains_a_model_from_an_unchanged_azkaban_properties_file(airflow):
    run = airflow.trigger("properties_file")
    run.wait("success", limit=240)
    train = run.task("train")
    (job,) = train.jobs()
    status = airflow.sandbox.tony("status", job)
    assert (status["name"], status["framework"]) == ("digits", "jax"), status
    assert [task["task"] for task in status["tasks"]] == ["worker:0", "worker:1"], status["tasks"]
    outputs = train.xcoms()["return_value"]
    assert float(outputs["accuracy"]) > 0.9, outputs
    assert os.path.getsize(outputs["model.path"]) > 1000, outputs
    expect_ends(train, (0, "SUCCEEDED"))


def the_task_log_shows_the_output_of_a_running_job(airflow):
    run = airflow.trigger("stream_logs")
    tasks = [run.task("deferred"), run.task("running")]
    for task in tasks:
        task.wait("running", "deferred")
        for text in ("first line", "to the errors"):
            common.wait_for(f"{text!r} in the log of {task.id}", lambda task=task, text=text: text in task.log(), 60)
        task.wait_for_job("RUNNING")
    common.wait_for("the deferral", lambda: tasks[0].state() == "deferred")
    run.release()
    run.wait("success")
    for task in tasks:
        for text in ("first line", "to the errors", "last line"):
            assert (count := task.log().count(text)) == 1, f"{text!r} is there {count} times"
        expect_ends(task, (0, "SUCCEEDED"))


def timed_out(airflow, dag_id, seconds):
    """Checks that the job of a task with an execution timeout is killed, and that the task has failed."""
    run = airflow.trigger(dag_id)
    run.wait("failed")
    train = run.task("train")
    row = train.row()
    assert (row["state"], row["try_number"]) == ("failed", 1), row
    assert seconds - 6 < row["duration"] < seconds + 30, row["duration"]
    (job,) = train.jobs()
    expect_gone(train, job)
    assert ends(train) == [(0, "KILLED")], ends(train)
    return train


def an_execution_timeout_kills_the_job_of_a_task_that_waits(airflow):
    timed_out(airflow, "timeout_sync", 8)


def an_execution_timeout_kills_the_job_of_a_deferred_task(airflow):
    timed_out(airflow, "timeout_deferred", 20)


def a_sensor_waits_for_a_job_that_a_task_of_another_dag_submitted(airflow):
    first = airflow.trigger("submit_only")
    train = first.task("train")
    first.wait("success")
    train.wait_for_job("RUNNING")
    second = airflow.trigger("sensors", {"request_id": train.request_id})
    poke, deferred = second.task("poke"), second.task("deferred")
    poke.wait("running")
    wait_deferred(deferred)
    train.wait_for_job("RUNNING")
    first.release()
    second.wait("success")
    for sensor in (poke, deferred):
        assert sensor.xcoms()["return_value"] == {"model_path": "/models/later"}, sensor.xcoms()
    expect_ends(train, (0, "SUCCEEDED"))


def airflow_dags_test_runs_a_new_job_each_time_without_daemons(airflow):
    """In Airflow 2 a second run of the same day is the same run, deleted and created again."""
    home = airflow.sandbox.folder / "airflow-of-the-test"
    (home / "release").mkdir(parents=True)
    database = home / "airflow.db"
    own = {"AIRFLOW_HOME": str(home), "AIRFLOW__LOGGING__BASE_LOG_FOLDER": f"{home}/logs",
           "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{database}"}  # fmt: skip
    test = ["dags", "test", "dags_test", "2026-01-02"]
    for words in (["db", "migrate"], ["dags", "reserialize"], test, test):
        common.tool(f"airflow {words}", [airflow.program, *words], 240, env={**airflow.environment, **own}, cwd=home)
    with contextlib.closing(sqlite3.connect(database)) as rows:
        states = dict(rows.execute("SELECT task_id, state FROM task_instance"))
    assert states == {"train": "success", "after": "success"}, states
    requests = requests_of(airflow, "dags_test")
    assert len(requests) == {2: 1, 3: 2}[airflow.major], requests
    jobs = [job for request in requests for job in airflow.sandbox.jobs(request)]
    assert len(jobs) == 2, jobs
    for job in jobs:
        assert airflow.sandbox.tony("status", job)["state"] == "SUCCEEDED"
        assert not airflow.sandbox.processes(job), [common.described(pid) for pid in airflow.sandbox.processes(job)]


def requests_of(airflow, dag_id):
    """Returns the request ids of a Dag's tasks that the runtime knows."""
    files = airflow.sandbox.home.glob("jobs/*/submission.json")
    found = {json.loads(file.read_text()).get("request_id", "") for file in files}
    return {request for request in found if request.startswith(f"airflow://{dag_id}/")}


TOGETHER = {
    "timeout_deferred": an_execution_timeout_kills_the_job_of_a_deferred_task,
    "mapped": each_instance_of_a_mapped_task_has_its_own_job,
    "properties_file": airflow_trains_a_model_from_an_unchanged_azkaban_properties_file,
    "outputs_and_links": outputs_and_links_of_a_job_remain_after_its_end,
    "stream_logs": the_task_log_shows_the_output_of_a_running_job,
    "timeout_sync": an_execution_timeout_kills_the_job_of_a_task_that_waits,
    "fail_retry": a_failing_task_is_retried_and_its_downstream_task_does_not_run,
    "skip_exit_code": an_exit_code_in_skip_on_exit_code_skips_the_task,
    "short_deferral": a_job_that_ends_while_its_task_defers_runs_only_once,
    "secrets": no_password_is_in_a_log_a_view_or_a_command_line,
    "sensors": a_sensor_waits_for_a_job_that_a_task_of_another_dag_submitted,
    "dags_test": airflow_dags_test_runs_a_new_job_each_time_without_daemons,
}
ALONE = {"same_request_at_once": simultaneous_submits_under_one_request_id_make_one_job}  # it uses all the workers
