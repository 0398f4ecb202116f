#!/usr/bin/env python3
"""Measures a training without and with tony. If RANK is in its environment, this file is the training itself.

Data-parallel least squares: in each step, each of two processes computes the gradient of its half of the data, and both
exchange the gradients over a socket and take the mean.
"""

import contextlib
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

STEPS, WARM_UP, ROWS, COLUMNS = 8000, 1000, 60, 40


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def connect(rank, address, limit=30):
    """Returns the connection between rank 0, which listens, and rank 1."""
    if rank == 0:
        with socket.create_server(address) as server:
            server.settimeout(limit)
            return server.accept()[0]
    end = time.monotonic() + limit
    while True:
        with contextlib.suppress(ConnectionRefusedError):
            peer = socket.create_connection(address, timeout=limit)
            if peer.getsockname() != peer.getpeername():  # a port without a listener may connect to itself
                return peer
            peer.close()
        if time.monotonic() > end:
            raise TimeoutError("rank 0 does not listen")
        time.sleep(0.01)


def mean_with_peer(peer, gradient):
    form = f"{len(gradient)}d"
    size = struct.calcsize(form)
    peer.sendall(struct.pack(form, *gradient))
    got = b""
    while len(got) < size:
        part = peer.recv(size - len(got))  # not more, because the peer may be a step ahead
        if not part:
            raise ConnectionError("the other process has ended")
        got += part
    return [(a + b) / 2 for a, b in zip(gradient, struct.unpack(form, got))]


def train():
    rank = int(os.environ["RANK"])
    peer = connect(rank, (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = [[((row * 7 + column * 13 + rank) % 17) / 17 for column in range(COLUMNS)] for row in range(ROWS)]
    weights, times = [0.0] * COLUMNS, []
    for _ in range(STEPS + WARM_UP):
        start = time.perf_counter()
        gradient = [0.0] * COLUMNS
        for row in data:
            error = sum(w * x for w, x in zip(weights, row)) - 1
            gradient = [g + error * x for g, x in zip(gradient, row)]
        weights = [w - 0.001 * g for w, g in zip(weights, mean_with_peer(peer, gradient))]
        times.append(time.perf_counter() - start)
    if rank == 0:
        with open(os.environ["STEP_TIMES"], "w") as file:
            json.dump(statistics.mean(times[WARM_UP:]) * 1000, file)


def run_bare(env, limit):
    common = dict(env, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    ranks = [subprocess.Popen([sys.executable, __file__], env=dict(common, RANK=str(rank))) for rank in range(2)]
    try:
        if any([rank.wait(limit) for rank in ranks]):
            raise RuntimeError("the bare training failed")
    finally:
        for rank in ranks:
            rank.kill()


def run_under(tony, env, limit):
    command = tony.submit(2, f"{sys.executable} {os.path.abspath(__file__)}", "512m")
    subprocess.run(command, env=dict(tony.env, STEP_TIMES=env["STEP_TIMES"]), check=True, capture_output=True, timeout=limit)


def step_ms(run):
    with tempfile.TemporaryDirectory(prefix="tony-bench-training-") as folder:
        env = dict(os.environ, STEP_TIMES=os.path.join(folder, "times"))
        run(env)
        with open(env["STEP_TIMES"]) as file:
            return json.load(file)


def measure(tony, pairs, limit):
    """Runs each round bare, under tony and bare again. The second bare run shows how much the machine varies."""
    bare, under, again = [], [], []
    for _ in range(pairs):
        bare.append(step_ms(lambda env: run_bare(env, limit)))
        under.append(step_ms(lambda env: run_under(tony, env, limit)))
        again.append(step_ms(lambda env: run_bare(env, limit)))
    between = [2 * u / (b + a) for b, u, a in zip(bare, under, again)]
    noise = [a / b for b, a in zip(bare, again)]
    percent = [f"{(statistics.median(ratios) - 1) * 100:+.2f} %" for ratios in (between, noise)]
    yield f"a step of a training of two processes, bare, ms ({pairs} rounds)", f"{statistics.median(bare + again):.3f}", ""
    yield "... under tony against bare, paired", percent[0], "within 0.5 %"
    yield "... bare against bare in the same rounds: the noise", f"{percent[1]} ({min(noise) - 1:+.1%} to {max(noise) - 1:+.1%})", ""


if __name__ == "__main__":
    train()
