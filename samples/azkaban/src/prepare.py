"""First step: writes handwritten digits as text, one row per picture (its label, then its 64 pixels from 0 to 16), and
holds out a part of them for the last step.

    prepare.py FOLDER

Azkaban sets JOB_OUTPUT_PROP_FILE, the file for values that the next steps need. All values are texts, because Azkaban
would reformat numbers.
"""

import json
import os
import sys

import numpy as np
from sklearn.datasets import load_digits

HELD_OUT = 297


def write_rows(rows, folder):
    os.makedirs(folder, exist_ok=True)
    np.savetxt(os.path.join(folder, "part-00000.csv"), rows, fmt="%d", delimiter=",")


def main(folder):
    digits = load_digits()
    rows = np.column_stack([digits.target, digits.data]).astype(int)
    rows = np.random.default_rng(7).permutation(rows)
    write_rows(rows[:HELD_OUT], os.path.join(folder, "held-out"))
    write_rows(rows[HELD_OUT:], os.path.join(folder, "train"))

    print(f"{len(rows) - HELD_OUT} rows to learn from and {HELD_OUT} held out, in {folder}")
    with open(os.environ["JOB_OUTPUT_PROP_FILE"], "w") as out:
        json.dump({"data.path": os.path.abspath(folder), "data.rows": str(len(rows) - HELD_OUT)}, out)


if __name__ == "__main__":
    main(sys.argv[1])
