#!/usr/bin/env python3
"""Makes PyPI's torch for CUDA importable without the CUDA packages: 1.4 GB on the disk instead of 5.

    python3 -m pip install --no-deps torch ...; scripts/torch_cpu_stubs.py SITE_PACKAGES

Only for tests on machines without a GPU. For each library that torch needs and that is missing, the script puts a small
library beside torch's own. It has the required symbols with their versions; each is a function that returns "no CUDA
device". Needs gcc and binutils. A second run changes nothing.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

NO_DEVICE = 100  # cudaErrorNoDevice, and CUDA_ERROR_NO_DEVICE of the driver
OF_PYTHON = re.compile(r"_?Py")  # the interpreter has these symbols


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_by(library):
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", library)))


def versions_needed_by(library):
    """Returns the libraries that should define symbol versions, by the version's name."""
    homes, file = {}, None
    text = output("readelf", "--version-info", library).partition("Version needs section")[2]
    for kind, name in re.findall(r"(File|Name): (\S+)", text):
        if kind == "File":
            file = name
        else:
            homes[name] = file
    return homes


def symbols(library, which):
    """Returns (name, version) of the dynamic symbols, without weak ones, which may be missing."""
    lines = output("nm", "--dynamic", f"--{which}-only", "--with-symbol-versions", library).splitlines()
    pairs = [line.split()[-2:] for line in lines]
    found = [name for kind, name in pairs if which == "defined" or kind == "U"]
    return {tuple((name.replace("@@", "@") + "@").split("@")[:2]) for name in found}


def libraries_of_the_machine():
    """Returns the paths of all libraries that the loader finds by itself, by name."""
    return dict(re.findall(r"^\s+(\S+) \(.*x86-64.*\) => (\S+)$", output("/sbin/ldconfig", "-p"), re.M))


def missing_symbols(own, present, missing):
    """Returns the symbols by missing library and version. `own`: torch's libraries; `present`: all existing ones."""
    defined = {name for library in present for name, _ in symbols(library, "defined")}
    wanted = {library: collections.defaultdict(set) for library in missing}
    for library in own:
        home_of = versions_needed_by(library)
        for name, version in symbols(library, "undefined"):
            if home_of.get(version) in wanted:
                wanted[home_of[version]][version].add(name)
            elif not version and name not in defined and not OF_PYTHON.match(name):
                wanted[missing[0]][""].add(name)  # the loader searches such symbols in all libraries
    return wanted


def compile_stub(name, versions, folder):
    source, script, stub = folder / "stub.c", folder / "stub.map", folder / name
    every = sorted(set().union(*versions.values()))
    source.write_text("".join(f"long {symbol}(void) {{ return {NO_DEVICE}; }}\n" for symbol in every))
    script.write_text("".join(f"{v} {{ {' '.join(f'{s};' for s in sorted(versions[v]))} }};\n" for v in versions if v))
    command = ["gcc", "-w", "-shared", "-fPIC", "-fno-builtin", f"-Wl,-soname,{name}", "-o", stub, source]
    if script.stat().st_size:
        command.append(f"-Wl,--version-script={script}")
    subprocess.run(command, check=True)
    return stub


def main(site_packages):
    place = pathlib.Path(site_packages) / "torch" / "lib"
    own = sorted(path for path in place.glob("*.so*") if path.is_file() and path.stat().st_size > 0)
    if not own:
        sys.exit(f"no torch in {site_packages}")
    machine = libraries_of_the_machine()
    needed = set().union(*map(needed_by, own))
    missing = sorted(needed - set(machine) - {path.name for path in own})
    if not missing:
        return
    present = own + [machine[name] for name in needed & set(machine)]
    wanted = missing_symbols(own, present, missing)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        stubs = [compile_stub(name, wanted[name], pathlib.Path(folder)) for name in missing]
        for stub in stubs:
            stub.rename(place / stub.name)
    count = sum(len(names) for versions in wanted.values() for names in versions.values())
    print(f"{len(stubs)} libraries with {count} symbols: {' '.join(missing)}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: torch_cpu_stubs.py SITE_PACKAGES")
    main(sys.argv[1])
