"""Handwritten digits, learnt by several processes in step: Hugging Face's Accelerate.

Accelerate divides the batches among the processes and averages the gradients. The program is the same for one process
and for many, and for every launcher that sets the variables of torchrun.

Set by TonY: MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK; TONY_OUTPUT_FILE for rank 0.
The submitter sets (-shell_env): EPOCHS, MODEL_DIR, MIN_ACCURACY.
"""

import hashlib
import json
import os
import sys

# Each process uses one core, because the processes share a machine. This line must precede the import of torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from accelerate import Accelerator
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

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
    train = TensorDataset(pixels[TEST_PICTURES:], labels[TEST_PICTURES:])
    test = pixels[:TEST_PICTURES], labels[:TEST_PICTURES]
    return train, test


def train(accelerator, network, pictures, epochs):
    loss_of = torch.nn.CrossEntropyLoss()
    network, optimizer, batches = accelerator.prepare(
        network,
        torch.optim.SGD(network.parameters(), lr=LEARNING_RATE),
        DataLoader(pictures, BATCH_PER_PROCESS, shuffle=True),
    )
    for epoch in range(1, epochs + 1):
        total = torch.zeros(1, device=accelerator.device)
        for pixels, labels in batches:
            optimizer.zero_grad()
            loss = loss_of(network(pixels), labels)
            accelerator.backward(loss)
            optimizer.step()
            total += loss.detach()
        loss = accelerator.reduce(total / len(batches), "mean").item()
        print(f"epoch {epoch}/{epochs} loss {loss:.4f}", flush=True)
    return accelerator.unwrap_model(network)


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
    # Without this option and without a GPU, Accelerate does not join the other processes.
    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    print(f"rank {accelerator.process_index} of {accelerator.num_processes}", flush=True)
    pictures, (test_pixels, test_labels) = load_pictures()
    network = torch.nn.Sequential(torch.nn.Linear(64, HIDDEN_UNITS), torch.nn.ReLU(), torch.nn.Linear(HIDDEN_UNITS, 10))
    network = train(accelerator, network, pictures, epochs=int(os.environ.get("EPOCHS", "30"))).cpu()

    digest = hashlib.sha256(b"".join(weight.detach().numpy().tobytes() for weight in network.parameters()))
    print(f"weights {digest.hexdigest()}", flush=True)
    good_enough = True
    if accelerator.is_main_process:
        accuracy = (network(test_pixels).argmax(1) == test_labels).float().mean().item()
        write_result(network, accuracy)
        good_enough = accuracy > float(os.environ.get("MIN_ACCURACY", "0.9"))
    accelerator.end_training()
    if not good_enough:
        sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    main()
    # With gloo, a Python that shuts down sometimes aborts (SIGABRT) after all work is done. See samples/pytorch-ddp.
    sys.stdout.flush()
    os._exit(0)
