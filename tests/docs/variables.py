"""Checks that the table of reference/variables.md is complete. It is compared with the names in the sources that make a
task's environment, and with the variables that `tony plan --task` lists for each framework."""

import json
import re
import subprocess

from generator.pages import DOCS, ROOT

PAGE = DOCS / "reference/variables.md"

# Names in those sources that are not variables of ours: names for a shell, variables that are only removed, and a
# framework that exists for tests only.
OTHERS = {"BASH_ENV", "BASH_COMPAT", "BASHOPTS", "SHELLOPTS", "SHLVL", "POSIXLY_CORRECT", "OLDPWD", "ADDRESS",
          "BASH_FUNC_"}  # fmt: skip

JOBS = [
    ("worker:0", "tensorflow", {"tony.worker.instances": 2, "tony.ps.instances": 1, "tony.checkpoint.dir": "/tmp/saved"}),
    ("tensorboard:0", "tensorflow", {"tony.worker.instances": 1, "tony.application.tensorboard-log-dir": "/tmp/logs"}),
    ("worker:1", "pytorch", {"tony.worker.instances": 2, "tony.worker.nproc-per-node": 2}),
    ("worker:1", "jax", {"tony.worker.instances": 2}),
    ("worker:1", "lightgbm", {"tony.worker.instances": 2}),
    ("worker:1", "xgboost", {"tony.worker.instances": 2, "tony.tracker.instances": 1}),
    ("driver:0", "horovod", {"tony.worker.instances": 2}),
    ("worker:1", "horovod", {"tony.worker.instances": 2}),
    ("worker:1", "mxnet", {"tony.scheduler.instances": 1, "tony.server.instances": 1, "tony.worker.instances": 2}),
    ("worker:0", "ray", {"tony.head.instances": 1, "tony.worker.instances": 2}),
    ("head:0", "tensorflow", {"tony.head.instances": 1, "tony.worker.instances": 1, "tony.worker.depends-on": "head:ready"}),
    ("worker:0", "tensorflow", {"tony.head.instances": 1, "tony.worker.instances": 1, "tony.worker.depends-on": "head:ready"}),
    ("preprocess:0", "tensorflow", {"tony.worker.instances": 1, "tony.application.enable-preprocess": "true"}),
    ("worker:0", "tensorflow", {"tony.worker.instances": 1, "tony.application.enable-preprocess": "true"}),
]


def named_on_the_page():
    """Returns the variables of every task, and the variables by framework."""
    everywhere, frameworks = set(), {}
    for row in re.findall(r"^\| (.*) \|$", PAGE.read_text(), re.MULTILINE):
        cells = [each.strip() for each in row.split("|")]
        if len(cells) == 3 and cells[0].startswith("`"):
            everywhere |= set(re.findall(r"`([A-Z][A-Z0-9_<>]*)`", cells[0]))
        elif len(cells) == 2 and cells[0].startswith("`"):
            frameworks[cells[0].strip("`")] = set(re.findall(r"`([A-Z][A-Z0-9_]*)`", cells[1]))
    return everywhere, frameworks


def named_in_sources():
    names = set()
    for file in (ROOT / "runtime/framework").glob("*.cc"):
        names |= set(re.findall(r'"([A-Z][A-Z0-9_]{2,})=?"', file.read_text()))
    return {name for name in names - OTHERS if not name.startswith("STAGED_")}  # a framework of TonY's own tests


def planned(tony, task, framework, keys, folder):
    options = [word for key, value in keys.items() for word in ("-conf", f"{key}={value}")]
    answer = subprocess.run([tony, "plan", "--json", "-executes", "true", "-conf", f"tony.application.framework={framework}",
                             *options, "--task", task], stdout=subprocess.PIPE, check=True, cwd=folder,
                            env={"HOME": str(folder), "PATH": "/usr/bin:/bin"})  # fmt: skip
    found = set()
    for process in json.loads(answer.stdout)["task"]["processes"]:
        found |= {each.split("=", 1)[0] for each in process["environment"]}
    return found - {"HOME", "PATH", "_", "SHLVL"}


def problems(tony, folder):
    everywhere, frameworks = named_on_the_page()
    page = everywhere.union(*frameworks.values())
    roles = re.compile("TONY_READY_[A-Z]+$")
    known = page | {"TONY_READY_"}
    for name in sorted(named_in_sources() - known):
        yield f"{name} is in the sources, and not in the table"
    seen = set()
    for task, framework, keys in JOBS:
        found = planned(tony, task, framework, keys, folder)
        seen |= found
        for name in sorted(found - everywhere - frameworks[framework]):
            if not roles.match(name):
                yield f"{task} of {framework} finds {name}, and the table does not say so"
    for name in sorted(page - named_in_sources() - seen - {"TONY_READY_<ROLE>"}):
        yield f"{name} is in the table, and nothing sets it"
