// From a command line to tasks that ran, and what they found.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class SubmitTest : public TonyTest {
 protected:
  // The environment that a task wrote with `env -0`.
  std::map<std::string, std::string> EnvironmentOf(const std::string& task) const {
    std::map<std::string, std::string> all;
    const std::string text = ReadText(box_.File("env-" + task));
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\0', at), equals = text.find('=', at);
      all[text.substr(at, equals - at)] = text.substr(equals + 1, end - equals - 1);
      at = end + 1;
    }
    return all;
  }
  std::string WriteEnvironment() const { return "env -0 > " + box_.File("env-") + "$JOB_NAME-$TASK_INDEX"; }
};

TEST_F(SubmitTest, ASucceedingCommandEndsWithExitZeroAndLeavesNothing) {
  const Ran ran = Succeeds(One("echo hello"));
  EXPECT_FALSE(ran.timed_out);
  ExpectNothingLeft();
  EXPECT_THAT(ran.out, HasAll({Job() + "\n", "SUCCEEDED", "logs: " + (box_.JobFolder(Job()) / "logs").string()}));
  EXPECT_EQ(LogText("worker-0", "stdout"), "hello\n");
}

TEST_F(SubmitTest, WhateverTheUmaskNoFolderOfAJobIsOpenToOthers) {
  const mode_t before = umask(0);
  const Ran ran = box_.Tony(One("umask"));
  umask(before);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(LogText("worker-0", "stdout"), "0000\n") << "the task has the submitter's";
  for (const auto& entry : fs::recursive_directory_iterator(box_.JobFolder(Job())))
    EXPECT_EQ(entry.status().permissions() & fs::perms(077), fs::perms::none) << entry;
}

TEST_F(SubmitTest, EveryTaskKnowsItselfAndTheSameCluster) {
  Succeeds(Workers(2, WriteEnvironment(), {"tony.chief.instances=1", "tony.ps.instances=1"}));
  ExpectNothingLeft();
  const std::string cluster = json::serialize(At(ParseJson(EnvironmentOf("worker-0")["TF_CONFIG"]), "/cluster"));
  for (const auto& [role, index] : {std::pair("chief", 0), {"worker", 0}, {"worker", 1}}) {
    auto env = EnvironmentOf(std::string(role) + "-" + std::to_string(index));
    EXPECT_EQ(env["TONY_JOB_ID"], Job());
    EXPECT_EQ(env["TONY_TASK"], std::string(role) + ":" + std::to_string(index));
    EXPECT_EQ(env["TONY_ATTEMPT"], "1");
    EXPECT_EQ(env["TONY_GENERATION"], "1");
    EXPECT_EQ(env["JOB_NAME"], role);
    EXPECT_EQ(env["IS_CHIEF"], role == std::string("chief") ? "true" : "");
    const auto config = ParseJson(env["TF_CONFIG"]);
    EXPECT_EQ(Text(config, "/task/type"), role);
    EXPECT_EQ(Number(config, "/task/index"), index);
    EXPECT_EQ(json::serialize(At(config, "/cluster")), cluster);
  }
}

TEST_F(SubmitTest, AnUntrackedParameterServerIsStoppedWhenTheWorkersAreDone) {
  // Also a job whose untracked tasks come up last: the workers hold until the server runs.
  const std::string command = "if [ $JOB_NAME = ps ]; then touch " + box_.File("ps") +
                              "; exec sleep 1000; fi; until [ -e " + box_.File("ps") + " ]; do sleep 0.02; done";
  Succeeds(Workers(2, command, {"tony.ps.instances=1"}));
  ExpectNothingLeft();
}

TEST_F(SubmitTest, ShellAndContainerEnvironmentReachTheTask) {
  Succeeds(One(WriteEnvironment()) + Words{"-shell_env", "COLOUR=deep red", "--container_env=SHAPE=a=b"},
           {{"FROM_SUBMITTER", "yes"}});
  auto env = EnvironmentOf("worker-0");
  EXPECT_EQ(env["COLOUR"], "deep red");
  EXPECT_EQ(env["SHAPE"], "a=b");
  EXPECT_EQ(env["FROM_SUBMITTER"], "yes");
}

