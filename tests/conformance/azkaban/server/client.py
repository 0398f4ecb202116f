"""An Azkaban server as its users' programs see it: the AJAX calls of its web server, over HTTP."""

import contextlib
import html
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

CALL_LIMIT = 60  # seconds for one call; the server answers a cancel when the jobs have ended


class NotFound(AssertionError):
    """The server does not know an execution."""


class Client:
    """A user with a session."""

    def __init__(self, url, user, password):
        self.url, self.user, self.password, self.session = url, user, password, None

    def login(self):
        answer = self._post("/", action="login", username=self.user, password=self.password)
        self.session = answer["session.id"]

    def create(self, project, description):
        self._post("/manager", action="create", name=project, description=description)

    def upload(self, project, archive):
        """Uploads a project. `archive` holds the zip's bytes. Returns the version number of the project."""
        fields = {"session.id": self.session, "ajax": "upload", "project": project}
        boundary = uuid.uuid4().hex
        body = b"".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in fields.items()
        )
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{project}.zip"\r\n'
            "Content-Type: application/zip\r\n\r\n"
        )
        body += head.encode() + archive + f"\r\n--{boundary}--\r\n".encode()
        return self._ask("/manager", body, {"Content-Type": f"multipart/form-data; boundary={boundary}"})["version"]

    def flows(self, project):
        answer = self._get("/manager", ajax="fetchprojectflows", project=project)
        return {flow["flowId"] for flow in answer["flows"]}

    def execute(self, project, flow, **overrides):
        """Returns the execution's number. `overrides` are properties for the flow."""
        changed = {f"flowOverride[{key}]": value for key, value in overrides.items()}
        # By default it refuses a second execution of a flow that runs.
        asked = {"ajax": "executeFlow", "project": project, "flow": flow, "concurrentOption": "ignore"}
        return self._post("/executor", **asked, **changed)["execid"]

    def execution(self, number):
        """Asks again for two seconds, because the server sometimes does not find an execution that ends."""
        for _ in range(20):
            with contextlib.suppress(NotFound):
                return self._get("/executor", ajax="fetchexecflow", execid=number)
            time.sleep(0.1)
        return self._get("/executor", ajax="fetchexecflow", execid=number)

    def log(self, number, job):
        asked = {"ajax": "fetchExecJobLogs", "execid": number, "jobId": job, "offset": 0, "length": 1000000}
        return html.unescape(self._of_job(**asked).get("data", ""))

    def attachment(self, number, job):
        """Returns the job's own description that Azkaban shows next to its log: a list, or None."""
        return self._of_job(ajax="fetchExecJobStats", execid=number, jobid=job).get("jobStats")

    def cancel(self, number):
        self._get("/executor", ajax="cancelFlow", execid=number)

    def _of_job(self, **asked):
        """Returns {} while the executor has released the execution and the web server has not noticed it yet."""
        try:
            return self._get("/executor", **asked)
        except urllib.error.HTTPError as error:
            if error.code == 500 and b"not found" in error.read():
                return {}
            raise

    def _get(self, path, **fields):
        query = urllib.parse.urlencode({"session.id": self.session, **fields})
        return self._ask(f"{path}?{query}")

    def _post(self, path, **fields):
        session = {"session.id": self.session} if self.session else {}
        return self._ask(path, urllib.parse.urlencode({**session, **fields}).encode())

    def _ask(self, path, body=None, headers=None):
        """Raises an error for refusals, most of which are answers with the field `error`."""
        request = urllib.request.Request(self.url + path, data=body, headers=headers or {})
        with urllib.request.urlopen(request, timeout=CALL_LIMIT) as response:
            text = response.read().decode()
        answer = json.loads(text) if text.strip() else {}
        if isinstance(answer, dict) and (answer.get("error") or answer.get("status") == "error"):
            why = f"{path.partition('?')[0]}: {answer.get('error') or answer.get('message')}"
            raise NotFound(why) if "Cannot find execution" in why else AssertionError(why)
        return answer
