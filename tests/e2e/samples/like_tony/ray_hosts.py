"""Waits for all nodes of the Ray cluster, and lets each send objects to each other one."""

import json
import os
import time

import ray

cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
ray.init(address=cluster["head"][0])
while sum(node["Alive"] for node in ray.nodes()) < len(cluster["worker"]) + 1:
    time.sleep(0.5)


@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def node(before):
    time.sleep(0.2)
    return (*before, ray.get_runtime_context().get_node_id())


seen = ray.get([node.remote(node.remote(())) for _ in range(12)])
print(f"nodes {len(set().union(*seen))}", flush=True)
