"""The page of a job on a cluster whose web proxy is a daemon of its own (TONY_HADOOP_WEB_PROXY=1), with each policy for the
pages of application masters ($TONY_HADOOP_AM_HTTPS). Only the proxy in the ResourceManager has YARN's certificates."""

import importlib
import urllib.error

import scenarios_takeover
from common import CLUSTER, must, open_plain, site, status, until

importlib.reload(scenarios_takeover)  # so that it uses the folder of this scenario
from scenarios_takeover import start, succeeds_unchanged  # noqa: E402

IS_STRICT = site("yarn.resourcemanager.application-https.policy") == "STRICT"
REASON = f"the proxy http://{site('yarn.web-proxy.address')} (yarn.web-proxy.address) does not have YARN's certificates"


def page_of(job):
    """Returns the text of the page behind the proxy; "" while the proxy does not serve it."""
    address = f"http://{site('yarn.web-proxy.address')}/proxy/{job}/"
    must(status(job)["tracking_url"] == address, status(job)["tracking_url"])
    try:
        with open_plain(address) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        error.close()
        return ""


def log_of_master(job):
    return "".join(log.read_text() for log in CLUSTER.glob(f"node?/logs/{job}/*_01_000001/am.log"))


def a_separate_proxy_shows_a_jobs_page_unless_the_policy_is_strict():
    client, job, before = start("-conf", "tony.yarn.view-acl=*")
    if IS_STRICT:
        must(REASON in log_of_master(job), log_of_master(job))
        must("worker:0" not in page_of(job), page_of(job))
    else:
        until(lambda: "worker:0" in page_of(job), f"the page of {job}")
    succeeds_unchanged(client, job, before)


TOGETHER = [a_separate_proxy_shows_a_jobs_page_unless_the_policy_is_strict]
ALONE = []
DEFAULT = []
