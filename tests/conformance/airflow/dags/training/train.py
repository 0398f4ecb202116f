"""Learns on which side of a line a point lies. Two processes train with different points; the first one averages both
results, evaluates the mean, and writes it as the model. It uses no framework, because starting one would take most of
the time.

TonY sets JAX_COORDINATOR_ADDRESS and JAX_PROCESS_ID, and TONY_OUTPUT_FILE for the chief. The submitter sets MODEL_DIR.
"""

import json
import os
import pathlib
import random
import socket
import time


def points(seed):
    draw = random.Random(seed)
    return [(x, y, x + 2 * y > 1.5) for x, y in ((draw.random(), draw.random()) for _ in range(500))]


def is_above(weights, x, y):
    return weights[0] * x + weights[1] * y + weights[2] > 0


def learnt(rows, weights=(0.0, 0.0, 0.0)):
    for _ in range(20):
        for x, y, above in rows:
            step = above - is_above(weights, x, y)
            weights = [weight + step * value for weight, value in zip(weights, (x, y, 1))]
    return weights


def hear(address):
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(address)
        listening.listen()
        with listening.accept()[0] as other:
            return json.loads(other.makefile().readline())


def tell(address, weights):
    for _ in range(600):
        try:
            with socket.create_connection(address) as to:
                to.sendall(json.dumps(weights).encode() + b"\n")
                return
        except ConnectionError:
            time.sleep(0.1)
    raise SystemExit("the first process does not listen")


def main():
    host, port = os.environ["JAX_COORDINATOR_ADDRESS"].rsplit(":", 1)
    process = int(os.environ["JAX_PROCESS_ID"])
    weights = learnt(points(seed=process))
    if process != 0:
        tell((host, int(port)), weights)
        return
    weights = [sum(pair) / 2 for pair in zip(weights, hear((host, int(port))))]
    judged = points(seed=2)
    accuracy = sum(is_above(weights, x, y) == above for x, y, above in judged) / len(judged)
    model = pathlib.Path(os.environ["MODEL_DIR"], "model.json")
    model.write_text(json.dumps(weights))
    pathlib.Path(os.environ["TONY_OUTPUT_FILE"]).write_text(json.dumps({"model": str(model), "accuracy": accuracy}))


main()
