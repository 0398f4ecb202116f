"""Finds the program `tony` if the caller does not name it."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import pathlib
import shutil
import socket

from tony.errors import NoProgram

NAME = "tony"
DISTRIBUTION = "tony-runtime"


@functools.cache
def beside_this_package() -> str | None:
    """Returns the program that pip installed with this package; never one of another installation."""
    package = pathlib.Path(__file__).resolve().parent
    for installed in importlib.metadata.distributions(name=DISTRIBUTION):
        if pathlib.Path(str(installed.locate_file(package.name))).resolve() != package:
            continue
        programs = [file for file in installed.files or () if file.name == NAME and file.parent.name == "bin"]
        # pip install --target puts programs into another folder than it records.
        places = [*(str(installed.locate_file(file)) for file in programs), str(installed.locate_file(f"bin/{NAME}"))]
        for place in places if programs else ():
            if os.access(place, os.X_OK):
                return os.path.normpath(place)
    return None


def of_path() -> str:
    found = shutil.which(NAME)
    if found is None:
        raise NoProgram(
            f"the program {NAME} is not on {socket.gethostname()}, neither beside this package nor in $PATH; "
            f"run pip install {DISTRIBUTION}, or set TONY_PROGRAM to the path of the program",
        )
    return found
