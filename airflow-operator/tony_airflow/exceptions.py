"""What can go wrong. The first line of each message is made for the place where Airflow shows one line."""

from __future__ import annotations

from tony_airflow._compat import AirflowException, AirflowFailException


class TonyError(AirflowException):
    """Something of TonY failed. Another try of the task may help."""


class TonyTransportError(TonyError):
    """`tony`, its store or its scheduler cannot be reached (exit 69). Another try finds the job and goes on with it."""


class TonyNotFound(TonyError):
    """There is no such job or request (exit 66)."""


class TonyRefused(TonyError, AirflowFailException):
    """What was asked is not acceptable, and never will be: a bad spec, or not permitted (exits 64, 65, 77)."""


class TonyJobFailed(TonyError):
    """The job has not succeeded; submitted again it may."""


class TonyJobFailedNoRetry(TonyJobFailed, AirflowFailException):
    """The job has not succeeded, and would fail the same way again: Airflow makes no other try."""
