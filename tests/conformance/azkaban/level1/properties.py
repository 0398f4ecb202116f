"""Checks which property wins, that values arrive unchanged, that bad values are named, and that secrets stay secret."""

import json
import re
import shutil

from .projects import FORMATS, command, embedded, flow_name, project, tony

STRANGE = "é ☃ 😀 \\ = : # ! 'a' \"b\" $HOME `ls`"
SECRET = "s3cret-value"


def install_layers(jobtypes):
    """Installs a default for all job types, and a type "named" with another default."""
    with (jobtypes / "common.properties").open("a") as common:
        common.write("tony.application.name=common\n")
    shutil.copytree(jobtypes / "tony", jobtypes / "named")
    with (jobtypes / "named/plugin.properties").open("a") as plugin:
        plugin.write("\ntony.application.name=plugin\n")


def names(azkaban, version, steps, config=None, overrides=None):
    """Returns the names of the jobs of an execution's steps."""
    execution = azkaban.run(project(version, steps, config), flow_name(version, steps), overrides)
    execution.must("SUCCEEDED")
    jobs = {step["name"]: execution.job(step["name"]) for step in steps if step["type"] != "noop"}
    return {step: azkaban.sandbox.tony("status", job)["name"] for step, job in jobs.items()}


def the_more_specific_property_wins(azkaban):
    """The order is: the job's own property, outputs of the step before it, the execution's, the flow's, the type's, the
    property of all types."""
    outputs = "printf '{\"tony.application.name\": \"output\"}' > $JOB_OUTPUT_PROP_FILE"
    before = {"name": "before", "type": "command", "after": [], "script": outputs}
    for version in FORMATS:
        bare = [tony("type", "true"), tony("named", "true", after=["type"], kind="named")]
        assert names(azkaban, version, bare) == {"type": "common", "named": "plugin"}
        own = tony("own", "true", after=["flow"], kind="named", properties={"tony.application.name": "own"})
        steps = [tony("flow", "true", kind="named"), own]
        flow = {"tony.application.name": "flow"}
        assert names(azkaban, version, steps, flow) == {"flow": "flow", "own": "own"}
        given = names(azkaban, version, steps, flow, {"tony.application.name": "execution"})
        assert given == {"flow": "execution", "own": "own"}
        execution = azkaban.run(project(version, [before, tony("after", "true", after=["before"])], flow),
                                "flow" if version == "2.0" else "after")  # fmt: skip
        execution.must("SUCCEEDED")
        assert azkaban.sandbox.tony("status", execution.job("after"))["name"] == "output"


def property_values_with_special_characters_arrive_unchanged(azkaban):
    for version in FORMATS:
        steps = [tony("train", 'printf %s "$STRANGE" > "$HERE/seen"', properties={"worker_env.STRANGE": STRANGE})]
        execution = azkaban.run(project(version, steps), flow_name(version, steps))
        execution.must("SUCCEEDED")
        assert (execution.folder / "seen").read_text(encoding="utf-8") == STRANGE


def azkaban_evaluates_expressions_in_dollar_and_parentheses(azkaban):
    """Azkaban does this since 3.x, in every property, before the plugin sees it. The manual mentions it."""
    steps = [tony("train", 'printf %s "$SUM" > "$HERE/seen"', properties={"worker_env.SUM": "$(1+2)"})]
    execution = azkaban.run(project("2.0", steps), "flow")
    execution.must("SUCCEEDED")
    assert (execution.folder / "seen").read_text() == "3"


def an_invalid_property_is_named_in_the_log_and_no_job_starts(azkaban):
    bad = {"tony.worker.instances": "many", "tony.worker.memory": "1100000g", "src_dir": "nowhere",
           "tony.azkaban.watch-timeout": "soon", "tony.worker.vcores": "-3"}  # fmt: skip
    for number, (key, value) in enumerate(bad.items()):
        name = {"tony.application.name": f"not-to-run-{number}"}
        step = tony("train", 'touch "$HERE/ran"', properties={key: value, **name})
        execution = azkaban.run(project("1.0", [step]), "train")
        execution.must("FAILED")
        exit_code, log = execution.end("train")["exit"], execution.log("train")
        assert exit_code in (64, 65), (key, exit_code, log)
        assert any(key in line and value.rstrip("g") in line for line in log.splitlines()), (key, log)
    run = [spec.read_text() for spec in (azkaban.sandbox.folder / "home").glob("jobs/*/spec.json")]
    assert not any("not-to-run-" in spec for spec in run)


