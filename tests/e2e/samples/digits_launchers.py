"""samples/accelerate-digits, deepspeed-digits, fsdp-digits and lightning-digits: TonY starts the processes, or the
library's own launcher, which starts them."""

import re

from samples.in_step import judge_in_step
from samples.run import Training, expect

WORKERS = ("worker-0", "worker-1")
OF_TORCHRUN = "--nnodes $GROUP_WORLD_SIZE --node-rank $GROUP_RANK --master-addr $MASTER_ADDR --master-port $MASTER_PORT"
OF_ACCELERATE = (
    "--multi_gpu --num_processes 2 --num_machines $GROUP_WORLD_SIZE --machine_rank $GROUP_RANK "
    "--main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT"
)


def judge_ranks(text, processes):
    """A process that found no others has rank 0 of 1."""
    ranks = sorted(re.findall(r"^rank (\d+ of \d+)$", text, re.M))
    expect(ranks == [f"{rank} of {processes}" for rank in range(processes)], f"ranks {ranks}")


def by_tony(sample, bin_folder, environment):
    with Training(sample, bin_folder, environment) as run:
        run.finish()
        run.judge_model("worker-0", 0.9)
        judge_in_step(run, WORKERS)
        text = "".join(map(run.stdout, WORKERS))
        judge_ranks(text, 2)
        return text


def by_launcher(sample, processes, bin_folder, environment, *more, executes):
    """Every process writes the loss of all processes and the digest of its weights."""
    with Training(sample, bin_folder, environment, *more, executes=executes) as run:
        run.finish()
        run.judge_model("worker-0", 0.9)
        text = "".join(map(run.stdout, WORKERS))
        for what in (r"^epoch 30/30 (loss .*)", r"^(weights \w+)"):
            said = re.findall(what, text, re.M)
            expect(len(said) == processes and len(set(said)) == 1, f"{what}: {said}")
        judge_ranks(text, processes)


def accelerate(bin_folder, environment):
    by_tony("accelerate-digits", bin_folder, environment)
    launcher = f"-m accelerate.commands.launch {OF_ACCELERATE} train.py"
    by_launcher("accelerate-digits", 2, bin_folder, environment, executes=launcher)


def deepspeed(bin_folder, environment):
    text = by_tony("deepspeed-digits", bin_folder, environment)
    expect("optimizes 2406 of 4810 weights" in text, text)


def fsdp(bin_folder, environment):
    text = by_tony("fsdp-digits", bin_folder, environment)
    expect("holds 2405 of 4810 weights" in text, text)
    launcher = f"-m torch.distributed.run --nproc-per-node 2 {OF_TORCHRUN} train.py"
    by_launcher("fsdp-digits", 4, bin_folder, environment, executes=launcher)


def lightning(bin_folder, environment):
    by_tony("lightning-digits", bin_folder, environment)
    more = ("-conf", "tony.worker.instances=1", "-conf", "tony.application.framework=standalone")
    by_launcher("lightning-digits", 2, bin_folder, environment, *more, "-shell_env", "DEVICES=2", executes="train.py")
