"""A TCP proxy between a client and Hadoop's daemons that counts requests and kills the client at one of them."""

import shutil
import socket
import subprocess
import threading
import urllib.parse


class Cut:
    """The request at which the client is killed. `after`: the server has answered the request, and its answer gets
    lost."""

    def __init__(self, number=0, after=False):
        self.number, self.after = number, after
        self.seen = 0
        self.client = None
        self.lock = threading.Lock()

    def start(self, *words, **how):
        with self.lock:  # the client's first request may be the chosen one
            self.client = subprocess.Popen(*words, **how)
        return self.client

    def is_next(self, request):
        with self.lock:
            self.seen += 1
            return self.is_it(request)

    def is_it(self, request):
        del request
        return self.seen == self.number


class CutWhere(Cut):
    """Kills the client at the first request that contains `text`."""

    def __init__(self, text, after=False):
        super().__init__(after=after)
        self.text, self.found = text.encode(), False

    def is_it(self, request):
        is_first = not self.found and self.text in urllib.parse.unquote_to_bytes(request)
        self.found = self.found or is_first
        return is_first


class HttpRequests:
    """Splits a client's bytes into HTTP requests; requests to a NameNode have no body."""

    def take(self, data):
        end = data.find(b"\r\n\r\n")
        return (None, data) if end < 0 else (data[:end + 4], data[end + 4:])


class RpcRequests:
    """Splits a client's bytes into calls of Hadoop's RPC. Bytes before the first call of a connection are sent with
    that call."""

    FIRST = 2  # frames: the connection's header, and the first call

    def __init__(self):
        self.skip = 7  # the connection header; the next frame names the user

    def take(self, data):
        end = self.skip
        for _ in range(self.FIRST if self.skip else 1):
            if len(data) < end + 4:
                return None, data
            end += 4 + int.from_bytes(data[end:end + 4], "big")
        if len(data) < end:
            return None, data
        self.skip = 0
        return data[:end], data[end:]


class SaslRequests(RpcRequests):
    """The same for a connection with a token, on which each step of the handshake waits for an answer."""

    FIRST = 1


class Proxy:
    """Listens on a port of its own until the process exits. `requests` is a class that splits bytes into requests."""

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
            loses = threading.Event()  # the next answer gets lost
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
                    if self.cut.is_next(request):
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


class CutConfiguration:
    """A copy of a cluster's site files in `folder` in which proxies stand for the daemons. A job's master, which gets
    the files from its client, uses the proxies, too."""

    def __init__(self, folder, original, site):
        self.folder = folder
        shutil.copytree(original, folder)
        self.proxies = [self.proxy("hdfs", site("dfs.namenode.http-address"), HttpRequests),
                        self.proxy("yarn", site("yarn.resourcemanager.address"), RpcRequests),
                        self.proxy("yarn", site("yarn.resourcemanager.scheduler.address"), SaslRequests)]

    def proxy(self, name, target, requests):
        file, proxy = self.folder / f"{name}-site.xml", Proxy(target, requests)
        text = file.read_text()
        if text.count(f"<value>{target}<") != 1:
            raise ValueError(f"{file}: {target}")
        file.write_text(text.replace(f"<value>{target}<", f"<value>{proxy.address}<"))
        return proxy

    def cut(self, cut):
        for proxy in self.proxies:
            proxy.cut = cut
