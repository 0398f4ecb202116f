"""A reverse proxy as at many sites: it forwards only requests below /some/prefix/ to the server behind it."""

import http.client
import http.server
import threading

PREFIX = "/some/prefix"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(self.path)
        if not self.path.startswith(PREFIX + "/"):
            return self.send_error(404)
        backend = http.client.HTTPConnection("127.0.0.1", self.server.backend, timeout=60)
        try:
            passed = {name: self.headers[name] for name in ("Cookie", "Sec-Fetch-Site") if name in self.headers}
            backend.request("GET", self.path[len(PREFIX) :], headers={"Host": "tony.example", **passed})
            answer = backend.getresponse()
            body = answer.read()
        except OSError:
            return self.send_error(502)
        finally:
            backend.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class OtherSite(http.server.ThreadingHTTPServer):
    """The page of another site, with one link. Its host is localhost, while the proxy's is 127.0.0.1."""

    daemon_threads = True

    def __init__(self, link):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(f'<a href="{link}">a job</a>'.encode())

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://localhost:{self.server_address[1]}/"

    def close(self):
        self.shutdown()
        self.server_close()


class ReverseProxy(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, backend):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.backend = backend
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, url_of_backend):
        """Returns the address of the same page through the proxy."""
        path = url_of_backend.split("/", 3)[3]
        return f"http://127.0.0.1:{self.server_address[1]}{PREFIX}/{path}"

    def close(self):
        self.shutdown()
        self.server_close()
