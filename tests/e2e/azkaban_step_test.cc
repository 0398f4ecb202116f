// A step that succeeds: its log, its outputs for the next step, and how it continues the job of a previous attempt.
#include "tests/e2e/azkaban_test.h"

namespace tony {
namespace {

using testing::IsSupersetOf;

using AzkabanStepTest = AzkabanTest;

TEST_F(AzkabanStepTest, ASuccessfulStepExitsWithZeroAndWritesItsJobIdForTheNextStep) {
  const Ran ran = step_.Run();
  ExpectEnd(ran, 0);
  ExpectAllGoneSoon();
  const std::string job = Job();
  const Texts outputs = Outputs();
  EXPECT_EQ(outputs.at("tony.job.id"), job);
  EXPECT_THAT(outputs.at("tony.job.logs"), StartsWith(box_.JobFolder(job).string()));
  EXPECT_EQ(outputs.count("tony.model.path"), 0u);
  EXPECT_EQ(StateOf(job), "SUCCEEDED");
  EXPECT_TRUE(step_.InputIsUntouched());
}

TEST_F(AzkabanStepTest, TheTaskSeesNoPathsOfAzkabanFilesAndTheStepLogContainsNoTaskOutput) {
  step_.variables["JOBTYPE_PRIVATE_PROP_FILE"] = step_.folder() / "private";
  step_.properties["executes"] =
      "echo to nobody; test -z \"$JOB_PROP_FILE$JOB_OUTPUT_PROP_FILE$JOBTYPE_PRIVATE_PROP_FILE\"";
  const Ran ran = step_.Run();
  ExpectEnd(ran, 0);
  EXPECT_THAT(ran.out, Not(HasSubstr("to nobody")));
  EXPECT_EQ(LogText("worker-0", "stdout"), "to nobody\n");
}

TEST_F(AzkabanStepTest, TheLogOfAStepStartsWithTheJobIdAndLinksAndThenShowsEachStateChange) {
  const auto step = StartHolding();
  const std::string job = Job();
  const std::string url = Text(Status(job), "/tracking_url");
  EXPECT_THAT(url, StartsWith("http://"));
  Go();
  const Ran ran = step->Wait();
  ExpectEnd(ran, 0);
  const Words lines = Lines(ran.out);
  const std::string begin = ran.out.substr(0, ran.out.find("job running"));
  EXPECT_EQ(lines.front(), "job " + job);
  EXPECT_EQ(CountLinesWith(begin, "TonY UI: " + url), 1u) << ran.out;
  EXPECT_EQ(CountLinesWith(begin, "logs: " + (box_.JobFolder(job) / "logs").string()), 1u) << ran.out;
  EXPECT_EQ(CountLinesWith(ran.out, "job running"), 1u) << ran.out;
  EXPECT_LT(lines.size(), 25u) << "a change each, not a minute each";
}

TEST_F(AzkabanStepTest, TheStepsLogShowsTheAddressOfTensorBoard) {
  step_.properties["tony.application.tensorboard-log-dir"] = box_.File("logs");
  step_.properties["tony.tensorboard.command"] = "exec sleep 600";
  const auto step = StartHolding();
  ASSERT_TRUE(WaitFor([&] { return At(Status(Job()), "/tensorboard_url").is_string(); }));
  const std::string url = Text(Status(Job()), "/tensorboard_url");
  Go();
  const Ran ran = step->Wait();
  ExpectEnd(ran, 0);
  EXPECT_EQ(CountLinesWith(ran.out, "TensorBoard: " + url), 1u) << ran.out;
}

TEST_F(AzkabanStepTest, TheAttachmentFileHoldsTheJobsStatusDuringAndAfterTheJob) {
  const auto step = StartHolding();
  const auto state = [&] {
    const std::string text = ReadText(step_.attachment_file());
    return text.empty() ? "" : Text(ParseJson(text), "/0/state");
  };
  EXPECT_TRUE(WaitFor([&] { return state() == "RUNNING"; })) << ReadText(step_.attachment_file());
  Go();
  ExpectEnd(step->Wait(), 0);
  const auto attached = ParseJson(ReadText(step_.attachment_file()));
  ASSERT_TRUE(attached.is_array());
  EXPECT_EQ(attached.as_array().size(), 1u);
  EXPECT_EQ(Text(attached, "/0/job"), Job());
  EXPECT_EQ(state(), "SUCCEEDED");
  for (const auto& entry : fs::directory_iterator(step_.folder()))
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf(HasSubstr("_tmp"), HasSubstr("attach"))) << "left";
}

TEST_F(AzkabanStepTest, OutputsOfTheChiefBecomePropertiesOfTheNextStep) {
  const Ran ran = RunLeaving(
      R"({"model.path": "/models/7", "loss": 0.10, "steps": 3, "done": true, "nothing": null, "tiny": -1.5E-7,)"
      R"( "big": 123456789012345678901234567890, "label": "\u00e9 \u2603 😀 \"q\" \\ \n.",)"
      R"( "nested": {"a": [1, 2.50], "b": null}, "list": [], "empty": ""})");
  ExpectEnd(ran, 0);
  const Texts expected = {{"model.path", "/models/7"},
                          {"loss", "0.10"},
                          {"steps", "3"},
                          {"done", "true"},
                          {"tiny", "-1.5E-7"},
                          {"big", "123456789012345678901234567890"},
                          {"label", "é ☃ 😀 \"q\" \\ \n."},
                          {"nested", R"({"a":[1,2.50],"b":null})"},
                          {"list", "[]"},
                          {"empty", ""}};
  const Texts outputs = Outputs();
  EXPECT_EQ(outputs.at("tony.model.path"), "/models/7");
  EXPECT_THAT(outputs, IsSupersetOf(expected));
  for (const auto& [name, text] : expected) EXPECT_EQ(outputs.at("tony.output." + name), text);
  EXPECT_EQ(outputs.count("nothing") + outputs.count("tony.output.nothing"), 0u);
}

