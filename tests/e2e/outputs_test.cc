// The outputs that the chief writes into $TONY_OUTPUT_FILE, and the answers of `tony outputs`.
#include "tests/e2e/script.h"

namespace tony {
namespace {

const TestRow kOutputs[] = {
    {"TheOutputsCommandPrintsTheChiefsOutputsAfterTheEndOfTheJob",
     {{"workers 2 `test $TASK_INDEX = 1 || printf '{\"model\": \"/m/7\",\\n \"loss\": 0.10}\\n' > $TONY_OUTPUT_FILE`",
       "out!outputs"},
      {"left", ""},
      {"outputs %J --json", "/schema=1 && /job=%J && /task=worker:0 && /outputs/model=/m/7"},
      {"outputs %J", "out={\n  \"model\": \"/m/7\",\n  \"loss\": 0.10\n}\n"}}},
    {"TheOutputsOfAJobWithoutAnOutputFileAreAnEmptyObject",
     {{"one true", ""}, {"outputs %J --json", "/outputs={}"}, {"outputs %J", "out={}\n"}}},
    {"AnOutputFileAmongTheSourcesIsIgnored",
     {{"write src/tony-output.json {\"old\":1}", ""},
      {"one true -src_dir src", ""},
      {"outputs %J --json", "/outputs={}"}}},
    {"AJobWithoutRolesCanWriteOutputs",
     {{"submit -executes `printf '{\"a\":1}' > $TONY_OUTPUT_FILE`", ""}, {"outputs %J --json", "/outputs/a=1"}}},
    {"SmallOutputValuesAreKeptIfTheOutputFileIsTooLarge",
     {{"one `(printf '{\"model.path\":\"/m\",\"big\":\"'; head -c 2000000 /dev/zero | tr '\\0' x; printf '\"}') > "
       "$TONY_OUTPUT_FILE`",
       ""},
      {"outputs %J --json", "/outputs={\"model.path\":\"/m\"} && /problems/0/name=big"}}},
    {"MalformedJsonInTheOutputFileIsReportedWithItsPosition",
     {{"one `printf '{\"loss\":\\n 0.1.2}' > $TONY_OUTPUT_FILE`", "out~line 2, offset 13: expected , or }"},
      {"outputs %J --json",
       "65 && line && err~worker:0#1 && err~logs/worker-0/1/output.json && err~line 2, offset 13: expected , or } && "
       "err~expected one JSON object && /error/class=spec_invalid"},
      {"status %J --json", "/state=SUCCEEDED && /outputs_problem~line 2, offset 13: expected , or }"}}},
    {"OutputsThatAreNotAJsonObjectAreReportedAsAnError",
     {{"one `echo 42 > $TONY_OUTPUT_FILE`", "out~line 1, offset 0: expected a JSON object"},
      {"outputs %J --json",
       "65 && line && err~worker:0#1 && err~logs/worker-0/1/output.json && err~line 1, offset 0: expected a JSON object"
       " && "
       "err~expected one JSON object && /error/class=spec_invalid"},
      {"status %J --json", "/state=SUCCEEDED && /outputs_problem~line 1, offset 0: expected a JSON object"}}},
    {"TheSizeOfA3GibibyteOutputFileIsReportedAndTheFileIsNotKept",
     {{"one `truncate -s 3G $TONY_OUTPUT_FILE`",
       "out~the outputs are not kept: they have 3221225472 bytes, more than 1048576"},
      {"outputs %J --json",
       "65 && line && err~worker:0#1 && err~logs/worker-0/1/output.json && err~they have 3221225472 bytes, more "
       "than 1048576 && err~expected one JSON object && /error/class=spec_invalid"},
      {"status %J --json",
       "/state=SUCCEEDED && /outputs_problem~the outputs are not kept: they have 3221225472 bytes, more than 1048576"},
      {"missing %F/logs/worker-0/1/output.json", ""}}},
    {"APipeInPlaceOfTheOutputFileDoesNotBlockTheJob",
     {{"one `mkfifo $TONY_OUTPUT_FILE`", "out~the path is not a regular file"},
      {"outputs %J --json",
       "65 && line && err~worker:0#1 && err~logs/worker-0/1/output.json && err~the path is not a regular file && "
       "err~expected one JSON object && /error/class=spec_invalid"},
      {"status %J --json", "/state=SUCCEEDED && /outputs_problem~the path is not a regular file"}}},
    {"ASymbolicLinkInPlaceOfTheOutputFileIsNotFollowed",
     {{"one `ln -s /etc/passwd $TONY_OUTPUT_FILE`", "out~the path is a symbolic link"},
      {"outputs %J --json",
       "65 && line && err~worker:0#1 && err~logs/worker-0/1/output.json && err~the path is a symbolic link && "
       "err~expected one JSON object && /error/class=spec_invalid"},
      {"status %J --json", "/state=SUCCEEDED && /outputs_problem~the path is a symbolic link"}}},
    {"TheOutputsOfAJobAreThoseOfItsSuccessfulAttempt",
     {{"one `printf '{\"attempt\":%s}' $TONY_ATTEMPT > $TONY_OUTPUT_FILE; test $TONY_ATTEMPT = 2` "
       "tony.restart.task.budget=1",
       ""},
      {"outputs %J --json", "/outputs/attempt=2"}}},
    {"AFailedChiefLeavesNoOutputs",
     {{"one `echo '{\"a\":1}' > $TONY_OUTPUT_FILE; exit 3`", "1"}, {"outputs %J --json", "/outputs={} && /task=null"}}},
    // The stopped keeper cannot start a new master. The outputs are written before the outcome.
    {"OutputsWrittenWhileNoMasterRunsAreReturnedAfterTheEndOfTheJob",
     {{"& one `%H; echo '{\"a\":1}' > $TONY_OUTPUT_FILE`", ""},
      {"running 1", ""},
      {"signal STOP tony-keeper", ""},
      {"signal KILL tony-am", ""},
      {"go", ""},
      {"until file %F/logs/worker-0/1/outcome.json", "~{"},
      {"log worker-0 output.json", "out={\"a\":1}\n"},
      {"outputs %J", "69"},
      {"signal CONT tony-keeper", ""},
      {"end", ""},
      {"outputs %J --json", "/outputs/a=1"}}},
    {"TheOutputsCommandRefusesARunningJob",
     {{"& one `%H`", ""},
      {"running 1", ""},
      {"outputs %J", "69 && line && err~has not ended (RUNNING)"},
      {"go", ""},
      {"end", ""},
      {"outputs no-such-job", "66"}}},
};
TABLE_TEST(OutputsTest, kOutputs, RunScript);

class OutputFilesTest : public TonyTest {
 protected:
  void Leave(const std::string& outputs) const { Succeeds(One("printf '" + outputs + "' > $TONY_OUTPUT_FILE")); }
  value Outputs() const { return Json({"outputs", Job()}); }
};

TEST_F(OutputFilesTest, OutputsRemainReadableIfEitherOfTheirTwoCopiesIsLost) {
  Leave(R"({"a":1})");
  const fs::path folder = box_.JobFolder(Job()), copy = folder / "logs/worker-0/1/output.json";
  fs::rename(copy, folder / "aside");
  EXPECT_EQ(Number(Outputs(), "/outputs/a"), 1);
  fs::rename(folder / "aside", copy);
  fs::remove(folder / "outputs");
  ASSERT_EQ(mkfifo((folder / "outputs").c_str(), 0600), 0);
  EXPECT_EQ(Number(Outputs(), "/outputs/a"), 1);
}

TEST_F(OutputFilesTest, InvalidOutputValuesAreNamedInTheExecutorLogAndByTheOutputsCommand) {
  const Ran job =
      Succeeds(One(R"(printf '{"loss":NaN,"big":1e400,"a":1,"a":2,"model.path":"/m"}' > $TONY_OUTPUT_FILE)"));
  const auto outputs = Outputs();
  EXPECT_EQ(json::serialize(At(outputs, "/outputs")), R"({"loss":"NaN","model.path":"/m"})");
  ExpectJson(outputs, {{"/problems/0/name", "loss"},
                       {"/problems/0/left_out", false},
                       {"/problems/1/name", "big"},
                       {"/problems/2/name", "a"}});
  const std::string told = ReadText(box_.JobFolder(Job()) / "logs/worker-0/1/executor.log");
  const auto status = Status();
  const Ran text = Succeeds({"outputs", Job()});
  for (const std::string& place : {job.out, told, Text(status, "/outputs_problem"), text.err}) {
    EXPECT_THAT(place, HasAll({R"("loss" is passed on as text (line 1, offset 8: NaN is not a JSON number))",
                               R"("big" is left out (line 1, offset 18: a number out of range))",
                               R"("a" is left out (line 1, offset 30: the name occurs twice))"}));
  }
}

}  // namespace
}  // namespace tony
