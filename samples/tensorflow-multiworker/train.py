"""Handwritten digits, learnt by several workers in step: tf.distribute.MultiWorkerMirroredStrategy.

Every worker holds all weights and an equal share of the pictures. In each step the workers add up their gradients, so
all of them make the same change and end with the same weights. Worker 0 evaluates them and writes the model.

Set by TonY: TF_CONFIG; TONY_OUTPUT_FILE for worker 0; TB_LOG_DIR, where TensorBoard runs beside the job.
The submitter sets (-shell_env): EPOCHS, MODEL_DIR, MIN_ACCURACY.
"""

import hashlib
import json
import os
import sys

# Before the import of tensorflow.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

TEST_PICTURES = 297
BATCH_PER_WORKER = 50
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


class Network(tf.Module):
    def __init__(self, seed=1):
        super().__init__()
        draw = np.random.default_rng(seed).normal
        self.hidden = tf.Variable(draw(0, 0.15, (64, HIDDEN_UNITS)).astype(np.float32), name="hidden")
        self.hidden_bias = tf.Variable(tf.zeros(HIDDEN_UNITS), name="hidden_bias")
        self.output = tf.Variable(draw(0, 0.15, (HIDDEN_UNITS, 10)).astype(np.float32), name="output")
        self.output_bias = tf.Variable(tf.zeros(10), name="output_bias")

    def __call__(self, pixels):
        return tf.nn.relu(pixels @ self.hidden + self.hidden_bias) @ self.output + self.output_bias


def make_train_step(strategy, network):
    workers = strategy.num_replicas_in_sync

    def on_each_worker(pixels, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, network(pixels))) / workers
        weights = network.trainable_variables
        slopes = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weights))
        for weight, slope in zip(weights, slopes):
            weight.assign_sub(LEARNING_RATE * slope)
        return loss

    @tf.function
    def train_step(pixels, labels):
        return strategy.reduce("sum", strategy.run(on_each_worker, args=(pixels, labels)), axis=None)

    return train_step


def make_board(worker):
    """Writes logs for TensorBoard in one worker; the other workers discard theirs."""
    folder = os.environ.get("TB_LOG_DIR")
    return tf.summary.create_file_writer(folder) if folder and worker == 0 else tf.summary.create_noop_writer()


def train(strategy, network, pixels, labels, epochs):
    """`pixels` and `labels` are the whole training set; each worker uses its own share of it."""
    worker, workers = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
    # Every worker takes the same number of steps. Otherwise some workers would wait forever for the others.
    steps = len(pixels) // workers // BATCH_PER_WORKER
    pixels, labels = pixels[worker::workers], labels[worker::workers]
    train_step = make_train_step(strategy, network)
    board = make_board(worker)
    for epoch in range(1, epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(labels))
        losses = []
        for step in range(steps):
            chosen = order[step * BATCH_PER_WORKER:(step + 1) * BATCH_PER_WORKER]
            losses.append(train_step(tf.constant(pixels[chosen]), tf.constant(labels[chosen])))
        print(f"epoch {epoch}/{epochs} loss {np.mean(losses):.4f}", flush=True)
        with board.as_default(step=epoch):
            tf.summary.scalar("loss", np.mean(losses))
        board.flush()


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
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # returns when all workers have joined
    worker, workers = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
    print(f"worker {worker} of {workers}", flush=True)

    (train_pixels, train_labels), (test_pixels, test_labels) = load_pictures()
    with strategy.scope():
        network = Network()
    train(strategy, network, train_pixels, train_labels, epochs=int(os.environ.get("EPOCHS", "30")))

    weights = {weight.name.partition(":")[0]: weight.numpy() for weight in network.trainable_variables}
    digest = hashlib.sha256(b"".join(weights[name].tobytes() for name in sorted(weights)))
    print(f"weights {digest.hexdigest()}", flush=True)
    if worker == 0:
        guesses = np.argmax(network(test_pixels), axis=1)
        accuracy = float((guesses == test_labels).mean())
        write_result(weights, accuracy)
        if accuracy <= float(os.environ.get("MIN_ACCURACY", "0.9")):
            sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    main()
