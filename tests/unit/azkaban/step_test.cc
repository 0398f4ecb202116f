// How an Azkaban step reads its request and its properties, and how it names the properties that request too much.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>

#include "azkaban-plugin/step_request.h"
#include "runtime/base/strings.h"
#include "tests/support/table_test.h"
#include "tests/support/temp_folder.h"

namespace tony::azkaban {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// The place of a step as each version of Azkaban describes it: azkaban.flow.*, azkaban.job.*, and azkaban.url if the
// executor server has azkaban.webserver.url.
const std::string kAzkaban25 =
    "azkaban.flow.execid=7 | azkaban.flow.flowid=nightly | azkaban.flow.projectid=3 | azkaban.flow.projectversion=1 | "
    "azkaban.flow.uuid=0f8c-25 | azkaban.flow.start.timestamp=2026-11-22T21:40:00.123Z | azkaban.job.attempt=0";
const std::string kAzkaban358 =
    kAzkaban25 +
    " | azkaban.job.id=train | azkaban.flow.uuid=0f8c-358 | azkaban.flow.projectname=ranking | "
    "azkaban.flow.submituser=ann";
const std::string kAzkaban390 = kAzkaban358 + " | azkaban.url=https://az.example:8443";
const std::string kAzkaban4 = kAzkaban390 + " | azkaban.webserverhost=az.example";
const std::map<std::string, std::string> kVersions = {
    {"2.5", kAzkaban25},
    {"3.58", kAzkaban358},
    {"3.90", kAzkaban390},
    {"4", kAzkaban4},
    {"replacing", kAzkaban390 + " | tony.azkaban.replace-older=true"}};

std::string ThisMachine() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Given: a version, then " | key=value" for each key; an empty value removes the key. Expected, between " | ": "id
// TEXT", or the error; "note TEXT" of all notes, "no notes"; "first" or "later": which attempt it is; "submission
// NUMBER"; "replaces". "HOST" stands for this machine.
void CheckRequest(const RowCase& row) {
  for (const std::string& given : Alternatives(row.given)) {
    SCOPED_TRACE(given);
    const std::string version = given.substr(0, given.find(" | "));
    std::map<std::string, std::string> values;
    for (const std::string& part : PartsOf(kVersions.at(version) + given.substr(version.size())))
      values[part.substr(0, part.find('='))] = part.substr(part.find('=') + 1);
    Properties properties;
    for (const auto& [key, value] : values)
      if (!value.empty()) properties.Set(key, value, "the step's properties");
    // Azkaban 2 passes the job name only in $JOB_NAME.
    if (version == "2.5") setenv("JOB_NAME", "train", 1);
    const auto request = RequestOfStep(properties);
    unsetenv("JOB_NAME");
    size_t notes = 0;
    for (const std::string& part : PartsOf(Replaced(row.expected, "HOST", ThisMachine()))) {
      const std::string word = part.substr(0, part.find(' ')),
                        rest = part.substr(std::min(part.size(), word.size() + 1));
      if (word == "id") {
        ExpectText(rest, request.ok() ? request->id.value : request.error().message);
      } else {
        ASSERT_TRUE(request.ok()) << request.error().message;
        if (word == "note") {
          ASSERT_LT(notes, request->notes.size());
          ExpectText(rest, request->notes[notes++]);
        }
        if (word == "no") {
          EXPECT_THAT(request->notes, IsEmpty());
        }
        if (word == "first" || word == "later") {
          EXPECT_EQ(request->is_first_try, word == "first");
        }
        if (word == "replaces") {
          EXPECT_TRUE(request->replaces_older);
        }
        if (word == "submission") {
          EXPECT_EQ(StrCat(request->submission), rest);
        }
      }
    }
    if (notes > 0) {
      EXPECT_EQ(request->notes.size(), notes);
    }
  }
}

const std::string kRanking = "azkaban://az.example:8443/ranking/",
                  kIdOf390 = "id azkaban://az.example:8443/ranking/0f8c-358/nightly/train";
const std::string kNames = "azkaban.flow.uuid=u | azkaban.flow.projectname=p/q | azkaban.flow.flowid=";
const std::string kStart = "azkaban.flow.start.timestamp=2026-11-22T";

const TestRow kRequests[] = {
    {"TheRequestIdIsBuiltFromThePropertiesThatEachAzkabanVersionProvides",
     {{"2.5", "id azkaban://HOST/3/0f8c-25/nightly/train"},
      {"3.58", "id azkaban://HOST/ranking/0f8c-358/nightly/train"},
      {"{3.90|4}", kIdOf390}}},
    {"AMessageListsThePropertiesThatAnAzkabanVersionDoesNotProvide",
     {{"2.5",
       "note this Azkaban passes no value of azkaban.url and azkaban.flow.projectname to a step, so only "
       "azkaban.flow.uuid distinguishes its executions"},
      {"3.58", "note ~passes no value of azkaban.url to a step"},
      {"{3.90|4}", "no notes"}}},
    {"AllAttemptsOfAStepHaveTheSameRequestId",
     {{"3.58 | azkaban.job.attempt={0|}", "id azkaban://HOST/ranking/0f8c-358/nightly/train | first"},
      {"3.58 | azkaban.job.attempt=1", "id azkaban://HOST/ranking/0f8c-358/nightly/train | later"}}},
    {"ExecutionsWithDifferentUuidsHaveDifferentRequestIdsDespiteTheSameNumber",
     {{"2.5 | azkaban.flow.uuid=1a2b", "id azkaban://HOST/3/1a2b/nightly/train"},
      {"3.58 | azkaban.flow.uuid=1a2b", "id azkaban://HOST/ranking/1a2b/nightly/train"},
      {"{3.90|4} | azkaban.flow.uuid=1a2b", "id " + kRanking + "1a2b/nightly/train"}}},
    {"StepsOfDifferentProjectsOrServersHaveDifferentRequestIds",
     {{"3.90 | azkaban.flow.projectname=staging", "id azkaban://az.example:8443/staging/0f8c-358/nightly/train"},
      {"3.90 | azkaban.url=https://az.example:8444", "id azkaban://az.example:8444/ranking/0f8c-358/nightly/train"}}},
    {"TheRequestIdNamesTheServerByAzkabanUrlOrElseByWebserverhost",
     {{"3.58 | azkaban.url=http://ann:pw@[::1]:8081/x?y", "id ^azkaban://[::1]:8081/"},
      {"3.58 | azkaban.url=http://az.example | azkaban.webserverhost=other", "id ^azkaban://az.example/"},
      {"3.58 | azkaban.webserverhost=az.example", "id ^azkaban://az.example/"}}},
    {"AnExecutionWithoutAUuidHasItsNumberInTheRequestIdAndCausesAWarning",
     {{"3.90 | azkaban.flow.uuid=",
       "id " + kRanking + "7/nightly/train | note ~warning: the step has no property azkaban.flow.uuid"}}},
    {"AStepOfAnEmbeddedFlowHasItsNestedPathInTheRequestId",
     {{"3.90 | azkaban.flow.nested.path=sub:train", "id " + kRanking + "0f8c-358/nightly/sub/train"}}},
    {"StepsWithDifferentNamesNeverShareARequestId",
     {{"3.90 | " + kNames + "a/b | azkaban.job.id=c", "id azkaban://az.example:8443/p%2Fq/u/a%2Fb/c"},
      {"3.90 | " + kNames + "a | azkaban.job.id=b/c", "id azkaban://az.example:8443/p%2Fq/u/a/b%2Fc"},
      {"3.90 | " + kNames + "a | azkaban.job.id=\u00e9", "id azkaban://az.example:8443/p%2Fq/u/a/%C3%A9"}}},
    {"AMissingMandatoryPropertyIsNamedInTheError",
     {{"3.90 | azkaban.flow.execid=", "id ~azkaban.flow.execid: missing"},
      {"3.90 | azkaban.flow.flowid=", "id ~azkaban.flow.flowid: missing"},
      {"3.90 | azkaban.job.id=", "id ~azkaban.job.id: missing"}}},
    // ---- tony.azkaban.replace-older
    {"AllExecutionsOfAStepShareOneRequestIdIfReplaceOlderIsTrue",
     {{"replacing", "id " + kRanking + "-/nightly/train | replaces | no notes"},
      {"replacing | azkaban.flow.uuid=u2 | azkaban.flow.execid=8", "id " + kRanking + "-/nightly/train"}}},
    {"SubmissionNumbersFollowTheStartTimesOfExecutions",
     {{"replacing | azkaban.flow.execid=9000", "submission 1795383600123000"},
      {"replacing | azkaban.flow.execid=9000 | azkaban.job.attempt=2", "submission 1795383600123000"},
      {"replacing | azkaban.flow.execid=1 | " + kStart + "21:40:00.124Z", "submission 1795383600124001"}}},
    {"ExecutionsStartedInTheSameMillisecondGetDifferentSubmissionNumbers",
     {{"replacing", "submission 1795383600123007"},
      {"replacing | azkaban.flow.execid=8", "submission 1795383600123008"}}},
    {"TheStartTimeOfAFlowIsReadWithItsTimeZone",
     {{"replacing | " + kStart + "{22:40:00.123+01:00|16:10:00.123-05:30}", "submission 1795383600123007"}}},
    {"AnInvalidFlowStartTimestampIsReported",
     {{"replacing | azkaban.flow.start.timestamp={yesterday|2026-11-22T21:40:00.123|2026-11-22T21:40:00.123+0100|"
       "2026-13-22T21:40:00.123Z|2026-11-22T21:40:00.123+-1:00}",
       "id ~azkaban.flow.start.timestamp: \" | id ~expected a time"}}},
    {"ReplaceOlderNeedsAzkabanUrlAndProjectName",
     {{"replacing | azkaban.url=",
       "id ~tony.azkaban.replace-older: \"true\" (from the step's properties): needs azkaban.url | id "
       "~azkaban.webserver.url"},
      {"replacing | azkaban.flow.projectname=", "id ~needs azkaban.flow.projectname"}}},
    {"ReplaceOlderAcceptsOnlyTrueOrFalse",
     {{"3.90 | tony.azkaban.replace-older= False ", kIdOf390},
      {"3.90 | tony.azkaban.replace-older=yes",
       "id tony.azkaban.replace-older: \"yes\" (from the step's properties): expected true or false"}}},
};
TABLE_TEST(StepRequestTest, kRequests, CheckRequest);

// ---- the step's properties

class StepPropertiesTest : public testing::Test {
 protected:
  Result<Step> Read(const std::string& properties) const {
    std::ofstream(folder_.path() / "props") << properties;
    return ReadStep(folder_.path() / "props", folder_.path());
  }

