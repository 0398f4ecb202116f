"""Handwritten digits, learnt by several processes in step: Lightning's Trainer with the strategy "ddp".

Lightning finds the processes that TonY has started by their variables. If a process finds no such variables, Lightning
itself starts DEVICES processes.

Set by TonY: MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE;
TONY_OUTPUT_FILE for rank 0. The submitter sets (-shell_env): EPOCHS, MODEL_DIR, MIN_ACCURACY, DEVICES.
"""

import hashlib
import json
import os
import sys

# Each process uses one core, because the processes share a machine. This line must precede the import of torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import lightning
import torch
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


class Digits(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = torch.nn.Sequential(
            torch.nn.Linear(64, HIDDEN_UNITS), torch.nn.ReLU(), torch.nn.Linear(HIDDEN_UNITS, 10)
        )

    def forward(self, pixels):
        return self.network(pixels)

    def training_step(self, batch, _):
        pixels, labels = batch
        loss = torch.nn.functional.cross_entropy(self(pixels), labels)
        self.log("loss", loss, on_epoch=True, on_step=False, sync_dist=True)
        return loss

    def on_train_epoch_end(self):
        loss = self.trainer.callback_metrics["loss"].item()
        print(f"epoch {self.current_epoch + 1}/{self.trainer.max_epochs} loss {loss:.4f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=LEARNING_RATE)


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
    lightning.seed_everything(1)
    trainer = lightning.Trainer(
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", os.environ.get("DEVICES", "1"))),
        num_nodes=int(os.environ.get("GROUP_WORLD_SIZE", "1")),
        strategy="ddp",
        max_epochs=int(os.environ.get("EPOCHS", "30")),
        enable_checkpointing=False,
        enable_progress_bar=False,
        logger=False,
    )
    print(f"rank {trainer.global_rank} of {trainer.world_size}", flush=True)
    pictures, (test_pixels, test_labels) = load_pictures()
    digits = Digits()
    trainer.fit(digits, DataLoader(pictures, BATCH_PER_PROCESS, shuffle=True))  # gives each process its own share

    digest = hashlib.sha256(b"".join(weight.detach().numpy().tobytes() for weight in digits.parameters()))
    print(f"weights {digest.hexdigest()}", flush=True)
    if trainer.is_global_zero:
        accuracy = (digits(test_pixels).argmax(1) == test_labels).float().mean().item()
        write_result(digits.network, accuracy)
        if accuracy <= float(os.environ.get("MIN_ACCURACY", "0.9")):
            sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    main()
    # With gloo, a Python that shuts down sometimes aborts (SIGABRT) after all work is done. See samples/pytorch-ddp.
    sys.stdout.flush()
    os._exit(0)
