// Bad input: `tony` prints one line with the key, the value and its origin, exits with the documented code, and starts
// or stores nothing.
#include "tests/e2e/script.h"

namespace tony {
namespace {

const TestRow kBadInput[] = {
    {"TheErrorForMalformedXmlNamesTheFileAndTheLine",
     {{"write broken.xml `<configuration>\n<property><name>tony.worker.instances</name><value>1</property>\n`", ""},
      {"submit broken.xml", "65 && refused && ~broken.xml && ~2"}}},
    {"TheErrorForMalformedPropertiesNamesTheFileAndTheLine",
     {{"write broken.properties `tony.worker.instances=1\ntony.worker.command=\\u12G4\n`", ""},
      {"submit broken.properties", "65 && refused && ~broken.properties && ~2"}}},
    {"AMisspelledOptionIsRefused", {{"submit -excutes true", "64 && refused && ~-excutes && ~--executes"}}},
    {"AnUnquotedCommandIsRefused", {{"submit -executes python train.py", "64 && refused && ~train.py && ~quotes"}}},
    {"AMisspelledSubcommandIsRefused", {{"sumbit -executes true", "64 && refused && ~sumbit && ~\"submit\""}}},
    {"AnOptionWithoutItsValueIsRefused", {{"submit -executes", "64 && refused && ~--executes needs a value"}}},
    {"TheErrorForAnInvalidMemorySizeShowsTheSettingAndItsOrigin",
     {{"one true tony.worker.memory=2x", "65 && refused && ~tony.worker.memory && ~2x && ~-conf && ~expected"}}},
    {"ARefusedSubmitPrintsAllErrorsAndThenTheWarnings",
     {{"one true tony.worker.memory=2x tony.worker.vcores=0 tony.worker.memroy=1g",
       "65 && lines=3 && ~tony: tony.worker.memory: \"2x\" && ~tony: tony.worker.vcores: \"0\" && ~\ntony: warning: "
       "tony.worker.memroy"},
      {"jobs 0", ""}}},
    {"TheOptionStrictTurnsAWarningIntoAnError",
     {{"one true tony.worker.memroy=1g --strict", "65 && ~tony.worker.memroy && ~--strict && out="},
      {"plan -executes true tony.worker.instances=1 tony.worker.memroy=1g --strict",
       "65 && ~tony.worker.memroy && ~--strict && out="},
      {"jobs 0", ""},
      {"one true --strict", ""}}},
    {"InvalidFailureRulesAreRefused",
     {{"one true tony.failure.exit.3=broken",
       "65 && refused && ~tony.failure.exit.3 && ~\"broken\" (from -conf) && ~user_config"},
      {"one true `tony.failure.pattern.x=(a => oom`",
       "65 && refused && ~tony.failure.pattern.x && ~regular expression && ~unmatched ("}}},
    {"TheExplainExitCommandRefusesInvalidExitCodesAndUnknownJobs",
     {{"explain-exit 300", "64 && refused && ~\"300\" && ~expected an exit code"},
      {"explain-exit -1001", "64 && refused && ~\"-1001\""},
      {"explain-exit 1 --job no-such-job", "66 && refused && ~no-such-job"}}},
    {"InvalidRestartScopesAndCheckpointFoldersAreRefused",
     {{"one true tony.worker.restart.scope=all", "65 && refused && ~tony.worker.restart.scope && ~all && ~gang"},
      {"one true tony.checkpoint.dir=hdfs:///saved",
       "65 && refused && ~tony.checkpoint.dir && ~hdfs:///saved && ~tony.scheduler=yarn"}}},
    {"TheErrorForAnInvalidNumberInAFileNamesTheFileAndTheLine",
     {{"write job.properties `\ntony.worker.instances=two\ntony.worker.command=true\n`", ""},
      {"submit job.properties", "65 && refused && ~tony.worker.instances && ~two && ~job.properties:2"}}},
    {"TheSourceFolderMustExist", {{"one true -src_dir no/such/folder", "65 && refused && ~no/such/folder"}}},
    {"TheConfFileMustExist", {{"one true -conf_file missing.xml", "65 && refused && ~missing.xml && ~no such file"}}},
    {"TheJobFileMustExist", {{"submit missing.properties", "65 && refused && ~missing.properties && ~no such file"}}},
    {"AJobWithoutACommandIsRefused", {{"submit tony.worker.instances=1", "65 && refused && ~worker"}}},
    {"ASubmitFailsIfTonyHomeCannotBeCreated",
     {{"write file `in the way`", ""}, {"TONY_HOME=%B/file/home one true", "73 && refused && ~%B/file"}}},
    {"TheStatusWaitKillAndLogsCommandsRefuseAnUnknownJob",
     {{"status local-20200101-000000-abcdef", "66 && refused && ~local-20200101-000000-abcdef"},
      {"wait local-20200101-000000-abcdef", "66 && refused && ~local-20200101-000000-abcdef"},
      {"kill local-20200101-000000-abcdef", "66 && refused && ~local-20200101-000000-abcdef"},
      {"logs local-20200101-000000-abcdef", "66 && refused && ~local-20200101-000000-abcdef"},
      {"status ../jobs", "66 && refused && ~../jobs"},
      {"wait ../jobs", "66 && refused && ~../jobs"},
      {"kill ../jobs", "66 && refused && ~../jobs"},
      {"logs ../jobs", "66 && refused && ~../jobs"}}},
    {"AWaitWithAnInvalidTimeoutIsRefused", {{"wait local-x --timeout soon", "64 && refused && ~--timeout && ~soon"}}},
};
TABLE_TEST(BadInputTest, kBadInput, RunScript);

// The kernel limits a single string to 128 KiB, and all arguments and variables together to a quarter of the stack.
class BigInputTest : public TonyTest {
 protected:
  std::string SpecWith(const std::string& lines) {
    return box_.Write("big.properties", "tony.application.framework=standalone\ntony.worker.instances=1\n" + lines);
  }
};

TEST_F(BigInputTest, ACommandTooLargeForTheKernelIsRefused) {
  const std::string spec = SpecWith("tony.worker.command=: " + std::string(200 * 1024, 'x') + "\n");
  ExpectRefused({"submit", spec}, 65, {"tony.worker.command", "big.properties:3"});
}

TEST_F(BigInputTest, AnEnvironmentTooLargeForTheKernelIsRefused) {
  std::string lines = "tony.worker.command=true\n";
  for (int i = 0; i < 30; ++i)
    lines += "tony.execution.env.BIG_" + std::to_string(i) + "=" + std::string(100 * 1024, 'y') + "\n";
  ExpectRefused({"submit", SpecWith(lines)}, 65, {"tony.execution.env"});
}

}  // namespace
}  // namespace tony
