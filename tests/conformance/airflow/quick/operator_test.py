"""The operator while it waits in the worker: its calls to the runtime, its data in Airflow, and its end."""

import datetime
import itertools
import json
import threading
import uuid
from typing import Any

from .case import AIRFLOW_2, RUN_BEGAN, RUN_ID, AirflowFailException, AirflowSkipException, QuickCase

# the start of a run that was deleted and created again with the same id
ANEW = RUN_BEGAN + datetime.timedelta(seconds=1)
FAILED = [[0, "RUNNING"], [0.1, "FAILED"]]
END = "2026-11-22T02:00:00.000Z"  # of tokens


class SuccessTest(QuickCase):
    def test_execute_returns_the_outputs_and_pushes_the_job_id_before_it_waits(self) -> None:
        self.world.play(outputs={"model.path": "/models/1", "score": 0.9})
        task = self.operator()
        context = self.context(task)
        self.assertEqual(self.execute(task, context), {"model.path": "/models/1", "score": 0.9})
        xcoms = context["ti"].xcoms
        self.assertEqual((xcoms["job_id"], xcoms["final_state"]), ("played-1", "SUCCEEDED"))
        self.assertNotIn("wait", context["ti"].asked_before["job_id"])
        self.assertIn("wait", context["ti"].asked_before["final_state"])
        self.assertNotIn("return_value", xcoms)  # Airflow itself pushes it

    def test_the_link_to_the_job_is_pushed_to_xcom_while_the_job_runs(self) -> None:
        from tony_airflow.links.tony import TonyJobLink

        self.world.play(timeline=[[0, "RUNNING"]])
        task = self.operator(poll_interval=0.1)
        context = self.context(task)
        with self.ended_after("wait", 2):
            self.execute(task, context)
        url = "http://127.0.0.1:1/played-1/"
        self.assertEqual(context["ti"].xcoms["tracking_url"], url)
        self.assertEqual(context["ti"].xcoms.get(TonyJobLink().xcom_key, url), url)
        if not AIRFLOW_2:  # Airflow 2's web server asks for the address and reads the XCom
            self.assertEqual(TonyJobLink().get_link(task, ti_key=context["ti"]), url)

    def test_the_job_is_acknowledged_once_after_its_outputs_were_read(self) -> None:
        self.run_operator()
        verbs = self.world.verbs()
        self.assertEqual(verbs.count("ack"), 1)
        self.assertEqual(verbs[-1], "ack", verbs)
        self.assertLess(verbs.index("outputs"), verbs.index("ack"))
        self.assertTrue(self.world.jobs[0]["acked"])

    def test_the_submit_has_the_request_id_in_its_arguments_and_the_job_only_on_stdin(self) -> None:
        self.run_operator(env={"API_TOKEN": "sesame"}, conf={"tony.application.security": "sesame"})
        call = self.world.calls("submit")[0]
        options = call["options"]
        self.assertEqual(options["--request-id"], f"airflow://flow/{RUN_ID}/train/-1")
        self.assertEqual((options["--submission"], options["--on-existing"]), ("0", "attach"))
        self.assertTrue(options["--first-try"])
        self.assertEqual(options["--watch-timeout"], "7200")
        self.assertTrue(options["--owner"])
        self.assertTrue(options["--detach"])
        self.assertEqual(json.loads(call["stdin"])["env"], {"API_TOKEN": "sesame"})
        for any_call in self.world.calls():
            self.assertNotIn("sesame", json.dumps([any_call["argv"], any_call["environment"]]))

    def test_each_try_submits_with_a_different_owner(self) -> None:
        task = self.operator()
        self.execute(task)
        self.execute(task)
        owners = [call["options"]["--owner"] for call in self.world.calls("submit")]
        self.assertNotEqual(*owners)

    def test_the_job_document_has_exactly_the_members_given_to_the_operator(self) -> None:
        given: dict[str, Any] = {
            "spec": {"framework": "jax", "name": "m"}, "properties": {"tony.worker.instances": 2}, "name": "n",
            "framework": "pytorch", "tags": ["a", "b"], "tasks": {"worker": {"instances": 4, "memory": "8g"}},
            "executes": "e.py", "task_params": "--x 1", "src_dir": "src", "python_venv": "venv.zip",
            "python_binary_path": "bin/python", "container": "train:1", "mounts": ["/a:/b"], "env": {"A": "b"}, "conf": {"tony.x": "y"},
        }  # fmt: skip
        self.run_operator(**given, files=["r.txt"])
        self.assertEqual(json.loads(self.world.calls("submit")[0]["stdin"]), {**given, "resources": ["r.txt"]})

    def test_the_job_document_has_only_the_given_members_and_a_default_name(self) -> None:
        task = self.operator(executes="train.py")
        self.execute(task)
        wanted = {"executes": "train.py", "spec": {"name": f"flow.{task.task_id}"}}
        self.assertEqual(json.loads(self.world.calls("submit")[0]["stdin"]), wanted)

    def test_relative_paths_start_at_the_given_directory(self) -> None:
        folder = self.folder_with("x", "").parent
        self.run_operator(directory=str(folder))
        self.assertEqual(self.world.calls("submit")[0]["cwd"], str(folder))

    def test_wait_for_completion_false_leaves_the_job_running(self) -> None:
        self.world.play(timeline=[[0, "RUNNING"]])
        task = self.operator(wait_for_completion=False)
        context = self.context(task)
        self.execute(task, context)
        self.assertEqual(context["ti"].xcoms["job_id"], "played-1")
        self.assertFalse({"ack", "kill"} & set(self.world.verbs()))
        self.assertNotIn("final_state", context["ti"].xcoms)

    def test_the_operator_waits_for_the_job_over_several_queries(self) -> None:
        self.world.play(timeline=[[0, "ACCEPTED"], [0.2, "RUNNING"]])
        with self.ended_after("wait", 2):
            self.run_operator(poll_interval=0.1)
        waits = self.world.calls("wait")
        self.assertTrue(all(call["options"].get("--since") for call in waits[1:]))
        self.assertEqual(
            {call["options"]["--owner"] for call in waits}, {self.world.calls("submit")[0]["options"]["--owner"]}
        )

    def test_the_task_log_names_the_job_its_warnings_and_its_states(self) -> None:
        self.world.play(timeline=[[0, "RUNNING"]], warnings=["tony.x is unknown"])
        with self.logged() as lines, self.ended_after("wait", 2):
            self.run_operator(poll_interval=0.1)
        text = "\n".join(lines)
        for part in ("played-1", "tony.x is unknown", "RUNNING", "SUCCEEDED"):
            self.assertIn(part, text)

    def test_every_call_for_a_task_acts_for_the_proxy_user_of_the_task(self) -> None:
        self.world.play(outputs={"a": 1})
        self.run_operator(proxy_user="eve", get_logs="tail")
        self.assertLessEqual({"submit", "wait", "logs", "outputs", "ack"}, set(self.world.verbs()))
        self.assertEqual({call["environment"].get("HADOOP_PROXY_USER") for call in self.world.calls()}, {"eve"})

    def test_the_task_log_says_until_when_the_job_can_use_the_cluster_and_warns_once(self) -> None:
        why = f"job played-1 gets no fresh tokens, so it can use the cluster only until {END}: run kinit"
        self.world.play(
            timeline=[[0, "RUNNING"]], more={"tokens_until": END},
            mischief={"wait": [{"stderr": f"job running\n{why}\n", "always": True}]},
        )  # fmt: skip
        with self.logged() as lines, self.ended_after("wait", 4):
            threading.Timer(0.5, self.world.play, [], {"timeline": [[0, "RUNNING"]], "more": {
                "tokens_until": END, "tokens_overdue": True}}).start()  # fmt: skip
            self.run_operator(poll_interval=0.1)
        self.assertEqual([line for line in lines if END in line], [
            why,
            f"job played-1 can use the cluster until {END}; fresh tokens will extend this time",
            f"fresh tokens are overdue, so job played-1 can use the cluster only until {END}; run: tony credentials "
            "push played-1",
        ])  # fmt: skip

    def test_get_logs_tail_shows_the_last_log_lines_of_a_failed_job(self) -> None:
        told = "".join(f"line {n}\n" for n in range(100))
        self.world.play(logs=[{"task": "worker:0", "attempt": 1, "stream": "stdout", "text": told}], timeline=FAILED)
        with self.logged() as lines, self.assertRaises(Exception):
            self.run_operator(get_logs="tail", log_tail_lines=3)
        text = "\n".join(lines)
        self.assertIn("line 97", text)
        self.assertNotIn("line 96", text)

    def test_get_logs_none_reads_no_logs(self) -> None:
        self.world.play(timeline=FAILED)
        with self.assertRaises(Exception):
            self.run_operator(get_logs="none")
        self.assertNotIn("logs", self.world.verbs())

    def test_outputs_above_max_output_bytes_are_left_out_and_reported(self) -> None:
        outputs = {"model": "/m", "text": "x" * 2000, "loss": 0.5}
        self.world.play(outputs=outputs)
        self.assertEqual(self.run_operator(max_output_bytes=len(json.dumps(outputs))), outputs)
        with self.logged() as lines:
            kept = self.run_operator(max_output_bytes=len(json.dumps(outputs)) - 1, request_id="another")
        self.assertEqual(kept, {"model": "/m", "loss": 0.5})
        text = "\n".join(lines)
        self.assertIn('left out "text"', text)
        self.assertNotIn("xxxx", text)
        self.assertEqual([job["acked"] for job in self.world.jobs], [True, True])

    def test_invalid_outputs_are_reported_in_the_task_log(self) -> None:
        problems = [{"name": "loss", "why": "line 1: NaN", "left_out": False}, {"why": "line 2: no", "left_out": True}]
        self.world.play(outputs={"loss": "NaN", "model": "/m"}, output_problems=problems)
        with self.logged() as lines:
            self.assertEqual(self.run_operator(), {"loss": "NaN", "model": "/m"})
        text = "\n".join(lines)
        self.assertIn('"loss" has texts in place of values that are not JSON numbers: line 1: NaN', text)
        self.assertIn("an output is left out: line 2: no", text)

    def test_unreadable_outputs_are_reported_and_do_not_change_the_result(self) -> None:
        self.world.play(outputs_problem="outputs of worker:0#1 (/x/output.json): line 1: expected a name")
        with self.logged() as lines:
            self.assertIsNone(self.run_operator())
        self.assertIn("/x/output.json", "\n".join(lines))
        self.assertTrue(self.world.jobs[0]["acked"])

    def test_unreadable_logs_do_not_change_the_result(self) -> None:
        self.world.play(mischief={"logs": [{"stdout": "what?", "always": True}]}, outputs={"a": 1})
        self.assertEqual(self.run_operator(get_logs="tail"), {"a": 1})


