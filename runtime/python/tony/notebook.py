"""The live table in a notebook. This module uses IPython only if IPython runs already."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tony import table
from tony.documents import JobStatus
from tony.errors import TonyError

Statuses = Callable[[], Iterator[JobStatus]]


def is_here() -> bool:
    """Returns true in a notebook's kernel, which shows HTML; false in IPython on a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return shell is not None and hasattr(shell, "kernel")


def show(statuses: Statuses, block: bool) -> None:
    """Draws the table below the cell, and redraws it for each status."""
    handle = importlib.import_module("IPython.display").DisplayHandle()
    if block:
        _draw(handle, statuses)
        return
    first = statuses()
    _display(handle, next(first), begin=True)
    threading.Thread(target=_go_on, args=(handle, first), name="tony-table", daemon=True).start()


def _draw(handle: Any, statuses: Statuses) -> None:
    for number, status in enumerate(statuses()):
        _display(handle, status, begin=number == 0)


def _go_on(handle: Any, statuses: Iterator[JobStatus]) -> None:
    last: JobStatus | None = None
    try:
        for status in statuses:
            _display(handle, status)
            last = status
    except TonyError as error:
        handle.update({"text/html": table.html_of_error(last.job if last else "", error), "text/plain": str(error)}, raw=True)


def _display(handle: Any, status: JobStatus, begin: bool = False) -> None:
    shown = {"text/html": table.html(status), "text/plain": f"job {status.job} {status.state}"}
    (handle.display if begin else handle.update)(shown, raw=True)
