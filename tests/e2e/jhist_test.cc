// The history files that TonY's portal and Dr. Elephant read, read here by the standard Avro library.
#include <sys/wait.h>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

constexpr char kPython[] = "/usr/bin/python3";

class JhistE2eTest : public TonyTest {
 protected:
  void SetUp() override {
    const Ran found = Run({kPython, "-c", "import avro"});
    if (found.exit != 0) GTEST_SKIP() << "needs " << kPython << " with Avro's library (Debian: python3-avro)";
  }

  static Ran Run(const Words& words) { return Background(words, {}, fs::temp_directory_path()).Wait(); }

  Words WithHistory() const { return Conf("tony.history.location=" + box_.File("tony")); }
  fs::path Folder() const {  // folder of the only job
    for (const auto& entry : fs::directory_iterator(box_.folder() / "tony/intermediate")) return entry.path();
    return {};
  }
  json::value Read() const {
    const Ran ran = Run({kPython, "-B", SourceFolder() + "/tests/e2e/read_history.py", Folder().string()});
    EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
    return ParseJson(ran.out);
  }

  // Returns a line for each event, e.g. "TASK_FINISHED worker:0 SUCCEEDED".
  static Words Lines(const json::value& history) {
    Words lines;
    const json::value events = At(history, "/events");
    for (const json::value& event : events.as_array()) {
      const json::object& body = event.at("event").as_object();
      std::string line = Text(event, "/type");
      if (body.contains("taskType"))
        line += " " + Text(event, "/event/taskType") + ":" + std::to_string(Number(event, "/event/taskIndex"));
      if (body.contains("status")) line += " " + Text(event, "/event/status");
      lines.push_back(line);
    }
    return lines;
  }
  static json::value Event(const json::value& history, size_t index) { return At(history, "/events").at(index); }
};

TEST_F(JhistE2eTest, TheHistoryFileOfASuccessfulJobIsReadableWithTheAvroLibrary) {
  const Ran ran =
      Succeeds(One("sleep 0.2") + WithHistory() + Confs({"tony.worker.memory=150m", "tony.worker.vcores=2"}) +
               Words{"-shell_env", "API_KEY=hidden"});
  EXPECT_THAT(ran.err, testing::Not(HasSubstr("tony.history"))) << "no warning";
  const json::value history = Read();

  EXPECT_THAT(Text(history, "/name"), testing::ContainsRegex("-SUCCEEDED\\.jhist$"));
  EXPECT_THAT(Lines(history), ElementsAre("APPLICATION_INITED", "TASK_STARTED worker:0",
                                          "TASK_FINISHED worker:0 SUCCEEDED", "APPLICATION_FINISHED"));
  EXPECT_EQ(Number(Event(history, 0), "/event/numTasks"), 1);
  EXPECT_EQ(Text(Event(history, 2), "/event/containerDiagnostic"), "NA");
  EXPECT_EQ(Text(Event(history, 2), "/event/metrics/0/name"), "MAX_MEMORY_BYTES");
  EXPECT_GT(At(Event(history, 2), "/event/metrics/0/value").as_double(), 0);
  EXPECT_EQ(Number(Event(history, 3), "/event/finishedTasks"), 1);
  EXPECT_EQ(Number(Event(history, 3), "/event/failedTasks"), 0);
  EXPECT_GE(Number(Event(history, 2), "/timestamp") - Number(Event(history, 1), "/timestamp"), 200);

  ExpectJson(history, {{"/configuration/tony.worker.memory/value", "150m"},
                       {"/configuration/tony.worker.memory/source", "-conf"},
                       {"/configuration/tony.worker.gpus/source", "default"},
                       {"/configuration/tony.job.id/value", Job()}});
  EXPECT_THAT(ReadText(Folder() / "tony-final.xml"), testing::Not(HasSubstr("hidden")));
  EXPECT_THAT(ReadText(box_.JobFolder(Job()) / "conf.json"), testing::Not(HasSubstr("hidden")));
}