def properties_that_request_more_than_the_machine_has_are_named(azkaban):
    """If the machine is too small for the request, the message names the properties that request so much, with their
    values."""
    asks = {"tony.worker.instances": "4", "tony.worker.memory": "900000g"}
    properties = {**asks, "tony.application.framework": "tensorflow"}
    execution = azkaban.run(project("1.0", [tony("train", "true", kind="TonyJob", properties=properties)]), "train")
    execution.must("FAILED")
    (line,) = [line for line in execution.log("train").splitlines() if "exit 65: " in line]
    for key, value in asks.items():
        assert f"{key}={value} (the step's properties)" in line, line


def the_status_of_a_job_names_its_step_flow_and_execution(azkaban):
    execution = azkaban.run(project("1.0", [tony("train", "true")]), "train")
    execution.must("SUCCEEDED")
    status = azkaban.sandbox.tony("status", execution.job("train"))
    assert re.fullmatch(r"azkaban://[^/]+/conformance/[0-9a-f-]{36}/train/train", status["request_id"]), status
    assert "passes no value of azkaban.url to a step" in execution.log("train"), execution.log("train")
    assert status["tags"] == [f"azkaban.flow.execid:{execution.number}", "azkaban.flow.flowid:train",
                              "azkaban.flow.projectname:conformance"], status  # fmt: skip


def steps_with_the_same_name_in_embedded_flows_have_separate_jobs(azkaban):
    """A step of the same name in another flow is another step. The outputs of an embedded flow's last step are visible
    outside of it."""
    train = tony("train", 'echo "{\\"from\\": \\"$TONY_JOB_ID\\"}" > $TONY_OUTPUT_FILE')
    steps = [embedded("left", [train]), train,
             {**command("deploy", "", after=["left"]), "command": "echo from=${from}"}]  # fmt: skip
    execution = azkaban.run(project("2.0", steps), "flow")
    execution.must("SUCCEEDED")
    jobs = [execution.job("left:train"), execution.job("train")]
    requests = [azkaban.sandbox.tony("status", job)["request_id"] for job in jobs]
    assert requests[1].endswith("/flow/train"), requests
    assert requests[0] == requests[1].removesuffix("/train") + "/left/train", requests
    assert f"from={jobs[0]}" in execution.log("deploy"), execution.log("deploy")


def a_secret_is_in_no_log(azkaban):
    step = tony("train", 'printf %s "$API_TOKEN" > "$HERE/seen"; exit 1', properties={"worker_env.API_TOKEN": SECRET})
    execution = azkaban.run(project("2.0", [step]), "flow")
    execution.must("FAILED")
    assert (execution.folder / "seen").read_text() == SECRET
    assert SECRET not in json.dumps(execution.end("train"))
    for log in [*azkaban.home.glob("*.log"), *execution.folder.glob("_job*")]:
        assert SECRET not in log.read_text(), log
    for log in (azkaban.sandbox.folder / "home/jobs" / execution.job("train")).rglob("*.log"):
        assert SECRET not in log.read_text(), log


CHECKS = [
    the_more_specific_property_wins,
    property_values_with_special_characters_arrive_unchanged,
    azkaban_evaluates_expressions_in_dollar_and_parentheses,
    the_status_of_a_job_names_its_step_flow_and_execution,
    steps_with_the_same_name_in_embedded_flows_have_separate_jobs,
    an_invalid_property_is_named_in_the_log_and_no_job_starts,
    properties_that_request_more_than_the_machine_has_are_named,
    a_secret_is_in_no_log,
]
