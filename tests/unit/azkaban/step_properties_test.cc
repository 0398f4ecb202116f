#include "azkaban-plugin/step_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "runtime/base/strings.h"
#include "tests/support/temp_folder.h"

namespace tony::azkaban {
namespace {

using testing::HasSubstr;

constexpr const char* kMinimal = "executes=true\ntony.worker.instances=2\n";

class StepPropertiesTest : public testing::Test {
 protected:
  Result<Step> Read(const std::string& properties) const {
    std::ofstream(folder_.path() / "props") << properties;
    return ReadStep(folder_.path() / "props", folder_.path());
  }
  std::string RequestOf(const std::string& properties) const {
    const auto step = Read(kMinimal + properties);
    return step.ok() ? step->request.value : step.error().message;
  }

  const TempFolder folder_;
};

TEST_F(StepPropertiesTest, TheRequestNamesServerExecutionFlowAndJob) {
  EXPECT_EQ(RequestOf("azkaban.flow.execid=7\nazkaban.flow.flowid=nightly\nazkaban.job.id=train\n"
                      "azkaban.job.attempt=2\nazkaban.webserverhost=az.example\n"),
            "azkaban://az.example/7/nightly/train");
}

TEST_F(StepPropertiesTest, AStepOfAnEmbeddedFlowIsNamedByItsPath) {
  EXPECT_EQ(RequestOf("azkaban.flow.execid=7\nazkaban.flow.flowid=nightly\nazkaban.job.id=train\n"
                      "azkaban.flow.nested.path=sub\\:train\nazkaban.url=https\\://az.example\\:8443\n"),
            "azkaban://az.example/7/nightly/sub/train");
}

TEST_F(StepPropertiesTest, WhateverNamesHoldTwoStepsNeverShareARequest) {
  const std::string common = "azkaban.webserverhost=az\nazkaban.flow.execid=7\n";
  EXPECT_EQ(RequestOf(common + "azkaban.flow.flowid=a/b\nazkaban.job.id=c\n"), "azkaban://az/7/a%2Fb/c");
  EXPECT_EQ(RequestOf(common + "azkaban.flow.flowid=a\nazkaban.job.id=b/c\n"), "azkaban://az/7/a/b%2Fc");
  EXPECT_EQ(RequestOf(common + "azkaban.flow.flowid=a\nazkaban.job.id=\\u00e9\n"), "azkaban://az/7/a/%C3%A9");
}

TEST_F(StepPropertiesTest, WithoutAWebServersNameThisMachinesStandsThere) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  EXPECT_EQ(RequestOf("azkaban.flow.execid=7\nazkaban.flow.flowid=f\nazkaban.job.id=j\n"),
            StrCat("azkaban://", name.data(), "/7/f/j"));
}

TEST_F(StepPropertiesTest, WhatAzkabanAlwaysSetsIsMissedByName) {
  EXPECT_THAT(RequestOf("azkaban.flow.flowid=f\nazkaban.job.id=j\n"), HasSubstr("azkaban.flow.execid: missing"));
  EXPECT_THAT(RequestOf("azkaban.flow.execid=7\nazkaban.job.id=j\n"), HasSubstr("azkaban.flow.flowid: missing"));
  EXPECT_THAT(RequestOf("azkaban.flow.execid=7\nazkaban.flow.flowid=f\n"), HasSubstr("azkaban.job.id: missing"));
}

TEST_F(StepPropertiesTest, APipeIsNotWaitedFor) {
  const auto pipe = folder_.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(ReadStep(pipe, folder_.path()).error().message, HasSubstr("not a file"));
}

TEST_F(StepPropertiesTest, AWrongValueIsNamedWithTheStepAsItsOrigin) {
  const auto step = Read(
      "executes=true\ntony.worker.instances=two\nazkaban.flow.execid=7\nazkaban.flow.flowid=f\n"
      "azkaban.job.id=j\n");
  EXPECT_EQ(step.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(step.error().message, HasSubstr("tony.worker.instances: \"two\" (from the step's properties): expected"));
}

}  // namespace
}  // namespace tony::azkaban
