"""samples/mpi-digits."""

import re

from samples.run import Training, expect

AS_ROOT = ("-shell_env", "OMPI_ALLOW_RUN_AS_ROOT=1", "-shell_env", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")


def mpi(bin_folder, environment):
    with Training("mpi-digits", bin_folder, environment, *AS_ROOT) as run:
        run.finish()
        run.judge_model("worker-0", 0.9)
        said = run.stdout("worker-0")
        ranks = re.findall(r"rank (\d) of 2$", said, re.M)
        expect(sorted(ranks) == ["0", "1"], f"ranks {ranks}")
        weights = re.findall(r"weights ([0-9a-f]{64})$", said, re.M)
        expect(len(weights) == 2 and len(set(weights)) == 1, f"weights differ: {weights}")
