"""Real conda packages of minimal size, and the explicit lock file that names them."""

import hashlib
import io
import json
import os
import platform
import sys
import tarfile

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
SUBDIR = {"x86_64": "linux-64"}.get(platform.machine(), f"linux-{platform.machine()}")
PLACEHOLDER = "/opt/" + "placehold_" * 25  # as long as a placeholder of conda-build

# A program that runs the machine's Python with the environment's packages.
SHIM = f"""#!/bin/sh
here=$(dirname -- "$(realpath -- "$0")")
PYTHONPATH=$here/../lib/{PYTHON}/site-packages exec {os.path.realpath(sys.executable)} "$@"
"""
GREETING = """import sys


def main():
    print("greetings from", sys.argv[0])
"""
SCRIPT = f"#!{PLACEHOLDER}/bin/{PYTHON}\nimport greeting\nprint('a script that has', greeting.__name__)\n"


def package(folder, subdir, name, version, files, links=None, **more):
    """`files`: path to content, or to (content, "text" or "binary") if it has the prefix; `links`: path to target."""
    entries, paths, links = {}, [], links or {}
    for path, content in files.items():
        content, mode = content if isinstance(content, tuple) else (content, None)
        content = content if isinstance(content, bytes) else content.encode()
        entry = {"_path": path, "path_type": "hardlink", "sha256": hashlib.sha256(content).hexdigest()}
        entry["size_in_bytes"] = len(content)
        if mode:
            entry.update(prefix_placeholder=PLACEHOLDER, file_mode=mode)
        paths.append(entry)
        entries[path] = content
    for path in links:
        paths.append({"_path": path, "path_type": "softlink"})
    index = {"name": name, "version": version, "build": "0", "build_number": 0, "depends": [], "subdir": subdir}
    information = {"index.json": index, "paths.json": {"paths": paths, "paths_version": 1}}
    if subdir == "noarch":
        index["noarch"] = "python"
        information["link.json"] = {"noarch": {"type": "python", **more}, "package_metadata_version": 1}
    entries.update({f"info/{file}": json.dumps(content).encode() for file, content in information.items()})
    entries["info/files"] = "\n".join([*files, *links]).encode()
    file = folder / subdir / f"{name}-{version}-0.tar.bz2"
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w:bz2") as archive:
        for path, content in entries.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o755 if path.startswith("bin/") else 0o644
            archive.addfile(member, io.BytesIO(content))
        for path, target in links.items():
            member = tarfile.TarInfo(path)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return f"file://{file}#sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"


def write_lock(folder, lock):
    """Makes a Python, a Python package with a program, and a package whose files contain the prefix."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    pythons = {"bin/python": PYTHON, "bin/python3": PYTHON}
    placed = {
        "bin/script": (SCRIPT, "text"),
        "share/place.txt": (f"{PLACEHOLDER}/share\n", "text"),
        "share/place.bin": (f"{PLACEHOLDER}/share\0the rest".encode(), "binary"),
    }
    greeting = {"site-packages/greeting.py": GREETING}
    lines = [
        f"# platform: {SUBDIR}",
        "@EXPLICIT",
        package(folder, SUBDIR, "python", version, {f"bin/{PYTHON}": SHIM}, pythons),
        package(folder, "noarch", "greeting", "1.0", greeting, entry_points=["greet = greeting:main"]),
        package(folder, SUBDIR, "place", "1.0", placed),
    ]
    lock.write_text("\n".join(lines) + "\n")
