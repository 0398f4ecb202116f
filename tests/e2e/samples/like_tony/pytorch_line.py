"""Learns y = 5x + 2 in step with the other tasks, which it finds by the variables that TonY's examples read."""

import os

import torch
import torch.distributed as dist

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD"])
dist.init_process_group("gloo", init_method=os.environ["INIT_METHOD"], rank=rank, world_size=world)
xs = torch.linspace(0, 1, 100)[rank::world]
weights = torch.zeros(2)
for _ in range(500):
    error = weights[0] * xs + weights[1] - (5 * xs + 2)
    gradient = torch.stack([(error * xs).mean(), error.mean()])
    dist.all_reduce(gradient)
    weights -= 0.5 * gradient / world
print(f"rank {rank} of {world} slope {weights[0]:.2f} offset {weights[1]:.2f}", flush=True)
dist.destroy_process_group()
os._exit(0)  # see samples/pytorch-ddp
