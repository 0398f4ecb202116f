# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Calls the connection's `tony` through the client package, and turns its errors into this provider's exceptions."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import tony
from tony.answer import Document
from tony.program import CALL_LIMIT, Ask, Calls
from tony.watch import JobWatch

from tony_airflow.exceptions import TonyError, TonyNotFound, TonyRefused, TonyTransportError

__all__ = ["Calls", "Document", "TonyCli"]

NAME = "tony"
# Jobs do not get Airflow's own settings, connections and variables, because most of them are secrets.
WITHHELD = ("AIRFLOW__", "AIRFLOW_CONN_", "AIRFLOW_VAR_", "_AIRFLOW_", "__AIRFLOW_")
REFUSED = (tony.UsageError, tony.SpecInvalid, tony.NotPermitted, tony.VersionMismatch)


@dataclasses.dataclass(frozen=True)
class TonyCli:
    """The place of `tony` and of its jobs. It contains no secrets, because triggers store it in Airflow's database."""

    # "tony" alone stands for the program of the package tony-runtime or, without that package, for the first in $PATH.
    program: str = NAME
    home: str | None = None  # $TONY_HOME; None: inherited
    conf_dir: str | None = None  # $TONY_CONF_DIR
    proxy_user: str | None = None  # $HADOOP_PROXY_USER

    @property
    def _program(self) -> tony.Program:
        path = None if self.program == NAME else self.program
        return tony.Program(path, self.home, self.conf_dir, WITHHELD, self.proxy_user)

    def call(
        self,
        *words: str,
        document: Document | None = None,
        directory: str | None = None,
        limit: float = CALL_LIMIT,
        calls: Calls | None = None,
        own_session: bool = False,
        on_note: Callable[[str], Any] = lambda _: None,
    ) -> Document:
        """Runs one verb and returns its answer. `document` goes to standard input, where no other user can read it.

        `on_note` gets each line that the command writes for people.
        After `limit` seconds the command is ended, but not the job. calls.stop() and exceptions from outside, such as
        Airflow's signals and timeouts, also end the command.
        """
        with as_ours():
            return self._program.call(
                Ask(words, document, directory, limit),
                calls=calls,
                own_session=own_session,
                said=lambda text: pass_lines(text, on_note),
            )

    async def acall(self, *words: str, limit: float = CALL_LIMIT) -> Document:
        """Runs one verb in an event loop. The process has ended when this returns, raises or is cancelled."""
        with as_ours():
            return await self._program.acall(Ask(words, limit=limit))

    def watch(self, named: bool) -> JobWatch:
        """Returns the watch of this event loop. `named`: from now on a kill for another watcher has no effect."""
        return JobWatch.shared(self._program, named)


async def end_of(
    watch: JobWatch, job_id: str, on_news: Callable[[Document], Any], on_note: Callable[[str], Any]
) -> Document:
    """Waits until the job ends, and returns its last status. `on_note` gets messages for people about the job."""
    with as_ours():
        return await watch.end_of(job_id, on_news, on_note)


def pass_lines(said: bytes, on_note: Callable[[str], Any]) -> None:
    for line in said.decode(errors="replace").splitlines():
        on_note(line)


@contextlib.contextmanager
def as_ours() -> Iterator[None]:
    """Converts the client's exceptions into kinds from which Airflow knows whether another try may help."""
    try:
        yield
    except tony.NoProgram as error:
        raise TonyTransportError(f"{error}; install tony there, or set the connection's extra field cli") from None
    except tony.Unavailable as error:
        raise TonyTransportError(str(error)) from None
    except tony.NotFound as error:
        raise TonyNotFound(str(error)) from None
    except REFUSED as error:
        raise TonyRefused(str(error)) from None
    except tony.TonyError as error:
        raise TonyError(str(error)) from None
