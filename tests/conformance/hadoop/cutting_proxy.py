"""TCP between a client and Hadoop's daemons, which counts requests, and kills the client at one of them."""

import socket
import subprocess
import threading


class Cut:
    """At which request the client is killed. `after`: the server has answered the request, and its answer gets lost."""

    def __init__(self, number=0, after=False):
        self.number, self.after = number, after
        self.seen = 0
        self.client = None
        self.lock = threading.Lock()

    def start(self, *words, **how):
        with self.lock:  # its first request may be the one
            self.client = subprocess.Popen(*words, **how)
        return self.client

    def is_next(self):
        with self.lock:
            self.seen += 1
            return self.seen == self.number


class HttpRequests:
    """Cuts what a client sends into requests: those to a NameNode have no body."""

    def take(self, data):
        end = data.find(b"\r\n\r\n")
        return (None, data) if end < 0 else (data[:end + 4], data[end + 4:])


class RpcRequests:
    """Calls of Hadoop's RPC. What comes before the first one on a connection goes with it."""

    def __init__(self):
        self.skip = 7  # the header of the connection; the frame behind it says who calls

    def take(self, data):
        end = self.skip
        for _ in range(2 if self.skip else 1):
            if len(data) < end + 4:
                return None, data
            end += 4 + int.from_bytes(data[end:end + 4], "big")
        if len(data) < end:
            return None, data
        self.skip = 0
        return data[:end], data[end:]


class Proxy:
    """Listens on a port of its own until the process ends. `requests`: HttpRequests or RpcRequests."""

    def __init__(self, target, requests):
        self.target, self.requests, self.cut = target, requests, Cut()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"localhost:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            host, port = self.target.rsplit(":", 1)
            server = socket.create_connection((host, int(port)))
            loses = threading.Event()  # the answer that comes next
            threading.Thread(target=self.forward, args=(client, server, loses), daemon=True).start()
            threading.Thread(target=self.answer, args=(client, server, loses), daemon=True).start()

    def forward(self, client, server, loses):
        requests, data = self.requests(), b""
        try:
            while chunk := client.recv(1 << 16):
                data += chunk
                while True:
                    request, data = requests.take(data)
                    if request is None:
                        break
                    if self.cut.is_next():
                        if not self.cut.after:
                            return self.end(client, server)
                        loses.set()
                    server.sendall(request)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def answer(self, client, server, loses):
        try:
            while chunk := server.recv(1 << 16):
                if loses.is_set():
                    return self.end(client, server)
                client.sendall(chunk)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def end(self, *connections):
        self.cut.client.kill()
        for connection in connections:
            connection.shutdown(socket.SHUT_RDWR)
