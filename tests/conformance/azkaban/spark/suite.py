"""The sample, whose data are prepared by a local Spark job, in the whole Azkaban 2.5.0: a part of scripts/test
--long."""

import re

from common import ROOT
from server.suite import SAMPLE, started

__all__ = ["AT_ONCE", "CHECKS", "started"]

PYTHON = ROOT / "build/venv/azkaban/spark/bin/python"  # scripts/test makes it
LIMIT = 180  # seconds; 20 were measured on two cores
AT_ONCE = 1


def a_training_uses_data_that_spark_prepared(azkaban):
    sandbox = azkaban.sandbox
    (raw,) = sandbox.python.parents[1].glob("lib/*/site-packages/sklearn/datasets/data/digits.csv.gz")
    given = {"python": sandbox.python, "work.dir": sandbox.folder / "with-spark",
             "prepare.command": f"{PYTHON} src/prepare_spark.py {raw}"}  # fmt: skip
    run = azkaban.execute("deploy", SAMPLE, **given)
    status = run.end(LIMIT)
    assert status == "SUCCEEDED", f"{status}: {run.statuses()}\n{run.log('prepare')}\n{run.log('train')}"
    said = re.search(r"(\d+) rows to learn from and (\d+) held out", run.log_with("prepare", "rows to learn from"))
    assert int(said[1]) + int(said[2]) == 1797, said[0]
    assert len(list((sandbox.folder / "with-spark/data/train").glob("part-*.csv"))) == 2
    assert f"measured again on {said[2]} rows" in run.log_with("deploy", "deployed ")


CHECKS = [a_training_uses_data_that_spark_prepared]
