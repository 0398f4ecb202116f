"""Handwritten digits, learnt with parameter servers: tf.distribute.ParameterServerStrategy.

The chief coordinates: it hands out training steps. The workers compute them, each at its own pace and on its own
batches, and change the weights, which live on the parameter server. Neither workers nor parameter servers ever end by
themselves; TonY ends them when the chief has succeeded.

Set by TonY: TF_CONFIG; TONY_OUTPUT_FILE for the chief.
The submitter sets (-shell_env): STEPS, MODEL_DIR, MIN_ACCURACY.
"""

import json
import os
import sys

# Before the import of tensorflow.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Without this variable, a call to a server that is still starting fails at once.
os.environ.setdefault("GRPC_FAIL_FAST", "use_caller")

import numpy as np
import tensorflow as tf

TEST_PICTURES = 297
BATCH = 50
HIDDEN_UNITS = 64
LEARNING_RATE = 0.2
STEPS_PER_REPORT = 100


def load_pictures(seed=7):
    """Returns scikit-learn's 1797 pictures, always in the same order."""
    from sklearn.datasets import load_digits  # here, so that other tasks start faster

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
        draw = tf.random.Generator.from_seed(seed).normal
        self.hidden = tf.Variable(0.15 * draw((64, HIDDEN_UNITS)), name="hidden")
        self.hidden_bias = tf.Variable(tf.zeros(HIDDEN_UNITS), name="hidden_bias")
        self.output = tf.Variable(0.15 * draw((HIDDEN_UNITS, 10)), name="output")
        self.output_bias = tf.Variable(tf.zeros(10), name="output_bias")

    def __call__(self, pixels):
        return tf.nn.relu(pixels @ self.hidden + self.hidden_bias) @ self.output + self.output_bias


def serve(cluster):
    """Runs a parameter server or a worker, which executes the chief's requests. Does not return."""
    server = tf.distribute.Server(cluster.cluster_spec(), job_name=cluster.task_type, task_index=cluster.task_id)
    print(f"{cluster.task_type} {cluster.task_id} serves", flush=True)
    server.join()


def train(cluster, steps):
    """Runs the chief: returns the network after `steps` steps of any worker."""
    strategy = tf.distribute.ParameterServerStrategy(cluster)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        network = Network()
    for variable in network.trainable_variables:
        print(f"{variable.name} lives on {variable.device}", flush=True)

    (pixels, labels), _ = load_pictures()

    # Each worker makes its own data set. Your program may read files here.
    def batches():
        return tf.data.Dataset.from_tensor_slices((pixels, labels)).shuffle(len(labels)).repeat().batch(BATCH)

    @tf.function
    def train_step(iterator):
        some_pixels, some_labels = next(iterator)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(some_labels, network(some_pixels)))
        weights = network.trainable_variables
        for weight, slope in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(LEARNING_RATE * slope)
        return loss

    iterators = iter(coordinator.create_per_worker_dataset(batches))
    for done in range(0, steps, STEPS_PER_REPORT):
        some = min(STEPS_PER_REPORT, steps - done)
        losses = [coordinator.schedule(train_step, args=(iterators,)) for _ in range(some)]
        coordinator.join()
        mean = np.mean([loss.fetch() for loss in losses])
        print(f"step {done + some}/{steps} loss {mean:.4f}", flush=True)
    return network


def write_result(network, accuracy):
    model = os.path.join(os.path.abspath(os.environ.get("MODEL_DIR", ".")), "model.npz")
    os.makedirs(os.path.dirname(model), exist_ok=True)
    np.savez(model, **{weight.name.partition(":")[0]: weight.numpy() for weight in network.trainable_variables})
    result = json.dumps({"accuracy": round(accuracy, 4), "model": model})
    print(result, flush=True)
    if "TONY_OUTPUT_FILE" in os.environ:
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            out.write(result + "\n")


def main():
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if cluster.task_type in ("ps", "worker"):
        serve(cluster)

    network = train(cluster, steps=int(os.environ.get("STEPS", "1000")))
    _, (pixels, labels) = load_pictures()
    guesses = np.argmax(network(pixels), axis=1)
    accuracy = float((guesses == labels).mean())
    write_result(network, accuracy)
    if accuracy <= float(os.environ.get("MIN_ACCURACY", "0.9")):
        sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    main()
