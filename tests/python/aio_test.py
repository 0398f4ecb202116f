"""The same for event loops: a cancelled call ends its process, and no job."""

import asyncio
import logging
import os
import signal
import time

import tony
import tony.aio
from case import ONE, PackageCase


logging.getLogger("asyncio").setLevel(logging.ERROR)  # asyncio's debug mode also reports slow callbacks


class AioTest(PackageCase):
    def play(self, scenario):
        """Runs with asyncio's debug mode, which reports open resources."""
        return asyncio.run(asyncio.wait_for(scenario, 60), debug=True)

    async def begin(self, command):
        job = await tony.aio.submit(executes=command, framework="standalone", tasks=ONE)
        self.addCleanup(self.box.run, "kill", job.id)
        return job

    async def until(self, what, condition):
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            await asyncio.sleep(0.01)

    def test_a_job_runs_from_submit_to_outputs_with_asyncio(self):
        async def scenario():
            job = await self.begin("""echo one; echo two; echo '{"a": 1}' > $TONY_OUTPUT_FILE""")
            lines = [line.text async for line in job.logs(follow=True)]
            status = await job.wait()
            self.assertTrue(status.succeeded)
            self.assertEqual(lines, ["one", "two"])
            self.assertEqual([line.text async for line in job.logs(tail=1)], ["two"])
            self.assertEqual(await job.outputs(), {"a": 1})
            self.assertEqual((await tony.aio.job("last")).id, job.id)
            self.assertIn(job.id, [known.job for known in await tony.aio.jobs()])
            self.assertIsNone(await job.page())
            self.assertEqual([status.state async for status in job.changes()][-1], "SUCCEEDED")

        self.play(scenario())

    def test_all_waiting_asyncio_tasks_share_one_watch_process(self):
        async def scenario():
            jobs = await asyncio.gather(*(self.begin(self.hold()) for _ in range(5)))
            waits = [asyncio.create_task(job.wait()) for job in [*jobs, jobs[0]]]
            await self.until("one watch", lambda: len(self.calls()) == 1)
            await asyncio.gather(*(job.status() for job in jobs))
            await self.until("one watch after the others", lambda: len(self.calls()) == 1)
            self.release()
            self.assertEqual([status.state for status in await asyncio.gather(*waits)], ["SUCCEEDED"] * 6)

        self.play(scenario())

    def test_a_cancelled_wait_leaves_the_job_running(self):
        async def scenario():
            job = await self.begin(self.hold("never"))
            reading = asyncio.create_task(self.read(job))
            waiting = asyncio.create_task(job.wait())
            await self.until("both calls", lambda: len(self.calls()) == 2)
            for task in (waiting, reading):
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
            self.assertFalse((await job.status()).has_ended)

        self.play(scenario())

    async def read(self, job):
        async for _ in job.logs(follow=True):
            pass

    def test_a_cancelled_wait_with_kill_on_cancel_kills_the_job(self):
        async def scenario():
            job = await self.begin(self.hold("never"))
            waiting = asyncio.create_task(job.wait(kill_on_cancel=True))
            await self.until("the watch", self.calls)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            self.assertEqual((await job.wait(check=False)).verdict.outcome_class, "killed")

        self.play(scenario())

    def test_a_cancelled_submit_reports_the_job_that_was_submitted(self):
        program = self.script("slow", '$REAL "$@"; echo >$TONY_HOME/submitted; exec sleep 600')

        async def scenario():
            submit = tony.aio.submit(executes="sleep 600", framework="standalone", tasks=ONE, program=program)
            submitting = asyncio.create_task(submit)
            await self.until("the submit", (self.folder / "home/submitted").exists)
            submitting.cancel()
            with self.said() as text, self.assertRaises(asyncio.CancelledError):
                await submitting
            job = await tony.aio.job("last")
            self.assertIn(f"job {job.id} was submitted and continues", text.getvalue())
            await job.kill()

        self.play(scenario())

    def test_timeouts_and_errors_are_the_same_as_without_asyncio(self):
        async def scenario():
            job = await self.begin(self.hold("never"))
            with self.assertRaises(tony.WaitTimeout):
                await job.wait(0.2)
            self.assertEqual((await job.kill("enough")).verdict.message, "enough")
            with self.assertRaisesRegex(tony.JobFailed, "enough"):
                await job.wait()
            with self.assertRaises(tony.NotFound):
                await tony.aio.Job("local-20200101-000000-abcdef").wait()
            with self.assertRaises(tony.SpecInvalid):
                await tony.aio.submit({"nmae": 1})
            with self.assertRaises(tony.NoProgram):
                await tony.aio.version(program=tony.Program("/nowhere/tony"))
            with self.assertRaises(tony.NotFound):
                await self.read(tony.aio.Job("local-20200101-000000-abcdef"))
            self.assertEqual((await tony.aio.plan(executes="true", tasks=ONE)).spec.roles[0].instances, 1)

        self.play(scenario())

    def test_secrets_are_sent_by_standard_input(self):
        seen = self.folder / "seen"
        program = self.script("spy", f'echo "$@" >>{seen}; exec $REAL "$@"')

        async def scenario():
            job = await tony.aio.run('echo "$P" | tr a-z A-Z', secrets={"P": "hush-8"}, program=program)
            await job.wait()
            self.assertEqual([line.text async for line in job.logs()], ["HUSH-8"])

        self.play(scenario())
        self.assertFalse("hush-8" in seen.read_text())

    def test_a_wait_fails_if_its_watch_process_is_killed_and_the_next_wait_succeeds(self):
        async def scenario():
            job = await self.begin(self.hold())
            waiting = asyncio.create_task(job.wait())
            await self.until("the watch", self.calls)
            os.kill(self.calls()[0], signal.SIGKILL)
            with self.assertRaises(tony.Unavailable):
                await waiting
            self.release()
            self.assertTrue((await job.wait()).succeeded)

        self.play(scenario())
