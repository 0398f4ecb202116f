// The verbs on a backend other than this machine: its record store is slow, loses answers and seals epochs, and a dead
// master is restarted only by clients that check the job.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class FakeClusterTest : public TonyTest {
 protected:
  static Words OnFake(const std::string& command) { return One(command, {"tony.scheduler=fake", LittleMemory()}); }
  std::unique_ptr<Background> Start(const Words& words) const {
    return std::make_unique<Background>(Words{ProgramFolder() + "/fake-tony"} + words, box_.Environment(),
                                        box_.folder());
  }
  Ran Tony(const Words& words) const { return Start(words)->Wait(); }
  std::string Detached(const std::string& command, const Words& more = {}) {
    const Ran submitted = Ends(*Start(OnFake(command) + Words{"--detach"} + more));
    return submitted.out.substr(0, submitted.out.find('\n'));
  }
  fs::path Folder(const std::string& job) const { return box_.home() / "cluster" / "jobs" / job; }
  std::string Status(const std::string& job) const { return Tony({"status", job, "--json"}).out; }
  pid_t Master() const {
    const auto masters = box_.Pids("fake-am");
    EXPECT_EQ(masters.size(), 1u);
    return masters.empty() ? 0 : masters.front();
  }
};

TEST_F(FakeClusterTest, OutputsAndLogsOfAnEndedJobCanBeRead) {
  const Ran submitted = Ends(*Start(OnFake("echo hello; echo '{\"loss\":1}' > $TONY_OUTPUT_FILE")));
  const std::string job = submitted.out.substr(0, submitted.out.find('\n'));
  EXPECT_THAT(job, StartsWith("fake-"));
  EXPECT_THAT(Tony({"outputs", job}).out, HasSubstr("\"loss\": 1"));
  EXPECT_THAT(Tony({"logs", job}).out, HasSubstr("hello"));
  EXPECT_THAT(Tony({"list"}).out, HasSubstr(job));
  Ends(*Start({"wait", job}));
  EXPECT_THAT(Status(job), HasSubstr("\"SUCCEEDED\""));
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, ASubmitPrintsTheErrorOutputOfAFailedTask) {
  const Ran submitted = Ends(*Start(OnFake("echo broken >&2; exit 3")), 1);
  EXPECT_THAT(submitted.out, HasSubstr("broken"));
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, AClientCanInspectAndAwaitAndKillARunningJob) {
  const std::string job = Detached("echo begun; " + HoldUntilGo());
  ASSERT_TRUE(WaitForRunning(1));
  EXPECT_THAT(Status(job), HasSubstr("\"RUNNING\""));
  EXPECT_THAT(Tony({"logs", job}).out, HasSubstr("begun"));
  Ends(*Start({"wait", job, "--timeout", "1"}), 69);
  Ends(*Start({"kill", job}));
  Ends(*Start({"wait", job}), 1);
  EXPECT_THAT(Status(job), HasSubstr("\"KILLED\""));
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, AClientCanFindAndAttachToAndKillAJobByItsRequestId) {
  const Words request = {"--request-id", "step 1", "--owner", "o1"};
  const std::string job = Detached(HoldUntilGo(), request);
  ASSERT_TRUE(WaitForRunning(1));
  EXPECT_THAT(Tony({"find", "--request-id", "step 1"}).out, StartsWith(job));
  EXPECT_EQ(Detached(HoldUntilGo(), request), job) << "the same request again";
  Ends(*Start({"kill", "--request-id", "step 1", "--if-owner", "o1"}));
  EXPECT_THAT(Status(job), HasSubstr("\"KILLED\""));
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, SimultaneousSubmitsOfOneRequestCreateOneJob) {
  std::vector<std::unique_ptr<Background>> clients;
  for (const char* owner : {"o1", "o2", "o3", "o4"})
    clients.push_back(
        Start(OnFake(HoldUntilGo()) + Words{"--detach", "--request-id", "step", "--owner", std::string(owner)}));
  std::set<std::string> jobs;
  for (const auto& client : clients) {
    const Ran ran = Ends(*client);
    jobs.insert(ran.out.substr(0, ran.out.find('\n')));
  }
  ASSERT_EQ(jobs.size(), 1u);
  Go();
  Ends(*Start({"wait", *jobs.begin()}));
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, TasksSurviveTheDeathOfTheirMaster) {
  const std::string job = Detached(HoldUntilGo());
  ASSERT_TRUE(WaitForRunning(1));
  KillTogether({"fake-am"});
  EXPECT_THAT(Status(job), HasSubstr("\"unruled\":true"));

  EXPECT_THAT(Tony({"recover", job}).out, HasSubstr("brought_back"));
  Go();
  Ends(*Start({"wait", job}));
  EXPECT_EQ(CountLines(ReadText(Running("worker-0"))), 1u) << "its task ran once";
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, AReplacedMasterIsFencedAndExits) {
  const std::string job = Detached(HoldUntilGo());
  ASSERT_TRUE(WaitForRunning(1));
  const pid_t first = Master();
  kill(first, SIGSTOP);
  box_.Write("home/cluster/jobs/" + job + "/declared-dead", "1");
  EXPECT_THAT(Tony({"recover", job}).out, HasSubstr("brought_back"));

  kill(first, SIGCONT);
  EXPECT_TRUE(WaitFor([&] { return box_.Pids("fake-am").size() == 1; })) << "the first one leaves";
  EXPECT_THAT(ReadText(Folder(job) / "am.lease"), HasSubstr("\"epoch\":2"));
  Go();
  Ends(*Start({"wait", job}));
  EXPECT_EQ(CountLines(ReadText(Running("worker-0"))), 1u);
  ExpectNothingLeft();
}

