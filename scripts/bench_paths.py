"""Measures the time to a first trained model from a clone, a package and the wheel; and a PyTorch script of two
workers, beside torchrun."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

SAMPLE = ROOT / "samples/jax-digits"
LIMIT = 1800  # seconds for one command


class Path:
    """The commands that a user types in a new folder, and the time of each."""

    def __init__(self, folder, **environment):
        self.folder = pathlib.Path(folder)
        self.env = dict(os.environ, HOME=folder, TONY_HOME=f"{folder}/home", TONY_LEDGER=f"{folder}/ledger", **environment)
        self.took = []

    def type(self, command):
        begun = time.perf_counter()
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False)  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(f"{command}: exit {done.returncode}:\n{done.stdout[-2000:]}")
        self.took.append((command.split()[0].rpartition("/")[2], time.perf_counter() - begun))

    def told(self):
        parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.took)
        return f"{len(self.took)} commands, {sum(seconds for _, seconds in self.took):.0f} s ({parts})"


def training(tony, python):
    return (f"{tony} submit {SAMPLE}/job.properties -src_dir {SAMPLE} -executes train.py -python_binary_path $PWD/{python} "
            "-shell_env MODEL_DIR=$PWD/model && test -s model/model.npz")  # fmt: skip


def from_a_clone(folder):
    path = Path(folder, CCACHE_DISABLE="1")
    path.type(f"git clone -q {ROOT} tony")
    path.type("tony/scripts/quickstart")
    return path.told()


def from_a_package(folder, package):
    path = Path(folder)
    path.type(f"tar -xzf {package} --strip-components=1")
    path.type("python3 -m venv env")
    path.type(f"env/bin/pip install -q -r {SAMPLE}/requirements.txt")
    path.type(training("bin/tony", "env/bin/python"))
    return path.told()


def from_the_wheel(folder, wheel):
    path = Path(folder)
    path.type("python3 -m venv env")
    path.type(f"env/bin/pip install -q {wheel} -r {SAMPLE}/requirements.txt")
    path.type(training("env/bin/tony", "env/bin/python"))
    return path.told()


def script_of_the_tutorial():
    from generator import pages

    blocks, _ = pages.read_blocks((ROOT / "docs/tutorial.md").read_text())
    return next("\n".join(block.lines) for block in blocks
                if block.directives.get("file") == "circle/train.py" and "init_process_group" in "\n".join(block.lines))  # fmt: skip


def two_workers(folder, tony, runs):
    """Returns seconds of `tony run -n 2` and of torchrun, which alternate."""
    (pathlib.Path(folder) / "circle").mkdir()
    (pathlib.Path(folder) / "circle/train.py").write_text(script_of_the_tutorial() + "\n")
    programs = ROOT / "build/venv/pytorch-ddp/bin"
    path = Path(folder, PATH=f"{programs}:{os.environ['PATH']}", TONY_CHECKPOINT_DIR=f"{folder}/saved")
    path.folder /= "circle"
    command = f"{tony} run -n 2 --framework pytorch --memory 1g --conf tony.checkpoint.dir={folder}/saved -- python train.py"
    for _ in range(runs):
        for words in (command, "torchrun --nproc-per-node 2 train.py"):
            shutil.rmtree(f"{folder}/saved", ignore_errors=True)
            path.type(words)
    return [[seconds for name, seconds in path.took if name == wanted] for wanted in ("tony", "torchrun")]


def made(script, *words):
    return subprocess.run([ROOT / script, *words], capture_output=True, text=True, check=True).stdout


def measure(bin_folder, runs, cell):
    with tempfile.TemporaryDirectory(prefix="tony-bench-packages-") as packages:
        made("scripts/package", packages)
        (package,) = pathlib.Path(packages).glob("*.tar.gz")
        wheel = made("scripts/wheel", bin_folder, packages).split()[-1]
        ways = (("a package", from_a_package, package), ("the wheel", from_the_wheel, wheel), ("a clone", from_a_clone))
        for name, way, *what in ways:
            with tempfile.TemporaryDirectory(prefix="tony-bench-path-") as folder:
                yield f"from {name} to a trained model (jax-digits)", way(folder, *what), ""
    with tempfile.TemporaryDirectory(prefix="tony-bench-path-") as folder:
        tony, torchrun = two_workers(folder, bin_folder / "tony", runs)
    yield "the tutorial's PyTorch script with two workers: `tony run -n 2`, s", cell(tony), ""
    yield "... `torchrun --nproc-per-node 2`, s", cell(torchrun), "rival"