TEST_F(AzkabanStepTest, AnInvalidOutputValueCausesAWarningAndValidOutputsArePassedOn) {
  const Ran ran = RunLeaving(R"({"loss": NaN, "big": 1e400, "model.path": "/m"})");
  ExpectEnd(ran, 0);
  EXPECT_THAT(ran.out, HasAll({"\"loss\" is passed on as text", "\"big\" is left out"}));
  const Texts outputs = Outputs();
  EXPECT_EQ(outputs.at("loss"), "NaN");
  EXPECT_EQ(outputs.at("tony.model.path"), "/m");
  EXPECT_EQ(outputs.count("big"), 0u);
}

TEST_F(AzkabanStepTest, MalformedOutputsOfTheChiefCauseAWarning) {
  const Ran ran = RunLeaving("{loss: 1}");
  ExpectEnd(ran, 0);
  EXPECT_THAT(ran.out, HasSubstr("outputs of worker:0"));
  EXPECT_EQ(Outputs().at("tony.job.id"), Job());
}

TEST_F(AzkabanStepTest, TheAdapterAcknowledgesTheResultOfASuccessfulJob) {
  ExpectEnd(step_.Run(), 0);
  EXPECT_EQ(At(Status(Job()), "/acked"), value(true));
}

TEST_F(AzkabanStepTest, TheAttachmentFileIsReadableByAllUsersWhateverTheUmask) {
  ExpectEnd(step_.Start("umask 077; exec \"$@\"")->Wait(), 0);
  struct stat about {};
  ASSERT_EQ(stat(step_.attachment_file().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0644u);
}

TEST_F(AzkabanStepTest, TheStepOverwritesAnExistingOutputsFile) {
  const std::string older(100'000, 'x');
  ExpectEnd(step_.Start("echo " + older + " >\"$JOB_OUTPUT_PROP_FILE\"; exec \"$@\"")->Wait(), 0);
  EXPECT_EQ(Outputs().at("tony.job.id"), Job());
}

TEST_F(AzkabanStepTest, ColoursAndCarriageReturnsInErrorOutputDoNotReachTheStepLog) {
  step_.properties["executes"] = R"(printf '\033[31mred\033[0m\rover it\nRuntimeError: \033[1mbold\n' >&2; exit 3)";
  const Ran ran = step_.Run();
  // ExpectEnd fails if the log contains an escape or a carriage return.
  ExpectEnd(ran, 1);
  EXPECT_THAT(ran.out, HasAll({"over it", "bold"}));
}

TEST_F(AzkabanStepTest, AFailedStepLogsTheExitCodeAndTheLastErrorLineAndPassesNoOutputsOn) {
  step_.properties["executes"] =
      R"(echo '{"a":1}' > $TONY_OUTPUT_FILE; printf 'step 1\rstep 2\n\033[31mno such data\033[0m\n' >&2; exit 3)";
  const Ran ran = step_.Run();
  ExpectEnd(ran, 1);
  EXPECT_THAT(ran.out, HasAll({"worker:0", "exit code 3", "no such data"}));
  EXPECT_EQ(ReadText(step_.outputs_file()), "");
  EXPECT_EQ(StateOf(Job()), "FAILED");
  EXPECT_EQ(Text(ParseJson(ReadText(step_.attachment_file())), "/0/state"), "FAILED");
  ExpectAllGoneSoon();
}

TEST_F(AzkabanStepTest, TheJobHasTagsForTheAzkabanServerTheProjectTheFlowAndTheExecution) {
  ExpectEnd(step_.Run(), 0);
  EXPECT_THAT(json::serialize(Status(Job())),
              HasAll({"azkaban.flow.execid:7", "azkaban.flow.flowid:nightly", "azkaban.flow.projectname:ranking",
                      "azkaban.webserverhost:azkaban.example"}));
}

// ---- which job belongs to the step

TEST_F(AzkabanStepTest, ALaterAttemptOfTheStepAttachesToTheJobOfAKilledAttempt) {
  auto first = StartHolding();
  first->Signal(SIGKILL);
  Ends(*first, 137);
  step_.properties["azkaban.job.attempt"] = "1";
  const auto second = step_.Start();
  ASSERT_TRUE(Says(*second, "of an earlier attempt runs")) << "and says so";
  EXPECT_THAT(box_.Jobs(), testing::SizeIs(1));
  Go();
  const Ran ran = second->Wait();
  ExpectEnd(ran, 0);
  EXPECT_THAT(ran.out, Not(HasSubstr("keeps them"))) << "the attempt is none of the job's";
  EXPECT_EQ(Outputs().at("tony.job.id"), Job());
}

TEST_F(AzkabanStepTest, ALaterAttemptOfTheStepReusesTheResultOfTheSuccessfulJob) {
  ExpectEnd(RunLeaving(R"({"loss": 0.5})"), 0);
  const Texts outputs = Outputs();
  step_.properties["azkaban.job.attempt"] = "1";
  // The outputs file of this attempt is new.
  const Ran again = step_.Run();
  ExpectEnd(again, 0);
  EXPECT_THAT(again.out, AllOf(HasSubstr(Job()), HasSubstr("adopts the result"), Not(HasSubstr("keeps them"))));
  EXPECT_EQ(Outputs(), outputs);
  EXPECT_THAT(box_.Jobs(), testing::SizeIs(1));
}

TEST_F(AzkabanStepTest, ALaterAttemptOfTheStepCreatesANewJobAfterAFailedJob) {
  step_.properties["executes"] = "test -e " + box_.File("go");
  ExpectEnd(step_.Run(), 1);
  const std::string failed = Job();
  Go();
  step_.properties["azkaban.job.attempt"] = "1";
  ExpectEnd(step_.Run(), 0);
  EXPECT_THAT(box_.Jobs(), testing::SizeIs(2));
  EXPECT_NE(Outputs().at("tony.job.id"), failed);
}

TEST_F(AzkabanStepTest, StepsOfDifferentFlowExecutionsOrNestedFlowPathsHaveSeparateJobs) {
  ExpectEnd(step_.Run(), 0);
  step_.properties["azkaban.flow.nested.path"] = "sub:train";
  ExpectEnd(step_.Run(), 0);
  step_.properties["azkaban.flow.nested.path"] = "other:train";
  ExpectEnd(step_.Run(), 0);
  step_.properties["azkaban.flow.uuid"] = "another-execution";
  ExpectEnd(step_.Run(), 0);
  EXPECT_THAT(box_.Jobs(), testing::SizeIs(4));
}

TEST_F(AzkabanStepTest, TheRequestIdIsAUriThatNamesTheAzkabanServerTheFlowExecutionAndTheStep) {
  step_.properties["azkaban.flow.flowid"] = "night ly/é";
  ExpectEnd(step_.Run(), 0);
  const std::string execution = step_.properties.at("azkaban.flow.uuid");
  EXPECT_EQ(Text(Status(Job()), "/request_id"),
            "azkaban://azkaban.example/ranking/" + execution + "/night%20ly%2F%C3%A9/train");
  step_.properties["azkaban.flow.flowid"] = "nightly";
  step_.properties["azkaban.flow.nested.path"] = "sub:train";
  step_.properties.erase("azkaban.webserverhost");
  step_.properties["azkaban.url"] = "http://other.example:8081";
  ExpectEnd(step_.Run(), 0);
  const std::string of_path = "azkaban://other.example:8081/ranking/" + execution + "/nightly/sub/train";
  Succeeds({"find", "--request-id", of_path});
}

}  // namespace
}  // namespace tony
