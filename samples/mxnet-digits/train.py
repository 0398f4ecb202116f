"""Handwritten digits, learnt by several processes together: MXNet's parameter server.

Every worker holds all weights and an equal share of the pictures. In each step the servers add up the gradients of all
workers and change the weights, so all workers continue with the same weights. In a task of role scheduler or server,
importing mxnet starts the service, and nothing below the import runs.

Set by TonY: DMLC_ROLE and the addresses that MXNet reads; TONY_OUTPUT_FILE for worker 0.
The submitter sets (-shell_env): EPOCHS, MODEL_DIR, MIN_ACCURACY.
"""

import hashlib
import json
import os
import sys
import traceback

# Each process uses one core, because the processes share a machine. This line must precede the import of mxnet.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from sklearn.datasets import load_digits

TEST_PICTURES = 297
BATCH_PER_WORKER = 50
HIDDEN_UNITS = 64
LEARNING_RATE = 0.5


def load_pictures(seed=7):
    """Returns scikit-learn's 1797 pictures, in the same order in every process."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    pixels, labels = digits.data[order].astype("float32") / 16, digits.target[order]
    train = pixels[TEST_PICTURES:], labels[TEST_PICTURES:]
    test = pixels[:TEST_PICTURES], labels[:TEST_PICTURES]
    return train, test


def train(network, store, pixels, labels, epochs):
    """`pixels` and `labels` are the whole training set; each worker uses its own share of it."""
    # Every worker takes the same number of steps. Otherwise some workers would wait forever for the others.
    steps = len(pixels) // store.num_workers // BATCH_PER_WORKER
    pixels, labels = pixels[store.rank::store.num_workers], labels[store.rank::store.num_workers]
    trainer = gluon.Trainer(
        network.collect_params(), "sgd", {"learning_rate": LEARNING_RATE}, kvstore=store, update_on_kvstore=True
    )
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for epoch in range(1, epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(labels))
        total = 0.0
        for step in range(steps):
            chosen = order[step * BATCH_PER_WORKER:(step + 1) * BATCH_PER_WORKER]
            with autograd.record():
                loss = loss_of(network(nd.array(pixels[chosen])), nd.array(labels[chosen]))
            loss.backward()
            trainer.step(BATCH_PER_WORKER * store.num_workers)
            total += float(loss.mean().asscalar())
        print(f"epoch {epoch}/{epochs} loss {total / steps:.4f}", flush=True)


def write_result(network, accuracy):
    model = os.path.join(os.path.abspath(os.environ.get("MODEL_DIR", ".")), "model.params")
    os.makedirs(os.path.dirname(model), exist_ok=True)
    network.save_parameters(model)
    result = json.dumps({"accuracy": round(accuracy, 4), "model": model})
    print(result, flush=True)
    if "TONY_OUTPUT_FILE" in os.environ:
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            out.write(result + "\n")


def main():
    store = mx.kv.create("dist_sync")
    print(f"rank {store.rank} of {store.num_workers}", flush=True)
    (train_pixels, train_labels), (test_pixels, test_labels) = load_pictures()
    mx.random.seed(1)
    network = gluon.nn.HybridSequential()
    network.add(gluon.nn.Dense(HIDDEN_UNITS, activation="relu"), gluon.nn.Dense(10))
    network.initialize(mx.init.Xavier())
    train(network, store, train_pixels, train_labels, epochs=int(os.environ.get("EPOCHS", "20")))

    weights = (weight.data().asnumpy().tobytes() for weight in network.collect_params().values())
    print(f"weights {hashlib.sha256(b''.join(weights)).hexdigest()}", flush=True)
    # The ranks of MXNet follow the order in which the workers arrived, so TonY's chief writes the model.
    if os.environ.get("IS_CHIEF") == "true":
        accuracy = float((network(nd.array(test_pixels)).asnumpy().argmax(1) == test_labels).mean())
        write_result(network, accuracy)
        if accuracy <= float(os.environ.get("MIN_ACCURACY", "0.9")):
            sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        # An ordinary exit would wait for the other workers, which wait for this one.
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
