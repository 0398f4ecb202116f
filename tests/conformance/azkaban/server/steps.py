"""Checks of a step's inputs, output and files. Each check begins with the sample's flow started."""

import json
import re
import secrets
import subprocess
import urllib.request

from common import LIMIT, wait_for


def uploaded_projects_contain_their_flows(azkaban):
    assert azkaban.client.flows("digits") == {"deploy"}
    assert {"precedence", "after_failing", "both", "aliases"} <= azkaban.client.flows("conformance")


def the_server_refuses_to_reload_job_types_without_a_restart(azkaban):
    """The manual says so of this version; newer versions have an action for it."""
    port = azkaban.server.executor_port
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/executor?action=reloadJobTypePlugins", timeout=10) as answer:
        told = answer.read().decode()
    assert "error" in told.lower(), told


def the_doctor_reports_no_failure_for_the_running_server(azkaban):
    words = [azkaban.sandbox.bin / "tony-azkaban", "doctor", "--executor", str(azkaban.server.process.pid), "--json"]
    done = subprocess.run(words, env=azkaban.sandbox.environment(), capture_output=True, timeout=LIMIT, check=False)
    found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert str(azkaban.sandbox.jobtypes) in found["job types"]["text"], found["job types"]
    ill = [check for check in found.values() if check["health"] == "fail"]
    assert (done.returncode, ill) == (0, [])


def the_sample_prepares_trains_and_deploys(azkaban):
    run = azkaban.sample
    status = run.end(limit=180)
    assert status == "SUCCEEDED", f"{status}: {run.statuses()}\n{run.log('train')}"
    assert run.statuses() == dict.fromkeys(("prepare", "train", "deploy"), "SUCCEEDED")
    log = run.log_with("deploy", "deployed ")
    model = azkaban.sandbox.folder / "digits/model/model.npz"
    assert f'--model "{model}"' in log, log
    assert re.search(r"--accuracy 0\.9\d* ", log), log
    assert (azkaban.sandbox.folder / "digits/deployed/model.npz").stat().st_size > 1000


def log_page_and_attachment_show_a_running_training(azkaban):
    run = azkaban.sample
    wait_for("a training that runs", lambda: run.statuses()["train"] == "RUNNING", 120)
    log = run.log_with("train", "running on")
    seen = run.attachment("train")
    assert run.statuses()["train"] == "RUNNING", "it ended too soon to be looked at"
    (job,) = set(re.findall(r"\blocal-\d{8}-\d{6}-[0-9a-f]{6}\b", log))
    (page,) = re.findall(r"TonY UI: (http\S+)", log)
    with urllib.request.urlopen(page, timeout=10) as answer:
        assert job in answer.read().decode(), page
    assert f"logs: {azkaban.sandbox.folder}/home/jobs/{job}/logs" in log, log
    assert len(seen) == 1, seen
    assert (seen[0]["job"], seen[0]["state"]) == (job, "RUNNING"), seen
    assert len(seen[0]["tasks"]) == 2, seen

    run.end(limit=180)
    (last,) = wait_for("its last status", lambda: run.attachment("train"))
    now = azkaban.sandbox.tony("status", job)
    # Its page has closed by now. A result that Azkaban has taken is acknowledged.
    differing = {key for key in last.keys() | now.keys() if last.get(key) != now.get(key)}
    assert differing <= {"tracking_url", "acked"}, f"{differing} of {last}"
    assert last["state"] == "SUCCEEDED", last


def step_properties_override_flow_properties_which_override_plugin_properties(azkaban):
    defaults, given = azkaban.execute("precedence"), azkaban.execute("precedence", **{"tony.worker.instances": 2})
    for run, plain in ((defaults, 1), (given, 2)):
        assert run.end() == "SUCCEEDED", run.statuses()
        assert run.instances("plain") == {"worker": plain}, f"{run.instances('plain')}, expected {plain}"
        assert run.instances("fixed") == {"worker": 3}


def the_job_types_of_the_hadoop_dsl_are_supported(azkaban):
    run = azkaban.execute("aliases")
    assert run.end() == "SUCCEEDED", run.statuses()
    assert run.job("as_tony_job")
    assert run.job("as_tensorflow_job")


def steps_after_a_failed_training_do_not_run(azkaban):
    run = azkaban.execute("after_failing")
    assert run.end() == "FAILED"
    statuses = run.statuses()
    assert statuses["failing"] == "FAILED", statuses
    assert statuses["after_failing"] in ("CANCELLED", "KILLED"), statuses
    log = run.log_with("failing", "tony-azkaban: exit 1: ")
    for words in ("worker:0", "exit code 3", "no rows left"):
        assert words in log, f"{words!r} is not in {log}"
    last_words = log.partition("tony-azkaban: exit 1: ")[2].partition("\n")
    assert run.job("failing") in last_words[0], log
    assert run.job("failing") not in last_words[2], log
    assert run.log("after_failing") == ""


def a_failed_training_is_retried_as_a_new_job(azkaban):
    run = azkaban.execute("retried", gate=azkaban.gate("retried"))
    assert run.end() == "SUCCEEDED", run.log_file("retried", 1)
    for attempt, end in enumerate(("tony-azkaban: exit 1: ", "tony-azkaban: exit 0: ")):
        log = run.log_file("retried", attempt)
        assert end in log, f"{end!r} is not in the log of attempt {attempt}: {log}"
    states = sorted(azkaban.sandbox.tony("status", job)["state"] for job in run.jobs("retried"))
    assert states == ["FAILED", "SUCCEEDED"], states


def an_invalid_number_is_named_in_the_log_and_no_job_starts(azkaban):
    run = azkaban.execute("bad_number")
    assert run.end() == "FAILED"
    log = run.log_with("bad_number", "tony-azkaban: exit 65: ")
    named = [line for line in log.splitlines() if "tony.worker.instances" in line and "two" in line]
    assert len(named) == 1, log
    assert "expected a whole number" in named[0], log
    assert run.jobs("bad_number") == []


def no_secret_is_in_a_log(azkaban):
    token = secrets.token_hex(16)
    run = azkaban.execute("secret", **{"api.token": token})
    assert run.end() == "FAILED"
    verdict = azkaban.sandbox.tony("status", run.job("secret"))["verdict"]
    assert "signed in" in verdict["stderr_tail"], verdict
    run.log_with("secret", "with status FAILED")
    assert token not in str(run.attachment("secret"))
    home = azkaban.server.home
    logs = [*home.glob("*.log"), *home.glob("logs/*"), *home.glob("executions/*/_*")]
    assert len(logs) > 4, logs
    leaks = [str(file) for file in logs if token.encode() in file.read_bytes()]
    assert leaks == [], leaks


CHECKS = [
    uploaded_projects_contain_their_flows,
    the_server_refuses_to_reload_job_types_without_a_restart,
    the_doctor_reports_no_failure_for_the_running_server,
    the_sample_prepares_trains_and_deploys,
    log_page_and_attachment_show_a_running_training,
    step_properties_override_flow_properties_which_override_plugin_properties,
    the_job_types_of_the_hadoop_dsl_are_supported,
    steps_after_a_failed_training_do_not_run,
    a_failed_training_is_retried_as_a_new_job,
    an_invalid_number_is_named_in_the_log_and_no_job_starts,
    no_secret_is_in_a_log,
]
