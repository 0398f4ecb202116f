// Every key of the table through the built `tony plan`: set, what the plan makes of it; not honoured, what is said.
#include "runtime/config/keys.h"

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

// What is set beside a job of one worker, and where the plan's spec shows it. Without a place in it: `kRefuses`, the
// value forbids this job; `kElsewhere`, it says nothing to a plan.
struct KeyCase {
  std::string key, value, pointer, expected;
  std::vector<std::string> more = {};
};
constexpr const char* kRefuses = "refuses";
constexpr const char* kElsewhere = "elsewhere";

class KeysTest : public TonyTest {
 protected:
  KeysTest() {
    fs::create_directory(box_.File("folder"));
    box_.Write("file", "content");
    box_.Write("site.xml", "<configuration/>");
  }

  std::vector<KeyCase> Cases() const {
    const std::string folder = box_.File("folder"), file = box_.File("file"), site = box_.File("site.xml");
    const std::string checkpoints = "tony.checkpoint.dir=" + folder, no_role = "tony.worker.instances=0";
    const std::string chief = "tony.chief.instances=1", group = "tony.application.group.A=chief";
    const std::string after = "tony.application.dependency.worker.timeout.after.A";
    const std::string json_folder = "\"" + folder + "\"", json_file = "\"" + file + "\"";
    std::vector<KeyCase> cases = {
        {"tony.application.completion-rule", "tony", "/completion_rule", "\"tony\""},
        {"tony.application.fail-on-worker-failure-enabled",
         "true",
         "/roles/0/min_failed",
         "1",
         {"tony.application.completion-rule=tony"}},
        {"tony.application.stop-on-failure-jobtypes",
         "worker",
         "/roles/0/min_failed",
         "1",
         {"tony.application.completion-rule=tony"}},
        {"tony.application.distributed-mode", "FCFS", "/mode", "\"FCFS\""},
        {"tony.application.framework", "PyTorch", "/framework", "\"pytorch\""},
        {"tony.application.name", "mine", "/name", "\"mine\""},
        {"tony.application.sidecar.jobtypes", "ps", "/roles/0/completion", "\"sidecar\"", {"tony.ps.instances=1"}},
        {"tony.application.tags", "a,b", "/tags", R"(["a","b"])"},
        {"tony.application.tensorboard-log-dir", "/logs", "/roles/0/name", "\"tensorboard\""},
        {"tony.application.timeout", "5000", "/timeout_ms", "5000"},
        {"tony.application.untracked.jobtypes", "db", "/roles/0/completion", "\"untracked\"", {"tony.db.instances=1"}},
        {"tony.scheduler", "yarn", "/scheduler", "\"yarn\""},
        {"tony.src-dir", folder, "/src_dir", json_folder},
        {"tony.containers.command", "own", "/roles/0/command", "\"own\""},
        {"tony.containers.env.A", "1,2", "/container_env/A", "\"1,2\""},
        {"tony.containers.envs", "A=1,B=2", "/container_env/B", "\"2\""},
        {"tony.containers.resources", file, "/files/0/source", json_file},
        {"tony.execution.env.A", "1,2", "/execution_env/A", "\"1,2\""},
        {"tony.execution.envs", "A=1,B=2", "/execution_env/B", "\"2\""},
        {"tony.python-venv", folder, "/python_venv", json_folder},
        {"tony.worker.command", "own", "/roles/0/command", "\"own\""},
        {"tony.application.group.A", "chief", "/roles/1/outlives/0/roles/0", "\"chief\"", {chief, after + "=5"}},
        {after, "5", "/roles/1/outlives/0/limit_ms", "5000", {chief, group}},
        {after + ".ignored", "true", "/roles/1/outlives/0/ignored", "true", {chief, group, after + "=5"}},
        {"tony.application.enable-preprocess", "true", "/roles/0/name", "\"preprocess\""},
        {"tony.application.prepare-stage", "chief", "/roles/1/depends_on/0/role", "\"chief\"", {chief}},
        {"tony.application.training-stage", "worker", "/roles/1/depends_on/0/role", "\"chief\"", {chief}},
        {"tony.worker.depends-on", "chief:ready", "/roles/1/depends_on/0/until", "\"ready\"", {chief}},
        {"tony.worker.gpus", "1", "/roles/0/gpus", "1"},
        {"tony.worker.instances", "3", "/roles/0/instances", "3"},
        {"tony.worker.max-instances", "0", kRefuses, ""},
        {"tony.worker.memory", "3g", "/roles/0/memory_mb", "3072"},
        {"tony.worker.min-failed", "2", "/roles/0/min_failed", "2", {"tony.worker.instances=2"}},
        {"tony.worker.min-succeeded", "1", "/roles/0/min_succeeded", "1"},
        {"tony.worker.nproc-per-node", "2", "/roles/0/processes", "2", {"tony.application.framework=pytorch"}},
        {"tony.ps.outlives-restarts",
         "true",
         "/roles/0/outlives_restarts",
         "true",
         {"tony.ps.instances=1", "tony.application.sidecar.jobtypes=ps"}},
        {"tony.worker.resources", file, "/roles/0/files/0/source", json_file},
        {"tony.worker.vcores", "2", "/roles/0/vcores", "2"},
        {"tony.worker.restart.budget", "3", "/roles/0/restarts", "3"},
        {"tony.worker.restart.scope", "job", "/roles/0/restart_scope", "\"job\""},
        {"tony.task.background", "end", "/background", "\"end\""},
        {"tony.task.log-limit", "2g", "/log_limit_mb", "2048"},
        {"tony.task.max-total-gpus", "0", kRefuses, "", {"tony.worker.gpus=1"}},
        {"tony.task.max-total-instances", "0", kRefuses, ""},
        {"tony.task.max-total-memory", "1", kRefuses, ""},
        {"tony.task.max-total-vcores", "0", kRefuses, ""},
        {"tony.am.command", "own", "/roles/0/command", "\"own\"", {no_role}},
        {"tony.am.gpus", "1", "/roles/0/gpus", "1", {no_role}},
        {"tony.am.memory", "3g", "/roles/0/memory_mb", "3072", {no_role}},
        {"tony.am.vcores", "2", "/roles/0/vcores", "2", {no_role}},
        {"tony.am.resources", file, "/am_files/0/source", json_file},
        {"tony.am.startup-timeout", "20000", "/startup_timeout_ms", "20000"},
        {"tony.am.lease-ms", "20000", "/timers/am_lease_ms", "20000"},
        {"tony.am.retry-count", "2", "/restart/job/most", "2"},
        {"tony.compat.version", "0.4.6", "/registration_timeout_ms", "5", {"tony.container.allocation.timeout=5"}},
        {"tony.container.allocation.timeout", "5", "/allocation_timeout_ms", "5", {"tony.compat.version=0.5.3"}},
        {"tony.container.registration.timeout", "5", "/registration_timeout_ms", "5"},
        {"tony.local.memory-limits", "off", "/memory_limits", "false"},
        {"tony.local.priority", "5", "/priority", "5"},
        {"tony.task.cutoff-after-ms", "31000", "/timers/cutoff_after_ms", "31000"},
        {"tony.task.executor.execution-timeout-ms", "2000", "/timers/execution_limit_ms", "2000"},
        {"tony.task.executor.registry-timeout-sec", "2", "/registry_timeout_ms", "2000"},
        {"tony.task.heartbeat-interval-ms", "2000", "/timers/heartbeat_ms", "2000"},
        {"tony.task.lost-after-ms", "90000", "/timers/lost_after_ms", "90000"},
        {"tony.task.max-missed-heartbeats", "100", "/timers/lost_after_ms", "100000"},
        {"tony.task.orphan-timeout-ms", "5", "/timers/orphan_timeout_ms", "5"},
        {"tony.task.record-fresh-ms", "5", "/timers/record_fresh_ms", "5"},
        {"tony.task.stop-grace-ms", "5", "/timers/grace_ms", "5"},
        {"tony.task.suspect-after-ms", "5", "/timers/suspect_after_ms", "5"},
        {"tony.worker.timeout", "2000", "/timers/execution_limit_ms", "2000"},
        {"tony.checkpoint.dir", folder, "/checkpoint/directory", json_folder},
        {"tony.checkpoint.fruitless-restarts", "5", "/checkpoint/most_fruitless", "5", {checkpoints}},
        {"tony.checkpoint.pattern", "ck*", "/checkpoint/pattern", "\"ck*\"", {checkpoints}},
        {"tony.checkpoint.resume", "latest", "/checkpoint/resume", "\"latest\"", {checkpoints}},
        {"tony.restart.backoff-ms", "5", "/restart/backoff_ms", "5"},
        {"tony.restart.longest-backoff-ms", "70000", "/restart/longest_backoff_ms", "70000"},
        {"tony.restart.scope", "gang", "/roles/0/restart_scope", "\"gang\""},
        {"tony.restart.settle-ms", "5", "/restart/settle_ms", "5"},
        {"tony.failure.exit.77", "infra", "/failure_rules/0/exit_code", "77"},
        {"tony.failure.pattern.mine", "boom => infra", "/failure_rules/0/pattern", "\"boom\""},
        {"tony.failure.signal.9", "infra", "/failure_rules/0/signal", "9"},
        {"tony.history.finished", folder, kElsewhere, ""},
        {"tony.history.intermediate", "/h", "/history_folder", "\"/h\""},
        {"tony.history.location", "/h", "/history_folder", "\"/h/intermediate\""},
        {"tony.azkaban.replace-older", "true", kElsewhere, ""},
        {"tony.azkaban.watch-timeout", "60", kElsewhere, ""},
        {"tony.job.id", "x", kElsewhere, ""},
        {"tony.job.logs", "x", kElsewhere, ""},
        {"tony.job.url", "x", kElsewhere, ""},
        {"tony.model.path", "x", kElsewhere, ""},
        {"tony.output.accuracy", "x", kElsewhere, ""},
        // On YARN.
        {"tony.application.hdfs-conf-path", site, kElsewhere, ""},
        {"tony.application.yarn-conf-path", site, kElsewhere, ""},
        {"tony.application.node-label", "gpu", "/yarn/node_label", "\"gpu\""},
        {"tony.application.type", "ML", "/yarn/type", "\"ML\""},
        {"tony.am.node-label", "gpu", "/yarn/am_node_label", "\"gpu\""},
        {"tony.worker.node-label", "gpu", "/roles/0/node_label", "\"gpu\""},
        {"tony.worker.placement", "spread", "/roles/0/placement", "\"spread\""},
        {"tony.portal.url", "https://portal:1/", "/yarn/portal_url", "\"https://portal:1\""},
        {"tony.yarn.gang-hold", "5", "/yarn/gang_hold_ms", "5"},
        {"tony.yarn.modify-acl", "ann", "/yarn/modify_acl", "\"ann\""},
        {"tony.yarn.priority", "5", "/yarn/priority", "5"},
        {"tony.yarn.queue", "ml", "/yarn/queue", "\"ml\""},
        {"tony.yarn.view-acl", "ann", "/yarn/view_acl", "\"ann\""},
    };
    for (const std::string level : {"task", "role", "gang", "job", "lost"}) {
      cases.push_back({"tony.restart." + level + ".budget", "5", "/restart/" + level + "/most", "5"});
      cases.push_back({"tony.restart." + level + ".window-ms", "5", "/restart/" + level + "/window_ms", "5"});
    }
    return cases;
  }

