"""One bash for all commands of a page: variables, working folder and background jobs survive from one command to the
next."""

import os
import pathlib
import re
import signal
import subprocess
import time

LONGEST = 180  # seconds for one command
NETWORK = re.compile(r"(UV|PIP)_.*|SSL_CERT_\w+|\w+_proxy", re.IGNORECASE)  # how this machine downloads packages

# The same bash reads each command, writes its output to a file, and keeps the exit code of the last command in $?.
DRIVER = """
last=0
while read -r number; do
  (exit "$last")
  . "$TEST_FOLDER/$number.command" >"$TEST_FOLDER/$number.output" 2>&1 </dev/null
  last=$?
  echo "$last" >"$TEST_FOLDER/$number.writing" && mv "$TEST_FOLDER/$number.writing" "$TEST_FOLDER/$number.status"
done
"""


class Shell:
    running = set()

    def __init__(self, folder, home, path, variables):
        self.folder = pathlib.Path(folder)
        self.number = 0
        self.tony_program = path[0] / "tony"
        self.environment = {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PATH": ":".join(map(str, path)) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "TERM": "dumb",
            "TEST_FOLDER": str(folder),
            "TONY_LEDGER": str(self.folder / "ledger"),
            "USER": os.environ.get("USER", "you"),
            **{name: value for name, value in os.environ.items() if NETWORK.fullmatch(name)},
            **variables,
        }
        self.bash = subprocess.Popen(["/bin/bash", "--norc", "-c", DRIVER], cwd=home, env=self.environment, text=True,
                                     stdin=subprocess.PIPE, start_new_session=True)
        self.running.add(self)

    def run(self, command):
        """Runs a command; returns the exit code and the lines of standard output and standard error."""
        self.number += 1
        (self.folder / f"{self.number}.command").write_text(command + "\n")
        self.bash.stdin.write(f"{self.number}\n")
        self.bash.stdin.flush()
        status, limit = self.folder / f"{self.number}.status", time.monotonic() + LONGEST
        while not status.exists():
            if time.monotonic() > limit or self.bash.poll() is not None:
                return None, self.output()
            time.sleep(0.005)
        return int(status.read_text()), self.output()

    def tony(self, *words):
        """Returns the output of `tony` for the page's reader, run outside of the shell; nothing if it fails."""
        return subprocess.run([self.tony_program, *words], env=self.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout

    def output(self):
        return (self.folder / f"{self.number}.output").read_text(errors="replace").splitlines()

    def end(self):
        self.running.discard(self)
        self.bash.stdin.close()
        try:
            self.bash.wait(timeout=1)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.bash.pid, signal.SIGKILL)  # ends the page's background processes
        except ProcessLookupError:
            pass
        self.bash.wait()
