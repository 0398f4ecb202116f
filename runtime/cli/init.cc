// `tony init`: writes an example job that can be submitted without changes. With --json:
// {"schema":1,"kind":KIND,"files":[...]}
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

struct JobTemplate {
  std::string_view kind;     // e.g. "pytorch"
  std::string_view program;  // file name of the program
  std::string_view needs;    // Python packages, by import name
  std::string_view job_text;
  std::string_view program_text;
};

constexpr std::string_view kPytorchJob = R"(# tony submit job.yaml
name: pytorch-example
framework: pytorch        # gives each worker RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
src_dir: .                # copied into each worker's folder
executes: python3 train.py
env:
  EPOCHS: 50
tasks:
  worker:
    instances: 2
    memory: 2g
#   gpus: 1
)";

constexpr std::string_view kPytorchProgram = R"("""Two workers train one linear model together."""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def main():
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo")  # returns when all workers have joined
    rank, workers = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")

    generator = torch.Generator().manual_seed(rank)  # each worker has its own share of the data
    x = torch.rand(1000, 1, generator=generator).to(device)
    y = 3 * x + 2

    model = DistributedDataParallel(torch.nn.Linear(1, 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for epoch in range(1, int(os.environ.get("EPOCHS", "50")) + 1):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()  # averages the gradients of all workers
        optimizer.step()
        if rank == 0 and epoch % 10 == 0:
            print(f"epoch {epoch} loss {loss.item():.5f}", flush=True)

    if rank == 0:  # outputs for the next step of a workflow; "tony outputs last" prints them
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            json.dump({"loss": loss.item(), "workers": workers}, out)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # gloo's threads may outlive the group, and abort Python while it exits
)";

constexpr std::string_view kJaxJob = R"(# tony submit job.yaml
name: jax-example
framework: jax            # gives each worker JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID
src_dir: .                # copied into each worker's folder
executes: python3 train.py
env:
  STEPS: 50
tasks:
  worker:
    instances: 2
    memory: 2g
#   gpus: 1
)";

constexpr std::string_view kJaxProgram = R"("""Two workers train one linear model together."""

import json
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

def loss_of(weights, x, y):
    return jnp.mean((weights["slope"] * x + weights["offset"] - y) ** 2)

@jax.jit
def step(weights, x, y):  # runs on all workers: x and y are distributed, and each worker has all weights
    loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree.map(lambda weight, slope: weight - 0.5 * slope, weights, gradient), loss

def main():
    jax.config.update("jax_enable_preemption_service", False)  # otherwise SIGTERM would not end this worker
    jax.distributed.initialize(
        os.environ["JAX_COORDINATOR_ADDRESS"],
        int(os.environ["JAX_NUM_PROCESSES"]),
        int(os.environ["JAX_PROCESS_ID"]),
    )
    workers = Mesh(np.array(jax.devices()), ("workers",))
    spread, same = NamedSharding(workers, PartitionSpec("workers")), NamedSharding(workers, PartitionSpec())

    mine = np.random.default_rng(jax.process_index()).random(1000, dtype=np.float32)
    x = jax.make_array_from_process_local_data(spread, mine)
    y = jax.make_array_from_process_local_data(spread, 3 * mine + 2)
    start = {"slope": np.zeros((), np.float32), "offset": np.zeros((), np.float32)}
    weights = jax.tree.map(lambda weight: jax.make_array_from_process_local_data(same, weight), start)

    for number in range(1, int(os.environ.get("STEPS", "50")) + 1):
        weights, loss = step(weights, x, y)
        if jax.process_index() == 0 and number % 10 == 0:
            print(f"step {number} loss {float(loss):.5f}", flush=True)

    if jax.process_index() == 0:  # outputs for the next step of a workflow; "tony outputs last" prints them
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            json.dump({"loss": float(loss), "workers": jax.process_count()}, out)

if __name__ == "__main__":
    main()
)";

constexpr std::string_view kTensorflowJob = R"(# tony submit job.yaml
name: tensorflow-example
framework: tensorflow     # gives each worker TF_CONFIG
src_dir: .                # copied into each worker's folder
executes: python3 train.py
env:
  STEPS: 50
tasks:
  worker:
    instances: 2
    memory: 2g
#   gpus: 1
)";

constexpr std::string_view kTensorflowProgram = R"("""Two workers train one linear model together."""

import json
import os

import tensorflow as tf

def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # returns when all workers have joined
    worker, workers = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
    x = tf.random.stateless_uniform([1000, 1], seed=[worker, 0])  # each worker has its own share of the data
    y = 3 * x + 2
    with strategy.scope():
        slope, offset = tf.Variable(0.0), tf.Variable(0.0)

    def on_each_worker(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((slope * x + offset - y) ** 2) / workers
        gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, [slope, offset]))
        slope.assign_sub(0.5 * gradient[0])
        offset.assign_sub(0.5 * gradient[1])
        return loss

    @tf.function
    def step():
        return strategy.reduce("sum", strategy.run(on_each_worker, args=(x, y)), axis=None)

    for number in range(1, int(os.environ.get("STEPS", "50")) + 1):
        loss = float(step())
        if worker == 0 and number % 10 == 0:
            print(f"step {number} loss {loss:.5f}", flush=True)

    if worker == 0:  # outputs for the next step of a workflow; "tony outputs last" prints them
        with open(os.environ["TONY_OUTPUT_FILE"], "w") as out:
            json.dump({"loss": loss, "workers": workers}, out)

if __name__ == "__main__":
    main()
)";

constexpr std::string_view kBatchJob = R"(# tony submit job.yaml
name: batch-example
framework: standalone     # the tasks are independent, and do not wait for each other
src_dir: .                # copied into each task's folder
executes: python3 work.py
conf:
  tony.application.distributed-mode: FCFS
tasks:
  worker:
    instances: 4
    memory: 512m
    max_restarts: 2       # a task that fails is restarted alone
)";

constexpr std::string_view kBatchProgram = R"("""Several tasks divide the work: each task takes a part of the items."""

import os

ITEMS = range(100)

def main():
    index, tasks = int(os.environ["TASK_INDEX"]), int(os.environ["TASK_NUM"])
    mine = ITEMS[index::tasks]
    total = sum(item * item for item in mine)
    print(f"task {index} of {tasks}: {len(mine)} items, sum of squares {total}", flush=True)

if __name__ == "__main__":
    main()
)";

constexpr JobTemplate kTemplates[] = {
    {"pytorch", "train.py", "torch", kPytorchJob, kPytorchProgram},
    {"jax", "train.py", "jax", kJaxJob, kJaxProgram},
    {"tensorflow", "train.py", "tensorflow", kTensorflowJob, kTensorflowProgram},
    {"batch", "work.py", "", kBatchJob, kBatchProgram},
};

namespace fs = std::filesystem;

constexpr const char* kJobFile = "job.yaml";

// Writes a new file. The umask decides the file's mode, as for any other file of the user.
Status WriteFile(const fs::path& name, std::string_view text) {
  const UniqueFd file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) return FileError(ErrorCode::kCannotWrite, "make", name, errno);
  return WriteAll(file.get(), text, name);
}

// Writes all files, or no file if one of them exists already.
Status Write(const JobTemplate& job) {
  for (const std::string_view name : {std::string_view(kJobFile), job.program}) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(name, ignored)))
      return Error{ErrorCode::kCannotWrite,
                   StrCat("init: ", name,
                          " already exists, so nothing was written; move the file away, or use another folder")};
  }
  TRY(WriteFile(kJobFile, job.job_text));
  return WriteFile(job.program, job.program_text);
}

}  // namespace

std::vector<std::string> JobKinds() {
  std::vector<std::string> kinds;
  for (const JobTemplate& job : kTemplates) kinds.emplace_back(job.kind);
  return kinds;
}

Result<int> RunInit(const CommandLine& line) {
  const std::string kind = line.words().empty() ? std::string(kTemplates[0].kind) : line.words().front();
  const auto* const found = std::ranges::find(kTemplates, kind, &JobTemplate::kind);
  if (found == std::end(kTemplates))
    return Error{ErrorCode::kUsage,
                 StrCat("init: unknown kind \"", kind, "\"; expected one of ", Join(JobKinds(), ", "))};
  const JobTemplate& job = *found;
  TRY(Write(job));
  if (line.Has("json")) {
    PrintLine(StrCat(R"({"schema":1,"kind":)", JsonString(job.kind), R"(,"files":[)", JsonString(kJobFile), ",",
                     JsonString(job.program), "]}"));
    return 0;
  }
  const std::string needs =
      job.needs.empty() ? "" : StrCat(", which needs ", job.needs, " in the python3 of your PATH");
  PrintLine(StrCat("wrote ", kJobFile, " and ", job.program, needs));
  PrintLine(StrCat("next: tony submit ", kJobFile));
  return 0;
}

}  // namespace tony
