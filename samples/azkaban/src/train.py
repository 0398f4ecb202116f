"""Second step, type=tony: logistic regression on the prepared rows, learnt by all workers together.

    train.py --data FOLDER --rows NUMBER --model-dir FOLDER [--epochs NUMBER]

TonY sets JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID because of tony.application.framework=jax. The
next steps get the chief's values in TONY_OUTPUT_FILE as properties: ${accuracy}, ${tony.model.path}.
"""

import argparse
import json
import os

import jax
import jax.numpy as jnp
import numpy as np
from digits import accuracy, load_rows
from jax.sharding import Mesh, NamedSharding, PartitionSpec

STEPS_PER_EPOCH = 20
LEARNING_RATE = 1.0


def mean_loss(model, pixels, labels):
    log_probability = jax.nn.log_softmax(pixels @ model["weights"] + model["bias"])
    return -jnp.take_along_axis(log_probability, labels[:, None], axis=1).mean()


@jax.jit
def train_epoch(model, pixels, labels):
    """Trains on rows that are spread over the processes. XLA sums the gradients of all processes."""

    def step(model, _):
        loss, gradient = jax.value_and_grad(mean_loss)(model, pixels, labels)
        return jax.tree.map(lambda value, slope: value - LEARNING_RATE * slope, model, gradient), loss

    model, losses = jax.lax.scan(step, model, length=STEPS_PER_EPOCH)
    return model, losses[-1]


def train(pixels, labels, epochs):
    mesh = Mesh(np.array(jax.devices()), ("workers",))
    spread, everywhere = (NamedSharding(mesh, PartitionSpec(*axis)) for axis in (["workers"], []))
    share = len(labels) // jax.process_count()  # as many rows in every process
    mine = slice(jax.process_index() * share, (jax.process_index() + 1) * share)
    pixels, labels = (jax.make_array_from_process_local_data(spread, rows[mine]) for rows in (pixels, labels))
    model = {"weights": np.zeros((64, 10), np.float32), "bias": np.zeros(10, np.float32)}
    model = jax.tree.map(lambda value: jax.make_array_from_process_local_data(everywhere, value), model)

    for epoch in range(1, epochs + 1):
        model, loss = train_epoch(model, pixels, labels)
        print(f"epoch {epoch}/{epochs} loss {float(loss.addressable_data(0)):.4f}", flush=True)
    return jax.tree.map(lambda value: np.asarray(value.addressable_data(0)), model)


def write_model(model, folder, accuracy_of_model):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(os.path.abspath(folder), "model.npz")
    np.savez(path, **model)
    result = {"accuracy": round(accuracy_of_model, 4), "model.path": path}
    print(json.dumps(result), flush=True)
    with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
        json.dump(result, out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--rows", type=int, required=True, help="number of rows that the previous step has reported")
    parser.add_argument("--model-dir", required=True)
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()

    # Without this jax only records SIGTERM, and a kill would take its whole grace period.
    jax.config.update("jax_enable_preemption_service", False)
    jax.distributed.initialize(
        coordinator_address=os.environ["JAX_COORDINATOR_ADDRESS"],
        num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
        process_id=int(os.environ["JAX_PROCESS_ID"]),
    )
    pixels, labels = load_rows(os.path.join(args.data, "train"))
    if len(labels) != args.rows:
        raise SystemExit(f"{args.data}: {len(labels)} rows to learn from, expected {args.rows}")
    print(f"worker {jax.process_index()} of {jax.process_count()}: {len(labels)} rows", flush=True)

    model = train(pixels, labels, args.epochs)
    if jax.process_index() == 0:
        held_out = load_rows(os.path.join(args.data, "held-out"))
        write_model(model, args.model_dir, accuracy(model["weights"], model["bias"], *held_out))
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
