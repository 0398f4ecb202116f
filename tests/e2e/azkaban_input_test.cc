// Steps whose files or properties are invalid: one line gives the reason, and no job is stored.
#include <fcntl.h>

#include "tests/e2e/azkaban_test.h"
#include "tests/e2e/script.h"

namespace tony {
namespace {

// A script (script.h) with more verbs:
//   set KEY VALUE, unset KEY               change a property
//   variable NAME VALUE, unset $NAME       change an environment variable
//   text TEXT                              the properties file has the stored properties and TEXT
//   properties TEXT                        the properties file has TEXT alone
//   step                                   runs the adapter; if it exits with 64 or 65, its log has one line and no job
//                                          is stored
class AzkabanScript : public Script {
 public:
  AzkabanScript() : step_(box_) {}

 private:
  bool More(const Words& words, const std::string& expected) override {
    const std::string verb = words[0], name = words.size() > 1 ? words[1] : "", text = words.size() > 2 ? words[2] : "";
    if (verb == "set") {
      step_.properties[name] = text;
    } else if (verb == "variable") {
      step_.variables[name] = text;
    } else if (verb == "unset") {
      name[0] == '$' ? step_.variables.erase(name.substr(1)) : step_.properties.erase(name);
    } else if (verb == "text") {
      step_.properties_text = StoredProperties(step_.properties) + name;
    } else if (verb == "properties") {
      step_.properties_text = name;
    } else if (verb == "step") {
      const Ran ran = step_.Run();
      ExpectEnd(ran, ran.exit);
      EXPECT_EQ(Wrong(expected, ran), "");
      if (ran.exit != 64 && ran.exit != 65) return true;
      EXPECT_EQ(Lines(ran.out).size(), 1u) << ran.out;
      EXPECT_THAT(box_.Jobs(), IsEmpty());
      EXPECT_EQ(ReadText(step_.outputs_file()), "");
      ExpectNothingLeft();
    } else {
      return false;
    }
    return true;
  }

