"""Handwritten digits, learnt by several processes, each of which holds a part of the optimizer's state: ZeRO of DeepSpeed.

After each step the processes send each other the weights that they have changed, so that all of them have all weights.

Set by TonY: MASTER_ADDR, MASTER_PORT, RANK, LOCAL_RANK, WORLD_SIZE; TONY_OUTPUT_FILE for rank 0.
The submitter sets (-shell_env): EPOCHS, MODEL_DIR, MIN_ACCURACY.
"""

import hashlib
import json
import os
import sys

# DeepSpeed compiles a library with the program ninja, which is beside the environment's Python.
os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
# Each process uses one core, because the processes share a machine. This line must precede the import of torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import deepspeed
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits

TEST_PICTURES = 297
BATCH_PER_PROCESS = 50
HIDDEN_UNITS = 64
CONFIG = {
    "train_micro_batch_size_per_gpu": BATCH_PER_PROCESS,
    "optimizer": {"type": "Adam", "params": {"lr": 0.005, "torch_adam": True}},
    "zero_optimization": {"stage": 1},
}


def load_pictures(seed=7):
    """Returns scikit-learn's 1797 pictures, in the same order in every process."""
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(seed))
    pixels = torch.from_numpy(digits.data).float()[order] / 16
    labels = torch.from_numpy(digits.target).long()[order]
    train = pixels[TEST_PICTURES:], labels[TEST_PICTURES:]
    test = pixels[:TEST_PICTURES], labels[:TEST_PICTURES]
    return train, test


def train(engine, pixels, labels, epochs):
    """`pixels` and `labels` are the whole training set; each process uses its own share of it."""
    rank, processes = dist.get_rank(), dist.get_world_size()
    # Every process takes the same number of steps. Otherwise some processes would wait forever for the others.
    steps = len(pixels) // processes // BATCH_PER_PROCESS
    pixels, labels = pixels[rank::processes], labels[rank::processes]
    loss_of = torch.nn.CrossEntropyLoss()
    for epoch in range(1, epochs + 1):
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))
        total = torch.zeros(1)
        for step in range(steps):
            chosen = order[step * BATCH_PER_PROCESS:(step + 1) * BATCH_PER_PROCESS]
            loss = loss_of(engine(pixels[chosen]), labels[chosen])
            engine.backward(loss)
            engine.step()
            total += loss.detach()
        dist.all_reduce(total)
        print(f"epoch {epoch}/{epochs} loss {total.item() / steps / processes:.4f}", flush=True)


def write_result(weights, accuracy):
    model = os.path.join(os.path.abspath(os.environ.get("MODEL_DIR", ".")), "model.pt")
    os.makedirs(os.path.dirname(model), exist_ok=True)
    torch.save(weights, model)
    result = json.dumps({"accuracy": round(accuracy, 4), "model": model})
    print(result, flush=True)
    if "TONY_OUTPUT_FILE" in os.environ:
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            out.write(result + "\n")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    deepspeed.init_distributed("gloo")  # returns when all processes have joined
    rank = dist.get_rank()
    print(f"rank {rank} of {dist.get_world_size()}", flush=True)

    (train_pixels, train_labels), (test_pixels, test_labels) = load_pictures()
    network = torch.nn.Sequential(torch.nn.Linear(64, HIDDEN_UNITS), torch.nn.ReLU(), torch.nn.Linear(HIDDEN_UNITS, 10))
    engine, optimizer, _, _ = deepspeed.initialize(
        model=network, model_parameters=network.parameters(), config=CONFIG
    )
    held = sum(part.numel() for part in optimizer.single_partition_of_fp32_groups)
    print(f"optimizes {held} of {sum(weight.numel() for weight in network.parameters())} weights", flush=True)
    train(engine, train_pixels, train_labels, epochs=int(os.environ.get("EPOCHS", "30")))

    with torch.no_grad():
        accuracy = (engine(test_pixels).argmax(1) == test_labels).float().mean().item()
    weights = engine.module.state_dict()
    digest = hashlib.sha256(b"".join(weight.numpy().tobytes() for weight in weights.values()))
    print(f"weights {digest.hexdigest()}", flush=True)
    if rank == 0:
        write_result(weights, accuracy)
    dist.destroy_process_group()
    if accuracy <= float(os.environ.get("MIN_ACCURACY", "0.9")):
        sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    main()
    # With gloo, a Python that shuts down sometimes aborts (SIGABRT) after all work is done. See samples/pytorch-ddp.
    sys.stdout.flush()
    os._exit(0)
