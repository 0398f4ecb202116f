"""A TonY user's own tony.xml and command line, unchanged, on a real YARN."""

from common import CLUSTER, WORK, application, must, nothing_is_left_of, status, tony

# As in the examples of TonY 0.4.6 and 0.5.3, with additions that their users make. The paths are the cluster's.
TONY_XML = f"""<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="configuration.xsl"?>
<configuration>
  <property><name>tony.application.name</name><value>MNIST</value></property>
  <property><name>tony.application.framework</name><value>tensorflow</value></property>
  <property><name>tony.application.security.enabled</name><value>false</value></property>
  <property><name>tony.application.tags</name><value>mnist,Example</value></property>
  <property><name>tony.application.timeout</name><value>300000</value></property>
  <property><name>tony.application.hdfs-conf-path</name><value>{CLUSTER}/conf/hdfs-site.xml</value></property>
  <property><name>tony.application.yarn-conf-path</name><value>{CLUSTER}/conf/yarn-site.xml</value></property>
  <property><name>tony.yarn.queue</name><value>ml</value></property>
  <property><name>tony.am.memory</name><value>1g</value></property>
  <property><name>tony.am.vcores</name><value>1</value></property>
  <property><name>tony.worker.instances</name><value>2</value></property>
  <property><name>tony.worker.memory</name><value>1g</value></property>
  <property><name>tony.worker.vcores</name><value>2</value></property>
  <property><name>tony.ps.instances</name><value>1</value></property>
  <property><name>tony.ps.memory</name><value>512m</value></property>
  <property><name>tony.task.heartbeat-interval-ms</name><value>1000</value></property>
  <property><name>tony.containers.envs</name><value>GREETING=hello</value></property>
</configuration>
"""
TRAIN = """import argparse, json, os, time
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, required=True)
steps = parser.parse_args().steps
config = json.loads(os.environ["TF_CONFIG"])
assert sorted(config["cluster"]) == ["ps", "worker"], config
assert config["task"] == {"type": os.environ["JOB_NAME"], "index": int(os.environ["TASK_INDEX"])}, config
assert json.loads(os.environ["CLUSTER_SPEC"]) == config["cluster"], os.environ["CLUSTER_SPEC"]
assert os.environ["GREETING"] == "hello" and open("data.txt").read() == "data"
if config["task"]["type"] == "ps":
    time.sleep(600)  # its job ends it
print("trained", steps, "steps on", len(config["cluster"]["worker"]), "workers")
"""


def user_files():
    """Writes the files into the folder in which the user submits."""
    folder = WORK / "mnist"
    folder.mkdir()
    (folder / "tony.xml").write_text(TONY_XML)
    (folder / "src").mkdir()
    (folder / "src/train.py").write_text(TRAIN)
    (folder / "src/data.txt").write_text("data")
    return folder


FOLDER = user_files()
# The options that a user of TonY types.
WORDS = ("-conf_file", str(FOLDER / "tony.xml"), "-src_dir", str(FOLDER / "src"), "-executes", "train.py",
         "-task_params", "--steps 3", "-python_binary_path", "python3")


def trained(ran):
    must(ran.returncode == 0, ran.returncode, ran.stdout, ran.stderr)
    job = ran.stdout.split()[0]
    app = application(job)
    must((app["finalStatus"], app["name"]) == ("SUCCEEDED", "MNIST") and app["queue"].endswith("ml"), app)
    must("mnist" in app["applicationTags"], app["applicationTags"])
    for task in range(2):
        logs = tony("logs", job, f"worker:{task}")
        must(logs.stdout == "trained 3 steps on 2 workers\n", task, logs.stdout, logs.stderr)
    must(status(job)["state"] == "SUCCEEDED", status(job))
    nothing_is_left_of(job)


def an_unchanged_tony_xml_runs_on_yarn_with_one_command_line_option():
    trained(tony("submit", *WORDS, "-conf", "tony.scheduler=yarn"))


def an_unchanged_tony_xml_runs_on_yarn_with_one_setting_in_tony_site_xml():
    site = WORK / "site"
    site.mkdir()
    (site / "tony-site.xml").write_text("<configuration><property><name>tony.scheduler</name><value>yarn</value>"
                                        "</property></configuration>")
    trained(tony("submit", *WORDS, TONY_CONF_DIR=str(site)))


TOGETHER = (an_unchanged_tony_xml_runs_on_yarn_with_one_setting_in_tony_site_xml,
            an_unchanged_tony_xml_runs_on_yarn_with_one_command_line_option)
ALONE = ()
DEFAULT = (an_unchanged_tony_xml_runs_on_yarn_with_one_setting_in_tony_site_xml,)
