"""The program of the tasks in these checks; it uses the GPUs that it can see: program.py WHAT"""

import json
import os
import pathlib
import sys
import time

import torch


def see():
    """Writes the number of GPUs that PyTorch sees as the task's output."""
    seen = {"devices": torch.cuda.device_count(), "visible": os.environ.get("CUDA_VISIBLE_DEVICES")}
    pathlib.Path(os.environ["TONY_LOG_DIR"], "seen.json").write_text(json.dumps(seen))


def work():
    """Allocates four fifths of the GPU's memory and multiplies until the file go-on exists."""
    see()
    free, total = torch.cuda.mem_get_info()
    print(f"free {free} of {total}", flush=True)
    ballast = torch.empty(total * 4 // 5, dtype=torch.uint8, device="cuda")
    one = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    print(f"holding {ballast.numel()}", flush=True)
    while not os.path.exists(os.environ["GO_ON"]):
        for _ in range(50):
            one @ one
        torch.cuda.synchronize()
        time.sleep(0.01)


def too_much():
    total = torch.cuda.mem_get_info()[1]
    torch.empty(total * 2, dtype=torch.uint8, device="cuda")


def collective():
    """Runs one process of an NCCL collective, configured by the variables that TonY sets."""
    torch.distributed.init_process_group("nccl", init_method="env://")
    value = torch.ones(8, device="cuda")
    torch.distributed.all_reduce(value)
    print("sum", value.sum().item(), flush=True)
    torch.distributed.destroy_process_group()


def share():
    """Runs one of the processes of a task that share its GPU, where NCCL wants a GPU for each."""
    torch.distributed.init_process_group("gloo", init_method="env://")
    value = torch.full((8,), 1.0 + int(os.environ["LOCAL_RANK"]), device="cuda")
    torch.distributed.all_reduce(value)
    print(f"sum {value.sum().item()} of {os.environ['LOCAL_WORLD_SIZE']}", flush=True)
    torch.distributed.destroy_process_group()


{"see": see, "work": work, "too-much": too_much, "collective": collective, "share": share}[sys.argv[1]]()
