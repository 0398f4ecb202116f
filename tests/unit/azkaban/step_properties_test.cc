#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "azkaban-plugin/step_request.h"
#include "tests/support/temp_folder.h"

namespace tony::azkaban {
namespace {

using testing::HasSubstr;

class StepPropertiesTest : public testing::Test {
 protected:
  Result<Step> Read(const std::string& properties) const {
    std::ofstream(folder_.path() / "props") << properties;
    return ReadStep(folder_.path() / "props", folder_.path());
  }

  const TempFolder folder_;
};

TEST_F(StepPropertiesTest, TheRequestAndTheAttachmentAreReadWithTheJob) {
  const auto step = Read(
      "executes=true\ntony.worker.instances=2\nazkaban.flow.execid=7\nazkaban.flow.flowid=f\nazkaban.job.id=j\n"
      "azkaban.flow.projectname=p\nazkaban.flow.uuid=u\nazkaban.url=http\\://az\\:8081\n"
      "azkaban.job.attachment.file=/executions/7/_job.7.j.attach\n");
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_EQ(step->request.id.value, "azkaban://az:8081/p/u/f/j");
  EXPECT_EQ(step->attachment, "/executions/7/_job.7.j.attach");
  EXPECT_EQ(step->job.spec.TotalTasks(), 2);
}

TEST_F(StepPropertiesTest, AnOutageOfAnHourEndsNoJob) {
  const auto step = Read("executes=true\nazkaban.flow.execid=7\nazkaban.flow.flowid=f\nazkaban.job.id=j\n");
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_GT(step->job.watch_timeout, std::chrono::hours(1));
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
