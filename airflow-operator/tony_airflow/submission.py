# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""The submit of one try: what is looked at before, and what is kept of it."""

from __future__ import annotations

import dataclasses
from typing import Any

from tony_airflow.cli import Document
from tony_airflow.exceptions import TonyElsewhere, TonyNotFound
from tony_airflow.memory import Memory
from tony_airflow.order import is_older_than, place_of, policy_of
from tony_airflow.task_try import TaskTry

ONE_QUEUE = "give the tasks of TonY a queue of one machine"


@dataclasses.dataclass(frozen=True)
class Submission:
    """Finds or makes the job of a try."""

    task_try: TaskTry
    memory: Memory
    context: Any
    log: Any
    reattach: str
    is_shared: bool  # the request id is the Dag's own, and other runs may have had it

    def submit(self, document: Document, **options: Any) -> str:
        """The job's id. `options` are those of TonyHook.submit(), and `patience`, for a tony that cannot be reached."""
        order, hook = self.task_try.order, self.task_try.hook
        place = place_of(hook.cli)
        is_stale = self.context["ti"].try_number > 1 and self._look_back(place, options["patience"])
        record = {"request_id": order.request_id, "submission": order.submission, **place}
        self.memory.keep(record)
        policy = policy_of(self.reattach, order, is_stale)
        answer = self.task_try.reach(hook.submit, document, order, on_existing=policy, **options)
        job_id = str(answer["job"])
        self.task_try.adopted = answer.get("decision") == "adopted"
        self.task_try.push("job_id", job_id)
        self.memory.keep({**record, "job_id": job_id})
        for warning in answer.get("warnings", ()):
            self.log.warning("%s", warning)
        if answer.get("spec_differs"):
            parts = ", ".join(answer.get("differs_in", ())) or "something"
            self.log.warning("the job was submitted with another spec, and keeps it; what differs: %s", parts)
        self.log.info("job %s %s for %s", job_id, answer.get("decision", "created"), order.request_id)
        return job_id

    def _look_back(self, place: dict[str, str], patience: float) -> bool:
        """Whether what is known is an earlier run's. Raises if this task's job is where it cannot be seen."""
        order, hook = self.task_try.order, self.task_try.hook
        try:
            found = self.task_try.reach(hook.find, order.request_id, patience=patience)
        except TonyNotFound:
            self._expect_here(place)
            return False
        if not self.is_shared or order.first_try:
            return False
        status = self.task_try.reach(hook.status, found["job"], patience=patience)
        return is_older_than(status, self.context.get("dag_run"))

    def _expect_here(self, here: dict[str, str]) -> None:
        """This is no first try, and yet nobody here knows a job of it."""
        past = self.memory.recall()
        if not past and not self.memory.exists:
            text = "no job of an earlier try is known on %s (home %s); one that runs on another machine is not found, and "
            text += "goes on beside the one that is made now: %s"
            self.log.warning(text, here["host"], here["home"], ONE_QUEUE)
        if not past or "state" in past or all(past[name] == here[name] for name in here):
            return
        there = f"{past.get('job_id', 'a job')} was submitted on {past['host']} (home {past['home']})"
        if past["submission"] != self.task_try.order.submission:
            self.log.warning("before the task was cleared %s; if it runs, its watch timeout ends it", there)
            return
        raise TonyElsewhere(
            f"{there} by an earlier try, and this is {here['host']} (home {here['home']}), which does not know it: "
            f"a try there goes on with it; {ONE_QUEUE}, or clear the task to begin anew"
        )
