"""Handwritten digits, learnt in step by the processes of one mpirun. Each has its share, and MPI sums the gradients.

TonY starts this file as one task. It starts mpirun, which starts this file again on the machines of $TONY_HOSTFILE,
once per slot. There the file finds MPI's variables and trains. Rank 0 evaluates and writes the model.

Set by TonY: TONY_HOSTFILE, TONY_OUTPUT_FILE. The submitter sets (-shell_env): EPOCHS, MODEL_DIR, MIN_ACCURACY.
"""

import hashlib
import json
import os
import sys

# Each process uses one core, because the processes share a machine. This line must precede the import of numpy.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_digits

TEST_PICTURES = 297
RATE = 0.5


def say(line):
    """Writes a line in one piece, because the processes share one log."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def load_pictures(seed=7):
    """Returns scikit-learn's 1797 pictures, in the same order in every process."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    pixels, labels = digits.data[order] / 16.0, digits.target[order]
    return (pixels[TEST_PICTURES:], labels[TEST_PICTURES:]), (pixels[:TEST_PICTURES], labels[:TEST_PICTURES])


def gradients(weights, pixels, labels):
    """Returns the gradients of softmax regression, summed over the pictures, and last the sum of the losses."""
    scores = pixels @ weights
    scores -= scores.max(axis=1, keepdims=True)
    odds = np.exp(scores)
    odds /= odds.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(odds[rows, labels]).sum()
    odds[rows, labels] -= 1
    return np.append((pixels.T @ odds).ravel(), loss)


def train(world, pixels, labels, epochs):
    """`pixels` and `labels` are the whole training set; each process uses its own share of it."""
    from mpi4py import MPI

    rank, size = world.Get_rank(), world.Get_size()
    weights = np.zeros((pixels.shape[1], 10))
    summed = np.empty(weights.size + 1)
    for epoch in range(1, epochs + 1):
        world.Allreduce(gradients(weights, pixels[rank::size], labels[rank::size]), summed, op=MPI.SUM)
        weights -= RATE / len(labels) * summed[:-1].reshape(weights.shape)
        if rank == 0 and epoch % (epochs // 10 or 1) == 0:
            say(f"epoch {epoch}/{epochs} loss {summed[-1] / len(labels):.4f}")
    return weights


def write_result(weights, accuracy):
    model = os.path.join(os.path.abspath(os.environ.get("MODEL_DIR", ".")), "model.npz")
    os.makedirs(os.path.dirname(model), exist_ok=True)
    np.savez(model, weights=weights)
    result = json.dumps({"accuracy": round(accuracy, 4), "model": model})
    say(result)
    if "TONY_OUTPUT_FILE" in os.environ:
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            out.write(result + "\n")


def main():
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    say(f"rank {world.Get_rank()} of {world.Get_size()}")
    (train_pixels, train_labels), (pixels, labels) = load_pictures()
    weights = train(world, train_pixels, train_labels, epochs=int(os.environ.get("EPOCHS", "300")))
    say(f"rank {world.Get_rank()} weights {hashlib.sha256(weights.tobytes()).hexdigest()}")
    if world.Get_rank() == 0:
        accuracy = float(((pixels @ weights).argmax(axis=1) == labels).mean())
        write_result(weights, accuracy)
        if accuracy <= float(os.environ.get("MIN_ACCURACY", "0.9")):
            sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    if "OMPI_COMM_WORLD_SIZE" in os.environ:
        main()
    else:  # one process per slot of the hostfile
        os.execvp("mpirun", ["mpirun", "--hostfile", os.environ["TONY_HOSTFILE"], sys.executable, *sys.argv])
