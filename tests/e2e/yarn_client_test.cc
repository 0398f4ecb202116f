// Commands about YARN where no cluster answers. tests/conformance/hadoop has those on a real cluster.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

constexpr const char* kJob = "application_1700000000000_0001";

class YarnClientTest : public TonyTest {
 protected:
  YarnClientTest() {
    fs::create_directories(box_.folder() / "conf");
    box_.Write("conf/core-site.xml",
               "<configuration><property><name>fs.defaultFS</name><value>hdfs://127.0.0.1:1</value></property>"
               "<property><name>dfs.namenode.http-address</name><value>127.0.0.1:1</value></property>"
               "<property><name>yarn.resourcemanager.address</name><value>127.0.0.1:1</value></property>"
               "</configuration>");
  }
  Sandbox::Variables Cluster() const { return {{"HADOOP_CONF_DIR", box_.File("conf")}}; }
};

TEST_F(YarnClientTest, WithoutAConfigurationAJobOfYarnIsRefusedByItsKey) {
  for (const Words& words : {Words{"status", kJob}, Words{"wait", kJob}, Words{"kill", kJob}, Words{"logs", kJob}}) {
    const Ran ran = Fails(65, words);
    EXPECT_THAT(ran.err, HasSubstr("job application_1700000000000_0001: HADOOP_CONF_DIR is not set")) << words.front();
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
  }
  const Ran ran = Fails(65, One("true", {"tony.scheduler=yarn"}));
  EXPECT_THAT(ran.err, StartsWith("tony: HADOOP_CONF_DIR is not set"));
}

TEST_F(YarnClientTest, AClusterThatIsNotThereIsNamedBeforeAnythingIsStaged) {
  const Ran ran = Fails(69, One("true", {"tony.scheduler=yarn"}) + Words{"-src_dir", box_.folder()}, Cluster());
  EXPECT_THAT(ran.err, StartsWith("tony: yarn.resourcemanager.address: getNewApplication at 127.0.0.1:1: "));
  EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
  EXPECT_FALSE(fs::exists(box_.home() / "staged"));
}

TEST_F(YarnClientTest, ANameServerThatHangsHoldsNobody) {
  Sandbox::Variables variables = WithShim("names_shim", Cluster());
  variables["NAMES_SHIM_HANGS"] = "hangs.example.org";
  const auto takes = [&](const Words& words, const std::string& says) {
    const auto began = std::chrono::steady_clock::now();
    const Ran ran = Fails(69, words, variables);
    EXPECT_THAT(ran.err, HasSubstr(says));
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    return std::chrono::steady_clock::now() - began;
  };
  const Words submit = One("true", {"tony.scheduler=yarn"});
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

TEST_F(YarnClientTest, WarningsAreSaidOnce) {
  const Ran ran = Fails(69, One("true", {"tony.scheduler=yarn", "tony.local.priority=9"}), Cluster());
  EXPECT_EQ(CountLines(ran.err), 2u) << ran.err;
}

TEST_F(YarnClientTest, AClusterThatDoesNotAnswerHidesNoJobOfThisMachine) {
  Succeeds(One("true") + Words{"--request-id", "k"});
  const Ran list = Fails(69, {"list"}, Cluster());
  EXPECT_THAT(list.out, HasSubstr("local-"));
  EXPECT_THAT(list.err, HasSubstr("127.0.0.1:1"));
  const Ran find = Succeeds({"find", "--request-id", "k"}, Cluster());
  EXPECT_EQ(box_.Tony({"find", "--request-id", "unknown"}, Cluster()).exit, 69) << "the cluster may know it";
}

TEST_F(YarnClientTest, TheQueueOfThisMachineIsShownThoughAClusterDoesNotAnswer) {
  const Ran queue = Fails(69, {"list", "--queue"}, Cluster());
  EXPECT_THAT(queue.out, HasSubstr("MB of memory"));
  EXPECT_THAT(queue.err, HasSubstr("127.0.0.1:1"));
  Succeeds({"list", "--queue"});
}

TEST_F(YarnClientTest, TheDoctorSaysWhatIsWrongOfAClusterAndWhatMendsIt) {
  const Ran dead = Fails(1, {"doctor", "--yarn"}, Cluster());
  EXPECT_THAT(dead.out, HasAll({"ok    configuration: by HADOOP_CONF_DIR=", "fail  resourcemanager: ",
                                "-> is it running? else set yarn.resourcemanager.address in yarn-site.xml",
                                "fail  namenode: ", "else set dfs.namenode.http-address in hdfs-site.xml"}));
  const Ran none = Fails(1, {"doctor", "--yarn"});
  EXPECT_THAT(none.out,
              HasAll({"fail  configuration: HADOOP_CONF_DIR is not set", "-> set HADOOP_CONF_DIR to the folder"}));
}

TEST_F(YarnClientTest, AClusterThatDoesNotAnswerKeepsNoJobOfThisMachineFromComingBack) {
  HoldDetached(One(HoldUntilGo()));
  for (const int signal : {SIGSTOP, SIGKILL})  // each would bring the other back
    for (const char* program : {"tony-keeper", "tony-am"}) SignalAll(program, signal);
  ASSERT_TRUE(WaitFor([&] { return box_.Pids("tony-keeper").empty() && box_.Pids("tony-am").empty(); }));
  const Ran recover = box_.Tony({"recover"}, Cluster());
  EXPECT_THAT(recover.out, HasSubstr(Job()));
  EXPECT_EQ(recover.exit, 69) << "nobody knows about those of the cluster";
  EXPECT_THAT(recover.err, HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(CountLines(recover.err), 2u) << "its own, and the cluster's: " << recover.err;
  Go();
  Succeeds({"wait", Job()}, Cluster());
}

TEST_F(YarnClientTest, AJobMayNameItsCluster) {
  const Words yarn = One("true", {"tony.scheduler=yarn"});
  const std::string site = box_.File("conf/core-site.xml");
  const Ran own = Fails(69, yarn + Conf("tony.application.yarn-conf-path=" + site));
  EXPECT_THAT(own.err, StartsWith("tony: yarn.resourcemanager.address: getNewApplication at 127.0.0.1:1: "));
  const Ran missing = Fails(65, yarn + Conf("tony.application.hdfs-conf-path=/no/hdfs-site.xml"), Cluster());
  EXPECT_THAT(missing.err, StartsWith("tony: tony.application.hdfs-conf-path: \"/no/hdfs-site.xml\" (from -conf): "));
  box_.Write("broken.xml", "<configuration");
  const Ran broken = Fails(65, yarn + Conf("tony.application.yarn-conf-path=broken.xml"), Cluster());
  EXPECT_THAT(broken.err, StartsWith("tony: tony.application.yarn-conf-path: " + box_.File("broken.xml")));
  EXPECT_EQ(CountLines(missing.err) + CountLines(broken.err), 2u) << missing.err << broken.err;
}

}  // namespace
}  // namespace tony
