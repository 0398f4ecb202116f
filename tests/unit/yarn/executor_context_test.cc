#include "runtime/yarn/executor_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony {
namespace {

using hadoop::LaunchContext;
using hadoop::LocalResource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

LocalResource At(const std::string& path) { return {.scheme = "hdfs", .path = path}; }

JobShipment Job() {
  JobShipment job;
  job.job = {"application_1700000000000_0001"};
  job.spec.roles = {{.name = "ps", .command = "true"}, {.name = "worker", .command = "python3 train.py"}};
  job.spec.container_env = {{"YARN_CONTAINER_RUNTIME_TYPE", "docker"}, {"PASSWORD_OF_MINE", "xyzzy"}};
  job.spec.execution_env = {{"API_KEY", "plugh"}};
  job.secrets = {std::string(64, 'a'), {"DB_PASSWORD=sesame"}, {"CA-PEM", "CERTIFICATE-PEM", "KEY-PEM"}};
  job.lease = {{1}, {Endpoint{"10.0.0.1", 4711}}, 1};
  job.staged.job = {{.name = "data", .path = "/home/eve/.tony/staged/aa"},
                    {.path = "/home/eve/.tony/staged/bb-tree", .form = StagedEntry::Form::kContents}};
  job.staged.roles["worker"] = {{.name = "own", .path = "/home/eve/.tony/staged/cc"}};
  job.staged.roles["ps"] = {{.name = "theirs", .path = "/home/eve/.tony/staged/dd"}};
  for (const char* key : {"tony-executor", "aa", "bb-tree", "cc", "dd"}) job.files[key] = At(StrCat("/staged/", key));
  job.environment = {{"HADOOP_USER_NAME", "eve"}};
  return job;
}

LaunchContext ContextOf(const JobShipment& job) {
  const auto context = MakeExecutorContext(job, {.attempt = {{"worker", 3}, 2}});
  EXPECT_TRUE(context.ok()) << context.error().message;
  return context.ok() ? *context : LaunchContext{};
}

std::vector<std::string> NamesOf(const LaunchContext& context) {
  std::vector<std::string> names;
  for (const auto& [name, file] : context.files) names.push_back(name);
  return names;
}

TEST(ExecutorContextTest, WhoMaySeeAndEndItIsTheJobsWord) {
  JobShipment job = Job();
  EXPECT_EQ(ContextOf(job).view_acl, " ") << "nobody but the user";
  EXPECT_EQ(ContextOf(job).modify_acl, " ");
  job.spec.yarn.view_acl = "*";
  job.spec.yarn.modify_acl = " ops";
  EXPECT_EQ(ContextOf(job).view_acl, "*");
  EXPECT_EQ(ContextOf(job).modify_acl, " ops");
}

// All that a node's pages show.
std::string Shown(const LaunchContext& context) {
  std::string text = context.command;
  for (const auto& [name, value] : context.environment) text += StrCat("\n", name, "=", value);
  return text;
}

TEST(ExecutorContextTest, TheExecutorFindsInItsCredentialsWhatItWasMadeOf) {
  JobShipment job = Job();
  job.credentials.tokens["hdfs"] = {.kind = "HDFS_DELEGATION_TOKEN"};
  const LaunchContext context = ContextOf(job);
  EXPECT_TRUE(context.credentials.tokens.contains("hdfs"));
  const auto launch = LaunchIn(EncodeCredentials(context.credentials));
  ASSERT_TRUE(launch.ok()) << launch.error().message;
  EXPECT_EQ(launch->job, job.job);
  EXPECT_EQ(launch->attempt, (AttemptId{{"worker", 3}, 2}));
  EXPECT_EQ(launch->secrets, job.secrets);
  EXPECT_EQ(launch->lease, job.lease);
  EXPECT_EQ(*JobSpecFromJson(launch->spec), job.spec);
  StagedFiles expected;
  expected.job = {{.name = "data", .path = "aa"}, {.path = "bb-tree", .form = StagedEntry::Form::kContents}};
  expected.roles["worker"] = {{.name = "own", .path = "cc"}};
  EXPECT_EQ(launch->staged, expected);
}

TEST(ExecutorContextTest, OfFilesItHasItsProgramAndThoseOfItsRole) {
  const LaunchContext context = ContextOf(Job());
  EXPECT_THAT(NamesOf(context), ElementsAre("aa", "bb-tree", "cc", "tony-executor"));
  EXPECT_EQ(context.files.at("cc").path, "/staged/cc");
}

TEST(ExecutorContextTest, NothingPrivateIsShownByTheNode) {
  const std::string shown = Shown(ContextOf(Job()));
  for (const char* secret : {"aaaa", "PEM", "sesame", "xyzzy", "plugh"}) EXPECT_THAT(shown, Not(HasSubstr(secret)));
  EXPECT_THAT(shown, HasSubstr("\nYARN_CONTAINER_RUNTIME_TYPE=docker"));
  EXPECT_THAT(shown, HasSubstr("\nHADOOP_USER_NAME=eve"));
  EXPECT_THAT(shown, HasSubstr("\nTONY_JOB_ID=application_1700000000000_0001"));
}

TEST(ExecutorContextTest, TheCommandIsTheExecutorAndItsLog) {
  EXPECT_EQ(ContextOf(Job()).command, "exec ./tony-executor --container '<LOG_DIR>' 1>'<LOG_DIR>/executor.log' 2>&1");
}

TEST(ExecutorContextTest, ALargeSpecIsAFile) {
  JobShipment job = Job();
  job.spec.execution_env["LARGE"] = std::string(kLargestSpecInLaunch, 'x');
  const auto without = MakeExecutorContext(job, {.attempt = {{"worker", 0}, 1}});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, ErrorCode::kInvalid);
  job.files[kSpecFile] = At("/jobs/1/spec.json");
  const LaunchContext context = ContextOf(job);
  EXPECT_EQ(context.files.at(kSpecFile).path, "/jobs/1/spec.json");
  EXPECT_EQ(LaunchIn(EncodeCredentials(context.credentials))->spec, "");
  EXPECT_LT(EncodeCredentials(context.credentials).size(), 4096u);
}

