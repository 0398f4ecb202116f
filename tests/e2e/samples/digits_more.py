"""samples/horovod-digits, samples/mxnet-digits and samples/ray-digits."""

import os
import pathlib
import signal

from samples.run import Training, expect

WORKERS = ("worker-0", "worker-1")


def trained_again(sample, helpers, progress, bin_folder, environment):
    """A killed worker cannot rejoin the others, so all tasks restart, also the helpers."""
    more = ("-shell_env", "EPOCHS=200", "-conf", "tony.restart.gang.budget=1")
    with Training(sample, bin_folder, environment, *more) as run:
        run.wait_for("fifth epoch", lambda: progress in run.stdout("worker-1"))
        os.kill(run.task_pids()["worker:1"], signal.SIGKILL)
        run.finish()
        run.judge_model("worker-0", 0.9, attempt=2)
        judge_weights(run, attempt=2)
        expected = sorted(f"{task}#{attempt}" for task in (*helpers, *WORKERS) for attempt in (1, 2))
        expect(run.attempts() == expected, f"attempts {run.attempts()}")


def judge_weights(run, attempt=1):
    """The losses differ, because each worker prints the loss of its own share."""
    lines = [run.stdout(task, attempt).splitlines() for task in WORKERS]
    weights = [[line for line in each if line.startswith("weights ")] for each in lines]
    expect(len(weights[0]) == 1 and weights[0] == weights[1], f"weights differ: {weights}")


def am_killed(sample, progress, task, bin_folder, environment, *more):
    with Training(sample, bin_folder, environment, *more) as run:
        run.wait_for("progress", lambda: progress in run.stdout(task))
        run.kill_am()
        run.finish()
        run.judge_model(task, 0.9)
        expect(all(each.endswith("#1") for each in run.attempts()), f"something was restarted: {run.attempts()}")


def killed(sample, progress, task, victim, bin_folder, environment, *more):
    """A signal from outside is not charged to a budget, so the job would start again without this limit."""
    more = (*more, "-conf", "tony.restart.lost.budget=0")
    with Training(sample, bin_folder, environment, *more) as run:
        run.wait_for("progress", lambda: progress in run.stdout(task))
        os.kill(run.task_pids()[victim], signal.SIGKILL)
        run.fail([victim], "SIGKILL")


PRINTS = '        print(f"epoch'
RAISES = (PRINTS, f"""        if epoch == 3 and os.environ["TONY_TASK"] == "worker:1":
            raise ValueError("bad shard")
{PRINTS}""")
IMPORTS = ("from sklearn.datasets import load_digits", "from no_such_module import load_digits")


def faults(sample, helper, bin_folder, environment):
    """Each planted fault makes other tasks fail as well, and TonY has to name the task that failed first."""
    with Training(sample, bin_folder, environment, planted=RAISES) as run:
        run.fail(["worker:1"], "ValueError: bad shard")
    with Training(sample, bin_folder, environment, planted=IMPORTS) as run:
        run.fail(["worker:0", "worker:1"], "No module named 'no_such_module'")
    for victim in ("worker:1", helper):
        killed(sample, "epoch 5/", "worker-1", victim, bin_folder, environment, "-shell_env", "EPOCHS=2000")


def horovod(bin_folder, environment):
    with Training("horovod-digits", bin_folder, environment) as run:
        run.finish()
        run.judge_model("worker-0", 0.9)
        judge_weights(run)
        driver = run.tasks()["driver:0"]
        expect(driver["outcome"]["class"] == "killed", f"the driver was not stopped at the end: {driver}")


def horovod_worker_killed(bin_folder, environment):
    trained_again("horovod-digits", ("driver-0",), "epoch 5/", bin_folder, environment)


def horovod_am_killed(bin_folder, environment):
    am_killed("horovod-digits", "epoch 5/", "worker-0", bin_folder, environment, "-shell_env", "EPOCHS=100")


def horovod_faults(bin_folder, environment):
    faults("horovod-digits", "driver:0", bin_folder, environment)


def mxnet(bin_folder, environment):
    with Training("mxnet-digits", bin_folder, environment) as run:
        run.finish()
        run.judge_model("worker-0", 0.9)
        judge_weights(run)
        classes = {name: task["outcome"]["class"] for name, task in run.tasks().items()}
        expect(set(classes.values()) == {"success"}, f"outcomes {classes}")


def mxnet_worker_killed(bin_folder, environment):
    trained_again("mxnet-digits", ("scheduler-0", "server-0"), "epoch 5/", bin_folder, environment)


def mxnet_am_killed(bin_folder, environment):
    am_killed("mxnet-digits", "epoch 5/", "worker-0", bin_folder, environment, "-shell_env", "EPOCHS=300")


def mxnet_faults(bin_folder, environment):
    faults("mxnet-digits", "scheduler:0", bin_folder, environment)
    killed("mxnet-digits", "epoch 5/", "worker-1", "server:0", bin_folder, environment, "-shell_env", "EPOCHS=2000")


def with_ray(environment):
    return ("-shell_env", f"PATH={pathlib.Path(environment).resolve()}/bin:{os.environ['PATH']}")


def ray(bin_folder, environment):
    with Training("ray-digits", bin_folder, environment, *with_ray(environment)) as run:
        run.finish()
        run.judge_model("head-0", 0.9)
        expect("2 actors on 2 nodes" in run.stdout("head-0"), run.stdout("head-0"))


def ray_node_killed(bin_folder, environment):
    """The head goes on while a node restarts alone; Ray starts the node's actor again."""
    more = ("-shell_env", "STEPS=3000", "-conf", "tony.restart.task.budget=1")
    with Training("ray-digits", bin_folder, environment, *with_ray(environment), *more) as run:
        run.wait_for("first steps", lambda: "step 100/" in run.stdout("head-0"))
        os.kill(run.task_pids()["worker:1"], signal.SIGKILL)
        run.finish()
        run.judge_model("head-0", 0.9)
        expected = ["head-0#1", "worker-0#1", "worker-1#1", "worker-1#2"]
        expect(run.attempts() == expected, f"attempts {run.attempts()}")


def ray_am_killed(bin_folder, environment):
    more = (*with_ray(environment), "-shell_env", "STEPS=1500")
    am_killed("ray-digits", "step 100/", "head-0", bin_folder, environment, *more)


def ray_faults(bin_folder, environment):
    long = (*with_ray(environment), "-shell_env", "STEPS=100000")
    returns = "        return self.pixels.T @ error"
    raises = (returns, f"        raise ValueError('bad shard')\n{returns}")
    for planted, words in ((raises, "ValueError: bad shard"), (IMPORTS, "No module named 'no_such_module'")):
        with Training("ray-digits", bin_folder, environment, *with_ray(environment), planted=planted) as run:
            run.fail(["head:0"], words)
    killed("ray-digits", "step 100/", "head-0", "worker:1", bin_folder, environment, *long)
    with Training("ray-digits", bin_folder, environment, *long) as run:
        run.wait_for("progress", lambda: "step 100/" in run.stdout("head-0"))
        (server,) = run.processes("gcs_server")
        os.kill(server, signal.SIGKILL)
        run.fail(["head:0"])