class FailureTest(QuickCase):
    def failure(self, **arguments: Any) -> BaseException:
        with self.assertRaises(Exception) as raised:
            self.run_operator(**arguments)
        return raised.exception

    def first_line(self, error: BaseException) -> str:
        return str(error).splitlines()[0]

    def test_a_failed_job_raises_an_exception_that_airflow_may_retry(self) -> None:
        from tony_airflow.exceptions import TonyJobFailed

        self.world.play(timeline=FAILED)
        error = self.failure()
        self.assertIsInstance(error, TonyJobFailed)
        self.assertNotIsInstance(error, AirflowFailException)
        self.assertEqual(
            self.first_line(error), "played-1 FAILED user_error: worker:0 failed: exit code 3 (user_error)"
        )

    def test_permanent_failure_classes_are_not_retried(self) -> None:
        from tony_airflow.exceptions import TonyJobFailedNoRetry

        for name in ("user_config", "spec_invalid", "oom", "auth"):
            with self.subTest(name):
                verdict = {"class": name, "retryable": False, "message": f"it is {name}"}
                self.world.play(timeline=FAILED, verdict=verdict)
                error = self.failure()
                self.assertIsInstance(error, TonyJobFailedNoRetry)
                self.assertIsInstance(error, AirflowFailException)
                self.assertRegex(self.first_line(error), f"^played-[0-9]+ FAILED {name}: it is {name}$")

    def test_possibly_transient_failure_classes_are_retried(self) -> None:
        for name in ("node_lost", "preempted", "infra", "hung", "timeout", "quota", "user_error"):
            with self.subTest(name):
                self.world.play(timeline=FAILED, verdict={"class": name, "retryable": True, "message": "m"})
                self.assertNotIsInstance(self.failure(), AirflowFailException)

    def test_failure_classes_in_the_argument_non_retryable_are_not_retried(self) -> None:
        self.world.play(timeline=FAILED)
        self.assertIsInstance(self.failure(non_retryable=["user_error"]), AirflowFailException)

    def test_a_killed_job_fails_the_task(self) -> None:
        self.world.play(timeline=[[0, "RUNNING"], [0.1, "KILLED"]], verdict={"message": "tony kill by ann"})
        self.assertEqual(self.first_line(self.failure()), "played-1 KILLED killed: tony kill by ann")

    def test_a_failed_job_sets_the_xcom_final_state_and_is_not_acknowledged(self) -> None:
        self.world.play(timeline=FAILED)
        task = self.operator()
        context = self.context(task)
        with self.assertRaises(Exception):
            self.execute(task, context)
        self.assertEqual(context["ti"].xcoms["final_state"], "FAILED")
        self.assertNotIn("ack", self.world.verbs())

    def test_an_exit_code_in_skip_on_exit_code_skips_the_task(self) -> None:
        self.world.play(timeline=FAILED)
        for codes in (3, [7, 3]):
            with self.subTest(codes=codes):
                self.assertIsInstance(self.failure(skip_on_exit_code=codes), AirflowSkipException)
        self.assertNotIsInstance(self.failure(skip_on_exit_code=4), AirflowSkipException)

    def test_skip_on_exit_code_matches_exit_code_0_and_ignores_signal_numbers(self) -> None:
        self.world.play(timeline=FAILED, verdict={"exit_code": 0})
        self.assertIsInstance(self.failure(skip_on_exit_code=0), AirflowSkipException)
        self.world.play(timeline=FAILED, verdict={"exit_code": None, "signal": 3})
        self.assertNotIsInstance(self.failure(skip_on_exit_code=3), AirflowSkipException)

    def test_a_job_taken_over_by_another_owner_fails_the_task_and_is_not_acknowledged(self) -> None:
        self.world.play(timeline=[[0, "RUNNING"]])
        task = self.operator(poll_interval=1.0)
        with self.terminated(when=lambda: self.world.calls("wait"), on_term=self.world.take_over):
            with self.assertRaises(Exception) as raised:
                self.execute(task)
        self.assertNotIsInstance(raised.exception, AssertionError)
        self.assertNotIn("ack", self.world.verbs())
        self.assertEqual([call for call in self.world.calls("kill") if "--if-owner" not in call["options"]], [])

    def test_a_refused_spec_fails_the_task_without_a_retry(self) -> None:
        self.world.play(mischief={"submit": [{"error": 65, "message": "tasks.worker.memory: lots: no memory"}]})
        error = self.failure()
        self.assertIsInstance(error, AirflowFailException)
        self.assertIn("tasks.worker.memory: lots", self.first_line(error))

    def test_a_task_fails_and_may_retry_after_an_outage_longer_than_submit_timeout(self) -> None:
        from tony_airflow.exceptions import TonyTransportError

        self.world.play(mischief={"submit": [{"error": 69, "message": "no store", "always": True}]})
        task = self.operator(submit_timeout=1.0)
        with self.assertRaises(TonyTransportError) as raised:
            self.execute(task)
        self.assertNotIsInstance(raised.exception, AirflowFailException)
        self.assertIn("no store", self.first_line(raised.exception))

    def test_the_task_succeeds_after_a_short_outage_of_the_runtime(self) -> None:
        for verb in ("submit", "wait", "outputs", "ack"):
            with self.subTest(verb):
                self.world.play(mischief={verb: [{}] * len(self.world.calls(verb)) + [{"error": 69}]}, outputs={"a": 1})
                self.assertEqual(self.run_operator(poll_interval=1.0, request_id=verb), {"a": 1})
        self.assertEqual(len(self.world.jobs), 4)

    def test_a_submit_whose_answer_was_lost_is_repeated_without_a_second_job(self) -> None:
        for state in ("RUNNING", "SUCCEEDED"):
            for reattach in ("running_or_succeeded", "never"):
                with self.subTest(state, reattach=reattach):
                    self.world.remove_jobs()
                    lost = [{}] * len(self.world.calls("submit")) + [{"signal": 9, "after": True}]
                    self.world.play(timeline=[[0, state]], mischief={"submit": lost}, outputs={"a": 1})
                    self.run_operator(reattach=reattach, wait_for_completion=False)
                    self.assertEqual(len(self.world.jobs), 1)


