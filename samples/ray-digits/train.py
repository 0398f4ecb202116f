"""Handwritten digits, learnt by Ray actors on several nodes. The driver averages their gradients.

TonY has started Ray's nodes when this program begins, and ray.init() finds them by RAY_ADDRESS.

Set by TonY: RAY_ADDRESS, TONY_OUTPUT_FILE. The submitter sets (-shell_env): ACTORS, STEPS, MODEL_DIR, MIN_ACCURACY.
"""

import json
import os
import sys
import time

import numpy as np
import ray
from sklearn.datasets import load_digits

TEST_PICTURES = 297
LEARNING_RATE = 2.0


def load_pictures(seed=7):
    """Returns scikit-learn's 1797 pictures, in the same order in every process."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    pixels, labels = digits.data[order] / 16, digits.target[order]
    train = pixels[TEST_PICTURES:], labels[TEST_PICTURES:]
    test = pixels[:TEST_PICTURES], labels[:TEST_PICTURES]
    return train, test


@ray.remote(num_cpus=1, scheduling_strategy="SPREAD", max_restarts=3, max_task_retries=3)
class Learner:
    def __init__(self, rank, learners):
        (pixels, labels), _ = load_pictures()
        self.pixels, self.expected = pixels[rank::learners], np.eye(10)[labels[rank::learners]]

    def node(self):
        return ray.get_runtime_context().get_node_id()

    def gradient(self, weights, bias):
        scores = self.pixels @ weights + bias
        guesses = np.exp(scores - scores.max(1, keepdims=True))
        guesses /= guesses.sum(1, keepdims=True)
        error = (guesses - self.expected) / len(self.pixels)
        return self.pixels.T @ error, error.sum(0)


def wait_for_cores(cores, seconds=120):
    """The nodes join one after the other, also while this program runs."""
    end = time.monotonic() + seconds
    while ray.cluster_resources().get("CPU", 0) < cores:
        if time.monotonic() > end:
            sys.exit(f"only {ray.cluster_resources().get('CPU', 0)} of {cores} cores have joined after {seconds} s")
        time.sleep(0.2)


def gradients_of(learners, weights, bias):
    """Ray starts the actors of a lost node again on another one. Until then their calls fail."""
    while True:
        try:
            return ray.get([each.gradient.remote(weights, bias) for each in learners])
        except ray.exceptions.ActorUnavailableError as error:
            print(f"an actor is not there: {error}", file=sys.stderr, flush=True)
            time.sleep(1)


def main():
    ray.init()
    actors = int(os.environ.get("ACTORS", "2"))
    wait_for_cores(actors + 1)
    learners = [Learner.remote(rank, actors) for rank in range(actors)]
    print(f"{actors} actors on {len(set(ray.get([each.node.remote() for each in learners])))} nodes", flush=True)
    weights, bias = np.zeros((64, 10)), np.zeros(10)
    steps = int(os.environ.get("STEPS", "150"))
    for step in range(1, steps + 1):
        gradients = gradients_of(learners, weights, bias)
        weights -= LEARNING_RATE * sum(of_weights for of_weights, _ in gradients) / actors
        bias -= LEARNING_RATE * sum(of_bias for _, of_bias in gradients) / actors
        if step % 10 == 0:
            print(f"step {step}/{steps}", flush=True)
    _, (pixels, labels) = load_pictures()
    accuracy = float(((pixels @ weights + bias).argmax(1) == labels).mean())
    model = os.path.join(os.path.abspath(os.environ.get("MODEL_DIR", ".")), "model.npz")
    os.makedirs(os.path.dirname(model), exist_ok=True)
    np.savez(model, weights=weights, bias=bias)
    result = json.dumps({"accuracy": round(accuracy, 4), "model": model})
    print(result, flush=True)
    if "TONY_OUTPUT_FILE" in os.environ:
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            out.write(result + "\n")
    if accuracy <= float(os.environ.get("MIN_ACCURACY", "0.9")):
        sys.exit(f"accuracy {accuracy:.4f} is not above the required MIN_ACCURACY")


if __name__ == "__main__":
    main()
