"""Sweeps on a real YARN: a part of the trials at a time, their outputs, and the missing trials of another job."""

import json
import pathlib

from common import begin_client, end, must, nothing_is_left_of, status, tony, until, WORK

TRIAL = '[ {x} != 3 ] || [ -e %s ] || exit 3; sleep 0.5; echo "{\\"loss\\":{x}}" > $TONY_OUTPUT_FILE'


def sweep(*words):
    return begin_client("sweep", "--conf", "tony.scheduler=yarn", "--memory", "128m", *words)


def a_sweep_requests_only_the_containers_of_the_trials_that_run_and_its_missing_trials_run_in_another_job():
    fixed = pathlib.Path(WORK) / "sweep-is-fixed"
    client, job = sweep("-p", "x=5,4,3,2,1", "--metric", "loss", "--parallel", "2", "--", TRIAL % fixed)
    most = 0

    def has_ended():
        nonlocal most
        document = status(job)
        most = max(most, sum(task["state"] == "active" for task in document["tasks"]))
        return "verdict" in document

    until(has_ended, f"{job} to end")
    end(client)
    must(most == 2, f"{most} trials ran at a time")
    document = status(job)
    must(document["verdict"]["state"] == "SUCCEEDED" and document["tolerated_failures"] == 1, document["verdict"])
    must(document["sweep"]["best"] == "trial:4", document["sweep"])
    must([trial.get("outputs") for trial in document["sweep"]["trials"]] ==
         [{"loss": 1}, {"loss": 2}, {"loss": 4}, {"loss": 5}, None], document["sweep"])
    nothing_is_left_of(job)
    fixed.touch()
    again = tony("sweep", "--resume", job, "--json")
    must(again.returncode == 0, again.stdout, again.stderr)
    document = json.loads(again.stdout)
    must(len(document["tasks"]) == 1 and len(document["sweep"]["trials"]) == 5, document)
    nothing_is_left_of(document["job"])


TOGETHER = (a_sweep_requests_only_the_containers_of_the_trials_that_run_and_its_missing_trials_run_in_another_job,)
ALONE = ()
DEFAULT = TOGETHER