TEST(ExecutorContextTest, AFileThatWasNotSentIsNamed) {
  JobShipment job = Job();
  job.files.erase("cc");
  const auto context = MakeExecutorContext(job, {.attempt = {{"worker", 0}, 1}});
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.error().message, "cc was not sent to HDFS");
  EXPECT_TRUE(MakeExecutorContext(job, {.attempt = {{"ps", 0}, 1}}).ok());
}

TEST(MasterContextTest, TheMasterStartsByTheLoaderOfItsBundle) {
  MasterShipment master;
  master.job = {"application_1_0001"};
  master.program = "tony-yarn-am";
  master.arguments = {"/user/eve/.tony/jobs/x", "it's $5"};
  master.secrets = Job().secrets;
  master.executors_tls = {"CA-PEM", "OTHER-PEM", "OTHER-KEY-PEM"};
  master.staged = {{.name = "conf", .path = "/home/eve/.tony/staged/ee"}};
  master.files = {{"tony-am", At("/staged/bundle.tar.gz")}, {"ee", At("/staged/ee")}};
  master.environment = {{"NAME", "a\"b"}};
  const auto context = MakeMasterContext(master);
  ASSERT_TRUE(context.ok()) << context.error().message;
  EXPECT_EQ(context->command,
            "exec ./tony-am/loader --library-path ./tony-am/lib ./tony-am/bin/tony-yarn-am '/user/eve/.tony/jobs/x' "
            R"('it'\\''s \$5' 1>'<LOG_DIR>/am.log' 2>&1)");
  EXPECT_THAT(NamesOf(*context), ElementsAre("conf", "tony-am"));
  EXPECT_EQ(context->environment.at("NAME"), "a\\\"b");
  EXPECT_THAT(Shown(*context), Not(HasSubstr("PEM")));
  const auto launch = MasterLaunchIn(*hadoop::DecodeCredentials(EncodeCredentials(context->credentials)));
  ASSERT_TRUE(launch.ok()) << launch.error().message;
  EXPECT_EQ(launch->job, master.job);
  EXPECT_EQ(launch->secrets, master.secrets);
  EXPECT_EQ(launch->executors_tls, master.executors_tls);
}

}  // namespace
}  // namespace tony
