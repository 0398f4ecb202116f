"""The hook: how it calls `tony`, and how it handles invalid answers."""

import json
import os
import pathlib
import shutil
import time
from typing import Any

from .case import AirflowFailException, QuickCase

SECRETS = {
    "AIRFLOW__CORE__FERNET_KEY": "k1",
    "AIRFLOW_CONN_OTHER": "k2",
    "AIRFLOW_VAR_PASSWORD": "k3",
    "_AIRFLOW_X": "k4",
}


class HookCase(QuickCase):
    def hook(self, *connection: str) -> Any:
        from tony_airflow.hooks.tony import TonyHook

        return TonyHook(*connection)

    def submit(self, document: dict[str, Any] | None = None, **options: Any) -> Any:
        from tony_airflow.hooks.tony import Order

        order = Order(options.pop("request_id", "r"), options.pop("owner", "o"), options.pop("submission", 0))
        return self.hook().submit(document or {"name": "x"}, order, **options)

    def failure(self, call: Any) -> tuple[BaseException, str]:
        """Returns the exception of a call, and its message: one line that names the call."""
        from tony_airflow.exceptions import TonyError

        with self.assertRaises(TonyError) as raised:
            call()
        message = str(raised.exception)
        self.assertEqual(len(message.splitlines()), 1, message)
        return raised.exception, message

    def script_program(self, text: str) -> pathlib.Path:
        file = self.world.folder / "other/tony"
        file.parent.mkdir()
        file.write_text(text)
        file.chmod(0o755)
        self.connect(cli=str(file))
        return file


class CallTest(HookCase):
    def test_the_job_document_is_passed_unchanged_on_standard_input(self) -> None:
        document = {
            "name": 'ü "quoted"\n\\',
            "env": {"A": "sesame", "B": "a\u0000b\U0001f600"},
            "tasks": {"w": {"gpus": 1}},
        }
        self.submit(document)
        call = self.world.calls("submit")[0]
        self.assertEqual(json.loads(call["stdin"]), document)
        self.assertNotIn("sesame", json.dumps([call["argv"], call["environment"]]))

    def test_a_job_document_of_3_megabytes_is_passed_on_standard_input(self) -> None:
        document = {"env": {"A": "x" * 3_000_000}}
        self.submit(document)
        self.assertEqual(json.loads(self.world.calls("submit")[0]["stdin"]), document)

    def test_a_document_that_is_not_json_is_refused_before_the_call(self) -> None:
        for bad in (float("nan"), object(), {1, 2}):
            with self.subTest(bad=type(bad).__name__):
                self.failure(lambda: self.submit({"env": bad}))
        self.assertEqual(self.world.calls(), [])

    def test_airflows_secret_variables_are_not_passed_to_tony(self) -> None:
        for name, value in SECRETS.items():
            self.set_environment(name, f"sesame-{value}")
        self.set_environment("KRB5CCNAME", "/tmp/ticket")
        self.submit()
        self.hook().version()
        for call in self.world.calls():
            self.assertNotIn("sesame", json.dumps(call))
            self.assertEqual(call["environment"]["KRB5CCNAME"], "/tmp/ticket")
            self.assertEqual(
                [name for name in call["environment"] if name.startswith(("AIRFLOW__", "AIRFLOW_CONN", "_AIR"))], []
            )

    def test_the_connection_sets_tony_home_and_tony_conf_dir(self) -> None:
        self.connect(home="/x/home", conf_dir="/x/conf")
        self.hook().version()
        environment = self.world.calls()[0]["environment"]
        self.assertEqual((environment["TONY_HOME"], environment["TONY_CONF_DIR"]), ("/x/home", "/x/conf"))

    def test_a_proxy_user_is_taken_from_the_argument_the_connection_or_the_environment(self) -> None:
        from tony_airflow.hooks.tony import TonyHook

        self.hook().version()
        self.set_environment("HADOOP_PROXY_USER", "of-the-worker")
        self.hook().version()
        self.connect(proxy_user="of-the-connection")
        self.hook().version()
        TonyHook(proxy_user="of-the-argument").version()
        users = [call["environment"].get("HADOOP_PROXY_USER") for call in self.world.calls()]
        self.assertEqual(users, [None, "of-the-worker", "of-the-connection", "of-the-argument"])

    def test_a_connection_without_home_leaves_tony_home_unchanged(self) -> None:
        self.set_environment("TONY_HOME", "/machine/home")
        self.hook().version()
        environment = self.world.calls()[0]["environment"]
        self.assertEqual(environment["TONY_HOME"], "/machine/home")
        self.assertNotIn("TONY_CONF_DIR", environment)

    def test_the_default_connection_need_not_exist(self) -> None:
        self.set_environment("AIRFLOW_CONN_TONY_DEFAULT", None)
        self.set_environment("PATH", f"{self.world.folder}:{os.environ['PATH']}")
        self.assertEqual(self.hook().version()["version"], "0.1.0")

    def test_a_connection_other_than_the_default_must_exist(self) -> None:
        with self.assertRaisesRegex(Exception, "tony_other"):
            self.hook("tony_other").version()

    def test_a_connection_can_be_given_as_a_uri(self) -> None:
        self.set_environment("AIRFLOW_CONN_TONY_URI", f"tony://?cli={self.world.cli}")
        self.assertEqual(self.hook("tony_uri").version()["version"], "0.1.0")

    def test_the_test_button_of_a_connection_reports_version_or_error(self) -> None:
        works, text = self.hook().test_connection()
        self.assertTrue(works)
        self.assertIn("0.1.0", text)
        self.connect(cli="/nowhere/tony")
        works, text = self.hook().test_connection()
        self.assertFalse(works)
        self.assertIn("/nowhere/tony", text)


