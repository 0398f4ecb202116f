# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""How a task's job is asked for: under which names, and what of earlier jobs may be gone on with."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from typing import Any

from tony_airflow.cli import TonyCli
from tony_airflow.hooks.tony import Order

REATTACH = {"running_or_succeeded": "adopt", "running": "attach", "never": "never"}  # to tony's --on-existing
UNAWAITED = "unawaited-"  # begins the owner of a job that its task does not wait for: whoever reads it, acknowledges it


def order_of(context: Any, retries: int, namespace: str | None, request_id: str | None, awaited: bool) -> Order:
    ti = context["ti"]
    step = [ti.dag_id, ti.run_id, ti.task_id, str(-1 if ti.map_index is None else ti.map_index), *region_of(ti)]
    name = "/".join([namespace, *step] if namespace else step)
    # Each try is an owner of its own, and its first half says whose try.
    owner = f"{hashed(name)}-{secrets.token_hex(16)}"
    # Airflow adds the retries to max_tries each time that a task is cleared. Fewer retries than before are no clear.
    submission = max(0, ti.max_tries - retries)
    return Order(
        request_id=request_id or f"airflow://{name}",
        owner=owner if awaited else UNAWAITED + owner,
        submission=submission,
        first_try=ti.try_number <= submission + 1,
        run=run_of(context["dag_run"], namespace, iteration_of(context)),
    )


def region_of(ti: Any) -> list[str]:
    """Names one iteration of a loop, of which Airflow 3.4 has many for one task and map index.

    A region is one pass of a loop, or the mapped instances within an iteration: a loop that is cleared runs in a new
    one. The null id is the region of everything outside of loops.
    """
    region = getattr(ti, "region_id", None)
    return [str(region), str(ti.region_index)] if region and region.int else []


def iteration_of(context: Any) -> str:
    """The same for all tasks of an iteration of a loop that have one region; empty outside of loops."""
    loop = context.get("loop")
    return f"/{context['ti'].region_id}/{loop.index}" if loop else ""


def run_of(dag_run: Any, namespace: str | None, iteration: str) -> str:
    """The same for all tries of all tasks of a Dag run, or of one iteration of a loop in it.

    It is another one where a run of the same id was made anew.

    Its start is what both Airflows tell of that. It changes when a run that has ended is cleared; then the submission
    numbers of the cleared tasks rise, too.
    """
    began = dag_run.start_date and dag_run.start_date.timestamp()
    return hashed(f"{namespace or ''}/{dag_run.dag_id}/{dag_run.run_id}/{began}{iteration}")


def hashed(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def are_of_one_task(owner: str, other: str) -> bool:
    return owner.removeprefix(UNAWAITED).split("-")[0] == other.removeprefix(UNAWAITED).split("-")[0]


def policy_of(reattach: str, order: Order) -> str:
    """For --on-existing. What has ended is a later try's to take."""
    policy = REATTACH[reattach]
    return "attach" if policy == "adopt" and order.first_try else policy


def place_of(cli: TonyCli) -> dict[str, str]:
    """Which jobs can be seen from here: those of this machine's local scheduler, in this home."""
    home = cli.home or os.environ.get("TONY_HOME") or "tony's default home"
    return {"host": socket.gethostname(), "home": home}
