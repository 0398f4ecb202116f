# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on
# an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the
# specific language governing permissions and limitations under the License.

"""Runs `tony VERB --json`. An answer is one JSON object; an exit code above 1 becomes an exception with one line."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import socket
import subprocess
from typing import Any

from tony_airflow.exceptions import TonyError, TonyNotFound, TonyRefused, TonyTransportError

SCHEMA = 1
CALL_LIMIT = 60.0  # seconds for a call that waits for nothing; far above what it takes
# Airflow's own settings, connections and variables are no business of the jobs, and most of them are secrets.
WITHHELD = ("AIRFLOW__", "AIRFLOW_CONN_", "AIRFLOW_VAR_", "_AIRFLOW_", "__AIRFLOW_")
ERRORS = {64: TonyRefused, 65: TonyRefused, 66: TonyNotFound, 69: TonyTransportError, 77: TonyRefused}

Document = dict[str, Any]


class Calls:
    """The commands of one task. It is told to stop by a signal's handler, at any moment."""

    def __init__(self) -> None:
        self.stopped = False
        self._running: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        """Ends the command that runs, and each that begins later."""
        self.stopped = True
        if self._running is not None:
            self._running.kill()

    def began(self, process: subprocess.Popen[bytes]) -> None:
        self._running = process
        if self.stopped:
            process.kill()

    def ended(self) -> None:
        self._running = None


@dataclasses.dataclass(frozen=True)
class TonyCli:
    """Where `tony` and its jobs are. It holds no secret: triggers keep it in Airflow's database."""

    program: str = "tony"
    home: str | None = None  # $TONY_HOME; None: as it is where this runs
    conf_dir: str | None = None  # $TONY_CONF_DIR

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(WITHHELD)}
        own = {"TONY_HOME": self.home, "TONY_CONF_DIR": self.conf_dir}
        return inherited | {name: value for name, value in own.items() if value}

    def call(
        self,
        *words: str,
        document: Document | None = None,
        limit: float = CALL_LIMIT,
        calls: Calls | None = None,
        **popen: Any,
    ) -> Document:
        """Runs one verb. `document` goes to its standard input, where no other user can read it.

        `limit` is in seconds; then the command, not the job, is ended. An exception that comes from outside, as
        Airflow's signals and timeouts are, ends it as well, and so does calls.stop().
        """
        feed = b"" if document is None else encoded(document)
        try:
            process = subprocess.Popen(
                [self.program, *words, "--json"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.environment(),
                **popen,
            )
        except OSError as error:
            if error.filename and error.filename == popen.get("cwd"):
                raise TonyRefused(f"directory {error.filename}: {error.strerror}") from None
            raise self.not_started(error) from None
        calls = calls or Calls()
        try:
            calls.began(process)
            out, err = process.communicate(feed, timeout=limit)
        except BaseException as error:
            if not popen.get("start_new_session"):  # then it goes on, as it was meant to
                process.kill()
                process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise TonyTransportError(f"tony {words[0]}: no answer within {limit:g} s") from None
            raise
        finally:
            calls.ended()
        return answer(words[0], process.returncode, out, err)

    async def acall(self, *words: str, limit: float = CALL_LIMIT) -> Document:
        """The same for an event loop. However it is left, the process is gone."""
        process = await self.astart(*words)
        try:
            out, err = await asyncio.wait_for(process.communicate(), limit)
        except asyncio.TimeoutError:
            raise TonyTransportError(f"tony {words[0]}: no answer within {limit:g} s") from None
        finally:
            await end(process)
        return answer(words[0], process.returncode, out, err)

    async def astart(self, *words: str, **options: Any) -> asyncio.subprocess.Process:
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        try:
            return await asyncio.create_subprocess_exec(
                self.program, *words, "--json", env=self.environment(), **options
            )
        except OSError as error:
            raise self.not_started(error) from None

    def not_started(self, error: OSError) -> TonyTransportError:
        """It names the machine: triggerers need the program, too, and are easily forgotten."""
        return TonyTransportError(
            f"{self.program} cannot be started on {socket.gethostname()}: {error.strerror} ({error.filename}); "
            "install tony there, or name it in the connection's extra field cli"
        )


def encoded(document: Document) -> bytes:
    try:
        return json.dumps(document, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise TonyRefused(f"the job cannot be written as JSON: {error}") from None


def answer(verb: str, code: int | None, out: bytes, err: bytes) -> Document:
    """What a verb said, or the exception that its exit code stands for."""
    try:
        document = json.loads(out)
    except ValueError:
        document = None
    if not isinstance(document, dict) or "schema" not in document:
        last = err.decode(errors="replace").strip().rpartition("\n")[2]
        raise TonyTransportError(f"tony {verb}: exit {code} without an answer{': ' if last else ''}{last}")
    if document["schema"] != SCHEMA:
        raise TonyRefused(f"tony {verb}: answers by schema {document['schema']}, this provider reads {SCHEMA}")
    if code not in (0, 1):
        raise error_of(document.get("error") or {"code": code, "message": f"tony {verb}: exit {code}"})
    return document


def error_of(failure: Document) -> TonyError:
    """The exception for an answer's member `error`."""
    return ERRORS.get(failure["code"], TonyError)(failure["message"])


async def end(process: asyncio.subprocess.Process) -> None:
    """Also when the task that runs this is being cancelled no child is left."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