TEST_F(SubmitTest, TheSourceFolderIsCopiedIntoTheWorkingFolder) {
  fs::create_directories(box_.folder() / "program/lib");
  box_.Write("program/main.sh", "cat lib/words.txt; echo \"$@\"; echo changed > lib/words.txt");
  box_.Write("program/lib/words.txt", "from a file\n");
  Succeeds(One("main.sh") +
           Words{"-src_dir", "program", "-python_binary_path", "/bin/bash", "-task_params", "--epochs 3"});
  EXPECT_EQ(LogText("worker-0", "stdout"), "from a file\n--epochs 3\n");
  EXPECT_EQ(ReadText(box_.File("program/lib/words.txt")), "from a file\n")
      << "the submitter's own files are not the task's";
}

TEST_F(SubmitTest, StandardOutputAndErrorAreKeptApart) {
  Succeeds(One("echo good; echo bad >&2"));
  EXPECT_EQ(LogText("worker-0", "stdout"), "good\n");
  EXPECT_EQ(LogText("worker-0", "stderr"), "bad\n");
}

TEST_F(SubmitTest, ATaskStartsWithDefaultSignalsAndNoForeignDescriptors) {
  Succeeds(One("grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/$$/fd; true"));
  const std::string out = LogText("worker-0", "stdout");
  EXPECT_THAT(out, HasSubstr("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"));
  EXPECT_THAT(out, testing::EndsWith("\n0\n1\n2\n"));
}

TEST_F(SubmitTest, HadoopXmlAndJavaPropertiesSayTheSameJob) {
  const std::string xml = box_.Write("tony.job.xml", R"(<?xml version="1.0"?><configuration>
    <property><name>tony.application.framework</name><value>standalone</value></property>
    <property><name>tony.worker.instances</name><value>1</value></property>
    <property><name>tony.worker.command</name><value>echo a &gt; out.txt; cat out.txt</value></property>
  </configuration>)");
  const std::string properties = box_.Write("job.properties",
                                            "tony.application.framework = standalone\ntony.worker.instances: 1\n"
                                            "tony.worker.command=echo a > out.txt; \\\n  cat out.txt\n");
  const Ran from_xml = box_.Tony({"plan", "-conf_file", xml}), from_properties = box_.Tony({"plan", properties});
  ASSERT_EQ(from_xml.exit, 0) << from_xml.err;
  ASSERT_EQ(from_properties.exit, 0) << from_properties.err;
  EXPECT_EQ(from_xml.out, from_properties.out);
  Succeeds({"submit", properties});
  EXPECT_EQ(LogText("worker-0", "stdout"), "a\n");
}

TEST_F(SubmitTest, TheProgramsFolderMayBeBesideTheJobFileAndALineSaysWhichItIs) {
  fs::create_directories(box_.File("project/src"));
  box_.Write("project/src/data", "of the project\n");
  const std::string job = box_.Write("project/job.properties",
                                     "tony.application.framework=standalone\ntony.worker.instances=1\n"
                                     "tony.src-dir=src\ntony.worker.command=cat data\n");
  const Ran beside = Succeeds({"submit", "--json", "project/job.properties"});
  EXPECT_THAT(beside.err, HasSubstr("tony: tony.src-dir src is the one beside project/job.properties\n"));
  EXPECT_EQ(LogText("worker-0", "stdout"), "of the project\n");
  fs::create_directories(box_.File("src"));
  box_.Write("src/data", "of this folder\n");
  const Ran here = box_.Tony({"submit", "--logs", job});
  EXPECT_THAT(here.out, HasSubstr("of this folder\n"));
  EXPECT_THAT(here.err, HasSubstr("tony: tony.src-dir src is the one of this folder, not that beside " + job + "\n"));
}

