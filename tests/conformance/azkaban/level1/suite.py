"""The plugin in Azkaban 3.58.0's own loaders, job type manager and process job. The loop over the steps is our code."""

import contextlib

from . import ends, properties, training
from .executor import Executor

AT_ONCE = 5
CHECKS = [*training.CHECKS[:2], *ends.CHECKS, *training.CHECKS[2:], *properties.CHECKS]  # the longest first


@contextlib.contextmanager
def started(sandbox):
    properties.install_layers(sandbox.jobtypes)
    executor = Executor(sandbox)
    try:
        yield executor
    finally:
        executor.close()