class ProgramTest(HookCase):
    """A connection may name only `tony` in a folder that the administrator has allowed."""

    def allowed(self, cli: str | None) -> str:
        from tony_airflow.program import allowed

        return allowed(cli)

    def test_a_connection_may_name_a_program_in_an_allowed_folder(self) -> None:
        self.set_environment("AIRFLOW__TONY__CLI_FOLDERS", "/opt/tony/bin:/srv/")
        for cli in ("/opt/tony/bin/tony", "/opt/tony/bin/1.2/tony", "/srv/tony"):
            with self.subTest(cli):
                self.assertEqual(self.allowed(cli), cli)
        for nothing in (None, "", "tony"):
            self.assertEqual(self.allowed(nothing), "tony")

    def test_a_program_outside_the_allowed_folders_is_refused(self) -> None:
        self.set_environment("AIRFLOW__TONY__CLI_FOLDERS", "/opt/tony/bin")
        for cli in ("/bin/sh", "sh", "bin/tony", "./tony", "/tmp/tony", "/opt/tony/bin2/tony", "/opt/tony/tony",
                    "/opt/tony/bin/../x/tony", "/opt/tony/bin//tony", "/opt/tony/bin/tony/", "/tony"):  # fmt: skip
            with self.subTest(cli), self.assertRaisesRegex(AirflowFailException, "cli '"):
                self.allowed(cli)

    def test_usr_local_bin_is_allowed_without_a_cli_folders_setting(self) -> None:
        self.set_environment("AIRFLOW__TONY__CLI_FOLDERS", None)
        self.assertEqual(self.allowed("/usr/local/bin/tony"), "/usr/local/bin/tony")
        with self.assertRaisesRegex(AirflowFailException, r"\[tony\] cli_folders"):
            self.allowed("/home/somebody/tony")

    def test_a_refused_program_is_not_run(self) -> None:
        self.set_environment("AIRFLOW__TONY__CLI_FOLDERS", "/opt")
        self.failure(self.hook().version)
        self.assertEqual(self.world.calls(), [])


