"""samples/tensorflow-ps and samples/tensorflow-multiworker."""

import contextlib
import json
import os
import pathlib
import signal
import sys
import tempfile
import urllib.request

from samples.in_step import judge_in_step
from samples.run import Training, expect, seconds

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "page"))
from chromium import Chromium, Tab  # noqa: E402

SERVERS = ("ps:0", "worker:0", "worker:1")
# Seconds from the chief's end to the job's. Processes that obey SIGTERM need a tenth of a second.
END_LIMIT = 10


def judge_parameter_servers(run):
    run.judge_model("chief-0", 0.9)
    expect("hidden:0 lives on /job:ps/" in run.stdout("chief-0"), "the weights are not on the parameter server")
    tasks = run.tasks()
    expect(tasks["chief:0"]["outcome"]["class"] == "success", f"chief: {tasks['chief:0']}")
    for name in SERVERS:
        outcome = tasks[name]["outcome"]
        ended_by_us = (outcome["class"], outcome.get("signal")) == ("killed", signal.SIGTERM)
        expect(ended_by_us, f"{name} was not ended by the application master: {outcome}")
    chief_ended, job_ended = seconds(tasks["chief:0"]["ended"]), seconds(run.status()["ended"])
    expect(all(seconds(tasks[name]["ended"]) >= chief_ended for name in SERVERS), f"ended before the chief: {tasks}")
    expect(job_ended - chief_ended < END_LIMIT, f"the job ended {job_ended - chief_ended:.1f} s after the chief")


def parameter_servers(bin_folder, environment):
    with Training("tensorflow-ps", bin_folder, environment) as run:
        run.finish()
        judge_parameter_servers(run)
        expect(run.status()["restart_count"] == 0, "something was restarted")


def parameter_servers_worker_killed(bin_folder, environment):
    """The chief trains on with the other worker; only the lost worker is restarted."""
    more = ("-shell_env", "STEPS=1500", "-conf", "tony.restart.task.budget=1")
    with Training("tensorflow-ps", bin_folder, environment, *more) as run:
        run.wait_for("first steps", lambda: "step 100/" in run.stdout("chief-0"))
        os.kill(run.task_pids()["worker:1"], signal.SIGKILL)
        run.finish()
        judge_parameter_servers(run)
        restarts = [(restart["scope"], restart["charged"]) for restart in run.status()["restarts"]]
        expect(restarts == [("task", False)], f"restarts {restarts}")
        expected = ["chief-0#1", "ps-0#1", "worker-0#1", "worker-1#1", "worker-1#2"]
        expect(run.attempts() == expected, f"attempts {run.attempts()}")


def multiworker(bin_folder, environment):
    """TensorBoard beside the job shows the losses in a browser while the workers train."""
    with contextlib.ExitStack() as stack:
        board = stack.enter_context(tempfile.TemporaryDirectory(prefix="tony-board-"))
        more = ("-sidecar_tensorboard_log_dir", board, "-shell_env", "EPOCHS=300")
        # Chromium needs time to start, so it starts before the training that it has to show.
        chromium = Chromium()
        stack.callback(chromium.close)
        with Training("tensorflow-multiworker", bin_folder, environment, *more) as run:
            run.wait_for("losses in TensorBoard", lambda: run.folder() and "loss" in tags_on_board(run.status()))
            look_at_board(chromium, run.status())
            run.finish()
            judge_multiworker(run)
            expect("tensorboard_url" not in run.status(), "TensorBoard outlived the job")


def look_at_board(chromium, status):
    """The link on the job's page leads to the curve of the losses."""
    tab = Tab(chromium, status["tracking_url"] + "tensorboard", at="/")
    expect(tab.value("location.href").startswith(status["tensorboard_url"]), tab.value("location.href"))
    tab.wait("[...document.querySelectorAll('card-view')].some(e => e.textContent.includes('loss'))")
    tab.wait("document.querySelectorAll('card-view svg path, card-view canvas').length > 0")


def tags_on_board(status):
    if "tensorboard_url" not in status:
        return []
    try:
        with urllib.request.urlopen(status["tensorboard_url"] + "data/plugin/scalars/tags", timeout=5) as answer:
            return [tag for run in json.load(answer).values() for tag in run]
    except OSError:
        return []  # TensorBoard does not listen yet


def judge_multiworker(run):
    run.judge_model("worker-0", 0.9)
    judge_in_step(run, ("worker-0", "worker-1"))
