"""Handwritten digits, learnt by several processes together: data-parallel SGD with jax.distributed.

Every process holds an equal share of the pictures. One training step is one jitted function over a batch that is spread
over all processes; XLA averages the gradients, so every process ends with the same weights. Process 0 evaluates
the weights and writes the model.

Set by TonY: JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES, JAX_PROCESS_ID; TONY_OUTPUT_FILE for the chief.
The submitter sets (-shell_env): EPOCHS, MODEL_DIR, MIN_ACCURACY.
"""

import json
import os
import sys
import time

# Before the import of jax, because otherwise each of the processes would use all cores of the machine they share.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sklearn.datasets import load_digits

TEST_PICTURES = 297
BATCH_PER_PROCESS = 50
HIDDEN_UNITS = 64
LEARNING_RATE = 0.4


def load_pictures(seed=7):
    """Returns scikit-learn's 1797 pictures, in the same order in every process."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    pixels = (digits.data[order] / 16.0).astype(np.float32)
    labels = digits.target[order].astype(np.int32)
    train = pixels[TEST_PICTURES:], labels[TEST_PICTURES:]
    test = pixels[:TEST_PICTURES], labels[:TEST_PICTURES]
    return train, test


def initial_weights(seed=1):
    draw = np.random.default_rng(seed)
    hidden = draw.normal(0, 0.15, (64, HIDDEN_UNITS)).astype(np.float32)
    output = draw.normal(0, 0.15, (HIDDEN_UNITS, 10)).astype(np.float32)
    return {
        "hidden": hidden,
        "hidden_bias": np.zeros(HIDDEN_UNITS, np.float32),
        "output": output,
        "output_bias": np.zeros(10, np.float32),
    }


def scores(weights, pixels):
    hidden = jax.nn.relu(pixels @ weights["hidden"] + weights["hidden_bias"])
    return hidden @ weights["output"] + weights["output_bias"]


def mean_loss(weights, pixels, labels):
    log_probability = jax.nn.log_softmax(scores(weights, pixels))
    return -jnp.take_along_axis(log_probability, labels[:, None], axis=1).mean()


@jax.jit
def train_step(weights, pixels, labels):
    loss, gradient = jax.value_and_grad(mean_loss)(weights, pixels, labels)
    return jax.tree.map(lambda weight, slope: weight - LEARNING_RATE * slope, weights, gradient), loss


def train(pixels, labels, epochs):
    """Returns the weights. `pixels` and `labels` are the whole training set; each process uses its own share of it."""
    process, processes = jax.process_index(), jax.process_count()
    mesh = Mesh(np.array(jax.devices()), ("processes",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    spread = NamedSharding(mesh, PartitionSpec("processes"))

    # Every process takes the same number of steps. Otherwise some processes would wait forever for the others.
    steps = len(pixels) // processes // BATCH_PER_PROCESS
    mine = slice(process, None, processes)
    pixels, labels = pixels[mine], labels[mine]
    weights = jax.tree.map(lambda w: jax.make_array_from_process_local_data(everywhere, w), initial_weights())

    for epoch in range(1, epochs + 1):
        start = time.monotonic()
        order = np.random.default_rng(epoch).permutation(len(labels))
        losses = []
        for step in range(steps):
            chosen = order[step * BATCH_PER_PROCESS:(step + 1) * BATCH_PER_PROCESS]
            weights, loss = train_step(
                weights,
                jax.make_array_from_process_local_data(spread, pixels[chosen]),
                jax.make_array_from_process_local_data(spread, labels[chosen]),
            )
            losses.append(loss)
        mean = float(np.mean([np.asarray(loss) for loss in losses]))
        print(f"epoch {epoch}/{epochs} loss {mean:.4f} ({(time.monotonic() - start) * 1000:.0f} ms)", flush=True)
    return jax.tree.map(lambda w: np.asarray(w.addressable_data(0)), weights)


def write_result(weights, accuracy):
    model = os.path.join(os.path.abspath(os.environ.get("MODEL_DIR", ".")), "model.npz")
    os.makedirs(os.path.dirname(model), exist_ok=True)
    np.savez(model, **weights)
    result = json.dumps({"accuracy": round(accuracy, 4), "model": model})
    print(result, flush=True)
    if "TONY_OUTPUT_FILE" in os.environ:
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            out.write(result + "\n")


def main():
    # Without this jax only records SIGTERM, and a kill would take its whole grace period.
    jax.config.update("jax_enable_preemption_service", False)
    jax.distributed.initialize(
        coordinator_address=os.environ["JAX_COORDINATOR_ADDRESS"],
        num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
        process_id=int(os.environ["JAX_PROCESS_ID"]),
    )
    print(f"process {jax.process_index()} of {jax.process_count()}: {jax.device_count()} devices", flush=True)

    (train_pixels, train_labels), (test_pixels, test_labels) = load_pictures()
    weights = train(train_pixels, train_labels, epochs=int(os.environ.get("EPOCHS", "60")))

    good_enough = True
    if jax.process_index() == 0:
        guesses = np.argmax(np.asarray(scores(weights, test_pixels)), axis=1)
        accuracy = float((guesses == test_labels).mean())
        write_result(weights, accuracy)
        good_enough = accuracy > float(os.environ.get("MIN_ACCURACY", "0.93"))
    # All processes leave together. A process may fail only after that.
    jax.distributed.shutdown()
    if not good_enough:
        sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    main()
