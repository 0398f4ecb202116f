"""Handwritten digits, learnt by several processes together: XGBoost's collective, with its tracker as a role.

The task of role "tracker" brings the workers together and ends when they have left. Every worker holds an equal share
of the pictures; the workers add up their histograms for each split, so all of them grow the same trees. Worker 0
evaluates the trees and writes the model.

Set by TonY: JOB_NAME, DMLC_TRACKER_URI, DMLC_TRACKER_PORT, DMLC_NUM_WORKER, for workers DMLC_TASK_ID; TONY_OUTPUT_FILE
for worker 0. The submitter sets (-shell_env): ROUNDS, MODEL_DIR, MIN_ACCURACY.
"""

import hashlib
import json
import os
import sys

# Each process uses one core, because the processes share a machine. This line must precede the import of xgboost.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import xgboost
from sklearn.datasets import load_digits
from xgboost import collective
from xgboost.tracker import RabitTracker

TEST_PICTURES = 297
# In seconds. The tracker waits this long for the workers, and a worker waits this long for an answer.
PATIENCE = 300


def run_tracker():
    # Sorted by task, so that the worker with DMLC_TASK_ID 0 has rank 0.
    tracker = RabitTracker(
        n_workers=int(os.environ["DMLC_NUM_WORKER"]),
        host_ip=os.environ["DMLC_TRACKER_URI"],
        port=int(os.environ["DMLC_TRACKER_PORT"]),
        sortby="task",
        timeout=PATIENCE,
    )
    tracker.start()
    print(f"tracker of {os.environ['DMLC_NUM_WORKER']} workers listens", flush=True)
    tracker.wait_for()


def load_pictures(seed=7):
    """Returns scikit-learn's 1797 pictures, in the same order in every process."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    pixels, labels = digits.data[order], digits.target[order]
    train = pixels[TEST_PICTURES:], labels[TEST_PICTURES:]
    test = pixels[:TEST_PICTURES], labels[:TEST_PICTURES]
    return train, test


class PrintLoss(xgboost.callback.TrainingCallback):
    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def after_iteration(self, model, epoch, evals_log):
        if (epoch + 1) % 5 == 0:
            print(f"round {epoch + 1}/{self.rounds} loss {evals_log['test']['mlogloss'][-1]:.4f}", flush=True)
        return False  # go on


def train(pixels, labels, test, rounds):
    """`pixels` and `labels` are the whole training set; each process uses its own share of it."""
    rank, workers = collective.get_rank(), collective.get_world_size()
    share = xgboost.DMatrix(pixels[rank::workers], labels[rank::workers])
    parameters = {"objective": "multi:softprob", "num_class": 10, "max_depth": 4, "tree_method": "hist", "nthread": 1}
    return xgboost.train(
        parameters,
        share,
        num_boost_round=rounds,
        evals=[(xgboost.DMatrix(*test), "test")],
        callbacks=[PrintLoss(rounds)],
        verbose_eval=False,
    )


def write_result(booster, accuracy):
    model = os.path.join(os.path.abspath(os.environ.get("MODEL_DIR", ".")), "model.ubj")
    os.makedirs(os.path.dirname(model), exist_ok=True)
    booster.save_model(model)
    result = json.dumps({"accuracy": round(accuracy, 4), "model": model})
    print(result, flush=True)
    if "TONY_OUTPUT_FILE" in os.environ:
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            out.write(result + "\n")


def run_worker():
    (train_pixels, train_labels), test = load_pictures()
    accuracy = None
    with collective.CommunicatorContext(
        dmlc_communicator="rabit",
        dmlc_tracker_uri=os.environ["DMLC_TRACKER_URI"],
        dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"]),
        dmlc_task_id=os.environ["DMLC_TASK_ID"],
        dmlc_timeout=PATIENCE,
    ):
        rank = collective.get_rank()
        print(f"rank {rank} of {collective.get_world_size()}", flush=True)
        booster = train(train_pixels, train_labels, test, rounds=int(os.environ.get("ROUNDS", "30")))
        print(f"weights {hashlib.sha256(booster.save_raw('ubj')).hexdigest()}", flush=True)
        if rank == 0:
            guesses = booster.inplace_predict(test[0]).argmax(axis=1)
            accuracy = float((guesses == test[1]).mean())
            write_result(booster, accuracy)
    if accuracy is not None and accuracy <= float(os.environ.get("MIN_ACCURACY", "0.9")):
        sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    if os.environ["JOB_NAME"] == "tracker":
        run_tracker()
    else:
        run_worker()
