"""Slow or rare scenarios: everything that `default` leaves out. The checks are in `long/`.

Among them: a worker or a triggerer is stopped until its successor has the job, and then continues (stalled_worker,
stalled_triggerer); a server is away (server_away); two homes, as of two machines (two_homes); a try dies before it submits
what last night's run has submitted under the same request id (one_request_each_night).

Where the two versions of Airflow differ, and both are right:

| scenario | Airflow 2 | Airflow 3 |
|---|---|---|
| `mark_success_running` | the task is stopped after 20 s | at once |
| `clear_running` | cleared by command; the second job has the same number | cleared by REST; a higher number |
| `clear_deferred` | the second job's submit kills the first job | the trigger kills it, too, but later |
| `timeout_deferred` | the scheduler would fail the task without a message | no other process would end it |
| `server_away` | the task does not notice | the task is given up after 30 s; its retry continues with the job |
| `two_homes` | the retry makes a second job, also in Airflow 3 before 3.3 | refused with the machine's name |
| `short_deferral` | | the resumed task may be taken for a failed one, and retried; there is still one job |
"""

from long import deaths, ends, people

TOGETHER = {**people.TOGETHER, **ends.TOGETHER, **deaths.TOGETHER}
ALONE = {**ends.ALONE, **deaths.ALONE}
