"""An example of a user's program, for type checkers. It is not run."""

import asyncio
import datetime

import tony
import tony.aio


def train(rates: list[float]) -> dict[str, float]:
    losses: dict[str, float] = {}
    for rate in rates:
        job = tony.submit(
            {"executes": "python train.py", "tasks": {"worker": {"instances": 2, "memory": "4g"}}},
            env={"RATE": rate},
            secrets={"TOKEN": "x"},
        )
        for line in job.logs("worker:0", follow=True, stream="stdout"):
            print(line.task, line.text.upper())
        status = job.wait(timeout=60.0)
        took: datetime.timedelta | None = status.ended - status.submitted if status.ended else None
        print(took, status.verdict.outcome_class if status.verdict else "", [task.host for task in status.tasks])
        losses[job.id] = float(job.outputs["loss"])
    return losses


async def main() -> tony.JobStatus:
    job = await tony.aio.run(["python", "train.py"], 4, memory="8g", gpus=1)
    async for line in job.logs(follow=True):
        print(line)
    return await job.wait(kill_on_cancel=True)


def failed() -> str:
    try:
        return tony.job("last").wait().state
    except tony.JobFailed as error:
        return error.status.state if error.status else str(error.code)


asyncio.run(main())
