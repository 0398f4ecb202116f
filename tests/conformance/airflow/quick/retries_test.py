"""The retry policy for Airflow 3.3."""

import unittest
from typing import Any

from .case import QuickCase

try:
    from airflow.sdk import RetryAction
except ImportError:
    RetryAction = None


class RetryPolicyTest(QuickCase):
    def failure(self, outcome: str) -> BaseException:
        self.world.play(timeline=[[0, "FAILED"]], verdict={"class": outcome, "retryable": True, "message": "m"})
        with self.assertRaises(Exception) as raised:
            self.run_operator()
        return raised.exception

    def decision(self, error: BaseException) -> Any:
        from tony_airflow.retries import TonyRetryPolicy

        return TonyRetryPolicy().evaluate(error, try_number=1, max_tries=3)

    @unittest.skipIf(RetryAction, "this Airflow has retry policies")
    def test_the_retry_policy_is_refused_before_airflow_3_3(self) -> None:
        from tony_airflow.retries import TonyRetryPolicy

        with self.assertRaisesRegex(RuntimeError, "needs Airflow 3.3"):
            TonyRetryPolicy()

    @unittest.skipUnless(RetryAction, "retry policies begin with Airflow 3.3")
    def test_the_policy_retries_infrastructure_failures_and_not_user_errors(self) -> None:
        wanted = {"node_lost": "retry", "preempted": "retry", "infra": "retry", "user_error": "fail", "hung": "default",
                  "timeout": "default", "quota": "default"}  # fmt: skip
        for outcome, action in wanted.items():
            with self.subTest(outcome):
                decision = self.decision(self.failure(outcome))
                self.assertEqual(decision.action, RetryAction(action))
                if action != "default":
                    self.assertTrue(decision.reason.startswith(f"{outcome}: "))

    @unittest.skipUnless(RetryAction, "retry policies begin with Airflow 3.3")
    def test_the_policy_retries_tasks_that_cannot_reach_tony(self) -> None:
        from tony_airflow.exceptions import TonyElsewhere, TonyTransportError

        for kind in (TonyTransportError, TonyElsewhere):
            self.assertEqual(self.decision(kind("no store")).action, RetryAction.RETRY)

    @unittest.skipUnless(RetryAction, "retry policies begin with Airflow 3.3")
    def test_the_policy_leaves_other_errors_to_airflow(self) -> None:
        self.assertEqual(self.decision(ValueError("x")).action, RetryAction.DEFAULT)

    @unittest.skipUnless(RetryAction, "retry policies begin with Airflow 3.3")
    def test_a_dag_with_the_policy_can_be_serialized(self) -> None:
        from tony_airflow.retries import TonyRetryPolicy

        from .dag_test import serialized

        task = self.operator(retries=3, retry_policy=TonyRetryPolicy())
        self.assertIn("has_retry_policy", serialized(task.dag))
        self.assertIsInstance(TonyRetryPolicy.deserialize(TonyRetryPolicy().serialize()), TonyRetryPolicy)