  const TempFolder folder_;
};

TEST_F(StepPropertiesTest, TheStepPropertiesDetermineTheRequestIdTheAttachmentPathAndTheJobSpec) {
  const auto step = Read(
      "executes=true\ntony.worker.instances=2\nazkaban.flow.execid=7\nazkaban.flow.flowid=f\nazkaban.job.id=j\n"
      "azkaban.flow.projectname=p\nazkaban.flow.uuid=u\nazkaban.url=http\\://az\\:8081\n"
      "azkaban.job.attachment.file=/executions/7/_job.7.j.attach\n");
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_EQ(step->request.id.value, "azkaban://az:8081/p/u/f/j");
  EXPECT_EQ(step->attachment, "/executions/7/_job.7.j.attach");
  EXPECT_EQ(step->job.spec.TotalTasks(), 2);
}

TEST_F(StepPropertiesTest, AStepActsForTheProxyUserOnlyIfThePropertiesSaySo) {
  const std::string step =
      "executes=true\nazkaban.flow.execid=7\nazkaban.flow.flowid=f\nazkaban.job.id=j\nuser.to.proxy=ann\n";
  EXPECT_EQ(Read(step)->proxied, "");
  EXPECT_EQ(Read(step + "azkaban.should.proxy.user=true\n")->proxied, "ann");
}

TEST_F(StepPropertiesTest, TheDefaultWatchTimeoutOfAStepsJobIsLongerThanAnHour) {
  const auto step = Read("executes=true\nazkaban.flow.execid=7\nazkaban.flow.flowid=f\nazkaban.job.id=j\n");
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_GT(step->job.watch_timeout, std::chrono::hours(1));
}

TEST_F(StepPropertiesTest, APropertiesFileThatIsAPipeIsRefused) {
  const auto pipe = folder_.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(ReadStep(pipe, folder_.path()).error().message, HasSubstr("not a file"));
}

TEST_F(StepPropertiesTest, TheErrorOfAnInvalidValueNamesThePropertiesOfTheStepAsItsOrigin) {
  const auto step = Read(
      "executes=true\ntony.worker.instances=two\nazkaban.flow.execid=7\nazkaban.flow.flowid=f\nazkaban.job.id=j\n");
  EXPECT_EQ(step.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(step.error().message, HasSubstr("tony.worker.instances: \"two\" (from the step's properties): expected"));
}

// ---- the properties that request too much

const Error kRefused = {ErrorCode::kInvalid,
                        "the job requests 36864 MB of memory (5 tasks: ps 1 x 4096 MB, worker 4 x 8192 MB), and this "
                        "machine has 7800 MB; lower tony.worker.memory or tony.worker.instances"};

RoleSpec Role(const std::string& name, int instances, int gpus = 0) {
  RoleSpec role;
  role.name = name;
  role.instances = instances;
  role.resources.gpus = gpus;
  return role;
}

TEST(RequestedResourcesTest, AResourceErrorListsTheSettingsOfEachRoleWithValueAndOrigin) {
  JobSpec spec;
  spec.roles = {Role("ps", 1), Role("worker", 4, 2)};
  const Configuration configuration = {
      {"tony.ps.instances", "1", "the step's properties"}, {"tony.ps.memory", "2g", "default"},
      {"tony.worker.gpus", "2", "the step's properties"},  {"tony.worker.instances", "4", "the step's properties"},
      {"tony.worker.memory", "8g", "main.args"},           {"tony.worker.vcores", "4", "the step's properties"}};
  const Error told = WithRequestedResources(kRefused, spec, configuration);
  EXPECT_EQ(told.code, ErrorCode::kInvalid);
  EXPECT_EQ(told.message, kRefused.message +
                              "; these settings request it: tony.ps.instances=1 (the step's properties), tony.ps.memory=2g (TonY's "
                              "default), tony.worker.instances=4 (the step's properties), tony.worker.memory=8g "
                              "(main.args), tony.worker.gpus=2 (the step's properties)");
}

TEST(RequestedResourcesTest, AResourceErrorOfAJobWithoutRolesListsItsTonyAmSettings) {
  JobSpec spec;
  spec.roles = {Role("driver", 1)};
  spec.roles[0].key_prefix = "tony.am";
  EXPECT_EQ(WithRequestedResources(kRefused, spec, {{"tony.am.memory", "36g", "the step's properties"}}).message,
            kRefused.message + "; these settings request it: tony.am.memory=36g (the step's properties)");
}

TEST(RequestedResourcesTest, AnErrorAboutOpenFilesListsNoResourceSettings) {
  const Error other = {ErrorCode::kUnavailable, "at most 64 open files are allowed here"};
  EXPECT_EQ(WithRequestedResources(other, {}, {}).message, other.message);
}

}  // namespace
}  // namespace tony::azkaban