// The first master hangs and keeps its connections, as on a node that the network has lost.
TEST_F(FakeClusterTest, AWaitingClientReportsTheLossOfTheMasterAndTheStartOfTheNextMaster) {
  const std::string job = Detached(HoldUntilGo());
  ASSERT_TRUE(WaitForRunning(1));
  const auto client = Start({"wait", job, "--follow"});
  ASSERT_TRUE(WaitFor([&] { return client->out().find("running") != std::string::npos; })) << client->err();
  const pid_t first = Master();
  kill(first, SIGSTOP);
  box_.Write("home/cluster/jobs/" + job + "/queued", "has no master: the queue is full");
  box_.Write("home/cluster/jobs/" + job + "/declared-dead", "1");
  ASSERT_TRUE(WaitFor([&] { return client->out().find("has no master: the queue is full") != std::string::npos; }));
  EXPECT_THAT(Status(job), AllOf(HasSubstr("\"am_reachable\":false"), HasSubstr("\"unruled\":false"),
                                 HasSubstr("\"delay\":\"has no master: the queue is full\"")));

  fs::remove(Folder(job) / "queued");
  ASSERT_TRUE(WaitFor([&] { return client->out().find("restarted (epoch 2)") != std::string::npos; })) << client->out();
  kill(first, SIGCONT);
  Go();
  Ends(*client);
  EXPECT_EQ(CountLines(ReadText(Running("worker-0"))), 1u) << "its task ran once";
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, AKillOfAJobWithoutAMasterIsExecutedByTheNextMaster) {
  const std::string job = Detached(HoldUntilGo());
  ASSERT_TRUE(WaitForRunning(1));
  box_.Write("home/cluster/jobs/" + job + "/queued", "the queue is full");
  KillTogether({"fake-am"});
  const auto client = Start({"kill", job});
  ASSERT_TRUE(WaitForFile(Folder(job) / "kill-requests"));
  fs::remove(Folder(job) / "queued");
  EXPECT_THAT(Ends(*client).out, HasSubstr("KILLED"));
  EXPECT_THAT(ReadText(Folder(job) / "am.lease"), HasSubstr("\"epoch\":2"));
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, ASecondSignalToTheClientKillsAJobWithoutAMasterThroughTheScheduler) {
  const auto client = Start(OnFake(HoldUntilGo()));
  ASSERT_TRUE(WaitForRunning(1));
  const std::string job = client->out().substr(0, client->out().find('\n'));
  box_.Write("home/cluster/jobs/" + job + "/queued", "the queue is full");
  KillTogether({"fake-am"});
  client->Signal(SIGINT);
  ASSERT_TRUE(WaitFor([&] { return client->err().find("SIGINT") != std::string::npos; }));
  client->Signal(SIGINT);
  EXPECT_THAT(Ends(*client, 130).out, HasSubstr("KILLED"));
  EXPECT_THAT(Status(job), HasSubstr("\"KILLED\""));
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, ASignalToTheClientKillsTheJobWhileTheRecordStoreIsUnavailable) {
  const auto client = Start(OnFake(HoldUntilGo()));
  ASSERT_TRUE(WaitForRunning(1));
  const std::string job = client->out().substr(0, client->out().find('\n'));
  ASSERT_TRUE(WaitFor([&] { return client->err().find("worker:0") != std::string::npos; })) << client->err();
  box_.Write("home/cluster/jobs/" + job + "/away", "");
  client->Signal(SIGTERM);
  const Ran ran = client->Wait();
  EXPECT_EQ(ran.exit, 143) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the store is away"));
  fs::remove(Folder(job) / "away");
  EXPECT_THAT(Status(job), AllOf(HasSubstr("\"KILLED\""), HasSubstr("the submitting client received SIGTERM")));
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, AJobIsKilledThroughTheSchedulerWhenMasterAndRecordStoreAreUnavailable) {
  const auto client = Start(OnFake(HoldUntilGo()));
  ASSERT_TRUE(WaitForRunning(1));
  const std::string job = client->out().substr(0, client->out().find('\n'));
  ASSERT_TRUE(WaitFor([&] { return client->err().find("worker:0") != std::string::npos; })) << client->err();
  box_.Write("home/cluster/jobs/" + job + "/queued", "the queue is full");
  box_.Write("home/cluster/jobs/" + job + "/away", "");
  KillTogether({"fake-am"});
  client->Signal(SIGINT);
  EXPECT_EQ(client->Wait().exit, 130) << client->err();
  EXPECT_THAT(client->out(), HasSubstr("KILLED"));
  fs::remove(Folder(job) / "away");
  EXPECT_THAT(Tony({"recover", job}).out, HasSubstr("KILLED settled"));
  ExpectNothingLeft();
}

TEST_F(FakeClusterTest, ASubmitThatNamesAnUnknownSchedulerIsRefused) {
  const Ran refused = Tony(One("true", {"tony.scheduler=mars"}));
  EXPECT_EQ(refused.exit, 65);
  EXPECT_THAT(refused.err, HasSubstr("tony.scheduler: \"mars\" (from -conf): expected local or fake"));
  EXPECT_TRUE(box_.Jobs().empty());
}

}  // namespace
}  // namespace tony
