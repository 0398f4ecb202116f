"""The wheel: its content, the Linux versions on which it may be installed, that it works, and that it can be removed
completely."""

import base64
import csv
import hashlib
import os
import re
import shutil
import stat
import sys
import zipfile

import tony
from installed import BIN, ROOT, TOOLS, InstalledCase, build, run

PROGRAMS = {"tony", "tony-am", "tony-executor", "tony-gpu-executor", "tony-keeper"}
ARCHIVE = "tony-python.zip"  # for the tasks of `tony notebook`
HADOOP = {"tony-yarn-am.tar.gz", "tony-gss"}
LOADER = {"tony-gpu-loader", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}
HAS_LOADER = (BIN / "tony-gpu-loader").exists()  # exists if the release is static


class WheelTest(InstalledCase):
    def test_the_wheel_contains_the_package_the_programs_and_the_metadata(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = {name: wheel.getinfo(name) for name in wheel.namelist()}
            scripts = {name.rpartition("/")[2]: info for name, info in names.items() if ".data/scripts/" in name}
            self.assertLessEqual(PROGRAMS | {ARCHIVE}, set(scripts))
            self.assertEqual(set(scripts) - PROGRAMS - {ARCHIVE} - HADOOP, LOADER if HAS_LOADER else set())
            for name in PROGRAMS:
                self.assertEqual(stat.S_IMODE(scripts[name].external_attr >> 16), 0o755, name)
            modules = {str(file.relative_to(ROOT / "runtime/python")) for file in (ROOT / "runtime/python/tony").iterdir()
                       if file.is_file()}  # fmt: skip
            terms = {f"tony/licenses/{file.name}" for file in (BIN / "../licenses").iterdir()}
            self.assertIn("tony/licenses/libc6-dev", terms)
            self.assertEqual({name for name in names if name.startswith("tony/")}, modules | terms)
            rest = {name.split("/", 1)[1] for name in names if ".dist-info/" in name}
            self.assertEqual(rest, {"METADATA", "WHEEL", "RECORD", "licenses/LICENSE"})
            metadata = wheel.read(next(name for name in names if name.endswith("METADATA"))).decode()
        for line in ("Name: tony-runtime", f"Version: {tony.__version__}", "License-Expression: Apache-2.0",
                     "Requires-Python: >=3.10", "Description-Content-Type: text/markdown", "# TonY from Python"):  # fmt: skip
            self.assertIn(f"{line}\n", metadata)
        self.assertNotIn("Requires-Dist", metadata)

    def test_the_record_file_of_the_wheel_matches_its_files(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            (record,) = [name for name in wheel.namelist() if name.endswith("/RECORD")]
            rows = {row[0]: row[1:] for row in csv.reader(wheel.read(record).decode().splitlines())}
            self.assertEqual(rows.pop(record), ["", ""])
            self.assertEqual(set(rows), set(wheel.namelist()) - {record})
            for name, (digest, size) in rows.items():
                content = wheel.read(name)
                expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, int(size)), (f"sha256={expected}", len(content)), name)

    def test_the_wheels_tag_names_the_newest_c_library_that_a_program_needs(self):
        """readelf, which the build does not use, provides the expected version. tony-gpu-executor has a loader that
        brings its C library."""
        newest = (2, 17)
        for name in PROGRAMS - ({"tony-gpu-executor"} if HAS_LOADER else set()):
            for found in re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "-W", "--version-info", BIN / name)):
                newest = max(newest, (int(found[0]), int(found[1])))
        tag = f"py3-none-manylinux_{newest[0]}_{newest[1]}_{os.uname().machine}"
        self.assertEqual(self.wheel.name, f"tony_runtime-{tony.__version__}-{tag}.whl")

    def test_two_builds_of_the_wheel_are_byte_identical(self):
        """The builds differ in umask, time zone, language, folder and times of files."""
        copy = self.out / "other bin"
        shutil.copytree(BIN, copy)
        shutil.copytree(BIN.parent / "licenses", self.out / "licenses")
        old = os.umask(0o077)
        self.addCleanup(os.umask, old)
        again = build(self.out / "again", bin_folder=copy, env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C"})
        self.assertEqual(again.name, self.wheel.name)
        self.assertTrue(again.read_bytes() == self.wheel.read_bytes())

    def test_twine_and_check_wheel_contents_find_no_error(self):
        run(TOOLS / "twine", "check", "--strict", self.wheel)
        run(TOOLS / "check-wheel-contents", self.wheel)

    def test_the_wheel_build_refuses_a_program_with_uncommon_libraries_or_a_missing_program(self):
        folder = self.out / "foreign"
        shutil.copytree(BIN, folder)
        shutil.copy("/usr/bin/python3", folder / "tony-gpu-executor", follow_symlinks=True)
        said = run(ROOT / "scripts/wheel", folder, self.out / "none", "--without-hadoop", fails=True)
        self.assertRegex(said, r"^wheel: tony-gpu-executor: needs \S+, which not every Linux has\n$")
        (folder / "tony-keeper").unlink()
        said = run(ROOT / "scripts/wheel", folder, self.out / "none", "--without-hadoop", fails=True)
        self.assertRegex(said, r"^wheel: .*/tony-keeper: not found.*\n$")
        self.assertFalse((self.out / "none").exists())

    def test_the_wheels_tag_names_the_processor_of_its_programs(self):
        """The processor is read from the files' headers; no program is run. All programs must be for the same
        processor."""
        folder = self.out / "arm"
        shutil.copytree(BIN, folder)
        for name in PROGRAMS - {"tony-keeper"}:
            self.turn_to_arm(folder / name)
        said = run(ROOT / "scripts/wheel", folder, self.out / "mixed", "--without-hadoop", fails=True)
        self.assertRegex(said, r"^wheel: .*programs for \['aarch64', 'x86_64'\]; expected programs for one processor\n$")
        self.turn_to_arm(folder / "tony-keeper")
        made = run(ROOT / "scripts/wheel", folder, self.out / "arm wheel", "--without-hadoop")
        self.assertRegex(made, r"-manylinux_2_\d+_aarch64.whl\n$")

    def turn_to_arm(self, file):
        content = bytearray(file.read_bytes())
        content[18:20] = (183).to_bytes(2, "little")  # e_machine
        file.write_bytes(content)

    def test_building_a_source_distribution_is_refused(self):
        words = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", self.out / "sdist"]
        said = run(*words, cwd=ROOT / "runtime/python", fails=True)
        self.assertIn("tony-runtime has no source distribution", said)


class PipTest(InstalledCase):
    def test_a_job_runs_with_the_wheel_installed_by_pip_and_uninstalling_leaves_nothing(self):
        there = self.environment("an environment of ours")
        python, before = there / "bin/python", self.files(there)
        self.run_there(python, "-m", "pip", "install", "--quiet", self.wheel)
        self.use(python, there / "bin/tony")
        # a native program, not a Python script that starts it
        self.assertEqual((there / "bin/tony").read_bytes()[:4], b"\x7fELF")
        self.assertEqual(self.run_there(there / "bin/tony", "version"), self.run_there(python, "-m", "tony", "version"))
        self.run_there(python, "-m", "pip", "check")
        self.run_there(python, "-m", "pip", "uninstall", "--yes", "--quiet", "tony-runtime")
        self.assertEqual(self.files(there), before)

    def test_a_job_runs_with_the_wheel_installed_by_uv(self):
        there = self.environment("uv")
        before = self.files(there)
        self.run_there(TOOLS / "uv", "pip", "install", "--quiet", "--python", there / "bin/python", self.wheel)
        self.use(there / "bin/python", there / "bin/tony")
        self.run_there(TOOLS / "uv", "pip", "uninstall", "--quiet", "--python", there / "bin/python", "tony-runtime")
        self.assertEqual(set(self.files(there)) - {".lock"}, set(before))  # a file of uv's own

    def test_a_package_installed_with_pip_target_finds_its_programs(self):
        folder = self.out / "target"
        self.run_there(sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, self.wheel)
        found = run("/usr/bin/python3", "-c", "import tony; print(tony.Program().found())", cwd=self.out,
                    env={**self.plain, "PYTHONPATH": str(folder)})  # fmt: skip
        self.assertEqual(found.strip(), str(folder / "bin/tony"))

    def test_a_package_imported_from_the_sources_uses_the_programs_in_path(self):
        """The package of the sources next to an installed wheel uses the programs of $PATH."""
        there = self.environment("beside")
        self.run_there(there / "bin/python", "-m", "pip", "install", "--quiet", self.wheel)
        found = run(there / "bin/python", "-c", "import tony; print(tony.Program().found())", cwd=self.out,
                    env={**self.plain, "PYTHONPATH": str(ROOT / "runtime/python"), "PATH": str(BIN)})  # fmt: skip
        self.assertEqual(found.strip(), str(BIN / "tony"))
