"""A headless Chromium, driven through its debugging pipe: enough of the DevTools protocol to look at pages."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

LIMIT = 60  # seconds for each wait


class Chromium:
    """Pipe messages are JSON objects that end with NUL; descriptor 3 is Chromium's input, 4 its output."""

    def __init__(self):
        program = shutil.which("chromium")
        if not program:
            raise RuntimeError("there is no chromium; scripts/test installs it")
        self.profile = tempfile.mkdtemp(prefix="tony-chromium-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self.input, self.output = ours_out, ours_in
        options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--no-proxy-server",
            f"--user-data-dir={self.profile}", "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        # The shell opens the pipe at the descriptors that Chromium uses.
        shell = ["sh", "-c", f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}', program, *options]
        environment = dict(os.environ, HOME=self.profile)
        self.process = subprocess.Popen(
            shell, pass_fds=(theirs_in, theirs_out), env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self.unread = b""
        self.events = []
        self.last = 0

    def close(self):
        try:
            self.ask("Browser.close")
            self.process.wait(10)
        except (RuntimeError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, 9)
            self.process.wait()
        os.close(self.input)
        os.close(self.output)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, seconds):
        """Returns the next message; None after `seconds`."""
        end = time.monotonic() + seconds
        while b"\0" not in self.unread:
            if not select.select([self.output], [], [], max(0, end - time.monotonic()))[0]:
                return None
            chunk = os.read(self.output, 1 << 16)
            if not chunk:
                raise RuntimeError("chromium has ended")
            self.unread += chunk
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, session=None, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.input, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            answer = self.receive(end - time.monotonic())
            if answer is None:
                break
            if answer.get("id") == self.last:
                if "error" in answer:
                    error = Navigated if "navigated" in answer["error"]["message"] else RuntimeError
                    raise error(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)
        raise RuntimeError(f"{method}: no answer")


class Navigated(RuntimeError):
    """The browser left a page while it evaluated a script there."""


class Tab:
    def __init__(self, chromium, url, script=True, dark=False, context=None, at=None):
        """`context` keeps the cookies of this tab apart from other tabs. `at` is the path to which redirects lead."""
        self.chromium = chromium
        whose = {"browserContextId": context} if context else {}
        self.target = chromium.ask("Target.createTarget", url="about:blank", **whose)["targetId"]
        self.session = chromium.ask("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.set_width(1200)
        self.ask("Emulation.setScrollbarsHidden", hidden=True)
        scheme = "dark" if dark else "light"
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        if not script:
            self.ask("Emulation.setScriptExecutionDisabled", value=True)
        self.open(url, at)

    def ask(self, method, **parameters):
        return self.chromium.ask(method, self.session, **parameters)

    def set_width(self, pixels):
        self.ask("Emulation.setDeviceMetricsOverride", width=pixels, height=860, deviceScaleFactor=1, mobile=False)

    def open(self, url, at=None):
        self.ask("Page.navigate", url=url)
        there = f"location.pathname === {json.dumps(at)}" if at else f"location.href.startsWith({json.dumps(url)})"
        self.wait(f"{there} && document.readyState === 'complete'")

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def text(self, selector):
        return self.value(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def wait(self, expression):
        end = time.monotonic() + LIMIT
        while not self.holds(expression):
            if time.monotonic() > end:
                raise RuntimeError(f"never came true: {expression}\n{self.value('document.body.innerText')}")
            time.sleep(0.05)

    def holds(self, expression):
        try:
            return self.value(expression)
        except Navigated:
            return False

    def complaints(self):
        """Returns the errors in the browser's console: policy violations, failed loads, exceptions and dialogs."""
        self.value("1")  # all earlier events arrive before this answer
        found = []
        for event in self.chromium.events:
            if event.get("sessionId") != self.session:
                continue
            method, what = event["method"], event["params"]
            if method == "Log.entryAdded" and what["entry"]["level"] in ("warning", "error"):
                found.append(what["entry"]["text"])
            elif method in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                found.append(json.dumps(what))
            elif method == "Runtime.consoleAPICalled" and what["type"] in ("warning", "error"):
                found.append(json.dumps(what))
        return found

    def screenshot(self, path):
        png = self.ask("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(png))

    def close(self):
        self.chromium.ask("Target.closeTarget", targetId=self.target)
