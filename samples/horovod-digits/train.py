"""Handwritten digits, learnt by several processes in step: Horovod with PyTorch.

Every process holds all weights and an equal share of the pictures. Horovod averages the gradients in each step, so all
processes end with the same weights. Rank 0 evaluates them and writes the model.

Set by TonY: the HOROVOD_* variables that hvd.init() reads; TONY_OUTPUT_FILE for the chief, which has rank 0.
The submitter sets (-shell_env): EPOCHS, MODEL_DIR, MIN_ACCURACY.
"""

import hashlib
import json
import os
import sys

# Each process uses one core, because the processes share a machine. This line must precede the import of torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import horovod.torch as hvd
import torch
from sklearn.datasets import load_digits

TEST_PICTURES = 297
BATCH_PER_PROCESS = 50
HIDDEN_UNITS = 64
LEARNING_RATE = 0.4


def load_pictures(seed=7):
    """Returns scikit-learn's 1797 pictures, in the same order in every process."""
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(seed))
    pixels = torch.from_numpy(digits.data).float()[order] / 16
    labels = torch.from_numpy(digits.target).long()[order]
    train = pixels[TEST_PICTURES:], labels[TEST_PICTURES:]
    test = pixels[:TEST_PICTURES], labels[:TEST_PICTURES]
    return train, test


def train(network, pixels, labels, epochs):
    """`pixels` and `labels` are the whole training set; each process uses its own share of it."""
    # Every process takes the same number of steps. Otherwise some processes would wait forever for the others.
    steps = len(pixels) // hvd.size() // BATCH_PER_PROCESS
    pixels, labels = pixels[hvd.rank()::hvd.size()], labels[hvd.rank()::hvd.size()]
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(network.parameters(), lr=LEARNING_RATE), named_parameters=network.named_parameters()
    )
    hvd.broadcast_parameters(network.state_dict(), root_rank=0)
    for epoch in range(1, epochs + 1):
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))
        total = 0.0
        for step in range(steps):
            chosen = order[step * BATCH_PER_PROCESS:(step + 1) * BATCH_PER_PROCESS]
            optimizer.zero_grad()
            loss = loss_of(network(pixels[chosen]), labels[chosen])
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}/{epochs} loss {total / steps:.4f}", flush=True)


def write_result(network, accuracy):
    model = os.path.join(os.path.abspath(os.environ.get("MODEL_DIR", ".")), "model.pt")
    os.makedirs(os.path.dirname(model), exist_ok=True)
    torch.save(network.state_dict(), model)
    result = json.dumps({"accuracy": round(accuracy, 4), "model": model})
    print(result, flush=True)
    if "TONY_OUTPUT_FILE" in os.environ:
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            out.write(result + "\n")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    hvd.init()  # returns when all processes have joined
    print(f"rank {hvd.rank()} of {hvd.size()}", flush=True)
    (train_pixels, train_labels), (test_pixels, test_labels) = load_pictures()
    network = torch.nn.Sequential(torch.nn.Linear(64, HIDDEN_UNITS), torch.nn.ReLU(), torch.nn.Linear(HIDDEN_UNITS, 10))
    train(network, train_pixels, train_labels, epochs=int(os.environ.get("EPOCHS", "30")))

    digest = hashlib.sha256(b"".join(weight.detach().numpy().tobytes() for weight in network.parameters()))
    print(f"weights {digest.hexdigest()}", flush=True)
    good_enough = True
    if hvd.rank() == 0:
        accuracy = (network(test_pixels).argmax(1) == test_labels).float().mean().item()
        write_result(network, accuracy)
        good_enough = accuracy > float(os.environ.get("MIN_ACCURACY", "0.9"))
    hvd.shutdown()
    if not good_enough:
        sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    main()