  Ran Plan(const std::vector<std::string>& settings, const Words& more = {}) const {
    Words words = {"plan", "-conf", "tony.containers.command=true", "-conf", "tony.worker.instances=1"};
    for (const std::string& setting : settings) words = words + Conf(setting);
    return box_.Tony(words + more);
  }
  // The plan as one line of JSON.
  json::value Planned(const std::vector<std::string>& settings) const {
    const Ran ran = Plan(settings, {"--json", "--explain"});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.exit == 0 ? ParseJson(ran.out) : value();
  }
  static bool IsTold(const json::value& plan, const std::string& key) {
    const json::value warnings = At(plan, "/warnings");
    for (const json::value& warning : warnings.as_array())
      if (std::string(warning.as_string()).starts_with(key + " ")) return true;
    return false;
  }
  static std::string WhyNot(const json::value& plan, const std::string& key) {
    const json::value all = At(plan, "/without_effect");
    const json::value* why = all.as_object().if_contains(key);
    return why ? std::string(why->as_string()) : "";
  }

  void ExpectHonoured(const KeyCase& one, const std::vector<std::string>& settings) const {
    if (one.pointer == kRefuses) {
      const Ran ran = Plan(settings);
      EXPECT_EQ(ran.exit, 65) << one.key;
      EXPECT_THAT(ran.err, HasSubstr(one.key));
      return;
    }
    const json::value plan = Planned(settings);
    EXPECT_FALSE(IsTold(plan, one.key)) << json::serialize(At(plan, "/warnings"));
    EXPECT_EQ(WhyNot(plan, one.key), "");
    if (one.pointer == kElsewhere) return;
    EXPECT_EQ(json::serialize(At(plan, "/spec" + one.pointer)), one.expected) << one.key;
  }
};

