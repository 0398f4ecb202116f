"""What takes time, or happens seldom: everything that `default` leaves out. The checks are in `long/`.

Where the two versions of Airflow differ, and both are right:

| scenario | Airflow 2 | Airflow 3 |
|---|---|---|
| `mark_success_running` | the task is told to end after 20 s | at once |
| `clear_running` | cleared by command; the second job has the same submission number | by REST; a higher one |
| `clear_deferred` | the second job's submit kills the first job | the trigger does so, too, but later |
| `timeout_deferred` | the scheduler would fail the task without a word | nobody else would ever end it |
| `server_away` | the task does not notice | the task is given up after 30 s; its retry goes on with the job |
| `two_homes` | the retry says where it looked, and makes a second job; so does Airflow 3 before 3.3 | refused by name |
| `short_deferral` | | the resumed task may be taken for a failed one, and tried again: one job all the same |
"""

from long import deaths, ends, people

TOGETHER = {**people.TOGETHER, **ends.TOGETHER, **deaths.TOGETHER}
ALONE = {**ends.ALONE, **deaths.ALONE}
