"""Checks that steps train, that one step's outputs become the next one's properties, and that a failure stops the
flow."""

import json
import re
import shutil

from common import ROOT

from .projects import FORMATS, command, flow_name, project, tony

SAMPLE = ROOT / "samples/azkaban"


def sample(version):
    """Returns a function that writes the sample's project, as its zip file would be unpacked."""

    def write(folder):
        shutil.copytree(SAMPLE / f"flow-{version}", folder, dirs_exist_ok=True)
        shutil.copytree(SAMPLE / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))

    return write


def trains_and_deploys(azkaban, version):
    work = azkaban.home / f"trained-{version}"
    overrides = {"python": str(azkaban.sandbox.python), "work.dir": str(work)}
    execution = azkaban.run(sample(version), "digits" if version == "2.0" else "deploy", overrides)
    execution.must("SUCCEEDED", limit=240)
    train, deploy = execution.end("train"), execution.end("deploy")
    assert train["exit"] == 0 and deploy["status"] == "SUCCEEDED", (train, deploy)
    assert float(train["outputs"]["accuracy"]) > 0.9, train["outputs"]
    assert train["outputs"]["tony.job.id"] == execution.job("train")
    assert train["outputs"]["tony.model.path"] in execution.log("deploy"), execution.log("deploy")
    assert (work / "deployed/model.npz").stat().st_size > 0
    assert "TonY UI: http" in execution.log("train"), execution.log("train")


def the_sample_in_the_flow_2_format_trains_and_deploys(azkaban):
    trains_and_deploys(azkaban, "2.0")


def the_sample_in_job_files_trains_and_deploys(azkaban):
    trains_and_deploys(azkaban, "1.0")


def tonys_old_job_type_names_run_jobs(azkaban):
    steps = [tony("first", "true", kind="TonyJob"), tony("second", "true", after=["first"], kind="TensorFlowJob")]
    execution = azkaban.run(project("1.0", steps), "second")
    execution.must("SUCCEEDED")
    assert execution.job("first") != execution.job("second")


def a_failed_step_stops_the_flow_and_logs_the_cause(azkaban):
    train = tony("train", "echo the data is gone >&2; exit 3")
    steps = [train, command("deploy", 'touch "$0.ran"', after=["train"])]
    for version in FORMATS:
        execution = azkaban.run(project(version, steps), flow_name(version, steps))
        execution.must("FAILED")
        assert execution.must("FAILED", "train")["exit"] == 1
        assert execution.must("CANCELLED", "deploy") and not (execution.folder / "src/deploy.sh.ran").exists()
        log = execution.log("train")
        assert re.search(r"tony-azkaban: exit 1: \S", log), log
        assert "the data is gone" in log and re.search(r"worker:0.*\b3\b", log), log


def an_output_is_a_property_of_the_next_step(azkaban):
    outputs = json.dumps({"color": "é ☃", "layers": 3, "model": "/models/7"}, ensure_ascii=False)
    take = "echo model=${tony.model.path} color=${color} again=${tony.output.color} layers=${layers}"
    for version in FORMATS:
        steps = [tony("train", f"echo '{outputs}' > $TONY_OUTPUT_FILE"),
                 {**command("deploy", "", after=["train"]), "command": take}]  # fmt: skip
        execution = azkaban.run(project(version, steps), flow_name(version, steps))
        execution.must("SUCCEEDED")
        assert "model=/models/7 color=é ☃ again=é ☃ layers=3" in execution.log("deploy"), execution.log("deploy")


def outputs_cannot_override_settings_of_the_next_step(azkaban):
    """In Azkaban outputs win over the plugin's own properties, and `command` is one of these."""
    steal = "touch /nowhere/stolen"
    outputs = {"command": steal, "command.1": steal, "type": "noop", "retries": "3", "env.TONY_HOME": "/nowhere",
               "working.dir": "/nowhere", "tony.worker.instances": "2", "executes": "exit 9", "src_dir": "/nowhere",
               "worker_env.COLOR": "red", "unknown": "${nowhere}", "sum": "$(1+", "empty": None, "fine": "yes",
               "user.to.proxy": "nobody"}  # fmt: skip
    steps = [tony("train", f"echo '{json.dumps(outputs)}' > $TONY_OUTPUT_FILE"),
             tony("again", 'echo "$FINE,$COLOR" > "$HERE/seen"', after=["train"],
                  properties={"worker_env.FINE": "${fine}"})]  # fmt: skip
    execution = azkaban.run(project("2.0", steps), "flow")
    execution.must("SUCCEEDED")
    assert (execution.folder / "seen").read_text() == "yes,\n"
    assert len(azkaban.sandbox.tony("status", execution.job("again"))["tasks"]) == 1
    assert "unknown" not in execution.end("train")["outputs"]


def two_steps_of_a_flow_run_at_the_same_time(azkaban):
    meet = 'touch "$HERE/{0}.here"; until [ -e "$HERE/{1}.here" ]; do sleep 0.05; done'
    steps = [tony("left", meet.format("left", "right")), tony("right", meet.format("right", "left")),
             command("both", "true", after=["left", "right"])]  # fmt: skip
    for version in FORMATS:
        execution = azkaban.run(project(version, steps), flow_name(version, steps))
        execution.must("SUCCEEDED")
        assert execution.job("left") != execution.job("right")


CHECKS = [the_sample_in_the_flow_2_format_trains_and_deploys, the_sample_in_job_files_trains_and_deploys,
          tonys_old_job_type_names_run_jobs, a_failed_step_stops_the_flow_and_logs_the_cause,
          an_output_is_a_property_of_the_next_step, outputs_cannot_override_settings_of_the_next_step,
          two_steps_of_a_flow_run_at_the_same_time]  # fmt: skip
