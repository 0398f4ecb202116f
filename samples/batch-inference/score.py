"""Scores one share of scikit-learn's handwritten digits: classifies every TASK_NUM-th picture.

The tasks are independent: each starts as soon as it has a container (FCFS), takes its share by its index, and writes
one file. A restarted task writes the same file again. The file gets its name only when it is complete.

Set by TonY: TASK_INDEX, TASK_NUM, TONY_TASK. Beside the program: model.npz (tony.containers.resources).
The submitter sets (-shell_env): RESULT_DIR, MIN_ACCURACY, PAUSE (seconds before each hundred pictures).
"""

import csv
import json
import os
import sys
import time

# Each process uses one core, because the processes share a machine. This line must precede the import of numpy.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_digits


def score(pixels, model):
    return (pixels / 16 @ model["weights"] + model["bias"]).argmax(axis=1)


def write_part(file, rows):
    os.makedirs(os.path.dirname(file), exist_ok=True)
    unfinished = f"{file}.{os.getpid()}.tmp"
    with open(unfinished, "w", newline="") as out:
        csv.writer(out).writerows([("picture", "guess", "label"), *rows])
    os.replace(unfinished, file)


def main():
    index, tasks = int(os.environ["TASK_INDEX"]), int(os.environ["TASK_NUM"])
    model = np.load("model.npz")
    pixels, labels = load_digits(return_X_y=True)
    mine = np.arange(index, len(labels), tasks)
    guesses = []
    for start in range(0, len(mine), 100):
        time.sleep(float(os.environ.get("PAUSE", "0")))
        chosen = mine[start:start + 100]
        guesses.extend(score(pixels[chosen], model).tolist())
        print(f"{len(guesses)} of {len(mine)} pictures", flush=True)

    folder = os.path.abspath(os.environ.get("RESULT_DIR", "."))
    part = os.path.join(folder, f"part-{index:05}-of-{tasks:05}.csv")
    write_part(part, zip(mine.tolist(), guesses, labels[mine].tolist()))
    accuracy = float((np.array(guesses) == labels[mine]).mean())
    print(json.dumps({"accuracy": round(accuracy, 4), "pictures": len(guesses), "part": part}), flush=True)
    if accuracy <= float(os.environ.get("MIN_ACCURACY", "0.9")):
        sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    main()
