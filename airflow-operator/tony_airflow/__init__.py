"""TonY for Apache Airflow: distributed training jobs as tasks. It adds no rules of its own: `tony` has them all."""

__version__ = "0.1.0"
