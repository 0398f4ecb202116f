"""Checks that both Dags of samples/airflow, copied as its README says, train and pass their results on."""

import pathlib
import shutil

from common import ROOT

SAMPLE = ROOT / "samples/airflow/digits"
DAGS = ("digits", "digits_from_azkaban")
LIMIT = 300  # seconds for a run of four steps, one of them a training


def copy_dags(folder):
    """Does what the README's `cp -rL` does: the copy is complete, because its links have become files."""
    shutil.copytree(SAMPLE, folder / SAMPLE.name, ignore=shutil.ignore_patterns("__pycache__"))


def started(airflow, dag_id, name, **params):
    """Starts a run in a folder of its own."""
    folder = airflow.sandbox.folder / name
    params = {"python": str(airflow.sandbox.training_python), "folder": str(folder), **params}
    return folder, airflow.trigger(dag_id, params)


def trained(run, folder, workers):
    """Returns the outputs of `train`, which its only job's chief wrote. All XComs of the task belong to that job."""
    train = run.task("train")
    assert len(train.jobs()) == 1, f"jobs: {train.jobs()}"
    job, xcoms = train.job(), train.xcoms()
    outputs = xcoms["return_value"]
    assert outputs["accuracy"] > 0.9 and outputs["model.path"] == f"{folder}/{run.id}/model/model.npz", outputs
    assert pathlib.Path(outputs["model.path"]).is_file(), f"no model: {outputs}"
    assert (xcoms["job_id"], xcoms["final_state"]) == (train.jobs()[0], "SUCCEEDED"), xcoms
    assert train.links() == {"TonY job": xcoms["tracking_url"], "TonY logs": xcoms["logs_url"]}, (train.links(), xcoms)
    assert job["state"] == "SUCCEEDED" and len(job["tasks"]) == workers, job
    return outputs


def the_sample_trains_scores_and_deploys(airflow):
    folder, run = started(airflow, "digits", "good", workers=3)
    run.wait("success", limit=LIMIT)
    outputs = trained(run, folder, workers=3)
    score = run.task("score").xcoms()["return_value"]
    assert score["accuracy"] == outputs["accuracy"], f"{score} after {outputs}"
    model, deployed = pathlib.Path(outputs["model.path"]), folder / "deployed/model.npz"
    assert deployed.read_bytes() == model.read_bytes(), "another model is deployed than the one that was trained"


def the_sample_does_not_deploy_a_bad_model(airflow):
    folder, run = started(airflow, "digits", "poor", epochs=1, least_accuracy=0.999)
    run.wait("failed", limit=LIMIT)
    states = {task: run.task(task).state() for task in ("prepare", "train", "score", "deploy")}
    assert states == {"prepare": "success", "train": "success", "score": "success", "deploy": "failed"}, states
    assert "is below least.accuracy=0.999: not deployed" in run.task("deploy").log()
    assert not (folder / "deployed").exists(), "something is deployed"


def airflow_trains_a_model_from_an_unchanged_azkaban_step_file(airflow):
    folder, run = started(airflow, "digits_from_azkaban", "azkaban")
    run.wait("success", limit=LIMIT)
    trained(run, folder, workers=2)
    assert run.task("train").job()["name"] == "digits", "the name that stands in the file"


TOGETHER = {
    "digits": the_sample_trains_scores_and_deploys,
    "digits_not_good_enough": the_sample_does_not_deploy_a_bad_model,
    "digits_from_azkaban": airflow_trains_a_model_from_an_unchanged_azkaban_step_file,
}
ALONE = {}