class TroubleTest(HookCase):
    def test_the_error_for_a_missing_program_names_program_and_machine(self) -> None:
        from tony_airflow.exceptions import TonyTransportError

        self.connect(cli="/nowhere/tony")
        error, message = self.failure(self.hook().version)
        self.assertIsInstance(error, TonyTransportError)
        self.assertIn("/nowhere/tony", message)
        self.assertIn(os.uname().nodename, message)

    def test_a_program_without_execute_permission_is_an_error(self) -> None:
        self.world.cli.chmod(0o644)
        self.assertIn(str(self.world.cli), self.failure(self.hook().version)[1])

    def test_a_program_for_another_processor_is_an_error(self) -> None:
        self.script_program("\x7fELF nothing that runs")
        self.assertIn("other", self.failure(self.hook().version)[1])

    def test_a_program_with_a_missing_interpreter_is_an_error(self) -> None:
        self.script_program("#!/nowhere/python\n")
        self.assertIn("other", self.failure(self.hook().version)[1])

    def test_a_missing_folder_is_named_in_the_error(self) -> None:
        message = self.failure(lambda: self.submit(directory="/nowhere/folder"))[1]
        self.assertIn("/nowhere/folder", message)
        self.assertNotIn("install tony", message)

    def test_an_answer_that_is_not_one_json_object_is_an_error(self) -> None:
        from tony_airflow.exceptions import TonyTransportError

        for garbage in (
            "Segmentation fault\n",
            "",
            "[1]",
            "7",
            "null",
            '{"schema":1',
            '"text"',
            "{}",
            '{"schema":1}{"schema":1}',
        ):
            with self.subTest(garbage):
                self.world.play(mischief={"version": [{"stdout": garbage, "exit": 0, "always": True}]})
                error, message = self.failure(self.hook().version)
                self.assertIsInstance(error, TonyTransportError)
                self.assertIn("version", message)

    def test_an_answer_that_is_not_utf8_is_an_error(self) -> None:
        self.script_program("#!/bin/sh\nprintf '\\377\\376\\001'\nprintf 'a\\377b' >&2\n")
        self.failure(self.hook().version)

    def test_the_last_line_of_standard_error_is_shown_if_there_was_no_answer(self) -> None:
        self.world.play(mischief={"version": [{"stderr": "first\nlibthrift.so: not found\n", "exit": 127}]})
        message = self.failure(self.hook().version)[1]
        self.assertIn("libthrift.so: not found", message)
        self.assertIn("127", message)

    def test_an_answer_with_schema_2_is_an_error(self) -> None:
        self.script_program('#!/bin/sh\necho \'{"schema":2,"version":"9","schemas":[2]}\'\n')
        message = self.failure(self.hook().version)[1]
        self.assertRegex(message, "schema 2")

    def test_a_program_killed_by_a_signal_is_an_error(self) -> None:
        self.world.play(mischief={"version": [{"signal": 11}]})
        self.assertIn("11", self.failure(self.hook().version)[1])

    def test_an_exit_code_of_tony_raises_an_exception_with_tonys_message(self) -> None:
        from tony_airflow import exceptions

        for code, kind, final in ((65, exceptions.TonyError, True), (66, exceptions.TonyNotFound, False),
                                  (69, exceptions.TonyTransportError, False), (70, exceptions.TonyError, False),
                                  (77, exceptions.TonyError, True)):  # fmt: skip
            with self.subTest(code):
                self.world.play(mischief={"status": [{"error": code, "message": f"it is {code}", "always": True}]})
                error, message = self.failure(lambda: self.hook().status("j"))
                self.assertIsInstance(error, kind)
                self.assertEqual(isinstance(error, AirflowFailException), final)
                self.assertIn(f"it is {code}", message)

    def test_a_submit_that_hangs_is_ended_at_its_time_limit(self) -> None:
        from tony_airflow.exceptions import TonyTransportError

        self.world.play(mischief={"submit": [{"hang": True, "deaf": True}]})
        error, message = self.failure(lambda: self.submit(limit=0.5))
        self.assertIsInstance(error, TonyTransportError)
        self.assertIn("0.5", message)
        self.assertEqual(self.world.running(), [])

    def test_the_kill_command_has_its_own_session_and_ends_within_3_seconds(self) -> None:
        from tony_airflow.hooks.tony import Order

        self.world.play(mischief={"kill": [{}, {"hang": True, "deaf": True}]})
        self.hook().kill(Order("r", "o"), "enough")
        call = self.world.calls("kill")[0]
        self.assertEqual(call["session"], call["pid"])
        self.assertNotEqual(call["group"], os.getpgid(0))
        began = time.monotonic()
        self.failure(lambda: self.hook().kill(Order("r", "o"), "enough"))
        self.assertLess(time.monotonic() - began, 3.0)

    def test_the_time_limit_of_a_kill_command_is_below_airflows_limit_of_5_seconds(self) -> None:
        from tony_airflow.hooks import tony

        self.patches["hooks.tony.KILL_LIMIT"].stop()
        self.addCleanup(self.patches["hooks.tony.KILL_LIMIT"].start)
        self.assertLess(tony.KILL_LIMIT, 4.5)

    def test_exceptions_can_be_pickled_between_processes(self) -> None:
        import pickle

        from tony_airflow import exceptions

        for kind in vars(exceptions).values():
            if isinstance(kind, type) and issubclass(kind, exceptions.TonyError):
                again = pickle.loads(pickle.dumps(kind("one line\nmore")))
                self.assertEqual((type(again), str(again)), (kind, "one line\nmore"))

    def test_tony_is_searched_in_path_again_at_each_call(self) -> None:
        folder = self.world.folder / "bin"
        self.connect(cli=None)
        self.set_environment("PATH", f"{folder}:/usr/bin:/bin")  # the environment of these tests has its own `tony`
        self.failure(self.hook().version)
        folder.mkdir()
        shutil.copy("/bin/true", folder / "tony")
        self.assertIn("without an answer", self.failure(self.hook().version)[1])