  AzkabanStep step_;
};

// %V stands for a step that writes $TEXT of the task into the file "seen"; %K stands for a value of one mebibyte.
const TestRow kInput[] = {
    // ---- the properties file
    {"EscapedCharactersInThePropertiesFileAreDecodedForTheTask",
     {{"%V", ""},
      {"set worker_env.TEXT `  é ☃ 😀 𝒳 \\ : = # ! \t 'q' \"q\" ; $x \n second\r\f end \\u0041  `", ""},
      {"step", ""},
      {"file seen", "out=  é ☃ 😀 𝒳 \\ : = # ! \t 'q' \"q\" ; $x \n second\r\f end \\u0041  "}}},
    {"CommentsAndContinuationLinesInThePropertiesFileAreAccepted",
     {{"%V", ""},
      {"text `! a comment\n\n  # another\nworker_env.TEXT : in \\\n     two\\ lines\n`", ""},
      {"step", ""},
      {"file seen", "out=in two lines"}}},
    {"AnUnrelatedPropertyOfOneMebibyteIsIgnored", {{"set spark.conf %K", ""}, {"step", ""}}},
    {"MalformedUnicodeEscapesInThePropertiesFileAreRefused",
     {{"text `worker_env.TEXT=\\u12G4\n`", ""},
      {"step", "65 && ~\\u"},
      {"text `worker_env.TEXT=\\u\n`", ""},
      {"step", "65 && ~\\u"},
      {"text `worker_env.TEXT=\\u00\n`", ""},
      {"step", "65 && ~\\u"}}},
    {"AnEnvironmentVariableTooLongForTheKernelIsRefused",
     {{"set worker_env.TEXT %K", ""}, {"step", "65 && ~TEXT && ~bytes && !xxxxxxxx"}}},
    {"AnEmptyPropertiesFileIsRefused", {{"properties ``", ""}, {"step", "65 && ~azkaban.flow.execid"}}},
    {"StartingTheAdapterOutsideAzkabanIsAUsageError", {{"unset $JOB_PROP_FILE", ""}, {"step", "64 && ~JOB_PROP_FILE"}}},

    // ---- values of properties
    {"TheErrorForAnInvalidNumberShowsTheKeyAndTheValue",
     {{"set tony.worker.instances two", ""}, {"step", "65 && ~tony.worker.instances && ~two && ~expected"}}},
    {"TheErrorNamesAMissingSourceFolder",
     {{"set src_dir no/such/folder", ""},
      {"step", "65 && ~tony.src-dir && ~no/such/folder && ~no such file or folder"}}},
    {"AJobThatNeedsMoreMemoryThanTheMachineHasIsRefused",
     {{"machine {\"memory_mb\":1000}", ""},
      {"set tony.worker.memory 5g", ""},
      {"step", "65 && ~tony.worker.memory && ~5 && ~1000 MB"}}},
    {"TheErrorNamesAnUnsupportedFramework",
     {{"set tony.application.framework spark", ""},
      {"step", "65 && ~tony.application.framework && ~spark && ~pytorch"}}},
    {"AJobThatEnablesDockerIsRefused", {{"set tony.docker.enabled true", ""}, {"step", "65 && ~tony.docker.enabled"}}},
    {"TheErrorForAnInvalidWatchTimeoutShowsTheKeyAndTheValue",
     {{"set tony.azkaban.watch-timeout soon", ""},
      {"step", "65 && ~tony.azkaban.watch-timeout && ~soon && ~expected"},
      {"set tony.azkaban.watch-timeout -1", ""},
      {"step", "65 && ~tony.azkaban.watch-timeout && ~-1 && ~expected"}}},
    {"UnknownAndUnsupportedKeysCauseWarnings",
     {{"set tony.worker.instnaces 1", ""},
      {"set tony.yarn.queue ml", ""},
      {"step", "~warning: tony.worker.instnaces && ~warning: tony.yarn.queue"}}},
    // ExpectEnd fails if the log contains an escape or a carriage return.
    {"TerminalEscapesInARefusedValueAreNotPrinted", {{"set src_dir no\x1b[31m\rwhere", ""}, {"step", "65 && ~where"}}},

    // ---- files that the step writes
    {"AnUnwritableOutputsFileFailsTheStepOfASuccessfulJob",
     {{"variable JOB_OUTPUT_PROP_FILE %B/no/such/folder/outputs", ""},
      {"step", "73 && ~SUCCEEDED && ~%B/no/such/folder/outputs"},
      {"set azkaban.flow.execid 12", ""},
      {"variable JOB_OUTPUT_PROP_FILE %B", ""},
      {"step", "73 && ~SUCCEEDED && ~%B: "},
      {"set azkaban.flow.execid 13", ""},
      {"variable JOB_OUTPUT_PROP_FILE /dev/full", ""},
      {"step", "73 && ~SUCCEEDED && ~/dev/full"}}},
    {"AStepWithoutAnOutputsFileSucceeds", {{"unset $JOB_OUTPUT_PROP_FILE", ""}, {"step", ""}}},
    {"AFailedStepExitsWithCode1EvenIfItsOutputsFileIsUnwritable",
     {{"set executes `exit 3`", ""}, {"variable JOB_OUTPUT_PROP_FILE /dev/full", ""}, {"step", "1"}}},
    {"AStepWithoutAnAttachmentFileSucceeds", {{"unset azkaban.job.attachment.file", ""}, {"step", "!attachment"}}},
};
TABLE_TEST(AzkabanInputTest, kInput, [](const TestRow& row) {
  RunScriptWith<AzkabanScript>(
      {{"%V", "set executes `printf %s \"$TEXT\" > %B/seen`"}, {"%K", std::string(1 << 20, 'x')}}, row);
});

class AzkabanFilesTest : public AzkabanTest {
 protected:
  // Runs the step and checks that its log has one line, with the reason, and that no job is stored.
  void ExpectRefused(int exit, const testing::Matcher<std::string>& why) const {
    const Ran ran = step_.Run();
    ExpectEnd(ran, exit);
    EXPECT_THAT(Lines(ran.out).back(), why) << ran.out;
    EXPECT_EQ(Lines(ran.out).size(), 1u) << ran.out;
    EXPECT_THAT(box_.Jobs(), IsEmpty());
    EXPECT_EQ(ReadText(step_.outputs_file()), "");
    ExpectNothingLeft();
  }
  std::string Stored() const { return StoredProperties(step_.properties); }
};

TEST_F(AzkabanFilesTest, APropertiesFileWithCrlfLinesAndNoFinalNewlineIsAccepted) {
  step_.properties["executes"] = "printf %s \"$TEXT\" > " + box_.File("seen");
  step_.properties["worker_env.TEXT"] = "plain";
  std::string text;
  for (const std::string& line : Lines(Stored())) text += (text.empty() ? "" : "\r\n") + line;
  step_.properties_text = text;
  ExpectEnd(step_.Run(), 0);
  EXPECT_EQ(ReadText(box_.File("seen")), "plain");
}

TEST_F(AzkabanFilesTest, APropertiesFileOf20MebibytesIsRefused) {
  step_.properties_text = Stored() + "a=" + std::string(20 << 20, 'x');
  ExpectRefused(65, HasSubstr("larger than"));
}

TEST_F(AzkabanFilesTest, TheErrorNamesAPropertiesFileThatIsMissingOrNotARegularFile) {
  step_.variables["JOB_PROP_FILE"] = box_.File("missing");
  ExpectRefused(65, AllOf(HasSubstr(box_.File("missing")), HasSubstr("no such file")));
  step_.variables["JOB_PROP_FILE"] = step_.folder().string();
  ExpectRefused(65, HasSubstr(step_.folder().string()));
  step_.variables["JOB_PROP_FILE"] = box_.File("pipe");
  ASSERT_EQ(mkfifo(box_.File("pipe").c_str(), 0600), 0);
  // The adapter does not wait for a writer of the pipe.
  ExpectRefused(65, HasSubstr(box_.File("pipe")));
}

TEST_F(AzkabanFilesTest, TheErrorNamesAPropertiesFileWithoutReadPermission_NotAsRoot) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string file = box_.Write("closed", Stored());
  fs::permissions(file, fs::perms::none);
  step_.variables["JOB_PROP_FILE"] = file;
  ExpectRefused(65, HasSubstr(file));
}

TEST_F(AzkabanFilesTest, AnUnwritableAttachmentFileCausesOneWarning) {
  step_.properties["azkaban.job.attachment.file"] = box_.File("no/such/folder/attachment");
  const auto step = StartHolding();
  Go();
  const Ran ran = step->Wait();
  ExpectEnd(ran, 0);
  EXPECT_EQ(CountLinesWith(ran.out, box_.File("no/such/folder/attachment")), 1u) << ran.out;
}

}  // namespace
}  // namespace tony
