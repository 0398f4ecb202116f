"""Installs an explicit lock file as micromamba does, with the library of pixi:

    conda_installer.py create --yes --prefix PREFIX --file LOCK

The package cache is $CONDA_PKGS_DIRS. Appends its arguments to the file "asked" beside the cache."""

import argparse
import asyncio
import os
import pathlib
import sys
import urllib.parse

import rattler


def arguments():
    parser = argparse.ArgumentParser()
    create = parser.add_subparsers(required=True).add_parser("create")
    create.add_argument("--yes", action="store_true", required=True)
    create.add_argument("--prefix", type=pathlib.Path, required=True)
    create.add_argument("--file", type=pathlib.Path, required=True)
    return parser.parse_args()


async def install(lock, prefix, cache):
    records = []
    for line in lock.read_text().split("@EXPLICIT", 1)[1].split():
        url = line.partition("#")[0]
        record = await rattler.RepoDataRecord.from_package_archive(urllib.parse.urlparse(url).path)
        record.url = url
        records.append(record)
    links = "false" if os.environ.get("MAMBA_ALWAYS_COPY") == "true" else "true"
    config = rattler.Config.from_toml(f"allow-hard-links = {links}")
    await rattler.install(records, prefix, cache_dir=cache, show_progress=False, config=config)


if __name__ == "__main__":
    cache = pathlib.Path(os.environ["CONDA_PKGS_DIRS"])
    with open(cache.parent / "asked", "a") as asked:
        print(*sys.argv[1:], file=asked)
    given = arguments()
    asyncio.run(install(given.file, given.prefix, cache))
    # Threads of the library may still run. At an ordinary exit they can crash, because the interpreter is gone.
    os._exit(0)
