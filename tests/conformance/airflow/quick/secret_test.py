"""Secrets: their sources, how they reach `tony`, where they must not be, and which values are masked."""

import json
from typing import Any

from .case import AirflowFailException, QuickCase

ENDLESS = [[0, "RUNNING"]]


class SecretTest(QuickCase):
    def setUp(self) -> None:
        super().setUp()
        connection = {"conn_type": "postgres", "host": "db", "login": "ann", "password": "sesame-1"}
        self.set_environment("AIRFLOW_CONN_WAREHOUSE", json.dumps(connection))
        self.set_environment("AIRFLOW_VAR_HF_TOKEN", "sesame-2")

    def secrets(self) -> dict[str, Any]:
        from tony_airflow.secret import FromConnection, FromVariable

        return {
            "PASSWORD": FromConnection("warehouse"),
            "DATABASE": FromConnection("warehouse", "uri"),
            "HF_TOKEN": FromVariable("hf_token"),
        }

    def test_secrets_appear_only_in_the_secrets_member_of_the_submitted_document(self) -> None:
        self.world.play(timeline=ENDLESS)
        task = self.operator(secrets=self.secrets(), deferrable=True, defer_after=0.0)
        context = self.context(task)
        task.render_template_fields(context)
        with self.logged() as lines:
            deferral = self.deferral(task, context)
        submit = self.world.calls("submit")[0]
        found = json.loads(submit.pop("stdin"))["secrets"]
        self.assertEqual(found["PASSWORD"], "sesame-1")
        self.assertEqual(found["HF_TOKEN"], "sesame-2")
        self.assertRegex(found["DATABASE"], "^postgres(ql)?://ann:sesame-1@db")
        rendered = {name: getattr(task, name) for name in task.template_fields}
        others = [lines, context["ti"].xcoms, deferral.trigger.serialize(), deferral.kwargs, rendered, task.secrets]
        self.assertNotIn("sesame", json.dumps([*others, submit, self.world.calls("wait")], default=str))
        self.assertNotIn("secrets", task.document(context))

    def test_a_retry_with_changed_secret_values_keeps_the_job(self) -> None:
        self.world.play(timeline=ENDLESS)
        task = self.operator(secrets=self.secrets(), wait_for_completion=False, retries=1)
        self.execute(task)
        self.set_environment("AIRFLOW_VAR_HF_TOKEN", "rotated")
        with self.logged() as lines:
            self.execute(task, self.context(task, try_number=2))
        self.assertEqual(len(self.world.jobs), 1)
        self.assertNotIn("another spec", "\n".join(lines))

    def test_a_missing_secret_is_named_in_an_error_before_the_submit(self) -> None:
        from tony_airflow.secret import FromConnection, FromVariable

        self.set_environment("AIRFLOW_CONN_EMPTY", json.dumps({"conn_type": "http", "host": "h"}))
        cases = {"connection nobody does not exist": FromConnection("nobody"),
                 "empty has no password": FromConnection("empty"),
                 "variable nothing does not exist": FromVariable("nothing"), "expected FromConnection": "sesame"}  # fmt: skip
        for text, secret in cases.items():
            with self.subTest(text), self.assertRaisesRegex(AirflowFailException, f"secrets: NAME: .*{text}") as raised:
                self.run_operator(secrets={"NAME": secret})
            self.assertNotIn("sesame", str(raised.exception))
        self.assertNotIn("submit", self.world.verbs())

    def test_an_unknown_part_of_a_connection_is_refused_while_parsing_the_dag(self) -> None:
        from tony_airflow.secret import FromConnection

        with self.assertRaisesRegex(ValueError, "part='login'"):
            FromConnection("warehouse", "login")

    def test_the_serialization_of_a_mapped_task_contains_no_secret(self) -> None:
        from tony_airflow.operators.tony import TonyOperator

        from .dag_test import serialized

        with self.dag() as dag:
            TonyOperator.partial(task_id="many", secrets=self.secrets()).expand(executes=["a", "b"])
        self.assertNotIn("sesame", serialized(dag))


class MaskTest(QuickCase):
    def masked(self, **arguments: Any) -> set[str]:
        import unittest.mock

        found: list[str] = []
        with unittest.mock.patch("tony_airflow._compat.mask_secret", found.extend):
            self.run_operator(**arguments)
        return set(found)

    def test_values_with_secret_names_are_masked_at_any_depth(self) -> None:
        spec = {"env": {"DB_PASSWORD": "sesame-3"}, "tasks": {"w": {"env": [{"API_KEY": "sesame-4"}]}}}
        env, conf = {"API_TOKEN": "sesame-1", "RUN": "the-run"}, {"tony.x.secret": "sesame-2"}
        masked = self.masked(env=env, conf=conf, spec=spec)
        self.assertEqual(masked, {f"sesame-{number}" for number in range(1, 5)})

    def test_ordinary_values_and_secrets_of_at_most_4_characters_are_not_masked(self) -> None:
        self.assertEqual(self.masked(env={"A": "1", "N": "shard", "PASSWORD": "1234", "TOKEN": ""}), set())