class IdentityTest(QuickCase):
    def submitted(self, task: Any, **values: Any) -> dict[str, Any]:
        self.execute(task, self.context(task, **values))
        return self.world.calls("submit")[-1]["options"]

    def test_the_argument_reattach_sets_the_option_on_existing_of_later_tries(self) -> None:
        for word, policy in (("running_or_succeeded", "adopt"), ("running", "attach"), ("never", "never")):
            with self.subTest(word):
                later = {"try_number": 2, "max_tries": 1}
                options = self.submitted(self.operator(reattach=word, retries=1), **later)
                self.assertEqual((options["--on-existing"], options.get("--first-try")), (policy, None))

    def test_the_argument_durable_sets_the_option_on_existing_of_later_tries(self) -> None:
        later = {"try_number": 2, "max_tries": 1}
        for durable, policy in ((None, "adopt"), (True, "adopt"), (False, "never")):
            with self.subTest(durable=durable):
                options = self.submitted(self.operator(durable=durable, retries=1), **later)
                self.assertEqual(options["--on-existing"], policy)

    def test_a_retry_keeps_the_submission_number_and_clearing_the_task_raises_the_number(self) -> None:
        task = self.operator(retries=2)
        tries = {(1, 2): ("0", True), (2, 2): ("0", None), (3, 2): ("0", None), (3, 4): ("2", True),
                 (4, 4): ("2", None), (4, 5): ("3", True), (0, 2): ("0", True)}  # fmt: skip
        for (number, most), (submission, is_first) in tries.items():
            with self.subTest(try_number=number, max_tries=most):
                self.world.remove_jobs()
                options = self.submitted(task, try_number=number, max_tries=most)
                self.assertEqual((options["--submission"], options.get("--first-try")), (submission, is_first))

    def test_a_reduced_number_of_retries_gives_submission_number_0(self) -> None:
        self.assertEqual(self.submitted(self.operator(retries=3), max_tries=1)["--submission"], "0")

    def test_the_request_id_of_a_mapped_task_ends_with_its_map_index(self) -> None:
        self.assertEqual(
            self.submitted(self.operator(), map_index=7)["--request-id"], f"airflow://flow/{RUN_ID}/train/7"
        )
        self.assertEqual(
            self.submitted(self.operator(), map_index=None)["--request-id"], f"airflow://flow/{RUN_ID}/train/-1"
        )

    def test_the_request_id_of_a_loop_iteration_has_its_region_and_index(self) -> None:
        first, second = uuid.uuid4(), uuid.uuid4()
        plain = self.submitted(self.operator(), region_id=uuid.UUID(int=0), region_index=-1)["--request-id"]
        self.assertEqual(plain, f"airflow://flow/{RUN_ID}/train/-1")
        self.assertEqual(self.submitted(self.operator(), region_id=None)["--request-id"], plain)
        iterations = [
            self.submitted(self.operator(), region_id=region, region_index=index) for region, index in
            ((first, 1), (first, 2), (second, 2))
        ]
        self.assertEqual(
            [one["--request-id"] for one in iterations], [f"{plain}/{first}/1", f"{plain}/{first}/2", f"{plain}/{second}/2"]
        )
        self.assertEqual(len({one["--owner"].split("-")[0] for one in iterations}), 3)

    def test_the_request_id_starts_with_the_namespace_of_the_connection(self) -> None:
        self.connect(namespace="staging")
        self.assertEqual(self.submitted(self.operator())["--request-id"], f"airflow://staging/flow/{RUN_ID}/train/-1")

    def test_run_ids_with_special_characters_or_250_letters_have_different_request_ids(self) -> None:
        runs = ["my run/1 +ü", "my run/1 +u", "a" * 250]
        ids = [self.submitted(self.operator(), run_id=run)["--request-id"] for run in runs]
        self.assertEqual(len(set(ids)), 3)
        self.assertTrue(all("\n" not in request for request in ids))

    def test_a_request_id_from_the_dag_is_used_unchanged(self) -> None:
        self.assertEqual(self.submitted(self.operator(request_id="model-2026"))["--request-id"], "model-2026")

    def test_a_task_that_does_not_wait_sets_no_watch_timeout_by_default(self) -> None:
        self.assertEqual(self.submitted(self.operator(watch_timeout=60))["--watch-timeout"], "60")
        self.assertNotIn("--watch-timeout", self.submitted(self.operator(wait_for_completion=False)))
        bounded = self.operator(wait_for_completion=False, watch_timeout=60)
        self.assertEqual(self.submitted(bounded)["--watch-timeout"], "60")
        self.assertIn(self.submitted(self.operator(watch_timeout=0)).get("--watch-timeout", "0"), ("0",))

    def test_a_retry_after_a_successful_job_adopts_its_outputs(self) -> None:
        self.world.play(outputs={"a": 1})
        first = self.operator()
        self.execute(first)
        self.assertEqual(self.execute(self.operator(), self.context(first, try_number=2)), {"a": 1})
        self.assertEqual([call["words"][0] for call in self.world.calls("ack")], ["played-1", "played-1"])
        self.assertEqual(len(self.world.jobs), 1)

    def test_a_retry_after_a_lost_worker_continues_with_the_job(self) -> None:
        self.world.play(timeline=[[0, "RUNNING"], [0.5, "SUCCEEDED"]], outputs={"a": 1})
        self.execute(self.operator(wait_for_completion=False))
        task = self.operator(retries=1)
        self.assertEqual(self.execute(task, self.context(task, try_number=2)), {"a": 1})
        self.assertEqual(len(self.world.jobs), 1)
        self.assertTrue(self.world.jobs[0]["acked"])

    def test_a_recreated_dag_run_submits_a_new_job(self) -> None:
        """This also holds if no task had acknowledged the result of the deleted run."""
        self.world.play(timeline=[[0, "SUCCEEDED"]], outputs={"a": 1})
        for acknowledge in (True, False):
            with self.subTest(acknowledge=acknowledge):
                before = len(self.world.jobs)
                self.execute(self.operator(wait_for_completion=acknowledge))
                self.execute(self.operator())
                self.assertEqual(len(self.world.jobs), before + 2)

    def test_a_changed_command_replaces_a_running_job_only_at_a_first_try(self) -> None:
        self.world.play(timeline=[[0, "RUNNING"]])
        self.execute(self.operator(wait_for_completion=False, executes="old.py"))
        edited = self.operator(wait_for_completion=False, executes="new.py", retries=1)
        with self.logged() as lines:
            self.execute(edited, self.context(edited, try_number=2))
        self.assertEqual(len(self.world.jobs), 1)
        self.assertIn("another spec and keeps it; differences: environment", "\n".join(lines))
        self.execute(edited)
        self.assertEqual(len(self.world.jobs), 2)

    def test_all_tries_and_tasks_share_a_run_token_only_within_one_dag_run(self) -> None:
        def run(task_id: str = "train", **values: Any) -> Any:
            return self.submitted(self.operator(task_id=task_id, retries=1), **values)["--run"]

        tokens = [run(), run(try_number=2, max_tries=1), run("evaluate"), run(map_index=3)]
        self.assertEqual(len(set(tokens)), 1, tokens)
        self.connect(namespace="staging")
        others = [run(), run(run_id="another"), run(began=ANEW), run(began=None)]
        self.assertEqual(len({tokens[0], *others}), 5)

    def test_each_iteration_of_a_loop_has_its_own_run_token(self) -> None:
        region = uuid.uuid4()
        tokens = [self.submitted(self.operator())["--run"]]
        for index in (1, 2):
            place = {"region_id": region, "region_index": index, "iteration": index}
            tokens.append(self.submitted(self.operator(), **place)["--run"])
            again = {**place, "try_number": 2, "max_tries": 1}
            self.assertEqual(self.submitted(self.operator(retries=1), **again)["--run"], tokens[-1])
        self.assertEqual(len(set(tokens)), 3, tokens)

    def test_a_later_try_adopts_no_result_of_another_dag_run(self) -> None:
        """The first try died before it called `tony`, and the program is the same."""
        later = {"try_number": 2, "max_tries": 1}
        nights = [({}, {}, 1), ({"run_id": "night-1"}, {"run_id": "night-2"}, 2), ({}, {"began": ANEW}, 2)]
        for (before, now, jobs), waits in itertools.product(nights, (True, False)):
            with self.subTest(before=before, now=now, acknowledged=waits):
                self.world.remove_jobs()
                self.world.play(timeline=[[0, "SUCCEEDED"]], outputs={"a": 1})
                task = self.operator(request_id="nightly", retries=1, wait_for_completion=waits)
                self.execute(task, self.context(task, **before))
                self.execute(task, self.context(task, **now, **later))
                self.assertEqual(len(self.world.jobs), jobs)
                self.execute(task, self.context(task, **now, **later))  # it adopts the result of its own run
                self.assertEqual(len(self.world.jobs), jobs)

    def test_a_later_try_replaces_the_running_job_of_another_dag_run_if_the_command_differs(self) -> None:
        self.world.play(timeline=[[0, "RUNNING"]])
        before = self.operator(request_id="nightly", wait_for_completion=False, executes="old.py")
        self.execute(before, self.context(before, run_id="night-1"))
        for program, jobs in (("old.py", 1), ("new.py", 2)):
            with self.subTest(program):
                task = self.operator(request_id="nightly", wait_for_completion=False, executes=program, retries=1)
                self.execute(task, self.context(task, run_id=f"night-of-{program}", try_number=2))
                self.assertEqual(len(self.world.jobs), jobs)

    def test_a_later_try_adopts_the_result_of_another_task_of_the_same_dag_run(self) -> None:
        self.world.play(timeline=[[0, "SUCCEEDED"]], outputs={"a": 1})
        for task_id in ("first", "second"):
            task = self.operator(task_id=task_id, request_id="shared", retries=1, spec={"name": "n"}, executes="t.py")
            self.execute(task, self.context(task, try_number=2))
        self.assertEqual(len(self.world.jobs), 1)

    def test_a_task_returns_the_outputs_of_a_job_that_another_task_took_over(self) -> None:
        self.world.play(timeline=[[0, "RUNNING"]], outputs={"a": 1})

        def taken_and_ended() -> None:
            self.world.take_over("0123-other", state="SUCCEEDED")

        task = self.operator(request_id="shared", poll_interval=1.0)
        with self.terminated(lambda: self.world.calls("wait"), taken_and_ended):
            self.assertEqual(self.execute(task), {"a": 1})


