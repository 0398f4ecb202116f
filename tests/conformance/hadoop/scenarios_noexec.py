"""Jobs on a cluster (TONY_HADOOP_NOEXEC=1) on whose node localhost no file in /tmp can be executed, and on whose node
127.0.0.2 no file of a container."""

from common import begin, end, hosts_of, must, nothing_is_left_of, only, status, submit

ONE = ("-conf", "tony.worker.instances=1")
WHY = "(yarn.nodemanager.local-dirs) are mounted noexec, remount them with exec"


def a_job_runs_on_a_node_where_files_in_tmp_cannot_be_executed():
    with only("localhost"):
        ran = submit("-executes", "python3 -c 'print(1)'", *ONE)
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    must(hosts_of(job) == {"localhost"}, status(job))
    nothing_is_left_of(job)


def a_job_whose_am_cannot_be_executed_fails_with_the_nodes_words_and_advice():
    with only("127.0.0.2"):
        client, job = begin("-executes", "true", *ONE)
        code, text = end(client)
    must(code == 1 and "the application master died 2 times: exit code 126" in text and "Permission denied; " in text and WHY in text,
         code, text)
    must(status(job)["verdict"]["class"] == "infra", status(job)["verdict"])
    nothing_is_left_of(job)


def a_job_leaves_a_node_that_cannot_execute_its_executors():
    with only("localhost"):
        client, job = begin("-executes", "sleep 1", "-conf", "tony.worker.instances=4", "-conf", "tony.worker.placement=spread")
    code, text = end(client)
    must(code == 0, code, text)
    must(hosts_of(job) == {"localhost"}, status(job))
    restarts = status(job)["restarts"]
    must(any(WHY in restart["reason"] for restart in restarts), restarts)
    nothing_is_left_of(job)


TOGETHER = []
ALONE = [a_job_runs_on_a_node_where_files_in_tmp_cannot_be_executed,
         a_job_whose_am_cannot_be_executed_fails_with_the_nodes_words_and_advice,
         a_job_leaves_a_node_that_cannot_execute_its_executors]
DEFAULT = []
