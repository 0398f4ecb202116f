"""Runs a program on a pseudo-terminal of its own; pyte shows the screen as a person sees it."""

import fcntl
import os
import pty
import select
import struct
import termios
import time

import pyte

LIMIT = 60  # seconds, far longer than any wait here


class Terminal:
    def __init__(self, argv, environment, folder, columns, rows=50):
        self.screen = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.5)
        self.stream = pyte.ByteStream(self.screen)
        self.bytes = b""
        self.exit = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # The program must find the size when it starts, so the parent would set it too late.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.chdir(folder)
            os.execve(argv[0], [str(word) for word in argv], {"TERM": "xterm-256color", **environment})

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, seconds):
        """Reads some output. False once the terminal is closed."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            got = os.read(self.fd, 65536)
        except OSError:  # the last program has exited
            got = b""
        self.bytes += got
        self.stream.feed(got)
        return bool(got)

    def wait_for(self, condition, what):
        end = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < end, f"waited for {what}; on the screen:\n{self.text()}\n{self.bytes[-2000:]}"
            self.read(0.05)

    def finish(self):
        end = time.monotonic() + LIMIT
        while self.read(0.2):
            assert time.monotonic() < end, f"it does not end: {self.text()}"
        self.exit = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return self

    def close(self):
        if self.exit is None:
            os.kill(self.pid, 9)
            self.finish()

    def lines(self):
        """Returns all printed lines as on the screen; a line that was too long fills two lines."""
        shown = ["".join(row[i].data for i in range(self.screen.columns)) for row in self.screen.history.top]
        return [line.rstrip() for line in [*shown, *self.screen.display]]

    def text(self):
        return "\n".join(self.lines()).rstrip()
