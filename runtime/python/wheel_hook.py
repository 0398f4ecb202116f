"""What hatchling asks when it builds a wheel: which programs are in it, and on which Linux they start.

$TONY_WHEEL_PROGRAMS is a folder of programs for one kind of processor; all of it is put beside the interpreter of the
environment that the wheel is installed in. Without it the wheel is the package alone, for those who have the programs.
$TONY_WHEEL_LICENSES is a folder with the terms of what is linked into them.
"""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What every Linux with GNU's C library has, the one thing that programs may need of a machine.
LIBRARIES = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux[-a-z0-9_]*)\.so\.\d+")
# This one is started by a loader of its own with a C library of its own, where they are beside it.
WITH_ITS_OWN, ITS_LOADER, ITS_LIBRARIES = "tony-gpu-executor", "tony-gpu-loader", "lib"
OLDEST = (2, 17)  # of the C library, for which there is a tag
MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


class Unfit(Exception):
    """A program that cannot be in a wheel. One line."""


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
    """The platform of a wheel with these programs. What is no program, as an archive, does not count."""
    machines: set[str] = set()
    newest = OLDEST
    has_its_own = any(file.name == ITS_LOADER for file in files)
    for file in files:
        if file.read_bytes()[:4] != b"\x7fELF" or file.name == ITS_LOADER or file.name.startswith(ITS_LIBRARIES):
            continue
        machine, needed = needs(file)
        machines.add(machine)
        if file.name != WITH_ITS_OWN or not has_its_own:
            newest = max(newest, needed)
    if len(machines) != 1:
        raise Unfit(f"{files[0].parent if files else 'the folder'}: programs for {sorted(machines)}; expected one processor")
    return f"manylinux_{newest[0]}_{newest[1]}_{machines.pop()}"


def needs(file: pathlib.Path) -> tuple[str, tuple[int, int]]:
    """For which processor a program is, and the newest version of the C library of which it has a symbol."""
    from elftools.elf.elffile import ELFFile

    newest = (0, 0)
    with file.open("rb") as stream:
        program = ELFFile(stream)
        machine = MACHINES.get(program["e_machine"])
        if machine is None:
            raise Unfit(f"{file.name}: for {program['e_machine']}; expected one of {', '.join(MACHINES)}")
        for segment in program.iter_segments("PT_DYNAMIC"):
            for tag in segment.iter_tags("DT_NEEDED"):
                if not LIBRARIES.fullmatch(tag.needed):
                    raise Unfit(f"{file.name}: needs {tag.needed}, which not every Linux has")
        versions = program.get_section_by_name(".gnu.version_r")
        for _, symbols in versions.iter_versions() if versions else ():
            for symbol in symbols:
                if found := re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", symbol.name):
                    newest = max(newest, (int(found[1]), int(found[2])))
    return machine, newest
