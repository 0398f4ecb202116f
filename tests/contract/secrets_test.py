"""No secret is in any answer of any verb, or on standard error.

A secret comes from an environment variable of the submitter, or from a variable or property whose name contains
password, secret, token or key. Output of the user's own program is the user's responsibility.
"""

import json
import unittest

import reader
from reader import Sandbox, task

BY_ENVIRONMENT = "s3cr3t-of-the-submitter"
BY_FLAG = "s3cr3t-of-a-flag"
BY_FILE = "s3cr3t-of-a-file"
BY_XML = "s3cr3t-of-tony-xml"
BY_KEY = "s3cr3t-of-a-key"
BY_DOCUMENT = "s3cr3t-of-the-member-secrets"
ALL = (BY_ENVIRONMENT, BY_FLAG, BY_FILE, BY_XML, BY_KEY, BY_DOCUMENT)


class SecretsTest(unittest.TestCase):
    def setUp(self):
        self.box = Sandbox()
        self.addCleanup(self.box.close)
        (self.box.folder / "conf").mkdir()
        (self.box.folder / "src").mkdir()
        # Succeeds only if it has all secrets, because a secret that does not arrive would not be found either.
        arrived = {"MY_TOKEN": BY_ENVIRONMENT, "DB_PASSWORD": BY_FLAG, "CLIENT_SECRET": BY_FILE, "API_KEY": BY_XML}
        checks = " && ".join(f'[ "${name}" = {value} ]' for name, value in arrived.items())
        self.write("src/check", f"{checks} && exit $1\nexit 99")
        self.write("job.properties", f"tony.execution.envs=CLIENT_SECRET={BY_FILE}\ntony.secret.key={BY_KEY}\n")
        self.write("conf/tony-site.xml", "<configuration><property><name>tony.containers.env.API_KEY</name>"
                                         f"<value>{BY_XML}</value></property></configuration>")  # fmt: skip

    def write(self, name, text):
        (self.box.folder / name).write_text(text)

    def words(self, end):
        return ("job.properties", "-src_dir", "src", "-shell_env", f"DB_PASSWORD={BY_FLAG}",
                *task(f"sh check {end}"))  # fmt: skip

    def expect_none(self):
        self.assertGreater(len(self.box.seen), 0)
        for answer in self.box.seen:
            for secret in ALL:
                self.assertNotIn(secret, answer.raw.decode(errors="replace"), f"tony {answer.words[0]}")
                self.assertNotIn(secret, answer.err, f"tony {answer.words[0]}: standard error")

    def ask_all(self, job):
        for form in ((), ("--json",)):
            for words in (["status", job], ["list"], ["list", "--queue"], ["logs", job], ["history", job],
                          ["history", job, "--events"], ["history", job, "--conf"], ["wait", job], ["kill", job],
                          ["wait", job, "--follow"], ["watch", job], ["doctor"], ["gc", "--dry-run"],
                          ["explain-exit", "1", "--job", job], ["outputs", job], ["find", "--request-id", "secrets"],
                          ["history"], ["recover", job], ["ack", job, "--owner", "o"], ["plan", *self.words(0)],
                          ["plan", "--explain", *self.words(0)], ["plan", "--task", "worker:0", *self.words(0)]):  # fmt: skip
                self.box.run(*words, *form, MY_TOKEN=BY_ENVIRONMENT)

    def test_a_successful_job_reveals_no_secret(self):
        answer = self.box.run("submit", *self.words(0), "--json", MY_TOKEN=BY_ENVIRONMENT)
        self.assertEqual(answer.exit, 0, str(answer))
        self.ask_all(answer.document()["job"])
        self.expect_none()

    def test_a_failed_job_reveals_no_secret(self):
        answer = self.box.run("submit", *self.words(3), "--json", MY_TOKEN=BY_ENVIRONMENT)
        self.assertEqual(answer.document()["verdict"]["exit_code"], 3, str(answer))
        self.ask_all(answer.document()["job"])
        self.expect_none()

    def test_a_secret_of_a_job_document_is_stored_in_no_file(self):
        self.write("job.json", json.dumps({
            "framework": "standalone", "tasks": {"worker": {"instances": 1}}, "secrets": {"PIN": BY_DOCUMENT},
            "executes": f'[ "$PIN" = {BY_DOCUMENT[:6]}"{BY_DOCUMENT[6:]}" ]',
        }))  # fmt: skip
        answer = self.box.run("submit", "job.json", "--json")
        (self.box.folder / "job.json").unlink()
        self.assertEqual(answer.exit, 0, str(answer))
        self.ask_all(answer.document()["job"])
        self.expect_none()
        files = [file for file in self.box.folder.rglob("*") if file.is_file() and "programs" not in file.parts]
        self.assertGreater(len(files), 10)
        self.assertEqual([file for file in files if BY_DOCUMENT.encode() in file.read_bytes()], [])

    def test_a_refused_submit_reveals_no_secret(self):
        for words, code in [
            (["job.properties", "-executes", "true", "-conf", "tony.worker.instances=x"], 65),
            (["job.properties", "-executes", "true", "-conf", f"tony.execution.envs=DB_PASSWORD=a,{BY_FLAG}"], 65),
            (["job.properties", "-executes", "true", "-conf", f"tony.containers.envs={BY_FLAG}"], 65),
            (["job.properties", "-executes", "true", "-shell_env", f"DB_PASSWORD={BY_FLAG}", "--no-such-option"], 64),
        ]:
            answer = self.box.run("submit", *words, "--json", MY_TOKEN=BY_ENVIRONMENT)
            self.assertEqual(answer.exit, code, str(answer))
            self.assertEqual(reader.complaints("error", answer.document()), [])
        self.expect_none()

    def test_plan_masks_the_values_of_secrets_and_shows_their_names(self):
        plan = self.box.run("plan", *self.words(0), "--json").document()
        self.assertEqual(reader.complaints("plan", plan), [])
        shown = {**plan["spec"]["execution_env"], **plan["spec"]["container_env"]}
        self.assertEqual(set(shown), {"CLIENT_SECRET", "DB_PASSWORD", "API_KEY"})
        self.assertEqual(len(set(shown.values())), 1, "a mask tells nothing, not even a length")
        explained = self.box.run("plan", "--explain", *self.words(0), "--json").document()
        self.assertEqual(reader.complaints("plan", explained), [])
        values = {entry["key"]: entry["value"] for entry in explained["configuration"]}
        self.assertEqual(values["tony.secret.key"], next(iter(shown.values())))

    def test_the_token_of_a_job_appears_in_no_answer_of_tony(self):
        job = self.box.run("submit", *self.words(0), "--json", MY_TOKEN=BY_ENVIRONMENT).document()["job"]
        tokens = [file.read_text().strip() for file in self.box.folder.glob(f"home/jobs/{job}/token")]
        self.assertTrue(all(len(token) > 16 for token in tokens) and tokens)
        self.ask_all(job)
        for answer in self.box.seen:
            for token in tokens:
                self.assertNotIn(token, answer.raw.decode(errors="replace") + answer.err, f"tony {answer.words[0]}")


if __name__ == "__main__":
    unittest.main()
