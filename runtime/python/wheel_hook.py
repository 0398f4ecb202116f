"""Hatchling's hook for a wheel: adds the programs, and determines the Linux platforms on which they start.

$TONY_WHEEL_PROGRAMS is a folder of programs for one kind of processor. The wheel installs all of them beside the Python
interpreter of its environment. Without the variable the wheel has only the package, for users who have the programs.
$TONY_WHEEL_LICENSES is a folder with the licenses of the libraries that are linked into the programs.
"""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The libraries of every Linux with GNU's C library. Programs may need only these.
LIBRARIES = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux[-a-z0-9_]*)\.so\.\d+")
# A library that only this program needs. Without the library, the other programs work.
OPTIONAL_LIBRARIES = {"tony-gss": "libgssapi_krb5.so.2"}
# These programs use the loader and the C library beside them, if they are there.
WITH_THEIR_OWN, THEIR_LOADER, THEIR_LIBRARIES = ("tony-gpu-executor", "tony-gss"), "tony-gpu-loader", "lib"
OLDEST = (2, 17)  # the first version of the C library with a platform tag
MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


class Unfit(Exception):
    """A program that cannot be in a wheel. The message has one line."""


class ProgramsHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("TONY_WHEEL_PROGRAMS")
        if not folder:
            return
        files = sorted(pathlib.Path(folder).iterdir())
        build_data["shared_scripts"] = {str(file): file.name for file in files}
        licenses = os.environ.get("TONY_WHEEL_LICENSES")
        for file in sorted(pathlib.Path(licenses).iterdir()) if licenses else ():
            build_data["force_include"][str(file)] = f"tony/licenses/{file.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_of(files)}"


def platform_of(files: list[pathlib.Path]) -> str:
    """Returns the platform of a wheel with these programs. Other files, such as archives, do not count."""
    machines: set[str] = set()
    newest = OLDEST
    has_loader = any(file.name == THEIR_LOADER for file in files)
    for file in files:
        if file.read_bytes()[:4] != b"\x7fELF" or file.name == THEIR_LOADER or file.name.startswith(THEIR_LIBRARIES):
            continue
        machine, needed = needs(file)
        machines.add(machine)
        if file.name not in WITH_THEIR_OWN or not has_loader:
            newest = max(newest, needed)
    if len(machines) != 1:
        raise Unfit(f"{files[0].parent if files else 'the folder'}: programs for {sorted(machines)}; expected programs for one processor")
    return f"manylinux_{newest[0]}_{newest[1]}_{machines.pop()}"


def needs(file: pathlib.Path) -> tuple[str, tuple[int, int]]:
    """Returns a program's processor, and the newest version of the C library whose symbols it needs."""
    from elftools.elf.elffile import ELFFile

    newest = (0, 0)
    with file.open("rb") as stream:
        program = ELFFile(stream)
        machine = MACHINES.get(program["e_machine"])
        if machine is None:
            raise Unfit(f"{file.name}: a program for {program['e_machine']}; expected {' or '.join(MACHINES)}")
        for segment in program.iter_segments("PT_DYNAMIC"):
            for tag in segment.iter_tags("DT_NEEDED"):
                if not LIBRARIES.fullmatch(tag.needed) and tag.needed != OPTIONAL_LIBRARIES.get(file.name):
                    raise Unfit(f"{file.name}: needs {tag.needed}, which not every Linux has")
        versions = program.get_section_by_name(".gnu.version_r")
        for _, symbols in versions.iter_versions() if versions else ():
            for symbol in symbols:
                if found := re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", symbol.name):
                    newest = max(newest, (int(found[1]), int(found[2])))
    return machine, newest
