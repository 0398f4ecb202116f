"""`python -m tony` starts the program `tony`, also if its folder is not in $PATH."""

import os
import sys

from tony.errors import TonyError
from tony.program import Program

if __name__ == "__main__":
    try:
        path = Program().found()
    except TonyError as error:
        sys.exit(f"tony: {error}")
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"tony: {path} cannot be started: {error.strerror}")
