"""What can go wrong, by the exit codes of `tony`. The text of an exception is the one line that the program said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tony.documents import JobStatus


class TonyError(Exception):
    """All below are such. `code` is the program's exit code, `document` its whole answer where it gave one."""

    code = 0

    def __init__(self, message: str, *, code: int | None = None, document: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = type(self).code if code is None else code
        self.document: Mapping[str, Any] = document or {}

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return isinstance(self, Unavailable)


class JobFailed(TonyError):
    """The job has ended, and has not succeeded. `status` is its last one; its verdict says why."""

    code = 1

    def __init__(self, message: str, status: JobStatus | None = None) -> None:
        super().__init__(message)
        self.status = status


class UsageError(TonyError):
    """A call that does not fit together, as an option that the program does not have."""

    code = 64


class SpecInvalid(TonyError):
    """A spec, a property or a file that cannot be accepted, or something that the job's state does not allow."""

    code = 65


class NotFound(TonyError):
    """There is no such job, task or file."""

    code = 66


class Unavailable(TonyError):
    """What is needed cannot be reached, or has not happened yet: the only one that is worth another try."""

    code = 69


class NoProgram(Unavailable):
    """There is no `tony` that can be started."""


class WaitTimeout(Unavailable, TimeoutError):
    """The job has not ended within the time that was given. It goes on."""


class InternalError(TonyError):
    """A bug of TonY's."""

    code = 70


class CannotWrite(TonyError):
    """A file or folder cannot be made or written."""

    code = 73


class NotPermitted(TonyError):
    """It belongs to somebody else, or a newer submission has taken its place."""

    code = 77


class VersionMismatch(TonyError):
    """The program answers in a form that this package does not know: one of the two is too old."""


KINDS: Mapping[int, type[TonyError]] = {
    kind.code: kind for kind in (UsageError, SpecInvalid, NotFound, Unavailable, InternalError, CannotWrite, NotPermitted)
}


def error_of(failure: Mapping[str, Any], document: Mapping[str, Any] | None = None) -> TonyError:
    """The exception for the member `error` of an answer."""
    code = int(failure["code"])
    return KINDS.get(code, TonyError)(str(failure["message"]), code=code, document=document)
