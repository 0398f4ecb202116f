# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Secrets for a job's tasks, taken from Airflow's connections and variables when the job is submitted.

    TonyOperator(..., secrets={"DB_PASSWORD": FromConnection("warehouse"), "HF_TOKEN": FromVariable("hf_token")})

The Dag contains only the names of secrets. The worker reads the values and passes them to `tony` on standard input.
They become variables of the tasks' processes. No template, XCom, log, trigger or argument contains them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tony_airflow._compat import AirflowNotFoundException, BaseHook, Variable, hide
from tony_airflow.exceptions import TonyRefused

PARTS = ("password", "uri")


@dataclasses.dataclass(frozen=True)
class FromConnection:
    """A connection's password or, with part="uri", its whole URI."""

    conn_id: str
    part: str = "password"

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise ValueError(f"part={self.part!r}: expected one of {', '.join(PARTS)}")

    def value(self) -> str:
        try:
            connection = BaseHook.get_connection(self.conn_id)
        except AirflowNotFoundException:
            raise TonyRefused(f"connection {self.conn_id} does not exist") from None
        found = connection.get_uri() if self.part == "uri" else connection.password
        if not found:
            raise TonyRefused(f"connection {self.conn_id} has no {self.part}")
        return str(found)


@dataclasses.dataclass(frozen=True)
class FromVariable:
    """A variable of Airflow."""

    key: str

    def value(self) -> str:
        found = Variable.get(self.key, None)
        if not found:
            raise TonyRefused(f"variable {self.key} does not exist or is empty")
        return str(found)


Secret = FromConnection | FromVariable


def values_of(secrets: Mapping[str, Secret] | None) -> dict[str, str]:
    """Returns the values by the names of the tasks' variables, and hides them in the log from now on."""
    values = {}
    for name, secret in (secrets or {}).items():
        if not isinstance(secret, Secret):
            raise TonyRefused(f"secrets: {name}: expected FromConnection or FromVariable of tony_airflow.secret")
        try:
            values[name] = secret.value()
        except TonyRefused as error:
            raise TonyRefused(f"secrets: {name}: {error}") from None
    hide(list(values.values()))
    return values