// A row's own name with letters for what stands for any.
std::string Instance(const Key& row) {
  std::string name(row.name);
  for (size_t at = name.find('<'); at != std::string::npos; at = name.find('<'))
    name.replace(at, name.find('>') - at + 1, name.substr(at, 6) == "<role>" ? "worker" : "abc");
  return name;
}

std::string AnotherValue(const Key& row) {
  switch (row.type) {
    case KeyType::kNumber:
    case KeyType::kMillis:
    case KeyType::kSeconds:
    case KeyType::kMemory:
      return "7";
    case KeyType::kFlag:
      return row.default_value == "true" ? "false" : "true";
    case KeyType::kText:
    case KeyType::kList:
      return "worker";
  }
  return "";
}

TEST_F(KeysTest, EveryKeyThatIsHonouredHasItsEffectInThePlan) {
  std::set<std::string_view> rows;
  for (const KeyCase& one : Cases()) {
    const Key* row = FindKey(one.key);
    ASSERT_NE(row, nullptr) << one.key;
    rows.insert(row->name);
    std::vector<std::string> settings = one.more;
    settings.push_back(one.key + "=" + one.value);
    if (row->effect == KeyEffect::kYarn) settings.push_back("tony.scheduler=yarn");
    ExpectHonoured(one, settings);
  }
  for (const Key& row : AllKeys()) {
    const bool honoured =
        row.effect == KeyEffect::kImplemented || row.effect == KeyEffect::kLocal || row.effect == KeyEffect::kYarn;
    EXPECT_EQ(rows.contains(row.name), honoured) << row.name;
  }
}

