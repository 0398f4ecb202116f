"""An exception for each exit code of `tony`. The text of an exception is the program's message of one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tony.documents import JobStatus


class TonyError(Exception):
    """The base of all exceptions. `code`: the program's exit code; `document`: its whole answer, empty without one."""

    code = 0

    def __init__(self, message: str, *, code: int | None = None, document: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = type(self).code if code is None else code
        self.document: Mapping[str, Any] = document or {}

    @property
    def retryable(self) -> bool:
        """True if the same call may succeed later."""
        return isinstance(self, Unavailable)


class JobFailed(TonyError):
    """The job failed or was killed. `status` is its last status, whose verdict has the reason."""

    code = 1

    def __init__(self, message: str, status: JobStatus | None = None) -> None:
        super().__init__(message)
        self.status = status


class UsageError(TonyError):
    """The arguments are wrong, for example an option that the program does not know."""

    code = 64


class SpecInvalid(TonyError):
    """A spec, a property or a file is invalid, or the job's state does not allow the call."""

    code = 65


class NotFound(TonyError):
    """The job, task or file does not exist."""

    code = 66


class Unavailable(TonyError):
    """A service cannot be reached, or an event has not happened yet. Only this error is worth a retry."""

    code = 69


class NoProgram(Unavailable):
    """No program `tony` can be started."""


class WaitTimeout(Unavailable, TimeoutError):
    """The job has not ended within the timeout. It continues."""


class InternalError(TonyError):
    """A bug in TonY."""

    code = 70


class CannotWrite(TonyError):
    """A file or folder cannot be created or written."""

    code = 73


class NotPermitted(TonyError):
    """The job belongs to another user, or a newer submission has replaced this one."""

    code = 77


class VersionMismatch(TonyError):
    """The program's answer has a form that this package does not know: the program or the package is too old."""


KINDS: Mapping[int, type[TonyError]] = {
    kind.code: kind for kind in (UsageError, SpecInvalid, NotFound, Unavailable, InternalError, CannotWrite, NotPermitted)
}


def error_of(failure: Mapping[str, Any], document: Mapping[str, Any] | None = None) -> TonyError:
    """Returns the exception for the member `error` of an answer."""
    code = int(failure["code"])
    return KINDS.get(code, TonyError)(str(failure["message"]), code=code, document=document)
