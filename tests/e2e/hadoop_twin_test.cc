// Programs without Hadoop in them become their twins where a job is YARN's: runtime/client/hadoop_twin.h. What happens
// on a cluster, tests/conformance/hadoop tries.
#include <chrono>
#include <filesystem>

#include "tests/e2e/installation.h"
#include "tests/e2e/tony_test.h"
#include "tests/support/places.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kJob = "application_1700000000000_0001";

class HadoopTwinTest : public TonyTest {
 protected:
  HadoopTwinTest() {
    fs::create_directories(box_.folder() / "conf");
    box_.Write("conf/core-site.xml",
               "<configuration><property><name>fs.defaultFS</name><value>hdfs://127.0.0.1:1</value></property>"
               "<property><name>dfs.namenode.http-address</name><value>127.0.0.1:1</value></property>"
               "<property><name>yarn.resourcemanager.address</name><value>127.0.0.1:1</value></property>"
               "</configuration>");
  }
  Sandbox::Variables Cluster() const { return {{"HADOOP_CONF_DIR", box_.File("conf")}}; }
  Ran Shell(const std::string& line, const Sandbox::Variables& variables) const {
    return Background({"/bin/bash", "-c", line}, box_.Environment(variables), box_.folder()).Wait();
  }
};

TEST_F(HadoopTwinTest, WithoutAConfigurationAJobOfYarnIsRefusedByItsKey) {
  for (const Words& words : {Words{"status", kJob}, Words{"wait", kJob}, Words{"kill", kJob}, Words{"logs", kJob}}) {
    const Ran ran = box_.Tony(words);
    EXPECT_EQ(ran.exit, 65) << words.front();
    EXPECT_THAT(ran.err, HasSubstr("job application_1700000000000_0001: HADOOP_CONF_DIR is not set")) << words.front();
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
  }
  const Ran ran = box_.Tony(One("true") + Conf("tony.scheduler=yarn"));
  EXPECT_EQ(ran.exit, 65);
  EXPECT_THAT(ran.err, StartsWith("tony: HADOOP_CONF_DIR is not set"));
}

TEST_F(HadoopTwinTest, AClusterThatIsNotThereIsNamedBeforeAnythingIsStaged) {
  const Ran ran = box_.Tony(One("true") + Conf("tony.scheduler=yarn") + Words{"-src_dir", box_.folder()}, Cluster());
  EXPECT_EQ(ran.exit, 69) << ran.err;
  EXPECT_THAT(ran.err, StartsWith("tony: yarn.resourcemanager.address: getNewApplication at 127.0.0.1:1: "));
  EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
  EXPECT_FALSE(fs::exists(box_.home() / "staged"));
}

TEST_F(HadoopTwinTest, ANameServerThatHangsHoldsNobody) {
  Sandbox::Variables variables = WithShim("names_shim", Cluster());
  variables["NAMES_SHIM_HANGS"] = "hangs.example.org";
  const auto takes = [&](const Words& words, const std::string& says) {
    const auto began = std::chrono::steady_clock::now();
    const Ran ran = box_.Tony(words, variables);
    EXPECT_EQ(ran.exit, 69) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(says));
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    return std::chrono::steady_clock::now() - began;
  };
  const Words submit = One("true") + Conf("tony.scheduler=yarn");
  box_.Write("conf/yarn-site.xml",
             "<configuration><property><name>yarn.resourcemanager.address</name><value>hangs.example.org:1</value>"
             "</property></configuration>");
  EXPECT_LT(takes(submit, "getNewApplication at hangs.example.org:1: resolve hangs.example.org: no answer"),
            std::chrono::seconds(10));
  box_.Write("conf/hdfs-site.xml",
             "<configuration><property><name>dfs.namenode.http-address</name><value>hangs.example.org:1</value>"
             "</property></configuration>");
  EXPECT_LT(takes({"status", kJob}, "hangs.example.org"), std::chrono::seconds(100))
      << "the resolver's own two minutes";
}

TEST_F(HadoopTwinTest, WarningsAreSaidOnce) {
  const Ran ran = box_.Tony(One("true") + Conf("tony.scheduler=yarn") + Conf("tony.local.priority=9"), Cluster());
  EXPECT_EQ(ran.exit, 69);
  EXPECT_EQ(CountLines(ran.err), 2u) << ran.err;
}

TEST_F(HadoopTwinTest, WhatWasReadOnceIsReadAgain) {
  box_.Write("job.json", R"({"executes":"true","framework":"standalone","conf":{"tony.scheduler":"yarn"}})");
  const std::string tony = (ProgramFolder() + "/tony");
  const Ran ran =
      Shell("cat job.json | " + tony + " submit - --secrets-fd 5 5< <(echo '{\"KEY\":\"secret\"}')", Cluster());
  EXPECT_EQ(ran.exit, 69) << ran.out << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("getNewApplication at 127.0.0.1:1"));
}

TEST_F(HadoopTwinTest, AClusterThatDoesNotAnswerHidesNoJobOfThisMachine) {
  ASSERT_EQ(box_.Tony(One("true") + Words{"--request-id", "k"}).exit, 0);
  const Ran list = box_.Tony({"list"}, Cluster());
  EXPECT_EQ(list.exit, 69);
  EXPECT_THAT(list.out, HasSubstr("local-"));
  EXPECT_THAT(list.err, HasSubstr("127.0.0.1:1"));
  const Ran find = box_.Tony({"find", "--request-id", "k"}, Cluster());
  EXPECT_EQ(find.exit, 0) << find.err;
  EXPECT_EQ(box_.Tony({"find", "--request-id", "unknown"}, Cluster()).exit, 69) << "the cluster may know it";
}

