"""Handwritten digits, learnt by several processes together: LightGBM's data-parallel trees.

Every process holds an equal share of the pictures. For each split the processes add up their histograms over sockets,
so all of them grow the same trees. Rank 0 evaluates the trees and writes the model.

Set by TonY: LIGHTGBM_MACHINES, LIGHTGBM_NUM_MACHINES, LIGHTGBM_LOCAL_LISTEN_PORT, LIGHTGBM_RANK; TONY_OUTPUT_FILE for
rank 0. The submitter sets (-shell_env): ROUNDS, MODEL_DIR, MIN_ACCURACY.
"""

import hashlib
import json
import os
import re
import sys

# Each process uses one core, because the processes share a machine. This line must precede the import of lightgbm.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import lightgbm
import numpy as np
from sklearn.datasets import load_digits

TEST_PICTURES = 297


def load_pictures(seed=7):
    """Returns scikit-learn's 1797 pictures, in the same order in every process."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    pixels, labels = digits.data[order], digits.target[order]
    train = pixels[TEST_PICTURES:], labels[TEST_PICTURES:]
    test = pixels[:TEST_PICTURES], labels[:TEST_PICTURES]
    return train, test


def print_loss(env):
    if (env.iteration + 1) % 5 == 0:
        loss = env.evaluation_result_list[0][2]
        print(f"round {env.iteration + 1}/{env.end_iteration} loss {loss:.4f}", flush=True)


def train(pixels, labels, test, rounds):
    """`pixels` and `labels` are the whole training set; each process uses its own share of it."""
    rank, machines = int(os.environ["LIGHTGBM_RANK"]), int(os.environ["LIGHTGBM_NUM_MACHINES"])
    parameters = {
        "objective": "multiclass",
        "num_class": 10,
        "num_leaves": 15,
        "num_threads": 1,
        "verbosity": -1,
        "tree_learner": "data",
        "pre_partition": True,  # this process only has the share below
        "machines": os.environ["LIGHTGBM_MACHINES"],
        "num_machines": machines,
        "local_listen_port": int(os.environ["LIGHTGBM_LOCAL_LISTEN_PORT"]),
        "time_out": 5,  # minutes that a machine waits for another
    }
    share = lightgbm.Dataset(pixels[rank::machines], labels[rank::machines])
    test = lightgbm.Dataset(*test, reference=share)
    return lightgbm.train(parameters, share, num_boost_round=rounds, valid_sets=[test], callbacks=[print_loss])


def trees(model):
    """Returns the model's text without its parameters, which contain each process's own port."""
    return re.search(r"^Tree=0$.*^end of trees$", model.model_to_string(), re.M | re.S)[0]


def write_result(booster, accuracy):
    model = os.path.join(os.path.abspath(os.environ.get("MODEL_DIR", ".")), "model.txt")
    os.makedirs(os.path.dirname(model), exist_ok=True)
    booster.save_model(model)
    result = json.dumps({"accuracy": round(accuracy, 4), "model": model})
    print(result, flush=True)
    if "TONY_OUTPUT_FILE" in os.environ:
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            out.write(result + "\n")


def main():
    rank = int(os.environ["LIGHTGBM_RANK"])
    print(f"rank {rank} of {os.environ['LIGHTGBM_NUM_MACHINES']}", flush=True)
    (train_pixels, train_labels), test = load_pictures()
    booster = train(train_pixels, train_labels, test, rounds=int(os.environ.get("ROUNDS", "30")))
    print(f"weights {hashlib.sha256(trees(booster).encode()).hexdigest()}", flush=True)
    if rank == 0:
        accuracy = float((booster.predict(test[0]).argmax(axis=1) == test[1]).mean())
        write_result(booster, accuracy)
        if accuracy <= float(os.environ.get("MIN_ACCURACY", "0.9")):
            sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    main()
