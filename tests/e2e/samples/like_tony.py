"""Job files like those of TonY's examples for MXNet, PyTorch, Ray and Horovod, with small programs of our own that read
the same variables. The folder like_tony has both. Most of the examples themselves need data from the internet, or
versions of their frameworks that no longer install."""

import pathlib
import re
import shutil
import tempfile

from samples.run import SAMPLES, Run, expect

FOLDER = pathlib.Path(__file__).parent / "like_tony"


def run_like(name, program, bin_folder, environment, *more, source=FOLDER):
    tools = pathlib.Path(environment).resolve() / "bin"
    return Run(
        bin_folder, "-conf_file", FOLDER / f"{name}.xml", "-src_dir", source, "-executes", program,
        "-python_binary_path", tools / "python3", "-shell_env", f"PYTHON={tools}", "-conf", "tony.worker.memory=1g",
        *more,
    )  # fmt: skip


def mxnet(bin_folder, environment):
    more = ("-shell_env", "DMLC_USE_KUBERNETES=1", "-shell_env", "PS_VERBOSE=0", "-task_params", "--param1 --param2")
    with run_like("mxnet", "mxnet_line.py", bin_folder, environment, *more) as run:
        run.finish()
        text = run.stdout("worker-0") + run.stdout("worker-1")
        lines = re.findall(r"^slope (\S+) offset (\S+)$", text, re.M)
        near = all(abs(float(slope) - 5) < 0.3 and abs(float(offset) - 2) < 0.3 for slope, offset in lines)
        expect(len(lines) == 2 and near, text)


def pytorch(bin_folder, environment):
    with run_like("pytorch", "pytorch_line.py", bin_folder, environment) as run:
        run.finish()
        said = [run.stdout(f"worker-{rank}") for rank in (0, 1)]
        expect(said == [f"rank {rank} of 2 slope 5.00 offset 2.00\n" for rank in (0, 1)], said)


def ray(bin_folder, environment):
    """The folder of Ray's files has a short name, because its sockets may have only 107 characters."""
    folder = tempfile.mkdtemp(prefix="ray-")
    try:
        with run_like("ray", "true", bin_folder, environment, "-shell_env", f"RAY={folder}") as run:
            run.finish()
            expect("nodes 3\n" in run.stdout("head-0"), run.stdout("head-0"))
    finally:
        shutil.rmtree(folder)


def horovod(bin_folder, environment):
    source = pathlib.Path(tempfile.mkdtemp(prefix="tony-source-"))
    try:
        shutil.copy(FOLDER / "horovod_driver.py", source)
        shutil.copy(SAMPLES / "horovod-digits" / "train.py", source)
        with run_like("horovod", "train.py", bin_folder, environment, source=source) as run:
            run.finish()
            expect("serves 2 workers\n" in run.stdout("driver-0"), run.stdout("driver-0"))
            expect(run.result("worker-0")["accuracy"] > 0.9, run.result("worker-0"))
    finally:
        shutil.rmtree(source)
