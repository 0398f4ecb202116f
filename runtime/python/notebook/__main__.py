"""Starts Jupyter as the task of `tony notebook`.

    python3 .tony-python.zip --idle SECONDS [--dir PATH] [--program TONY]

The archive has this file and the package `tony`. The process becomes Jupyter, so Jupyter's exit code is the task's.
Kernels can import `tony` and run `tony`. JUPYTER_TOKEN is in the environment, so no command line has the token. Jupyter
gets it in a private file, because kernels, and the jobs that they submit, inherit the environment of Jupyter.
"""

import argparse
import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import sys
from xml.sax import saxutils

# The names of the files that `tony notebook` sends along to YARN begin with this prefix.
PREFIX = ".tony-notebook-"
PROGRAMS = ("tony", "tony-executor", "tony-gss", "tony-yarn-am.tar.gz")
SITE = "tony-site.xml"
OLDEST_NOTEBOOK = 7  # earlier releases of Jupyter Notebook have a server of their own, with other options


def server_module():
    """Returns the module that starts JupyterLab or Jupyter Notebook, whichever this Python has."""
    if importlib.util.find_spec("jupyterlab"):
        return "jupyterlab"
    if importlib.util.find_spec("notebook"):
        version = importlib.metadata.version("notebook")
        if int(version.split(".")[0]) >= OLDEST_NOTEBOOK:
            return "notebook"
        fail(f"Jupyter Notebook {version} is too old; run: {sys.executable} -m pip install jupyterlab")
    fail(f"no Jupyter; run: {sys.executable} -m pip install jupyterlab")


def fail(why):
    # The last line of a traceback decides the failure's class (tony explain-exit).
    sys.exit(f"ModuleNotFoundError: the Python of the notebook, {sys.executable}, has {why}")


def address():
    """Returns the address of this task's machine, as the other machines know it: 127.0.0.1 for a job on one machine."""
    line = pathlib.Path(os.environ["TONY_HOSTFILE"]).read_text().split()
    return line[0]


def bring_programs(task):
    """Puts the programs of a task on YARN into one folder, where they find each other, and returns the program `tony`.

    Jobs that kernels submit go to the cluster, too, because the site file says so.
    """
    folder = task / ".tony-programs"
    folder.mkdir()
    for name in PROGRAMS:
        if (task / f"{PREFIX}{name}").exists():
            shutil.copyfile(task / f"{PREFIX}{name}", folder / name)
            (folder / name).chmod(0o700)
    include, site = "", task / f"{PREFIX}{SITE}"
    if site.exists():
        include = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href={saxutils.quoteattr(str(site))}/>'
    scheduler = "<property><name>tony.scheduler</name><value>yarn</value></property>"
    (folder / SITE).write_text(f"<configuration>{include}{scheduler}</configuration>\n")
    os.environ["TONY_CONF_DIR"] = str(folder)
    for kind in ("hadoop", "yarn"):
        for file in task.glob(f"{PREFIX}{kind}-*-site.xml"):
            (folder / kind).mkdir(exist_ok=True)
            shutil.copyfile(file, folder / kind / file.name.removeprefix(f"{PREFIX}{kind}-"))
            os.environ[f"{kind.upper()}_CONF_DIR"] = str(folder / kind)
    return folder / "tony"


def set_environment(task, program):
    archive = os.path.abspath(sys.argv[0])
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{archive}:{path}" if path else archive
    os.environ["TONY_PROGRAM"] = str(program)
    if not shutil.which("tony"):
        os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:{program.parent}"
    # In a container of YARN, HOME is often a folder that does not exist.
    if not os.access(os.environ.get("HOME", ""), os.W_OK):
        os.environ["HOME"] = str(task)
    runtime = task / ".jupyter-runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    os.environ["JUPYTER_RUNTIME_DIR"] = str(runtime)
    token = runtime / "token"
    with open(token, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(os.environ.pop("JUPYTER_TOKEN"))
    os.environ["JUPYTER_TOKEN_FILE"] = str(token)


def options(given, task):
    options = {
        "ServerApp.ip": address(),
        "ServerApp.port": os.environ["TB_PORT"],
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        # The relay of `tony notebook` is reached under another name than the server.
        "ServerApp.allow_remote_access": True,
        "ServerApp.allow_root": os.getuid() == 0,
        "ServerApp.root_dir": given.dir or task,
    }
    if given.idle:
        often = min(given.idle, 60)
        options |= {
            "ServerApp.shutdown_no_activity_timeout": given.idle,
            "MappingKernelManager.cull_idle_timeout": given.idle,
            "MappingKernelManager.cull_interval": often,
            # Otherwise a forgotten page keeps its kernel.
            "MappingKernelManager.cull_connected": True,
            "TerminalManager.cull_inactive_timeout": given.idle,
            "TerminalManager.cull_interval": often,
        }
    return [f"--{name}={value}" for name, value in options.items()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--idle", type=int, required=True)
    parser.add_argument("--dir", default="")
    parser.add_argument("--program", type=pathlib.Path)
    given = parser.parse_args()
    module = server_module()
    task = pathlib.Path.cwd()
    if given.dir and not os.path.isdir(given.dir):
        sys.exit(f"--dir {given.dir}: no such folder on the machine of the task")
    set_environment(task, given.program or bring_programs(task))
    os.execv(sys.executable, [sys.executable, "-m", module, *options(given, task)])


if __name__ == "__main__":
    main()
