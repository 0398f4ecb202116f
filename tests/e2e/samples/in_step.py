"""Checks that processes trained in step: their losses and their weights are exactly equal."""

import re

from samples.run import expect


def judge_in_step(run, tasks, attempt=1):
    losses = [re.findall(r"loss ([0-9.]+)", run.stdout(task, attempt)) for task in tasks]
    expect(losses[0] and all(loss == losses[0] for loss in losses), f"losses differ: {losses}")
    weights = [re.findall(r"^weights ([0-9a-f]{64})$", run.stdout(task, attempt), re.M) for task in tasks]
    expect(len(weights[0]) == 1 and all(weight == weights[0] for weight in weights), f"weights differ: {weights}")
