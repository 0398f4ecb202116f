# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Submits the job of one try, after some checks, and records the submission."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tony_airflow.cli import Document
from tony_airflow.exceptions import TonyElsewhere, TonyNotFound
from tony_airflow.memory import Memory
from tony_airflow.order import place_of, policy_of
from tony_airflow.task_try import TaskTry

ONE_QUEUE = "run the tasks of TonY in an Airflow queue that only one machine serves"


@dataclasses.dataclass(frozen=True)
class Submission:
    """Finds or creates the job of a try."""

    task_try: TaskTry
    memory: Memory
    context: Any
    log: Any
    reattach: str

    def submit(self, document: Document, **options: Any) -> str:
        """Returns the job's id. `options`: those of TonyHook.submit(), and `patience`.

        `patience` is the number of seconds for which an unreachable `tony` is retried.
        """
        order, place, patience = self.task_try.order, place_of(self.task_try.hook.cli), options.pop("patience")
        if self.context["ti"].try_number > 1 and self.task_try.reach(self._find, patience=patience) is None:
            self._expect_here(place)
        record = {"request_id": order.request_id, "submission": order.submission, **place}
        self.memory.keep(record)
        answer = self.task_try.reach(self._asking(document, options), patience=patience)
        job_id = str(answer["job"])
        self.task_try.adopted = answer.get("decision") == "adopted"
        self.task_try.push("job_id", job_id)
        self.memory.keep({**record, "job_id": job_id})
        for warning in answer.get("warnings", ()):
            self.log.warning("%s", warning)
        if answer.get("spec_differs"):
            parts = ", ".join(answer.get("differs_in", ())) or "not known"
            self.log.warning("the job was submitted with another spec and keeps it; differences: %s", parts)
        self.log.info("job %s %s for %s", job_id, answer.get("decision", "created"), order.request_id)
        return job_id

    def _asking(self, document: Document, options: dict[str, Any]) -> Callable[[], Document]:
        """Returns the submit as a repeatable function: a submit without an answer may have created the job."""
        order, hook, asked = self.task_try.order, self.task_try.hook, False

        def ask() -> Document:
            nonlocal asked
            is_made = asked and self._owner_in_tony() == order.owner
            asked = True
            now = dataclasses.replace(order, first_try=order.first_try and not is_made)
            policy = "adopt" if is_made else policy_of(self.reattach, order)
            return hook.submit(document, now, on_existing=policy, **options)

        return ask

    def _find(self) -> Document | None:
        try:
            return self.task_try.hook.find(self.task_try.order.request_id)
        except TonyNotFound:
            return None

    def _owner_in_tony(self) -> str | None:
        """Returns the last owner of the request's job; None if there is no job."""
        found = self._find()
        if found is None:
            return None
        return str(found.get("adopter") or self.task_try.hook.status(found["job"]).get("owner", ""))

    def _expect_here(self, here: dict[str, str]) -> None:
        """Handles a later try for which this machine knows no job: raises if an earlier try submitted one elsewhere."""
        past = self.memory.recall()
        if not past and not self.memory.exists:
            text = "no job of an earlier try is known on %s (home %s); if such a job runs on another machine, "
            text += "it continues in parallel with the job that is created now: %s"
            self.log.warning(text, here["host"], here["home"], ONE_QUEUE)
        if not past or "state" in past or all(past[name] == here[name] for name in here):
            return
        there = f"{past.get('job_id', 'a job')} was submitted on {past['host']} (home {past['home']})"
        if past["submission"] != self.task_try.order.submission:
            self.log.warning("before the task was cleared, %s; if that job runs, its watch timeout ends the job", there)
            return
        raise TonyElsewhere(
            f"{there} by an earlier try, but this try runs on {here['host']} (home {here['home']}), where the job is "
            f"unknown. Only a try on {past['host']} can continue with the job: {ONE_QUEUE}, or clear the task to "
            "submit a new job"
        )