class SupersededTest(QuickCase):
    """A try whose job was taken over by a newer try."""

    def setUp(self) -> None:
        super().setUp()
        self.world.play(timeline=[[0, "RUNNING"]])

    def owner(self) -> str:
        return str(self.world.calls("submit")[-1]["options"]["--owner"])

    def newer(self) -> str:
        return self.owner().split("-")[0] + "-newer"

    def superseded(self, context: dict[str, Any], task: Any) -> BaseException:
        with self.terminated(lambda: self.world.calls("wait"), lambda: self.world.take_over(self.newer())):
            with self.assertRaises(BaseException) as raised:
                self.execute(task, context)
        self.assertFalse({"kill", "ack"} & set(self.world.verbs()))
        self.assertNotIn("final_state", context["ti"].xcoms)
        return raised.exception

    def test_a_superseded_try_raises_tony_superseded_and_does_not_end_the_job(self) -> None:
        from tony_airflow.exceptions import TonySuperseded

        task = self.operator(poll_interval=1.0)
        with self.logged() as lines:
            error = self.superseded(self.context(task), task)
        self.assertIsInstance(error, TonySuperseded)
        self.assertIn("ends without a result", "\n".join(lines))

    def test_a_superseded_process_in_airflow_2_exits_before_it_writes_its_task_state(self) -> None:
        import unittest.mock

        class Gone(BaseException):
            pass

        task = self.operator(poll_interval=1.0)
        with unittest.mock.patch("os._exit", side_effect=Gone) as exit, unittest.mock.patch("logging.shutdown"):
            error = self.superseded(self.context(task, **({"job_id": "7"} if AIRFLOW_2 else {})), task)
        if AIRFLOW_2:
            # with 0 Airflow might record a success if the row still belongs to this try
            exit.assert_called_once_with(1)
            self.assertIsInstance(error, Gone)
        else:
            exit.assert_not_called()

    def test_the_error_says_that_another_task_with_the_same_request_id_took_the_job(self) -> None:
        with self.terminated(lambda: self.world.calls("wait"), lambda: self.world.take_over("0123-other")):
            with self.assertRaisesRegex(Exception, "another task with the request id airflow://flow/"):
                self.run_operator(poll_interval=1.0)


