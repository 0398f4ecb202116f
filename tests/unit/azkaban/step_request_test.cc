#include "azkaban-plugin/step_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <map>

#include "runtime/base/strings.h"

namespace tony::azkaban {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Values = std::map<std::string, std::string>;

// What each version tells a step of where it is (azkaban.flow.*, azkaban.job.*; azkaban.url only where the executor
// server has azkaban.webserver.url).
const Values kAzkaban25 = {
    {"azkaban.flow.execid", "7"},     {"azkaban.flow.flowid", "nightly"},
    {"azkaban.flow.projectid", "3"},  {"azkaban.flow.projectversion", "1"},
    {"azkaban.flow.uuid", "0f8c-25"}, {"azkaban.flow.start.timestamp", "2026-11-22T21:40:00.123Z"},
    {"azkaban.job.attempt", "0"}};

Values With(Values values, const Values& more) {
  for (const auto& [key, value] : more) values[key] = value;
  return values;
}

Values Azkaban358() {
  return With(kAzkaban25, {{"azkaban.job.id", "train"},
                           {"azkaban.flow.uuid", "0f8c-358"},
                           {"azkaban.flow.projectname", "ranking"},
                           {"azkaban.flow.submituser", "ann"}});
}
Values Azkaban390() { return With(Azkaban358(), {{"azkaban.url", "https://az.example:8443"}}); }
Values Azkaban4() { return With(Azkaban390(), {{"azkaban.webserverhost", "az.example"}}); }
Values Replacing(const Values& more = {}) {
  return With(With(Azkaban390(), {{"tony.azkaban.replace-older", "true"}}), more);
}

Result<StepRequest> Read(const Values& values) {
  Properties properties;
  for (const auto& [key, value] : values)
    if (!value.empty()) properties.Set(key, value, "the step's properties");
  return RequestOfStep(properties);
}

std::string IdOf(const Values& values) {
  const auto request = Read(values);
  return request.ok() ? request->id.value : request.error().message;
}

std::string ThisMachine() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

class StepRequestTest : public testing::Test {
 protected:
  StepRequestTest() { unsetenv("JOB_NAME"); }
  ~StepRequestTest() override { unsetenv("JOB_NAME"); }
};

TEST_F(StepRequestTest, NamesWhatEachVersionOfAzkabanTells) {
  setenv("JOB_NAME", "train", 1);  // of Azkaban 2, where the properties do not name the job
  EXPECT_EQ(IdOf(kAzkaban25), StrCat("azkaban://", ThisMachine(), "/3/0f8c-25/nightly/train"));
  unsetenv("JOB_NAME");
  EXPECT_EQ(IdOf(Azkaban358()), StrCat("azkaban://", ThisMachine(), "/ranking/0f8c-358/nightly/train"));
  EXPECT_EQ(IdOf(Azkaban390()), "azkaban://az.example:8443/ranking/0f8c-358/nightly/train");
  EXPECT_EQ(IdOf(Azkaban4()), "azkaban://az.example:8443/ranking/0f8c-358/nightly/train");
}

TEST_F(StepRequestTest, SaysInOneLineWhatAVersionDoesNotTell) {
  setenv("JOB_NAME", "train", 1);
  EXPECT_THAT(Read(kAzkaban25)->notes,
              ElementsAre("this Azkaban does not tell a step azkaban.url and azkaban.flow.projectname: its executions "
                          "are told apart by azkaban.flow.uuid alone"));
  EXPECT_THAT(Read(Azkaban358())->notes, ElementsAre(HasSubstr("does not tell a step azkaban.url: ")));
  EXPECT_THAT(Read(Azkaban390())->notes, IsEmpty());
  EXPECT_THAT(Read(Azkaban4())->notes, IsEmpty());
}

TEST_F(StepRequestTest, AllAttemptsOfAnExecutionHaveOneId) {
  const auto first = Read(Azkaban358()), second = Read(With(Azkaban358(), {{"azkaban.job.attempt", "1"}}));
  EXPECT_EQ(first->id, second->id);
  EXPECT_TRUE(first->is_first_try);
  EXPECT_FALSE(second->is_first_try);
  EXPECT_TRUE(Read(With(Azkaban358(), {{"azkaban.job.attempt", ""}}))->is_first_try);
}

TEST_F(StepRequestTest, ARepeatedExecutionNumberIsAnotherExecutionByItsUuidInEachVersion) {
  setenv("JOB_NAME", "train", 1);
  for (const Values& version : {kAzkaban25, Azkaban358(), Azkaban390(), Azkaban4()})
    EXPECT_NE(IdOf(version), IdOf(With(version, {{"azkaban.flow.uuid", "1a2b"}})));
}

TEST_F(StepRequestTest, AnotherProjectOrServerHasAnotherId) {
  EXPECT_NE(IdOf(Azkaban390()), IdOf(With(Azkaban390(), {{"azkaban.flow.projectname", "staging"}})));
  EXPECT_NE(IdOf(Azkaban390()), IdOf(With(Azkaban390(), {{"azkaban.url", "https://az.example:8444"}})));
}

TEST_F(StepRequestTest, TheServerIsNamedByItsAddressOrElseByItsHost) {
  const auto server = [](const std::string& url, const std::string& host) {
    const std::string id = IdOf(With(Azkaban358(), {{"azkaban.url", url}, {"azkaban.webserverhost", host}}));
    return Split(id, '/')[2];
  };
  EXPECT_EQ(server("http://ann:pw@[::1]:8081/x?y", ""), "[::1]:8081");
  EXPECT_EQ(server("http://az.example", "other"), "az.example");
  EXPECT_EQ(server("", "az.example"), "az.example");
}

TEST_F(StepRequestTest, WithoutAUuidTheExecutionsNumberStandsThereWithAWarning) {
  const auto request = Read(With(Azkaban390(), {{"azkaban.flow.uuid", ""}}));
  EXPECT_EQ(request->id.value, "azkaban://az.example:8443/ranking/7/nightly/train");
  EXPECT_THAT(request->notes, ElementsAre(HasSubstr("warning: azkaban.flow.uuid is missing")));
}

TEST_F(StepRequestTest, AStepOfAnEmbeddedFlowIsNamedByItsPath) {
  EXPECT_EQ(IdOf(With(Azkaban390(), {{"azkaban.flow.nested.path", "sub:train"}})),
            "azkaban://az.example:8443/ranking/0f8c-358/nightly/sub/train");
}

TEST_F(StepRequestTest, WhateverNamesHoldTwoStepsNeverShareAnId) {
  const auto of = [](const std::string& flow, const std::string& job) {
    return IdOf(With(Azkaban390(), {{"azkaban.flow.uuid", "u"},
                                    {"azkaban.flow.flowid", flow},
                                    {"azkaban.job.id", job},
                                    {"azkaban.flow.projectname", "p/q"}}));
  };
  const std::string begin = "azkaban://az.example:8443/p%2Fq/u/";
  EXPECT_EQ(of("a/b", "c"), begin + "a%2Fb/c");
  EXPECT_EQ(of("a", "b/c"), begin + "a/b%2Fc");
  EXPECT_EQ(of("a", "\u00e9"), begin + "a/%C3%A9");
}

TEST_F(StepRequestTest, WhatAzkabanAlwaysSetsIsMissedByName) {
  for (const char* key : {"azkaban.flow.execid", "azkaban.flow.flowid", "azkaban.job.id"})
    EXPECT_THAT(IdOf(With(Azkaban390(), {{key, ""}})), HasSubstr(StrCat(key, ": missing")));
}

// ---- tony.azkaban.replace-older

TEST_F(StepRequestTest, ExecutionsThatReplaceEachOtherShareAnIdThatNoOtherStepHas) {
  const auto request = Read(Replacing());
  EXPECT_EQ(request->id.value, "azkaban://az.example:8443/ranking/-/nightly/train");
  EXPECT_TRUE(request->replaces_older);
  EXPECT_EQ(request->id, Read(Replacing({{"azkaban.flow.uuid", "u2"}, {"azkaban.flow.execid", "8"}}))->id);
  EXPECT_THAT(request->notes, IsEmpty());
}

TEST_F(StepRequestTest, TheExecutionThatStartsLaterHasTheHigherNumberWhateverTheDatabaseCounts) {
  const int64_t older = Read(Replacing({{"azkaban.flow.execid", "9000"}}))->submission;
  const Values later = {{"azkaban.flow.execid", "1"}, {"azkaban.flow.start.timestamp", "2026-11-22T21:40:00.124Z"}};
  EXPECT_GT(Read(Replacing(later))->submission, older);
  EXPECT_EQ(Read(Replacing({{"azkaban.flow.execid", "9000"}, {"azkaban.job.attempt", "2"}}))->submission, older);
  EXPECT_EQ(older, 1795383600123000);
}

TEST_F(StepRequestTest, TwoExecutionsOfOneMillisecondAreTwo) {
  EXPECT_NE(Read(Replacing())->submission, Read(Replacing({{"azkaban.flow.execid", "8"}}))->submission);
}

TEST_F(StepRequestTest, AStartIsAPointInTimeInWhateverZoneAzkabanWritesIt) {
  const int64_t utc = Read(Replacing())->submission;
  for (const char* text : {"2026-11-22T22:40:00.123+01:00", "2026-11-22T16:10:00.123-05:30"})
    EXPECT_EQ(Read(Replacing({{"azkaban.flow.start.timestamp", text}}))->submission, utc) << text;
}

TEST_F(StepRequestTest, AStartThatIsNoTimeIsNamed) {
  for (const char* text : {"yesterday", "2026-11-22T21:40:00.123", "2026-11-22T21:40:00.123+0100",
                           "2026-13-22T21:40:00.123Z", "2026-11-22T21:40:00.123+-1:00"})
    EXPECT_THAT(IdOf(Replacing({{"azkaban.flow.start.timestamp", text}})),
                AllOf(HasSubstr("azkaban.flow.start.timestamp: \""), HasSubstr("expected a time")));
}

TEST_F(StepRequestTest, WithoutInstallationOrProjectNothingIsReplaced) {
  EXPECT_THAT(IdOf(Replacing({{"azkaban.url", ""}})),
              AllOf(HasSubstr("tony.azkaban.replace-older: \"true\" (from the step's properties): needs azkaban.url"),
                    HasSubstr("azkaban.webserver.url")));
  EXPECT_THAT(IdOf(Replacing({{"azkaban.flow.projectname", ""}})), HasSubstr("needs azkaban.flow.projectname"));
}

TEST_F(StepRequestTest, ReplaceOlderIsTrueOrFalse) {
  EXPECT_EQ(IdOf(Replacing({{"tony.azkaban.replace-older", " False "}})), IdOf(Azkaban390()));
  EXPECT_EQ(IdOf(Replacing({{"tony.azkaban.replace-older", "yes"}})),
            "tony.azkaban.replace-older: \"yes\" (from the step's properties): expected true or false");
}

}  // namespace
}  // namespace tony::azkaban
