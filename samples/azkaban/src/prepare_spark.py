"""First step with Spark: does the same as prepare.py, from a file of raw rows.

    prepare_spark.py RAW FOLDER

RAW is a CSV file, possibly compressed: 64 pixels from 0 to 16, then the label. Needs only the Python package of Spark
and a Java virtual machine. Under spark-submit it uses that command's master.
"""

import json
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

# No web page, no progress bar in the step's log, and no warning about 65 columns.
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.debug.maxToStringFields": "100",
}


def main(raw, folder):
    spark = SparkSession.builder.appName("digits").config(map=QUIET).getOrCreate()
    rows = spark.read.csv(raw)
    pixels, label = rows.columns[:-1], rows.columns[-1]
    rows = rows.select(*(F.col(name).cast("double").cast("int").alias(name) for name in [label, *pixels]))
    # The number depends only on the row, so each run holds out the same rows.
    sixth = F.pmod(F.xxhash64(*rows.columns), F.lit(6))
    train, held_out = rows.where(sixth != 0).cache(), rows.where(sixth == 0)
    train.repartition(2).write.csv(os.path.join(folder, "train"), mode="overwrite")
    held_out.write.csv(os.path.join(folder, "held-out"), mode="overwrite")

    count = train.count()
    print(f"{count} rows to learn from and {held_out.count()} held out, in {folder}")
    with open(os.environ["JOB_OUTPUT_PROP_FILE"], "w") as out:
        json.dump({"data.path": os.path.abspath(folder), "data.rows": str(count)}, out)
    spark.stop()


if __name__ == "__main__":
    # Without spark-submit: two threads in one Java virtual machine, on the loopback address.
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--master local[2] pyspark-shell")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    main(*sys.argv[1:])
