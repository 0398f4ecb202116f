# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""The names under which a task's job is requested, and the rule by which a try may continue with an earlier job."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from typing import Any

from tony_airflow.cli import TonyCli
from tony_airflow.hooks.tony import Order

# The parameter `reattach` -> the option --on-existing of tony.
REATTACH = {"running_or_succeeded": "adopt", "running": "attach", "never": "never"}
# Prefix of a job's owner if the task does not wait for the job. The task that reads the result then acknowledges it.
UNAWAITED = "unawaited-"


def order_of(context: Any, retries: int, namespace: str | None, request_id: str | None, awaited: bool) -> Order:
    ti = context["ti"]
    step = [ti.dag_id, ti.run_id, ti.task_id, str(-1 if ti.map_index is None else ti.map_index), *region_of(ti)]
    name = "/".join([namespace, *step] if namespace else step)
    # Each try is a different owner. The first half of the owner identifies the task.
    owner = f"{hashed(name)}-{secrets.token_hex(16)}"
    # Airflow adds the retries to max_tries each time a task is cleared. If somebody has edited the Dag to more retries,
    # the difference is negative, and the task counts as not cleared.
    submission = max(0, ti.max_tries - retries)
    return Order(
        request_id=request_id or f"airflow://{name}",
        owner=owner if awaited else UNAWAITED + owner,
        submission=submission,
        first_try=ti.try_number <= submission + 1,
        run=run_of(context["dag_run"], namespace, iteration_of(context)),
    )


def region_of(ti: Any) -> list[str]:
    """Returns words that name one iteration of a loop; Airflow 3.4 can run several for one task and map index.

    A region is one pass of a loop, or the mapped instances within an iteration. A cleared loop runs in a new region.
    All tasks outside of loops have a region with the null id; the list is empty for them.
    """
    region = getattr(ti, "region_id", None)
    return [str(region), str(ti.region_index)] if region and region.int else []


def iteration_of(context: Any) -> str:
    """Returns a text that the tasks of a loop's iteration share if they have one region; empty outside of loops."""
    loop = context.get("loop")
    return f"/{context['ti'].region_id}/{loop.index}" if loop else ""


def run_of(dag_run: Any, namespace: str | None, iteration: str) -> str:
    """Returns a text that all tries of all tasks of a Dag run share, or of one iteration of a loop in the run.

    A run that was deleted and created again with the same id has another text. Its start time distinguishes the two in
    both versions of Airflow. The time also changes when an ended run is cleared; then the submission numbers of the
    cleared tasks grow, too.
    """
    began = dag_run.start_date and dag_run.start_date.timestamp()
    return hashed(f"{namespace or ''}/{dag_run.dag_id}/{dag_run.run_id}/{began}{iteration}")


def hashed(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def are_of_one_task(owner: str, other: str) -> bool:
    return owner.removeprefix(UNAWAITED).split("-")[0] == other.removeprefix(UNAWAITED).split("-")[0]


def policy_of(reattach: str, order: Order) -> str:
    """Returns the value of --on-existing. Only a later try may adopt the result of a job that has ended."""
    policy = REATTACH[reattach]
    return "attach" if policy == "adopt" and order.first_try else policy


def place_of(cli: TonyCli) -> dict[str, str]:
    """Returns this machine and home: on one machine `tony` sees only the jobs in its own home."""
    home = cli.home or os.environ.get("TONY_HOME") or "tony's default home"
    return {"host": socket.gethostname(), "home": home}
