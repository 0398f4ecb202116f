"""The provider in a real Airflow, without Airflow's daemons and with a stand-in for `tony`.

    cd tests/conformance/airflow && PYTHON -m unittest discover -t . -s quick -p '*_test.py'

PYTHON belongs to an environment with Airflow. Airflow reads its environment when it is imported, so it is set here,
before any test is imported. The provider and the package of `tony` come from the repository; package_test.py tests the
built wheel.

    TONY_BIN_DIR         the folder of `tony`, for the corpus
    TONY_CHECKS_PYTHON   an environment of ../requirements-checks.txt, for the types and the package
"""

import atexit
import os
import pathlib
import shutil
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[4]
PROVIDER = REPOSITORY / "airflow-operator"
CLIENT = REPOSITORY / "runtime/python"
HOME = pathlib.Path(tempfile.mkdtemp(prefix="tony-airflow-")).resolve()
PROCESS = os.getpid()


@atexit.register
def remove_home() -> None:
    if os.getpid() == PROCESS:  # not in its forked children
        shutil.rmtree(HOME, ignore_errors=True)


for name in [name for name in os.environ if name.startswith(("AIRFLOW", "_AIRFLOW", "TONY_HOME", "TONY_CONF"))]:
    del os.environ[name]
os.environ.update(
    AIRFLOW_HOME=str(HOME),
    AIRFLOW__CORE__DAGS_FOLDER=str(HOME / "dags"),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__FERNET_KEY="cXVpY2tfcXVpY2tfcXVpY2tfcXVpY2tfcXVpY2tfcXU=",
    AIRFLOW__TONY__CLI_FOLDERS=f"{HOME.parent}:/nowhere",  # only the folders of the tests' worlds
    AIRFLOW__USAGE_DATA_COLLECTION__ENABLED="False",
    DO_NOT_TRACK="1",
    PYTHONPATH=f"{PROVIDER}:{CLIENT}",
    PYTHONDONTWRITEBYTECODE="1",
)
(HOME / "dags").mkdir()
sys.dont_write_bytecode = True
sys.path[:0] = [str(PROVIDER), str(CLIENT)]
