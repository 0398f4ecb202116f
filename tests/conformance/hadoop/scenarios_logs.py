"""Logs of jobs on a real YARN, through the command line: while they run, and afterwards."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

from common import (LIMIT, PROGRAMS, WORK, begin, end, end_masters, environment, hdfs, must, nothing_is_left_of, parent_of,
                    runs, status, submit, tony, until)

# A line should be visible within 0.5 s. Busy machines get ten times as long.
SOON = 5
SCRIPTS = WORK / "scripts"


def script(name, text):
    SCRIPTS.mkdir(exist_ok=True)
    (SCRIPTS / name).write_text(text)
    return f"python3 {SCRIPTS / name}"


# Prints a line with the time every 0.2 s, until the file exists.
TELLS_TIME = """import os, sys, time
n = 0
while not os.path.exists(sys.argv[1]):
    print(f"line {n} {time.time():.3f}", flush=True)
    n += 1
    time.sleep(0.2)
print("the last line", flush=True)
"""


class Follower:
    """Runs `tony logs -f` and notes its lines as they arrive."""

    def __init__(self, *words):
        self.lines, self.errors = [], []
        self.process = subprocess.Popen([PROGRAMS / "tony", "logs", "-f", *words], env=environment(), cwd=WORK,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.threads = [threading.Thread(target=self._read, args=args, daemon=True)
                        for args in ((self.process.stdout, self.lines), (self.process.stderr, self.errors))]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.append((time.time(), line.decode()))

    def text(self):
        return "".join(line for _, line in self.lines)

    def end(self):
        code = self.process.wait(timeout=LIMIT)
        for thread in self.threads:
            thread.join(LIMIT)
        return code, self.text(), "".join(line for _, line in self.errors)


def logs_follow_shows_every_line_within_5_seconds():
    stop = WORK / "stop-soon"
    client, job = begin("-executes", f"{script('tells.py', TELLS_TIME)} {stop}", "-conf", "tony.worker.instances=1")
    follower = Follower(job)
    until(lambda: len(follower.lines) > 20, "lines")
    stop.touch()
    code, text, errors = follower.end()
    must(code == 0 and text.endswith("the last line\n"), code, text[-200:], errors)
    must(end(client)[0] == 0, "its client")
    numbers = [int(number) for number in re.findall(r"^line (\d+) ", text, re.M)]
    must(numbers == list(range(len(numbers))), "lines are missing or double:", numbers)
    # Lines that were written before the follower started do not count.
    late = sorted(seen - float(line.split()[2]) for seen, line in follower.lines[5:-1])
    print(f"   a line is seen after {late[len(late) // 2] * 1000:.0f} ms, at most {late[-1] * 1000:.0f} ms "
          f"({len(late)} lines)", flush=True)
    must(late[-1] < SOON, "seen late:", late[-3:])


def logs_continue_from_the_cursor_of_a_killed_client_without_losing_a_line():
    stop = WORK / "stop-cursor"
    client, job = begin("-executes", f"{script('tells.py', TELLS_TIME)} {stop}", "-conf", "tony.worker.instances=1")
    killed = Follower("--json", job)
    until(lambda: len(killed.lines) > 5, "lines")
    killed.process.kill()
    killed.end()
    entries = [json.loads(line) for _, line in killed.lines if line.endswith("\n")]
    words = ("logs", "--json", job, "--cursor", entries[-1]["cursor"], "--max-bytes", "40")
    once = until(lambda: (told := json.loads(tony(*words).stdout))["entries"] and told, "more lines")
    must(not once["eof"], once)
    last = Follower("--json", job, "--cursor", once["cursor"])
    until(lambda: len(last.lines) > 5, "lines")
    stop.touch()
    code, text, errors = last.end()
    must(code == 0, code, errors)
    entries += once["entries"] + [json.loads(line) for line in text.splitlines()]
    numbers = [int(number) for number in
               re.findall(r"^line (\d+) ", "".join(entry["text"] for entry in entries), re.M)]
    must(numbers == list(range(len(numbers))) and len(numbers) > 12, "lines are missing or double:", numbers)
    must(end(client)[0] == 0, "its client")


def two_log_followers_of_eight_tasks_receive_every_line():
    program = script("eight.py", "import os, time\nfor n in range(20):\n"
                     "    print(os.environ['TONY_TASK'], n, flush=True)\n    time.sleep(0.1)\n")
    client, job = begin("-executes", program, "-conf", "tony.worker.instances=8")
    followers = [Follower(job), Follower(job)]
    must(end(client)[0] == 0, "its client")
    expected = sorted(f"worker:{task} {n}" for task in range(8) for n in range(20))
    for follower in followers:
        code, text, errors = follower.end()
        must(code == 0, code, errors)
        seen = sorted(line.split("| ", 1)[1] for line in text.splitlines() if "| " in line)
        must(seen == expected, len(seen), "of", len(expected), errors, text[-300:])


def logs_follow_shows_all_fifty_megabytes_of_a_task():
    # The task runs until everything was read, because an executor waits some seconds for its readers, which a busy
    # machine may exceed.
    stop = WORK / "stop-much"
    program = script("much.py", "import os, sys, time\nline = 'x' * 99 + '\\n'\nfor n in range(50):\n"
                     "    print(line * 10000, end='', flush=True)\nprint('done', flush=True)\n"
                     "while not os.path.exists(sys.argv[1]):\n    time.sleep(0.1)\n")
    client, job = begin("-executes", f"{program} {stop}", "-conf", "tony.worker.instances=1")
    began = time.monotonic()
    follower = Follower(job)
    until(lambda: follower.lines and follower.lines[-1][1] == "done\n", "the last line")
    took = time.monotonic() - began
    stop.touch()
    code, text, errors = follower.end()
    must(code == 0 and len(text) == 50_000_005 and text.endswith("done\n"), code, len(text), errors)
    must(end(client)[0] == 0, "its client")
    print(f"   50 MB were followed in {took:.1f} s, the start of the job included", flush=True)


def executor_of(job):
    return parent_of(status(job)["tasks"][0]["pid"])


def the_logs_of_a_hung_executor_are_read_from_its_node_with_a_one_line_warning():
    client, job = begin("-executes", "echo before; sleep 600", "-conf", "tony.worker.instances=1")
    runs(job)
    executor = executor_of(job)
    os.kill(executor, signal.SIGSTOP)
    try:
        ran = tony("logs", job)
    finally:
        os.kill(executor, signal.SIGCONT)
    must(ran.returncode == 0 and ran.stdout == "before\n" and ran.stderr.count("\n") == 1, ran.returncode, ran.stdout,
         ran.stderr)
    must("the logs of worker:0#1 are read from the attempt's node, because the executor does not "
         "serve them: the executor of worker:0 does not answer" in ran.stderr,
         ran.stderr)
    must(ran.seconds < 15, ran.seconds)
    again = tony("logs", job)
    must(again.stdout == "before\n" and again.stderr == "", "once it answers again", again.stdout, again.stderr)
    tony("kill", job)
    end(client)


def a_log_follower_continues_with_the_next_attempt_after_the_executor_was_killed():
    client, job = begin("-executes", "echo attempt $TONY_ATTEMPT; exec sleep 600", "-conf", "tony.worker.instances=1")
    follower = Follower(job)
    until(lambda: "attempt 1" in follower.text(), "the first attempt")
    os.kill(executor_of(job), signal.SIGKILL)
    until(lambda: "attempt 2" in follower.text(), f"the second attempt: {follower.text()} {follower.errors}")
    tony("kill", job)
    end(client)
    code, text, errors = follower.end()
    must(code == 1 and len(follower.errors) <= 3, code, text, errors)
    nothing_is_left_of(job)


def a_log_follower_ends_after_the_death_of_the_last_master():
    client, job = begin("-executes", "echo before; sleep 600", "-conf", "tony.worker.instances=1")
    follower = Follower(job)
    until(lambda: "before" in follower.text(), "a line")
    end_masters(job)
    code, text, errors = follower.end()
    must(code == 1 and text == "before\n", code, text, errors)
    end(client)
    nothing_is_left_of(job)


def read_at_once(job, *words):
    ran = tony("logs", job, *words)
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    return ran


def logs_of_failed_tasks_and_of_the_chief_are_stored_in_hdfs_after_the_jobs_end():
    ran = submit("-executes", "echo to stdout; echo bad thing >&2; exit 3", "-conf", "tony.worker.instances=1")
    failed = ran.stdout.split()[0]
    must(ran.returncode == 1, ran.stdout, ran.stderr)
    first = read_at_once(failed)
    must(first.stdout == "to stdout\nbad thing\n" and first.stderr == "", first.stdout, first.stderr)
    kept = json.loads(hdfs("GET", f"/user/root/.tony/jobs/{failed}/logs", op="LISTSTATUS"))["FileStatuses"]["FileStatus"]
    must([one["pathSuffix"] for one in kept] == ["worker-0.1"], kept)
    program = script("big.py", "print('first')\nprint(('y' * 99 + '\\n') * 20000, end='')\nprint('last')\n")
    ran = submit("-executes", program, "-conf", "tony.chief.instances=1", "-conf", "tony.worker.instances=1",
                 "-conf", "tony.application.framework=tensorflow", "-conf", "tony.chief.memory=128m")
    must(ran.returncode == 0, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    chief = read_at_once(job, "chief:0").stdout
    must(chief.startswith("first\n") and chief.endswith("\nlast\n"), chief[:100], chief[-100:])
    must("cut ...]" in chief and len(chief) < 600_000, len(chief))
    worker = read_at_once(job, "worker:0")
    must(len(worker.stdout) == 2_000_011 and worker.stdout.endswith("\nlast\n"), len(worker.stdout), worker.stderr)
    tail = read_at_once(job, "worker:0", "--tail", "1")
    must(tail.stdout == "last\n", tail.stdout, tail.stderr)
    answer = json.loads(tony("logs", "--json", job, "worker:0").stdout)
    must(not answer["eof"] and answer["cursor"], "a megabyte at a time")
    rest = json.loads(tony("logs", "--json", job, "worker:0", "--cursor", answer["cursor"]).stdout)
    must(rest["eof"] and sum(len(one["text"]) for one in answer["entries"] + rest["entries"]) == 2_000_011, "the rest")
    print(f"   after the end: what failed {first.seconds * 1000:.0f} ms, a worker's from its node "
          f"{worker.seconds * 1000:.0f} ms", flush=True)


# Prints the attempt. The task with the highest index fails until the third attempt; the others are stopped with it.
ATTEMPTS = ("-executes", "echo attempt $TONY_ATTEMPT of $TASK_INDEX; echo error $TONY_ATTEMPT >&2; "
            "[ $TONY_ATTEMPT = 3 ] || { sleep 1; [ $TASK_INDEX != 2 ] || exit 3; sleep 600; }",
            "-conf", "tony.worker.instances=3", "-conf", "tony.restart.gang.budget=2",
            "-conf", "tony.application.framework=pytorch", "-conf", "tony.application.distributed-mode=GANG")


def read_all_attempts(job):
    for task in range(3):
        for attempt in range(1, 4):
            ran = read_at_once(job, f"worker:{task}#{attempt}")
            must(ran.stdout == f"attempt {attempt} of {task}\nerror {attempt}\n" and ran.stderr == "",
                 task, attempt, ran.stdout, ran.stderr)


def logs_of_every_attempt_are_readable_after_the_jobs_end():
    ran = submit(*ATTEMPTS)
    must(ran.returncode == 0, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    tasks = status(job)["tasks"]
    must(all(task["attempt"] == 3 and task["log_url"] for task in tasks), tasks)
    read_all_attempts(job)


def the_status_of_each_task_has_a_url_of_its_logs():
    client, job = begin("-executes", "echo linked; sleep 600", "-conf", "tony.worker.instances=1")
    link = runs(job)["tasks"][0]["log_url"]
    with urllib.request.urlopen(f"{link}/stdout", timeout=30) as answer:
        must("linked" in answer.read().decode(), link)
    must(link in tony("status", job).stdout, "in the text")
    tony("kill", job)
    end(client)
    must(status(job)["tasks"][0]["log_url"] == link, "after the end")


def the_verdict_names_the_missing_file_of_a_container_that_never_started():
    (WORK / "gone.txt").write_text(f"gone {WORK}")
    client, job = begin("-executes", "true", "-conf", "tony.worker.instances=1",
                        "-conf", f"tony.containers.resources={WORK}/gone.txt")
    staged = json.loads(hdfs("GET", "/user/root/.tony/staged", op="LISTSTATUS"))["FileStatuses"]["FileStatus"]
    file, = [one["pathSuffix"] for one in staged if one["length"] == len(f"gone {WORK}")]
    hdfs("DELETE", f"/user/root/.tony/staged/{file}", op="DELETE")
    code, text = end(client)
    must(code == 1 and file in text, code, text)
    must(file in status(job)["verdict"]["message"], status(job)["verdict"])
    ran = tony("logs", job)
    must(ran.returncode == 0 and ran.stdout == "" and ran.seconds < 15, ran.returncode, ran.stdout, ran.stderr)
    followed = tony("logs", "-f", job)
    must(followed.returncode == 1 and followed.seconds < 15, followed.returncode, followed.stderr)


TOGETHER = (
    logs_follow_shows_every_line_within_5_seconds,
    logs_continue_from_the_cursor_of_a_killed_client_without_losing_a_line,
    two_log_followers_of_eight_tasks_receive_every_line,
    logs_follow_shows_all_fifty_megabytes_of_a_task,
    the_logs_of_a_hung_executor_are_read_from_its_node_with_a_one_line_warning,
    logs_of_failed_tasks_and_of_the_chief_are_stored_in_hdfs_after_the_jobs_end,
    a_log_follower_continues_with_the_next_attempt_after_the_executor_was_killed,
    a_log_follower_ends_after_the_death_of_the_last_master,
    the_status_of_each_task_has_a_url_of_its_logs,
    the_verdict_names_the_missing_file_of_a_container_that_never_started,
    logs_of_every_attempt_are_readable_after_the_jobs_end,
)
ALONE = ()
DEFAULT = (
    logs_follow_shows_every_line_within_5_seconds,
    logs_continue_from_the_cursor_of_a_killed_client_without_losing_a_line,
    logs_of_failed_tasks_and_of_the_chief_are_stored_in_hdfs_after_the_jobs_end,
)