TEST_F(HadoopTwinTest, TheQueueOfThisMachineIsShownThoughAClusterDoesNotAnswer) {
  const Ran queue = box_.Tony({"list", "--queue"}, Cluster());
  EXPECT_EQ(queue.exit, 69);
  EXPECT_THAT(queue.out, HasSubstr("MB of memory"));
  EXPECT_THAT(queue.err, HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(box_.Tony({"list", "--queue"}).exit, 0);
}

TEST_F(HadoopTwinTest, TheDoctorSaysWhatIsWrongOfAClusterAndWhatMendsIt) {
  const Ran dead = box_.Tony({"doctor", "--yarn"}, Cluster());
  EXPECT_EQ(dead.exit, 1) << dead.err;
  EXPECT_THAT(dead.out, HasSubstr("ok    configuration: by HADOOP_CONF_DIR="));
  EXPECT_THAT(dead.out, HasSubstr("fail  resourcemanager: "));
  EXPECT_THAT(dead.out, HasSubstr("-> is it running? else set yarn.resourcemanager.address in yarn-site.xml"));
  EXPECT_THAT(dead.out, HasSubstr("fail  namenode: "));
  EXPECT_THAT(dead.out, HasSubstr("else set dfs.namenode.http-address in hdfs-site.xml"));
  const Ran none = box_.Tony({"doctor", "--yarn"});
  EXPECT_EQ(none.exit, 1);
  EXPECT_THAT(none.out, HasSubstr("fail  configuration: HADOOP_CONF_DIR is not set"));
  EXPECT_THAT(none.out, HasSubstr("-> set HADOOP_CONF_DIR to the folder"));
}

TEST_F(HadoopTwinTest, AClusterThatDoesNotAnswerKeepsNoJobOfThisMachineFromComingBack) {
  ASSERT_EQ(box_.Tony(One(HoldUntilGo()) + Words{"--detach"}).exit, 0);
  ASSERT_TRUE(WaitForRunning(1));
  for (const int signal : {SIGSTOP, SIGKILL})  // each would bring the other back
    for (const char* program : {"tony-keeper", "tony-am"})
      for (const pid_t pid : box_.Pids(program)) kill(pid, signal);
  ASSERT_TRUE(WaitFor([&] { return box_.Pids("tony-keeper").empty() && box_.Pids("tony-am").empty(); }));
  const Ran recover = box_.Tony({"recover"}, Cluster());
  EXPECT_THAT(recover.out, HasSubstr(Job()));
  EXPECT_EQ(recover.exit, 69) << "nobody knows about those of the cluster";
  EXPECT_THAT(recover.err, HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(CountLines(recover.err), 2u) << "its own, and the cluster's: " << recover.err;
  Go();
  EXPECT_EQ(box_.Tony({"wait", Job()}, Cluster()).exit, 0);
}

TEST_F(HadoopTwinTest, AJobMayNameItsCluster) {
  const Words yarn = One("true") + Conf("tony.scheduler=yarn");
  const std::string site = box_.File("conf/core-site.xml");
  const Ran own = box_.Tony(yarn + Conf("tony.application.yarn-conf-path=" + site));
  EXPECT_EQ(own.exit, 69);
  EXPECT_THAT(own.err, StartsWith("tony: yarn.resourcemanager.address: getNewApplication at 127.0.0.1:1: "));
  const Ran missing = box_.Tony(yarn + Conf("tony.application.hdfs-conf-path=/no/hdfs-site.xml"), Cluster());
  EXPECT_EQ(missing.exit, 65);
  EXPECT_THAT(missing.err, StartsWith("tony: tony.application.hdfs-conf-path: \"/no/hdfs-site.xml\" (from -conf): "));
  box_.Write("broken.xml", "<configuration");
  const Ran broken = box_.Tony(yarn + Conf("tony.application.yarn-conf-path=broken.xml"), Cluster());
  EXPECT_EQ(broken.exit, 65);
  EXPECT_THAT(broken.err, StartsWith("tony: tony.application.yarn-conf-path: " + box_.File("broken.xml")));
  EXPECT_EQ(CountLines(missing.err) + CountLines(broken.err), 2u) << missing.err << broken.err;
}

TEST_F(HadoopTwinTest, JobsOfThisMachineNeedNone) {
  const Installation installed(box_, {});
  const std::string tony = box_.File("bin/tony");
  const Ran local = Shell(tony + " submit -executes true -conf tony.application.framework=standalone", {});
  EXPECT_EQ(local.exit, 0) << local.err;
  const Ran list = Shell(tony + " list --json", Cluster());
  EXPECT_EQ(list.exit, 0) << "a cluster for other programs is nothing to it: " << list.err;
  EXPECT_THAT(list.out, HasSubstr("local-"));
  const Ran yarn = Shell(tony + " status " + kJob, Cluster());
  EXPECT_EQ(yarn.exit, 69);
  EXPECT_EQ(yarn.err, "tony: YARN: start " + tony + "-hadoop: no such file or directory\n");
}

}  // namespace
}  // namespace tony
