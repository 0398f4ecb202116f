#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <random>
#include <set>

#include "runtime/job/job_spec.h"

namespace tony {
namespace {

namespace json = boost::json;

JobSpec FullSpec() {
  JobSpec spec;
  spec.name = "train \"it\"";
  spec.framework = FrameworkKind::kPytorch;
  spec.roles = {
      {"ps", 1, {1024, 2, 0}, "ps.sh", Completion::kUntracked},
      {"tensorboard", 1, {512, 1, 0}, "tb", Completion::kSidecar},
      {"worker", 3, {4096, 4, 8}, "python train.py --name '\xC3\xA4'\n", Completion::kTracked, RestartScope::kRole, 0}};
  spec.roles[2].min_succeeded = 2;
  spec.roles[2].min_failed = 1;
  spec.completion_rule = CompletionRule::kTony;
  spec.execution_env = {{"A", "1,2"}, {"B", ""}};
  spec.container_env = {{"PATH", "/bin:/usr/bin"}};
  spec.mode = DistributedMode::kFcfs;
  spec.src_dir = "/home/ann/src";
  spec.python_venv = "/home/ann/venv.zip";
  spec.files = {{"/data/a", "a"}, {"/data/b.zip", "b", true}};
  spec.am_files = {{"/data/c", "c"}};
  spec.roles[2].files = {{"/data/d", "d"}};
  spec.memory_limits = false;
  spec.log_limit_mb = 7;
  spec.background = Background::kFail;
  spec.allocation_timeout = Duration(19);
  spec.timeout = Duration(1);
  spec.registration_timeout = Duration(2);
  spec.registry_timeout = Duration(3);
  spec.startup_timeout = Duration(20);
  spec.timers.execution_limit = Duration(4);
  spec.timers = {Duration(3), Duration(4), Duration(5), Duration(6),
                 Duration(7), Duration(8), Duration(9), Duration(10)};
  spec.restart.levels = {{{1, Duration(11)}, {2, Duration(12)}, {3, Duration(13)}, {4, Duration(14)}}};
  spec.restart.lost = {5, Duration(15)};
  spec.restart.backoff = Duration(16);
  spec.restart.longest_backoff = Duration(17);
  spec.restart.settle = Duration(18);
  spec.checkpoint = {"/saved/\xC3\xA4", "ckpt-[0-9]*", 6, true};
  spec.tags = {"azkaban.flow.execid:17", "\xC3\xA4"};
  spec.history_folder = "/shared/history/intermediate";
  return spec;
}

std::string ErrorOf(const std::string& text) {
  const auto spec = JobSpecFromJson(text);
  return spec.ok() ? "accepted" : spec.error().message;
}

TEST(JobSpecJsonTest, AJobSpecSurvivesARoundTripThroughJson) {
  const auto read = JobSpecFromJson(ToJson(FullSpec()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, FullSpec());
}

TEST(JobSpecJsonTest, APriorityAppearsInTheJsonOnlyIfTheJobHasOne) {
  JobSpec spec = FullSpec();
  EXPECT_EQ(ToJson(spec).find("priority"), std::string::npos);
  spec.priority = -3;
  EXPECT_EQ(JobSpecFromJson(ToJson(spec))->priority, -3);
}

TEST(JobSpecJsonTest, TheKeyPrefixOfARoleAppearsInTheJsonOnlyIfItDiffersFromTheRoleName) {
  JobSpec spec = FullSpec();
  EXPECT_EQ(ToJson(spec).find("key_prefix"), std::string::npos);
  EXPECT_EQ(JobSpecFromJson(ToJson(spec))->roles[2].Key("memory"), "tony.worker.memory");
  spec.roles[2].key_prefix = "tony.am";
  EXPECT_EQ(JobSpecFromJson(ToJson(spec))->roles[2].Key("memory"), "tony.am.memory");
}

TEST(JobSpecJsonTest, TheProcessCountOfARoleAppearsInTheJsonOnlyIfItIsAboveOne) {
  JobSpec spec = FullSpec();
  EXPECT_EQ(ToJson(spec).find("processes"), std::string::npos);
  EXPECT_EQ(JobSpecFromJson(ToJson(spec))->ProcessesOf("worker"), 1);
  spec.roles[2].processes = 3;
  EXPECT_EQ(*JobSpecFromJson(ToJson(spec)), spec);
  EXPECT_EQ(spec.ProcessesOf("worker"), 3);
  EXPECT_EQ(spec.ProcessesOf("nobody"), 1);
  for (const int bad : {0, kMostProcesses + 1}) {
    spec.roles[2].processes = bad;
    EXPECT_FALSE(JobSpecFromJson(ToJson(spec)).ok()) << bad;
  }
}

TEST(JobSpecJsonTest, AMinimalJobSpecHasTheExpectedJson) {
  JobSpec spec;
  spec.roles = {{"worker", 1, {}, "true", Completion::kTracked}};
  EXPECT_EQ(
      ToJson(spec),
      R"({"schema":1,"name":"TonyApplication","framework":"tensorflow","mode":"GANG","roles":[{"name":"worker","instances":1,)"
      R"("memory_mb":2048,"vcores":1,"gpus":0,"command":"true","completion":"tracked","restart_scope":"framework",)"
      R"("restarts":null,"files":[]}],"execution_env":{},)"
      R"("container_env":{},"src_dir":"","python_venv":"","files":[],"am_files":[],"memory_limits":true,"log_limit_mb":1024,"timeout_ms":0,)"
      R"("allocation_timeout_ms":0,"registration_timeout_ms":900000,"timers":{)"
      R"("heartbeat_ms":1000,"suspect_after_ms":5000,"cutoff_after_ms":30000,"grace_ms":10000,)"
      R"("lost_after_ms":60000,"record_fresh_ms":15000,"am_lease_ms":10000,"orphan_timeout_ms":1800000},)"
      R"("restart":{"task":{"most":0,"window_ms":0},"role":{"most":0,"window_ms":0},)"
      R"("gang":{"most":0,"window_ms":0},"job":{"most":0,"window_ms":0},"lost":{"most":10,"window_ms":3600000},)"
      R"("backoff_ms":1000,"longest_backoff_ms":60000,"settle_ms":300},)"
      R"("checkpoint":{"directory":"","pattern":"*","most_fruitless":3},"failure_rules":[],"tags":[],"history_folder":""})");
}

// Both functions return the document's text. Without() removes the field `name` of `object`, and WithNull() sets it to
// null.
std::string Without(json::value document, json::object& (*object)(json::value&), const std::string& name) {
  object(document).erase(name);
  return json::serialize(document);
}
std::string WithNull(json::value document, json::object& (*object)(json::value&), const std::string& name) {
  object(document)[name] = nullptr;
  return json::serialize(document);
}

// Fields that specs of release 0.1 do not have.
const std::set<std::string> kNewer = {"restart",
                                      "checkpoint",
                                      "failure_rules",
                                      "restart_scope",
                                      "restarts",
                                      "mode",
                                      "python_venv",
                                      "files",
                                      "am_files",
                                      "memory_limits",
                                      "log_limit_mb",
                                      "background",
                                      "allocation_timeout_ms",
                                      "history_folder",
                                      "tags",
                                      "resume",
                                      "registry_timeout_ms",
                                      "execution_limit_ms",
                                      "completion_rule",
                                      "min_succeeded",
                                      "min_failed",
                                      "startup_timeout_ms"};

void ExpectAllRequired(json::object& (*object)(json::value&), const std::string& path) {
  json::value document = json::parse(ToJson(FullSpec()));
  ASSERT_FALSE(object(document).empty());
  for (const auto& field : object(document)) {
    const std::string name(field.key());
    if (kNewer.contains(name)) continue;
    const std::string prefix = "job spec: field " + path + name + ": expected ";
    EXPECT_TRUE(ErrorOf(Without(document, object, name)).starts_with(prefix))
        << ErrorOf(Without(document, object, name));
    EXPECT_TRUE(ErrorOf(Without(document, object, name)).ends_with("but the field is missing"));
    EXPECT_TRUE(ErrorOf(WithNull(document, object, name)).starts_with(prefix)) << name;
  }
}

TEST(JobSpecJsonTest, EveryFieldOfTheFirstReleaseIsRequiredAndMayNotBeNull) {
  ExpectAllRequired([](json::value& document) -> json::object& { return document.as_object(); }, "");
  ExpectAllRequired([](json::value& document) -> json::object& { return document.at("timers").as_object(); },
                    "timers.");
  ExpectAllRequired([](json::value& document) -> json::object& { return document.at("roles").at(1).as_object(); },
                    "roles[1].");
  ExpectAllRequired([](json::value& document) -> json::object& { return document.at("restart").as_object(); },
                    "restart.");
  ExpectAllRequired(
      [](json::value& document) -> json::object& { return document.at("restart").at("gang").as_object(); },
      "restart.gang.");
  ExpectAllRequired([](json::value& document) -> json::object& { return document.at("checkpoint").as_object(); },
                    "checkpoint.");
}

TEST(JobSpecJsonTest, ASpecOfTheFirstReleaseGetsDefaultsForNewerFields) {
  json::value document = json::parse(ToJson(FullSpec()));
  document.as_object().erase("restart");
  document.as_object().erase("checkpoint");
  for (const auto* name :
       {"mode", "python_venv", "files", "am_files", "memory_limits", "log_limit_mb", "allocation_timeout_ms", "tags"})
    document.as_object().erase(name);
  for (auto& role : document.at("roles").as_array()) {
    role.as_object().erase("restart_scope");
    role.as_object().erase("restarts");
    role.as_object().erase("files");
  }
  JobSpec expected = FullSpec();
  expected.restart = RestartRules();
  expected.checkpoint = CheckpointSpec();
  expected.roles[2].restart_scope = std::nullopt;
  expected.roles[2].restarts = std::nullopt;
  expected.roles[2].files.clear();
  expected.mode = DistributedMode::kGang;
  expected.python_venv.clear();
  expected.files.clear();
  expected.am_files.clear();
  expected.tags.clear();
  expected.memory_limits = true;
  expected.log_limit_mb = 1024;
  expected.allocation_timeout = Duration(0);
  const auto read = JobSpecFromJson(json::serialize(document));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, expected);
}

TEST(JobSpecJsonTest, NewerFieldsWithAWrongTypeOrValueAreRejected) {
  const auto error_with = [](const std::string& pointer, const json::value& value) {
    json::value document = json::parse(ToJson(FullSpec()));
    document.at_pointer(pointer) = value;
    return ErrorOf(json::serialize(document));
  };
  EXPECT_EQ(error_with("/restart", nullptr), "job spec: field restart: expected an object");
  EXPECT_EQ(error_with("/checkpoint", 1), "job spec: field checkpoint: expected an object");
  EXPECT_EQ(error_with("/roles/1/restart_scope", "all"),
            "job spec: field roles[1].restart_scope: expected framework, task, role, gang or job");
  EXPECT_EQ(error_with("/roles/1/restart_scope", nullptr), "job spec: field roles[1].restart_scope: expected a string");
  EXPECT_EQ(error_with("/roles/1/restarts", -1),
            "job spec: field roles[1].restarts: expected a whole number from 0 to 1000000000");
  EXPECT_EQ(error_with("/mode", "SOLO"), "job spec: field mode: expected GANG or FCFS");
  EXPECT_EQ(error_with("/python_venv", 1), "job spec: field python_venv: expected a string");
  EXPECT_EQ(error_with("/log_limit_mb", -1).substr(0, 50), "job spec: field log_limit_mb: expected a whole num");
  EXPECT_NE(error_with("/tags", "a"), "accepted");
  EXPECT_NE(error_with("/tags/0", 1), "accepted");
  EXPECT_EQ(error_with("/files", 1).substr(0, 32), "job spec: field files: expected ");
  EXPECT_EQ(error_with("/files/1/archive", 1).substr(0, 44), "job spec: field files[1].archive: expected t");
  EXPECT_EQ(error_with("/roles/2/files/0/name", "../x"),
            "job spec: field roles[2].files[0].name: expected a name without a slash");
}

TEST(JobSpecJsonTest, AnEnvironmentVariableWithANonStringValueIsRejected) {
  json::value document = json::parse(ToJson(FullSpec()));
  document.at("execution_env").as_object()["A"] = 1;
  EXPECT_EQ(ErrorOf(json::serialize(document)), "job spec: field execution_env.A: expected a string");
}

TEST(JobSpecJsonTest, AnInvalidJobSpecIsRejectedWithTheReason) {
  EXPECT_TRUE(ErrorOf("").starts_with("job spec: not JSON: "));
  EXPECT_TRUE(ErrorOf("{\"schema\":1").starts_with("job spec: not JSON: "));
  EXPECT_EQ(ErrorOf("[1]"), "job spec: expected a JSON object");
  EXPECT_EQ(ErrorOf("{}"), "job spec: field schema: expected a whole number, but the field is missing");
  EXPECT_EQ(ErrorOf("{\"schema\":2}"), "job spec: field schema: expected a whole number from 1 to 1");
  JobSpec spec = FullSpec();
  spec.roles.clear();
  EXPECT_EQ(ErrorOf(ToJson(spec)), "job spec: field roles: expected at least one role");
  spec = FullSpec();
  spec.roles.pop_back();
  EXPECT_EQ(ErrorOf(ToJson(spec)), "job spec: field roles: expected at least one tracked role");
  spec = FullSpec();
  std::swap(spec.roles[0], spec.roles[1]);
  EXPECT_EQ(ErrorOf(ToJson(spec)), "job spec: field roles: expected roles sorted by name, each once");
  spec = FullSpec();
  spec.roles[1].command.clear();
  EXPECT_EQ(ErrorOf(ToJson(spec)), "job spec: field roles[1].command: expected a command");
  spec = FullSpec();
  spec.roles[2].instances = 0;
  EXPECT_EQ(ErrorOf(ToJson(spec)), "job spec: field roles[2].instances: expected a whole number from 1 to 1000000000");
}

TEST(JobSpecJsonTest, UnknownFieldsAreIgnored) {
  std::string text = ToJson(FullSpec());
  text.insert(1, "\"news\":[{\"x\":null}],");
  EXPECT_EQ(*JobSpecFromJson(text), FullSpec());
}

TEST(JobSpecJsonTest, RandomlyMutatedJsonIsParsedOrRejectedWithoutACrash) {
  const std::string original = ToJson(FullSpec());
  std::mt19937 random(20261121);
  for (int round = 0; round < 3000; ++round) {
    std::string text = original;
    for (size_t edits = 1 + random() % 3; edits > 0; --edits) {
      const size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random());
      } else {
        text.erase(at, random() % 10);
      }
    }
    const auto read = JobSpecFromJson(text);
    if (!read.ok()) {
      EXPECT_TRUE(read.error().message.starts_with("job spec: "));
    }
  }
}

}  // namespace
}  // namespace tony
