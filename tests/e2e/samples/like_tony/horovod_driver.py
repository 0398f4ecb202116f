"""A driver for tony.horovod.driver.mode.debug: Horovod's own rendezvous server, and a slot plan for TonY's workers."""

import json
import os
import pathlib
import time

from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
from horovod.runner.http.http_server import RendezvousServer

server = RendezvousServer(verbose=1)
port = server.start()
plan = get_host_assignments(parse_hosts(os.environ["CLUSTER_WORKER_LIST"]), 1)
server.init(plan)
slots = [
    {"hostname": slot.hostname, "rank": slot.rank, "localRank": slot.local_rank, "crossRank": slot.cross_rank,
     "size": slot.size, "localSize": slot.local_size, "crossSize": slot.cross_size} for slot in plan
]  # fmt: skip
file = pathlib.Path(os.environ["DRIVER_OUTPUT_PATH"], f"{port}____HOROVOD_RENDEZVOUS_SERVER____")
file.write_text(json.dumps(slots))
print(f"serves {len(slots)} workers", flush=True)
while True:
    time.sleep(60)