TEST_F(KeysTest, AKeyOfAnotherSchedulerIsTold) {
  for (const KeyCase& one : Cases()) {
    const KeyEffect effect = FindKey(one.key)->effect;
    if (effect != KeyEffect::kYarn && effect != KeyEffect::kLocal) continue;
    const std::string other = effect == KeyEffect::kYarn ? "local" : "yarn";
    const json::value plan = Planned({one.key + "=" + one.value, "tony.scheduler=" + other});
    EXPECT_TRUE(IsTold(plan, one.key)) << one.key;
    EXPECT_NE(WhyNot(plan, one.key), "") << one.key;
  }
}

TEST_F(KeysTest, WhatHasNoEffectChangesNoPlanAndIsToldWhereSomebodyMayWaitForOne) {
  const std::string without = json::serialize(At(Planned({}), "/spec"));
  for (const Key& row : AllKeys()) {
    if (row.effect != KeyEffect::kNone && row.effect != KeyEffect::kNotNeeded) continue;
    const std::string key = Instance(row);
    const json::value plan = Planned({key + "=" + AnotherValue(row)});
    EXPECT_EQ(json::serialize(At(plan, "/spec")), without) << key;
    EXPECT_EQ(IsTold(plan, key), row.effect == KeyEffect::kNone) << key;
    EXPECT_NE(WhyNot(plan, key), "") << key;
  }
}

TEST_F(KeysTest, WhatWouldRunTheWrongThingIsRefusedWithTheReason) {
  for (const Key& row : AllKeys()) {
    if (row.effect != KeyEffect::kRefused) continue;
    const std::string key = Instance(row);
    const Ran ran = Plan({key + "=" + AnotherValue(row)});
    EXPECT_EQ(ran.exit, 65) << key;
    EXPECT_THAT(ran.err, HasAll({key, std::string(row.reason)}));
  }
}

TEST_F(KeysTest, ADefaultIsNeverTold) {
  for (const Key& row : AllKeys()) {
    if (row.default_value.empty()) continue;
    const std::string key = Instance(row);
    const Ran ran = Plan({key + "=" + std::string(row.default_value)}, {"--json"});
    ASSERT_EQ(ran.exit, 0) << key << ran.err;
    EXPECT_FALSE(IsTold(ParseJson(ran.out), key)) << key;
  }
}

TEST_F(KeysTest, TheExplanationMarksWhatHasNoEffect) {
  const Ran ran = Plan({"tony.http.port=x", "tony.yarn.queue=ml"}, {"--explain"});
  EXPECT_THAT(ran.out, HasAll({"tony.http.port = x  (-conf); no effect: only TonY's portal reads it\n",
                               "tony.yarn.queue = ml  (-conf); no effect without tony.scheduler=yarn\n",
                               "tony.worker.instances = 1  (-conf)\n"}));
}

TEST_F(KeysTest, HelpListsTheKeys) {
  const Ran all = Succeeds({"help", "keys"});
  for (const Key& row : AllKeys())
    EXPECT_THAT("\n" + all.out, HasSubstr("\n" + std::string(row.name) + "  (")) << row.name;
  const Ran some = box_.Tony({"help", "keys", "docker"});
  EXPECT_THAT(some.out, HasSubstr("tony.docker.enabled"));
  EXPECT_THAT(some.out, testing::Not(HasSubstr("tony.yarn.queue")));
  Fails(64, {"help", "keys", "no-such"});
  Fails(64, {"help", "submit", "keys"});
}

}  // namespace
}  // namespace tony