TEST_F(SubmitTest, DetachedItPrintsTheJobIdAloneAndTheJobGoesOn) {
  const Ran ran = Succeeds(One(HoldUntilGo()) + Words{"--detach"});
  EXPECT_FALSE(ran.timed_out) << "somebody holds the client's output open";
  EXPECT_EQ(ran.out, Job() + "\n");
  ASSERT_TRUE(WaitForRunning(1));
  Go();
  Succeeds({"wait", Job()});
  ExpectNothingLeft();
}

TEST_F(SubmitTest, WithJsonStandardOutputIsExactlyTheFinalStatus) {
  const Ran ran = Fails(1, One("exit 3") + Words{"--json"});
  EXPECT_EQ(CountLines(ran.out), 1u);
  const auto status = ParseJson(ran.out);
  ExpectJson(status, {{"/schema", 1},
                      {"/job", Job()},
                      {"/state", "FAILED"},
                      {"/verdict/class", "user_error"},
                      {"/verdict/exit_code", 3}});
  EXPECT_THAT(ran.err, HasSubstr(Job())) << "the id is said as soon as the job is recorded";
}

TEST_F(SubmitTest, DetachedJsonNamesTheJob) {
  const Ran ran = Succeeds(One("true") + Words{"--detach", "--json"});
  EXPECT_EQ(Text(ParseJson(ran.out), "/job"), Job());
  Succeeds({"wait", Job()});
}

TEST_F(SubmitTest, PlanStartsNothingAndMasksSecrets) {
  const Ran ran = Succeeds(Words{"plan"} + Words{"-executes", "true", "-conf", "tony.worker.instances=2", "-shell_env",
                                                 "DB_PASSWORD=hunter2", "-container_env", "API_token=abc123",
                                                 "-shell_env", "PLACE=here", "--json"});
  const Ran person = box_.Tony({"plan", "-executes", "true", "-conf", "tony.worker.instances=2", "-shell_env",
                                "DB_PASSWORD=hunter2,PLACE=here"});
  EXPECT_THAT(person.out, testing::StartsWith("job TonyApplication, tensorflow, on this machine\n"));
  EXPECT_THAT(person.out,
              HasAll({"\n  in all 2 tasks, 4096 MB of memory, 2 cores, 0 GPUs\n", "\n  variable: PLACE=here\n"}));
  EXPECT_THAT(person.out, Not(HasSubstr("hunter2")));
  EXPECT_THAT(ran.out, Not(HasSubstr("hunter2")));
  EXPECT_THAT(ran.out, Not(HasSubstr("abc123")));
  EXPECT_THAT(ran.out, HasSubstr("here"));
  EXPECT_EQ(Number(ParseJson(ran.out), "/spec/schema"), 1);
  EXPECT_FALSE(fs::exists(box_.home() / "jobs"));
}

TEST_F(SubmitTest, JobsOfOneHomeRunSideBySide) {
  const auto first = Hold(One(HoldUntilGo()));
  Succeeds(One("true"));
  GoAndEnd(*first);
  ExpectNothingLeft();
}

TEST_F(SubmitTest, NeedsPythonAFileOfTheSourcesIsRunByPythonAndPlanShowsIt) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  fs::create_directory(box_.File("src"));
  box_.Write("src/train.py", "import sys\nprint('trained', *sys.argv[1:])\n");
  const Words job = One("train.py") + Words{"-src_dir", "src", "-task_params", "--epochs 3"};
  Words plan = job;
  plan[0] = "plan";
  EXPECT_THAT(box_.Tony(plan).out, HasSubstr("  worker      1  2048 MB      1     0  python3 train.py --epochs 3\n"));
  EXPECT_THAT(box_.Tony(plan + Words{"--json"}).out, HasSubstr(R"("command":"python3 train.py --epochs 3")"));
  Succeeds(job);
  EXPECT_EQ(LogText("worker-0", "stdout"), "trained --epochs 3\n");
}

}  // namespace
}  // namespace tony
