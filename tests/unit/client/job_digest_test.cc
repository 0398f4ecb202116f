#include "runtime/client/job_digest.h"

#include <gtest/gtest.h>

#include <functional>

namespace tony {
namespace {

ParsedJobSpec Job() {
  ParsedJobSpec job;
  job.spec.roles = {{.name = "ps", .command = "serve"}, {.name = "worker", .instances = 2, .command = "train"}};
  job.spec.execution_env = {{"LR", "0.1"}, {"DB_PASSWORD", "old"}};
  job.spec.container_env = {{"ZONE", "a"}};
  job.spec.checkpoint.directory = "/saved";
  job.secrets = {{"API", "s"}};
  return job;
}

// The parts of the digest in which the changed job differs.
std::vector<std::string> Differs(const std::function<void(ParsedJobSpec&)>& change) {
  ParsedJobSpec job = Job();
  change(job);
  return DifferingParts(DigestOf(Job(), "content"), DigestOf(job, "content"));
}

using Names = std::vector<std::string>;

TEST(JobDigestTest, TheDigestNamesThePartInWhichTwoJobsDiffer) {
  EXPECT_EQ(Differs([](auto& job) { job.spec.roles[1].command = "train --more"; }), Names{"command"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.framework = FrameworkKind::kJax; }), Names{"command"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.mode = DistributedMode::kFcfs; }), Names{"command"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.roles[1].instances = 3; }), Names{"roles"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.roles[1].resources.memory_mb = 1; }), Names{"roles"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.roles[1].resources.vcores = 7; }), Names{"roles"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.roles[1].resources.gpus = 1; }), Names{"roles"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.roles[0].completion = Completion::kUntracked; }), Names{"roles"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.execution_env["LR"] = "0.2"; }), Names{"environment"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.container_env["MORE"] = ""; }), Names{"environment"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.execution_env.erase("DB_PASSWORD"); }), Names{"environment"});
  EXPECT_EQ(Differs([](auto& job) { job.secrets["MORE"] = "s"; }), Names{"environment"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.checkpoint.directory = "/other"; }), Names{"checkpoints"});
  EXPECT_EQ(Differs([](auto& job) { job.spec.checkpoint.resume_latest = true; }), Names{"checkpoints"});
  EXPECT_EQ(DifferingParts(DigestOf(Job(), "content"), DigestOf(Job(), "other")), Names{"files"});
}

TEST(JobDigestTest, EnvironmentVariablesWhoseConcatenationsAreEqualHaveDifferentDigests) {
  const auto environment = [](const std::map<std::string, std::string>& variables) {
    ParsedJobSpec job;
    job.spec.execution_env = variables;
    return DigestOf(job, "").parts.at("environment");
  };
  EXPECT_NE(environment({{"A", "B"}, {"C", ""}}), environment({{"A", "BC"}}));
  EXPECT_NE(environment({{"A", "=B"}}), environment({{"A=", "B"}}));
}

TEST(JobDigestTest, TheDigestIgnoresTheJobNameAndTheTimeoutAndTheValuesOfSecrets) {
  EXPECT_EQ(Differs([](auto& job) {
              job.spec.name = "other";
              job.spec.tags = {"try:2"};
              job.spec.src_dir = "/elsewhere";
              job.spec.timeout = Duration(1);
              job.spec.history_folder = "/history";
              job.spec.execution_env["DB_PASSWORD"] = "rotated";
              job.secrets["API"] = "rotated";
              job.watch_timeout = Duration(5);
            }),
            Names{});
}

}  // namespace
}  // namespace tony
