// Steps whose files or properties are not what they should be: one line says why, and nothing runs.
#include <fcntl.h>

#include "tests/e2e/azkaban_test.h"

namespace tony {
namespace {

class AzkabanInputTest : public AzkabanTest {
 protected:
  // One line has it all, the last one, and there is no job.
  void ExpectRefused(int exit, const testing::Matcher<std::string>& why) const {
    const Ran ran = step_.Run();
    ExpectEnd(ran, exit);
    EXPECT_THAT(Lines(ran.out).back(), why) << ran.out;
    EXPECT_EQ(Lines(ran.out).size(), 1u) << ran.out;
    EXPECT_THAT(box_.Jobs(), IsEmpty());
    EXPECT_EQ(ReadText(step_.outputs_file()), "");
    ExpectNothingLeft();
  }
  void ExpectRefusedFile(const std::string& text, const testing::Matcher<std::string>& why) {
    step_.properties_text = text;
    ExpectRefused(65, why);
  }
  std::string Stored() const { return StoredProperties(step_.properties); }
  // The step runs as it is, and its task sees `value` in $TEXT.
  void ExpectTaskSees(const std::string& value) {
    const Ran ran = step_.Run();
    ExpectEnd(ran, 0);
    EXPECT_EQ(ReadText(box_.File("seen")), value);
  }
  void ShowText() { step_.properties["executes"] = "printf %s \"$TEXT\" > " + box_.File("seen"); }
};

// ---- the properties file

TEST_F(AzkabanInputTest, EscapesReachTheTaskAsWhatTheyMean) {
  ShowText();
  const std::string text = "  é ☃ 😀 𝒳 \\ : = # ! \t 'q' \"q\" `q` ; $x \n second\r\f end \\u0041  ";
  step_.properties["worker_env.TEXT"] = text;
  ExpectTaskSees(text);
}

TEST_F(AzkabanInputTest, LinesMayEndAsOnWindowsAndTheLastOneNotAtAll) {
  ShowText();
  step_.properties["worker_env.TEXT"] = "plain";
  std::string text;
  for (const std::string& line : Lines(Stored())) text += (text.empty() ? "" : "\r\n") + line;
  step_.properties_text = text;
  ExpectTaskSees("plain");
}

TEST_F(AzkabanInputTest, WhatAPersonWouldWriteIsReadToo) {
  ShowText();
  step_.properties_text = "! a comment\n\n  # another\n" + Stored() + "worker_env.TEXT : in \\\n     two\\ lines\n";
  ExpectTaskSees("in two lines");
}

TEST_F(AzkabanInputTest, ALargeValueOfSomebodyElseIsNoMatter) {
  step_.properties["spark.conf"] = std::string(1 << 20, 'x');
  ExpectEnd(step_.Run(), 0);
}

TEST_F(AzkabanInputTest, MalformedEscapesAreRefused) {
  for (const char* broken : {"\\u12G4", "\\u", "\\u00"})
    ExpectRefusedFile(Stored() + "worker_env.TEXT=" + broken + "\n", HasSubstr("\\u"));
}

TEST_F(AzkabanInputTest, AVariableThatTheKernelDoesNotTakeIsRefused) {
  step_.properties["worker_env.TEXT"] = std::string(1 << 20, 'x');
  ExpectRefused(65, AllOf(HasSubstr("TEXT"), HasSubstr("bytes"), Not(HasSubstr("xxxxxxxx"))));
}

TEST_F(AzkabanInputTest, AFileThatIsTooLargeIsRefused) {
  ExpectRefusedFile(Stored() + "a=" + std::string(20 << 20, 'x'), HasSubstr("larger than"));
}

TEST_F(AzkabanInputTest, AnEmptyFileAsksForNothing) { ExpectRefusedFile("", HasSubstr("azkaban.flow.execid")); }

TEST_F(AzkabanInputTest, AFileThatCannotBeReadIsNamed) {
  step_.variables["JOB_PROP_FILE"] = box_.File("missing");
  ExpectRefused(65, AllOf(HasSubstr(box_.File("missing")), HasSubstr("no such file")));
  step_.variables["JOB_PROP_FILE"] = step_.folder().string();
  ExpectRefused(65, HasSubstr(step_.folder().string()));
  step_.variables["JOB_PROP_FILE"] = box_.File("pipe");
  ASSERT_EQ(mkfifo(box_.File("pipe").c_str(), 0600), 0);
  ExpectRefused(65, HasSubstr(box_.File("pipe")));  // and nobody waits for a writer
}

TEST_F(AzkabanInputTest, AFileThatMayNotBeReadIsNamed_NotAsRoot) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string file = box_.Write("closed", Stored());
  fs::permissions(file, fs::perms::none);
  step_.variables["JOB_PROP_FILE"] = file;
  ExpectRefused(65, HasSubstr(file));
}

TEST_F(AzkabanInputTest, OutsideAzkabanItIsAMistakeOfUsage) {
  step_.variables.erase("JOB_PROP_FILE");
  ExpectRefused(64, HasSubstr("JOB_PROP_FILE"));
}

// ---- the properties

TEST_F(AzkabanInputTest, ANumberThatIsNoneIsNamed) {
  step_.properties["tony.worker.instances"] = "two";
  ExpectRefused(65, AllOf(HasSubstr("tony.worker.instances"), HasSubstr("two"), HasSubstr("expected")));
}

TEST_F(AzkabanInputTest, ASourceFolderThatIsNotThereIsNamed) {
  step_.properties["src_dir"] = "no/such/folder";
  ExpectRefused(65, AllOf(HasSubstr("tony.src-dir"), HasSubstr("no/such/folder"), HasSubstr("no such file or folder")));
}

TEST_F(AzkabanInputTest, AnAskThatThisMachineCanNeverMeetIsNamed) {
  box_.SetMachine(R"({"memory_mb":1000})");
  step_.properties["tony.worker.memory"] = "5g";
  ExpectRefused(65, AllOf(HasSubstr("tony.worker.memory"), HasSubstr("5"), HasSubstr("1000 MB")));
}

TEST_F(AzkabanInputTest, AFrameworkThatNobodyKnowsIsNamed) {
  step_.properties["tony.application.framework"] = "mxnet";
  ExpectRefused(65, AllOf(HasSubstr("tony.application.framework"), HasSubstr("mxnet"), HasSubstr("pytorch")));
}

TEST_F(AzkabanInputTest, ARequestThatWouldRunSomethingElseIsRefused) {
  step_.properties["tony.docker.enabled"] = "true";
  ExpectRefused(65, HasSubstr("tony.docker.enabled"));
}

TEST_F(AzkabanInputTest, AWatchTimeoutThatIsNoneIsNamed) {
  for (const char* value : {"soon", "-1"}) {
    step_.properties["tony.azkaban.watch-timeout"] = value;
    ExpectRefused(65, AllOf(HasSubstr("tony.azkaban.watch-timeout"), HasSubstr(value), HasSubstr("expected")));
  }
}

TEST_F(AzkabanInputTest, KeysThatNobodyKnowsOrThatDoNothingYetAreWarnings) {
  step_.properties["tony.worker.instnaces"] = "1";
  step_.properties["tony.yarn.queue"] = "ml";
  const Ran ran = step_.Run();
  ExpectEnd(ran, 0);
  for (const char* key : {"tony.worker.instnaces", "tony.yarn.queue"})
    EXPECT_EQ(CountLinesWith(ran.out, key), 1u) << ran.out;
  EXPECT_GE(CountLinesWith(ran.out, "warning"), 2u) << ran.out;
}

// ---- what it is to write

TEST_F(AzkabanInputTest, OutputsThatCannotBeWrittenCostTheStepAndNotTheJobsReport) {
  const std::string missing = box_.File("no/such/folder/outputs");
  int execution = 10;
  for (const std::string& file : {missing, step_.folder().string(), std::string("/dev/full")}) {
    step_.properties["azkaban.flow.execid"] = std::to_string(++execution);
    step_.variables["JOB_OUTPUT_PROP_FILE"] = file;
    const Ran ran = step_.Run();
    ExpectEnd(ran, 73);
    EXPECT_THAT(Lines(ran.out).back(), HasSubstr(file));
    EXPECT_THAT(ran.out, HasSubstr("SUCCEEDED"));
  }
}

TEST_F(AzkabanInputTest, WhereNobodyWaitsForOutputsThereAreNone) {
  step_.variables.erase("JOB_OUTPUT_PROP_FILE");
  ExpectEnd(step_.Run(), 0);
  EXPECT_EQ(ReadText(step_.outputs_file()), "");
}

TEST_F(AzkabanInputTest, AFailedJobNeedsNoPlaceForOutputs) {
  step_.properties["executes"] = "exit 3";
  step_.variables["JOB_OUTPUT_PROP_FILE"] = "/dev/full";
  ExpectEnd(step_.Run(), 1);
}

TEST_F(AzkabanInputTest, AnAttachmentThatCannotBeWrittenIsOneWarning) {
  step_.properties["azkaban.job.attachment.file"] = box_.File("no/such/folder/attachment");
  const auto step = StartHolding();
  Go();
  const Ran ran = step->Wait();
  ExpectEnd(ran, 0);
  EXPECT_EQ(CountLinesWith(ran.out, box_.File("no/such/folder/attachment")), 1u) << ran.out;
}

TEST_F(AzkabanInputTest, AJobWithoutAnAttachmentIsNoMatter) {
  step_.properties.erase("azkaban.job.attachment.file");
  const Ran ran = step_.Run();
  ExpectEnd(ran, 0);
  EXPECT_EQ(CountLinesWith(ran.out, "attachment"), 0u) << ran.out;
}

TEST_F(AzkabanInputTest, AValueThatIsQuotedMovesNoCursor) {
  step_.properties["src_dir"] = "no\x1b[31m\rwhere";
  const Ran ran = step_.Run();
  ExpectEnd(ran, 65);  // looks for both
  EXPECT_THAT(ran.out, HasSubstr("where"));
}

}  // namespace
}  // namespace tony