class ArgumentsTest(QuickCase):
    def test_airflows_task_instance_has_the_members_of_the_fake_task_instance(self) -> None:
        if AIRFLOW_2:
            from airflow.models.taskinstance import TaskInstance as Genuine
        else:
            from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance as Genuine
        own = vars(self.context(self.operator())["ti"]).keys() - {"world", "xcoms", "asked_before", "airflows_state"}
        known = {*dir(Genuine), *getattr(Genuine, "model_fields", ()), *getattr(Genuine, "__annotations__", ())}
        self.assertLessEqual(own | {"xcom_push", "xcom_pull"}, known)
        self.assertIn("current_state" if AIRFLOW_2 else "get_task_states", known)

    def test_no_parameter_of_operator_or_sensor_hides_a_parameter_of_airflow(self) -> None:
        import inspect

        from tony_airflow._compat import BaseOperator, BaseSensorOperator
        from tony_airflow.operators.tony import TonyOperator
        from tony_airflow.sensors.tony import TonyJobSensor

        for ours, base in ((TonyOperator, BaseOperator), (TonyJobSensor, BaseSensorOperator)):
            known = {*inspect.signature(base.__init__).parameters, *dir(base)} - {
                "self",
                "kwargs",
                "deferrable",
                "poke_interval",
            }
            self.assertEqual(known & set(inspect.signature(ours.__init__).parameters), set(), ours.__name__)

    def test_the_operator_accepts_airflows_pool_and_priority_weight(self) -> None:
        task = self.operator(pool="gpus", priority_weight=3, queue="cluster")
        self.assertEqual((task.pool, task.priority_weight), ("gpus", 3))
        self.assertEqual(self.operator(task_id="other").queue, "default")

    def test_paths_are_accepted_as_pathlib_objects(self) -> None:
        import pathlib

        folder = self.folder_with("s.yaml", "framework: jax\n").parent
        self.folder_with("p.job", "tony.x=y\n")
        given: dict[str, Any] = {"src_dir": pathlib.Path("src"), "python_venv": pathlib.Path("v.zip")}
        files = [pathlib.Path("a.txt"), "b.txt"]
        spec, properties = pathlib.Path("s.yaml"), folder / "p.job"
        self.run_operator(directory=folder, spec=spec, properties=properties, files=files, **given)
        document = json.loads(self.world.calls("submit")[0]["stdin"])
        self.assertEqual(document["spec"]["framework"], "jax")
        self.assertEqual(document["properties"].strip(), "tony.x=y")
        self.assertEqual((document["src_dir"], document["python_venv"]), ("src", "v.zip"))
        self.assertEqual(document["resources"], ["a.txt", "b.txt"])

    def test_a_job_whose_roles_all_have_0_instances_is_refused(self) -> None:
        for tasks in ({"worker": {"instances": 0}}, {"worker": {"instances": "0"}, "ps": {"instances": 0}}):
            for where in ({"tasks": tasks}, {"spec": {"tasks": tasks}}):
                with self.subTest(**where), self.assertRaisesRegex(AirflowFailException, "no role has an instance"):
                    self.run_operator(**where)
        self.assertEqual(self.world.verbs(), [])
        self.run_operator(tasks={"worker": {"instances": 2}, "ps": {"instances": 0}})

    def test_invalid_arguments_are_refused_before_anything_is_submitted(self) -> None:
        wrong: list[dict[str, Any]] = [
            {"reattach": "sometimes"}, {"on_kill_action": "pray"}, {"get_logs": "all"}, {"poll_interval": 0},
            {"poll_interval": -1}, {"poll_interval": None}, {"submit_timeout": 0},
        ]  # fmt: skip
        for arguments in wrong:
            with self.subTest(**arguments), self.assertRaises(Exception) as raised:
                self.run_operator(**arguments)
            self.assertIn(next(iter(arguments)), str(raised.exception))
        self.assertEqual(self.world.verbs(), [])