TEST_F(JhistE2eTest, TheHistoryFileContainsEachAttemptOfAFailedTask) {
  Fails(1, One("exit 3") + WithHistory() + Confs({"tony.restart.task.budget=1", "tony.restart.backoff-ms=1"}));
  const json::value history = Read();

  EXPECT_THAT(Text(history, "/name"), testing::ContainsRegex("-FAILED\\.jhist$"));
  EXPECT_THAT(Lines(history),
              ElementsAre("APPLICATION_INITED", "TASK_STARTED worker:0", "TASK_FINISHED worker:0 FAILED",
                          "TASK_STARTED worker:0", "TASK_FINISHED worker:0 FAILED", "APPLICATION_FINISHED"));
  EXPECT_EQ(Text(Event(history, 2), "/event/containerDiagnostic"), "exit code 3, user_error");
  EXPECT_EQ(Number(Event(history, 5), "/event/failedTasks"), 1);
}

TEST_F(JhistE2eTest, TheNextMasterContinuesTheHistoryFileUntilTheJobIsKilled) {
  const auto client = Hold(One(HoldUntilGo()) + WithHistory());
  ASSERT_TRUE(WaitFor([&] { return fs::exists(box_.folder() / "tony/intermediate") && !Folder().empty(); }));
  ASSERT_TRUE(WaitFor([&] { return Run({"/bin/sh", "-c", "ls " + Folder().string() + "/*.inprogress"}).exit == 0; }));
  EXPECT_THAT(Lines(Read()), ElementsAre("APPLICATION_INITED"));

  SignalAll("tony-am", SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return client->err().find("restarted (epoch 2)") != std::string::npos; }));
  ASSERT_TRUE(WaitFor([&] { return Lines(Read()).size() == 2; })) << "the next one knows that the task has started";

  Succeeds({"kill", Job()});
  Ends(*client, 1);
  const json::value history = Read();
  EXPECT_THAT(Text(history, "/name"), testing::ContainsRegex("-KILLED\\.jhist$"));
  EXPECT_THAT(Lines(history), ElementsAre("APPLICATION_INITED", "TASK_STARTED worker:0",
                                          "TASK_FINISHED worker:0 FINISHED", "APPLICATION_FINISHED"));
  ExpectNothingLeft();
}

TEST_F(JhistE2eTest, TheHistoryCommandRestoresARemovedHistoryFileIfTheOptionExportIsSet) {
  Succeeds(One("true") + WithHistory());
  const std::string folder = Folder().string();
  fs::remove_all(folder);
  const Ran ran = Succeeds({"history", Job(), "--export"});
  EXPECT_EQ(ran.out, folder + "\n");
  EXPECT_EQ(Lines(Read()).size(), 4u);
}

TEST_F(JhistE2eTest, AnUnwritableHistoryFolderDoesNotFailTheJob) {
  box_.Write("tony", "a file");
  Succeeds(One("true") + WithHistory());
  EXPECT_THAT(ReadText(box_.JobFolder(Job()) / "keeper.log"), HasSubstr(box_.File("tony")));
  Fails(73, {"history", Job(), "--export"});
  ExpectNothingLeft();
}

TEST_F(JhistE2eTest, ExportingTheHistoryFileFailsForAJobSubmittedWithoutHistoryLocation) {
  Succeeds(One("true"));
  const Ran ran = Fails(65, {"history", Job(), "--export"});
  EXPECT_THAT(ran.err, HasSubstr("was submitted without tony.history.location"));
}

TEST_F(JhistE2eTest, ThePlanCommandShowsTheOriginOfEachConfigurationValueIfTheOptionExplainIsSet) {
  box_.Write("job.properties", "tony.worker.instances=2\ntony.containers.command=true\nworker_env.API_KEY=hidden\n");
  const Ran ran = Succeeds({"plan", box_.File("job.properties"), "-conf", "tony.worker.memory=1g", "--explain"});
  EXPECT_THAT(ran.out, HasAll({"tony.worker.memory = 1g  (-conf)\n", "tony.worker.vcores = 1  (default)\n"}));
  EXPECT_THAT(ran.out, testing::ContainsRegex("tony.worker.instances = 2  \\(.*job.properties:1\\)\n"));
  EXPECT_THAT(ran.out, HasSubstr("API_KEY = ********"));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("hidden")));
}

}  // namespace
}  // namespace tony
