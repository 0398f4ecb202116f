"""Handwritten digits, learnt by several processes together; a restart continues from the newest checkpoint.

A job that lost a process ends with exactly the weights of an undisturbed job, because:
  - a checkpoint holds everything that the next step depends on: the weights and the number of steps done;
  - the pictures of a step depend only on the step's number, not on earlier steps of this process;
  - a checkpoint gets its name only when it is complete: the program writes another file and renames it.

Set by TonY: TONY_CHECKPOINT_DIR, in a restarted task TONY_RESUME_FROM; JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES,
JAX_PROCESS_ID; TONY_OUTPUT_FILE for the chief. The submitter sets (-shell_env): STEPS, CHECKPOINT_EVERY.
"""

import json
import os

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
BATCH = 96  # pictures per step, in all processes together
HIDDEN_UNITS = 64
LEARNING_RATE = 0.4


def load_pictures():
    """Returns scikit-learn's 1797 pictures, in the same order in every process."""
    digits = load_digits()
    order = np.random.default_rng(7).permutation(len(digits.target))
    pixels = (digits.data[order] / 16.0).astype(np.float32)
    labels = digits.target[order].astype(np.int32)
    train = pixels[TEST_PICTURES:], labels[TEST_PICTURES:]
    test = pixels[:TEST_PICTURES], labels[:TEST_PICTURES]
    return train, test


def initial_weights():
    draw = np.random.default_rng(1)
    return {
        "hidden": draw.normal(0, 0.15, (64, HIDDEN_UNITS)).astype(np.float32),
        "hidden_bias": np.zeros(HIDDEN_UNITS, np.float32),
        "output": draw.normal(0, 0.15, (HIDDEN_UNITS, 10)).astype(np.float32),
        "output_bias": np.zeros(10, np.float32),
    }


def read_checkpoint(path):
    """Returns the number of completed steps, and the weights after them."""
    with np.load(path) as saved:
        return int(saved["step"]), {name: saved[name] for name in initial_weights()}


def write_checkpoint(folder, step, weights):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"ckpt-{step:06}.npz")
    with open(path + ".tmp", "wb") as file:
        np.savez(file, step=step, **weights)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)
    print(f"checkpoint at step {step}", flush=True)


def scores(weights, pixels):
    hidden = jax.nn.relu(pixels @ weights["hidden"] + weights["hidden_bias"])
    return hidden @ weights["output"] + weights["output_bias"]


def mean_loss(weights, pixels, labels):
    log_probability = jax.nn.log_softmax(scores(weights, pixels))
    return -jnp.take_along_axis(log_probability, labels[:, None], axis=1).mean()


@jax.jit
def train_step(weights, pixels, labels):
    gradient = jax.grad(mean_loss)(weights, pixels, labels)
    return jax.tree.map(lambda weight, slope: weight - LEARNING_RATE * slope, weights, gradient)


def train(weights, pixels, labels, first, last, after_step):
    """Runs steps `first` + 1 to `last`. Process 0 calls `after_step` with the number of steps done and the weights."""
    mesh = Mesh(np.array(jax.devices()), ("processes",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    spread = NamedSharding(mesh, PartitionSpec("processes"))
    share = np.array_split(np.arange(BATCH), jax.process_count())[jax.process_index()]
    weights = jax.tree.map(lambda w: jax.make_array_from_process_local_data(everywhere, w), weights)
    for step in range(first + 1, last + 1):
        chosen = np.random.default_rng([3, step]).choice(len(labels), BATCH, replace=False)[share]
        weights = train_step(
            weights,
            jax.make_array_from_process_local_data(spread, pixels[chosen]),
            jax.make_array_from_process_local_data(spread, labels[chosen]),
        )
        if jax.process_index() == 0:
            after_step(step, weights)
    return jax.tree.map(np.asarray, weights)


def main():
    # Without this jax only records SIGTERM, and a stop would take its whole grace period.
    jax.config.update("jax_enable_preemption_service", False)
    jax.distributed.initialize(
        coordinator_address=os.environ["JAX_COORDINATOR_ADDRESS"],
        num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
        process_id=int(os.environ["JAX_PROCESS_ID"]),
    )
    folder = os.environ.get("TONY_CHECKPOINT_DIR")
    every = int(os.environ.get("CHECKPOINT_EVERY", "50"))
    last = int(os.environ.get("STEPS", "600"))

    done, weights = 0, initial_weights()
    if "TONY_RESUME_FROM" in os.environ:
        done, weights = read_checkpoint(os.environ["TONY_RESUME_FROM"])
        print(f"resumed at step {done}", flush=True)

    def save_now_and_then(step, weights_so_far):
        if folder and step % every == 0:
            write_checkpoint(folder, step, jax.tree.map(np.asarray, weights_so_far))

    (train_pixels, train_labels), (test_pixels, test_labels) = load_pictures()
    weights = train(weights, train_pixels, train_labels, done, last, save_now_and_then)

    guesses = np.argmax(np.asarray(scores(weights, test_pixels)), axis=1)
    result = json.dumps({"accuracy": round(float((guesses == test_labels).mean()), 4), "steps": last})
    print(result, flush=True)
    if "TONY_OUTPUT_FILE" in os.environ:
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            out.write(result + "\n")
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
