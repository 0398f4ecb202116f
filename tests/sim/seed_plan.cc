#include "tests/sim/seed_plan.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/sim/job_rules.h"
#include "tests/sim/random.h"

namespace tony::sim {
namespace {

constexpr Duration kFaultsEnd{60'000};

int Few(Random& random, int64_t most) { return static_cast<int>(random.Between(0, most)); }

// ---- the job

RoleSpec Role(Random& random, const std::string& name, int instances, Completion completion) {
  RoleSpec role{.name = name, .instances = instances, .command = "train", .completion = completion};
  if (random.Chance(150)) role.restart_scope = static_cast<RestartScope>(Few(random, kRestartScopes - 1));
  if (random.Chance(150)) role.restarts = Few(random, 2);
  return role;
}

FrameworkKind FrameworkFor(Random& random) {
  const int64_t chance = random.Between(1, 100);
  if (chance <= 40) return FrameworkKind::kStandalone;
  if (chance <= 70) return FrameworkKind::kTensorflow;
  return chance <= 90 ? FrameworkKind::kPytorch : FrameworkKind::kJax;
}

// Roles are in the order of their names, as everywhere.
std::vector<RoleSpec> RolesFor(Random& random) {
  std::vector<RoleSpec> roles;
  if (random.Chance(100)) roles.push_back(Role(random, "evaluator", 1, Completion::kTracked));
  if (random.Chance(300)) roles.push_back(Role(random, "ps", 1, Completion::kUntracked));
  if (random.Chance(200)) roles.push_back(Role(random, "sidecar", 1, Completion::kSidecar));
  roles.push_back(Role(random, "worker", 1 + Few(random, 2), Completion::kTracked));
  return roles;
}

Duration WindowFor(Random& random) {
  return random.Chance(500) ? Duration(0) : random.Between(Duration(1'000), Duration(60'000));
}

RestartRules RestartsFor(Random& random) {
  RestartRules rules;
  if (random.Chance(300)) return rules;
  for (RestartBudget& level : rules.levels) {
    if (random.Chance(500)) level = {Few(random, 3), WindowFor(random)};
  }
  if (random.Chance(300)) rules.lost = {Few(random, 3), WindowFor(random)};
  rules.backoff = random.Between(Duration(0), Duration(3'000));
  rules.longest_backoff = std::max(rules.backoff, random.Between(Duration(1'000), Duration(20'000)));
  return rules;
}

// The timers keep two margins: an executor that is cut off has ended five seconds before it is given up, and an
// executor that lost its AM has seen a stale record before it would be cut off.
Timers TimersFor(Random& random) {
  Timers timers;
  if (random.Chance(300)) {
    timers = {.suspect_after = Duration(3'000),
              .cutoff_after = Duration(12'000),
              .grace = Duration(2'000),
              .lost_after = Duration(20'000),
              .record_fresh = Duration(4'000),
              .am_lease = Duration(4'000)};
  }
  if (random.Chance(150)) timers.orphan_timeout = random.Between(Duration(20'000), Duration(60'000));
  return timers;
}

JobSpec SpecFor(Random& random) {
  JobSpec spec{.name = "simulated", .framework = FrameworkFor(random), .roles = RolesFor(random)};
  if (random.Chance(100)) spec.registration_timeout = random.Between(Duration(2'000), Duration(30'000));
  if (random.Chance(100)) spec.timeout = random.Between(Duration(5'000), Duration(60'000));
  spec.timers = TimersFor(random);
  spec.restart = RestartsFor(random);
  spec.restart.settle = Duration(0);
  if (random.Chance(300)) spec.checkpoint = {.directory = "/checkpoints", .most_fruitless = 1 + Few(random, 2)};
  return spec;
}

// ---- behaviour of the processes

int ExitCodeFor(Random& random) {
  constexpr int kTransient = 193;
  constexpr int kPermanent = 194;
  constexpr int kToldToEnd = 143;  // a shell's code for SIGTERM
  if (random.Chance(100)) return kToldToEnd;
  if (random.Chance(250)) return random.Chance(500) ? kTransient : kPermanent;
  return static_cast<int>(random.Between(1, 255));
}

Duration LongestRun(Random& random, bool waited_for) {
  if (random.Chance(100)) return Duration(10);
  return Duration(waited_for && random.Chance(800) ? 40'000 : 200'000);
}

ProcessPlan ProcessFor(Random& random, bool waited_for, int failing) {
  ProcessPlan process;
  process.cannot_start = random.Chance(failing / 3);
  const bool starts_slowly = random.Chance(process.cannot_start ? 500 : 50);
  process.start = random.Between(Duration(0), Duration(starts_slowly ? 15'000 : 10));
  process.run = random.Between(Duration(0), LongestRun(random, waited_for));
  if (random.Chance(failing)) process.exit_code = ExitCodeFor(random);
  if (random.Chance(150)) {
    process.obeys_term.reset();
  } else {
    process.obeys_term = random.Between(Duration(0), Duration(random.Chance(200) ? 12'000 : 100));
  }
  process.leaves_children = random.Chance(150);
  return process;
}

TaskPlan TaskFor(Random& random, const JobSpec& spec, Completion completion) {
  TaskPlan task;
  const bool waited_for = completion == Completion::kTracked;
  task.grant =
      random.Chance(80) ? random.Between(Duration(0), Duration(40'000)) : random.Between(Duration(0), Duration(20));
  task.launch = random.Between(Duration(1), Duration(random.Chance(50) ? 5'000 : 50));
  task.launches_failing = random.Chance(15) ? 1 + Few(random, 2) : 0;
  task.granted_twice = random.Chance(50);
  task.cannot_begin = random.Chance(30);
  task.process = ProcessFor(random, waited_for, 40);
  if (random.Chance(250)) {
    for (int left = 1 + Few(random, 3); left > 0; --left) {
      task.earlier.push_back(ProcessFor(random, waited_for, 800));
      task.earlier.back().run = random.Between(Duration(0), Duration(15'000));
    }
  }
  if (!spec.checkpoint.directory.empty() && random.Chance(600)) {
    const Duration every = random.Between(Duration(500), Duration(10'000));
    for (ProcessPlan& process : task.earlier) process.checkpoint_every = every;
    task.process.checkpoint_every = every;
  }
  return task;
}

// Returns two checkpoints of other jobs: one newer than any that the job writes, and one that the job may overwrite.
std::vector<Checkpoint> OfOthers(const Plan& plan) {
  const std::string& directory = plan.spec.checkpoint.directory;
  std::vector<Checkpoint> there = {{directory + "/others-900000", 900'000, FromMillis(1), CheckpointWriter::kOthers}};
  for (const auto& [id, task] : plan.tasks) {
    const int64_t work = task.process.checkpoint_every.count();
    if (work == 0) continue;
    there.push_back(
        {StrCat(directory, "/", id.role, "-", id.index, "-", work), work, FromMillis(2), CheckpointWriter::kOthers});
  }
  return there;
}

// True if some process always fails. Such a job would never end if old restarts did not count.
bool FailsForEver(const Plan& plan) {
  return std::ranges::any_of(plan.tasks, [](const auto& entry) {
    const ProcessPlan& process = entry.second.process;
    const bool other_fails =
        std::ranges::any_of(process.beside, [](const ProcessPlan& other) { return other.exit_code != 0; });
    return process.cannot_start || process.exit_code != 0 || other_fails || entry.second.cannot_begin;
  });
}

void CountAll(RestartRules& rules) {
  for (RestartBudget& level : rules.levels) level.window = Duration(0);
  rules.lost.window = Duration(0);
}

// ---- everything around the job

NetworkPlan NetworkFor(Random& random) {
  NetworkPlan network;
  network.longest = Duration(random.Chance(200) ? 400 : 5);
  network.loss = random.Chance(500) ? static_cast<int>(random.Between(1, 40)) : 0;
  network.duplicates = random.Chance(300) ? static_cast<int>(random.Between(1, 100)) : 0;
  network.reorders = random.Chance(100);
  return network;
}

AmPlan AmFor(Random& random) {
  AmPlan am;
  am.crashes_per_mille = random.Chance(600) ? static_cast<int>(random.Between(1, 60)) : 0;
  if (random.Chance(100)) am.longest_start = Duration(10'000);
  if (random.Chance(200)) am.longest_write = Duration(300);
  am.longest_look = Duration(random.Chance(200) ? (random.Chance(200) ? 90'000 : 4'000) : 50);
  if (random.Chance(100)) am.failing_looks = 500;
  return am;
}

ClockPlan ClocksFor(Random& random) {
  if (random.Chance(400)) return {};
  return {.most_drift = random.Between(0, 10'000), .most_offset = random.Between(Duration(0), Duration(500))};
}

std::vector<WallStep> StepsFor(Random& random) {
  std::vector<WallStep> steps;
  const int64_t most = Duration(std::chrono::hours(8)).count();
  for (int64_t left = random.Between(0, 3); left > 0; --left)
    steps.push_back({random.Between(Duration(1'000), Duration(50'000)), Duration(random.Between(-most, most))});
  return steps;
}

Fault FaultOfAm(Random& random, Duration length) {
  switch (random.Between(0, 8)) {
    case 0:
      return FreezeAm{std::min(length, Duration(40'000))};
    case 1:
      return FillDisk{std::min(length, Duration(40'000))};
    case 2:
      return FailSync{};
    case 3:
      return LockLease{length};
    case 4:
      return CrashAm{random.Chance(100) ? 6 : 0};
    default:
      return CrashAm{};
  }
}

Fault FaultOfScheduler(Random& random, const TaskId& task, Duration length) {
  constexpr OutcomeClass kClasses[] = {OutcomeClass::kNodeLost, OutcomeClass::kPreempted, OutcomeClass::kOom};
  switch (random.Between(0, 5)) {
    case 0:
      return FreezeKeeper{length};
    case 1:
      return KillKeeper{length};
    case 2:
      return Preempt{task, random.Between(Duration(0), Duration(15'000))};
    case 3:
      return LoseNode{task, length, random.Chance(500)};
    case 4:
      return LieAboutEnd{task, random.Between(Duration(0), Duration(20'000))};
    default:
      return EndContainer{task, kClasses[random.Between(0, 2)]};
  }
}

Fault FaultOfExecutor(Random& random, const TaskId& task, Duration length) {
  using Direction = CutNetwork::Direction;
  switch (random.Between(0, 7)) {
    case 0:
      return KillExecutor{task};
    case 1:
      return TermExecutor{task};
    case 2:
      return CutStore{task, length};
    case 3:
      // A longer stall exceeds the margin between cutoff_after + grace and lost_after, so that a process outlives the
      // moment at which its attempt is given up.
      return StallExecutor{task, std::min(length, Duration(10'000))};
    default:
      return CutNetwork{task, length, random.Chance(300), static_cast<Direction>(Few(random, 2))};
  }
}

Fault FaultFor(Random& random, const TaskId& task) {
  const Duration length = random.Between(Duration(50), Duration(random.Chance(500) ? 5'000 : 90'000));
  const int64_t chance = random.Between(1, 100);
  if (chance <= 30) return FaultOfAm(random, length);
  if (chance <= 65) return FaultOfExecutor(random, task, length);
  if (chance <= 90) return FaultOfScheduler(random, task, length);
  return AskKill{random.Chance(500) ? Duration(-1) : random.Between(Duration(0), Duration(15'000))};
}

// A node that its scheduler has lost may also be cut off from the AM.
void AddDoubts(Random& random, Plan& plan) {
  const std::vector<TaskId> tasks = TasksOf(plan.spec);
  for (int64_t left = random.Between(1, 2); left > 0; --left) {
    const TaskId& task = tasks[static_cast<size_t>(random.Between(0, static_cast<int64_t>(tasks.size()) - 1))];
    const Duration at = random.Between(Duration(0), Duration(50'000));
    plan.faults.push_back({at, DoubtEnd{task}});
    if (random.Chance(400))
      plan.faults.push_back({at, CutNetwork{task, random.Between(Duration(0), Duration(90'000)), random.Chance(500)}});
    if (random.Chance(200))
      plan.faults.push_back({at + random.Between(Duration(0), Duration(5'000)), KillExecutor{task}});
  }
}

// ---- requests of engines

Claim ClaimFor(Random& random) {
  const Duration timeout = random.Chance(500) ? random.Between(Duration(2'000), Duration(60'000)) : Duration(0);
  return {{StrCat("o", random.Between(1, 3))}, timeout};
}

Fault AskFor(Random& random) {
  const WatcherToken watcher{StrCat("w", random.Between(1, 3))};
  const int64_t chance = random.Between(1, 100);
  if (chance <= 30) return AskAttach{ClaimFor(random)};
  if (chance <= 65) return AskLook{random.Chance(200) ? WatcherToken() : watcher};
  AskConditionalKill kill{.delay = random.Chance(500) ? random.Between(Duration(100), Duration(20'000)) : Duration(0)};
  if (random.Chance(600)) kill.request.if_owner = {StrCat("o", random.Between(1, 3))};
  if (random.Chance(500)) kill.request.if_watcher = watcher;
  if (random.Chance(200)) kill.request.grace = random.Between(Duration(0), Duration(5'000));
  return kill;
}

// ---- stages

void PublishIn(Random& random, TaskPlan& task) {
  const auto some_time = [&] { return random.Between(Duration(0), Duration(random.Chance(100) ? 40'000 : 5'000)); };
  for (ProcessPlan& process : task.earlier)
    if (!random.Chance(200)) process.publish_after = some_time();
  if (!random.Chance(40)) task.process.publish_after = some_time();
}

// Adds a driver to the job; the other tasks wait for it.
void MakeStaged(Random& random, Plan& plan) {
  const TaskId driver{"driver", 0};
  const Completion completion = random.Chance(500) ? Completion::kTracked : Completion::kUntracked;
  plan.spec.framework = FrameworkKind::kStaged;
  plan.spec.roles.insert(plan.spec.roles.begin(), Role(random, driver.role, 1, completion));
  plan.tasks[driver] = TaskFor(random, plan.spec, completion);
  bool silent = false;
  for (auto& [id, task] : plan.tasks) {
    if (!MustPublish(plan.spec, id.role)) continue;
    PublishIn(random, task);
    silent = silent || !task.process.publish_after;
  }
  if (silent || FailsForEver(plan)) CountAll(plan.spec.restart);
  if (random.Chance(500))
    plan.faults.push_back({random.Between(Duration(0), Duration(20'000)), FaultFor(random, driver)});
}

// ---- the end of the job

void MayFail(Random& random, RoleSpec& role) {
  const int tasks = role.instances;
  if (role.completion == Completion::kTracked && random.Chance(500)) role.min_succeeded = 1 + Few(random, tasks - 1);
  const int most = role.min_succeeded > 0 ? tasks - role.min_succeeded + 1 : tasks;
  if (random.Chance(400)) role.min_failed = 1 + Few(random, most - 1);
}

// Lets some of the job's tasks fail, and makes more of them fail, or gives the job TonY's completion rule.
void MakeTolerant(Random& random, Plan& plan) {
  if (random.Chance(300)) plan.spec.completion_rule = CompletionRule::kTony;
  // This role outlives others or is outlived by them.
  if (random.Chance(500)) {
    const auto place = std::ranges::find_if(plan.spec.roles, [](const RoleSpec& role) { return role.name > "shard"; });
    const RoleSpec role = Role(random, "shard", 1 + Few(random, 3), Completion::kTracked);
    for (int index = 0; index < role.instances; ++index)
      plan.tasks[{role.name, index}] = TaskFor(random, plan.spec, role.completion);
    plan.spec.roles.insert(place, role);
  }
  for (RoleSpec& role : plan.spec.roles) {
    for (int more = role.name == "worker" ? Few(random, 3) : 0; more > 0; --more)
      plan.tasks[{role.name, role.instances++}] = TaskFor(random, plan.spec, role.completion);
    const bool tonys = plan.spec.completion_rule == CompletionRule::kTony && random.Chance(800);
    if (!tonys) {
      MayFail(random, role);
    } else if (role.completion == Completion::kTracked) {
      role.min_failed = random.Chance(200) ? 1 : 0;
    }
    for (int index = 0; index < role.instances; ++index)
      if (random.Chance(250)) plan.tasks.at({role.name, index}).process.exit_code = ExitCodeFor(random);
  }
  if (FailsForEver(plan)) CountAll(plan.spec.restart);
}

// Adds dependencies between roles: one role prepares, or two do, one after the other. Workers may wait for ps to be
// ready.
void MakeDependent(Random& random, Plan& plan) {
  std::vector<RoleSpec>& roles = plan.spec.roles;
  const bool fcfs = plan.spec.mode == DistributedMode::kFcfs;
  const bool in_chain = random.Chance(300);
  const auto role_of = [&](const std::string& name) { return std::ranges::find(roles, name, &RoleSpec::name); };
  if (random.Chance(800)) {
    roles.push_back(Role(random, "data", 1 + Few(random, 1), Completion::kTracked));
    if (in_chain) roles.push_back(Role(random, "index", 1, Completion::kTracked));
    std::ranges::sort(roles, {}, &RoleSpec::name);
    for (RoleSpec& role : roles) {
      const bool is_late = role.name == "worker" || random.Chance(500);
      if (role.name == "index" || (role.name != "data" && is_late && !in_chain)) role.depends_on = {{"data"}};
      if (in_chain && role.name == "worker") role.depends_on = {{"index"}};
    }
  }
  const bool may_be_ready = role_of("ps") != roles.end();
  if (may_be_ready && random.Chance(500)) role_of("worker")->depends_on.push_back({"ps", Dependency::Until::kReady});
  for (const TaskId& task : TasksOf(plan.spec)) {
    if (!plan.tasks.contains(task)) plan.tasks[task] = TaskFor(random, plan.spec, Completion::kTracked);
    if (!Prepares(plan.spec, task.role)) continue;
    TaskPlan& prepares = plan.tasks[task];
    prepares.process.run = std::min(prepares.process.run, random.Between(Duration(0), Duration(20'000)));
  }
  bool silent = false;
  for (auto& [id, task] : plan.tasks) {
    if (!MustPublish(plan.spec, id.role)) continue;
    PublishIn(random, task);
    silent = silent || !task.process.publish_after;
  }
  if (silent || fcfs || FailsForEver(plan)) CountAll(plan.spec.restart);
}

// Adds a role that may not run for long after others have ended, or for which the job no longer waits at that time.
void MakeOutliving(Random& random, Plan& plan) {
  std::vector<std::string> names;
  for (const RoleSpec& role : plan.spec.roles) names.push_back(role.name);
  if (names.size() < 2) return;
  const auto some = [&] {
    return names[static_cast<size_t>(random.Between(0, static_cast<int64_t>(names.size()) - 1))];
  };
  for (int64_t left = random.Between(1, 3); left > 0; --left) {
    const std::string outlives = some(), other = some();
    if (outlives == other) continue;
    const Duration limit = random.Between(Duration(0), Duration(20'000));
    std::ranges::find(plan.spec.roles, outlives, &RoleSpec::name)
        ->outlives.push_back({"A", {other}, limit, random.Chance(500)});
  }
}

// Adds processes that start together with the first one and can be started.
void PutBeside(Random& random, ProcessPlan& process, int others, bool waited_for, int failing) {
  for (; others > 0; --others) {
    process.beside.push_back(ProcessFor(random, waited_for, failing));
    process.beside.back().cannot_start = false;
  }
}

// Gives some of the job's tasks several processes.
void MakeProcesses(Random& random, Plan& plan) {
  for (RoleSpec& role : plan.spec.roles) {
    if (random.Chance(300)) continue;
    role.processes = 2 + Few(random, 1);
    const bool waited_for = role.completion == Completion::kTracked;
    for (int index = 0; index < role.instances; ++index) {
      TaskPlan& task = plan.tasks.at({role.name, index});
      for (ProcessPlan& earlier : task.earlier) PutBeside(random, earlier, role.processes - 1, waited_for, 400);
      PutBeside(random, task.process, role.processes - 1, waited_for, 40);
    }
  }
  if (FailsForEver(plan)) CountAll(plan.spec.restart);
}

// A cluster limits how long containers are held, and more of them are granted late.
void PutOnCluster(Random& random, Plan& plan) {
  plan.spec.scheduler = kYarnScheduler;
  plan.spec.yarn.gang_hold = random.Chance(100) ? Duration(0) : random.Between(Duration(500), Duration(20'000));
  for (auto& [id, task] : plan.tasks)
    if (random.Chance(300)) task.grant = random.Between(Duration(0), Duration(40'000));
  if (random.Chance(700)) plan.shared_store = Duration(random.Chance(300) ? 1'300 : 50);
}

// A cluster's ResourceManager, store and nodes, as an AM sees them.
void LetClusterLie(Random& random, Plan& plan) {
  for (int64_t left = random.Between(0, 2); left > 0; --left) {
    const Duration cut = random.Chance(400) ? random.Between(Duration(0), Duration(30'000)) : Duration(0);
    plan.faults.push_back({random.Between(Duration(0), Duration(50'000)), DoubleAm{cut}});
  }
  if (random.Chance(300)) plan.am.unanswered_writes = static_cast<int>(random.Between(1, 200));
  if (random.Chance(300)) plan.scheduler.strangers = 200;
  if (random.Chance(300)) plan.scheduler.listed_late = 500;
  if (random.Chance(300)) plan.scheduler.slowest_stop = random.Between(Duration(50), Duration(20'000));
}

// Lets only some of the workers run at the same time, and adds workers that wait for the others.
void LimitRoles(Random& random, Plan& plan) {
  for (RoleSpec& role : plan.spec.roles) {
    if (role.restart_scope > RestartScope::kRole) role.restart_scope.reset();
    if (role.name != "worker") continue;
    for (int more = Few(random, 3); more > 0; --more)
      plan.tasks[{role.name, role.instances++}] = TaskFor(random, plan.spec, role.completion);
    role.max_parallel = 1 + Few(random, 2);
    role.restart_scope.reset();
  }
  if (FailsForEver(plan)) CountAll(plan.spec.restart);
}

// Makes the sidecar persistent: it lives on while most of the gang restarts.
void LetOutlive(Random& random, Plan& plan) {
  const TaskId sidecar{"sidecar", 0};
  auto& roles = plan.spec.roles;
  if (!plan.spec.FindRole(sidecar.role)) {
    const auto place = std::ranges::find_if(roles, [&](const RoleSpec& role) { return role.name > sidecar.role; });
    roles.insert(place, Role(random, sidecar.role, 1, Completion::kSidecar));
    plan.tasks[sidecar] = TaskFor(random, plan.spec, Completion::kSidecar);
  }
  for (RoleSpec& role : roles) role.outlives_restarts = role.completion == Completion::kSidecar;
  if (random.Chance(700)) plan.spec.restart.levels[static_cast<size_t>(RestartScope::kGang)].most = 3;
  if (FailsForEver(plan)) CountAll(plan.spec.restart);
  for (int64_t left = random.Between(0, 2); left > 0; --left)
    plan.faults.push_back({random.Between(Duration(0), Duration(50'000)), FaultFor(random, sidecar)});
}

Plan PlanOf(uint64_t seed) {
  Random random(seed);
  Plan plan{.seed = random.Next(), .spec = SpecFor(random), .faults_end = kFaultsEnd};
  const std::vector<TaskId> tasks = TasksOf(plan.spec);
  for (const TaskId& task : tasks) {
    plan.tasks[task] = TaskFor(random, plan.spec, plan.spec.FindRole(task.role)->completion);
  }
  if (FailsForEver(plan)) CountAll(plan.spec.restart);
  plan.network = NetworkFor(random);
  plan.am = AmFor(random);
  plan.scheduler.told_twice = random.Chance(200) ? 500 : 0;
  plan.clocks = ClocksFor(random);
  for (int64_t left = random.Between(0, 4); left > 0; --left) {
    const TaskId& task = tasks[static_cast<size_t>(random.Between(0, static_cast<int64_t>(tasks.size()) - 1))];
    const Duration at = random.Between(Duration(0), Duration(random.Chance(300) ? 1'000 : 50'000));
    plan.faults.push_back({at, FaultFor(random, task)});
    // If the AM dies with the keeper, no process restarts the keeper at once.
    if (std::holds_alternative<KillKeeper>(plan.faults.back().fault) && random.Chance(500)) {
      plan.faults.push_back({at, CrashAm{}});
    }
  }
  if (random.Chance(100)) plan.spec.mode = DistributedMode::kFcfs;
  if (!plan.spec.checkpoint.directory.empty() && random.Chance(500)) plan.of_others = OfOthers(plan);
  if (!plan.spec.checkpoint.directory.empty()) plan.spec.checkpoint.resume_latest = random.Chance(150);
  if (random.Chance(100)) plan.spec.allocation_timeout = random.Between(Duration(5'000), Duration(45'000));
  // A separate generator leaves the rest of the plan unchanged for seeds that tests name.
  Random of_machine(~seed);
  plan.clocks.one_machine = of_machine.Chance(500);
  if (plan.clocks.one_machine) plan.clocks.steps = StepsFor(of_machine);
  if (of_machine.Chance(100)) plan.spec.registry_timeout = of_machine.Between(Duration(500), Duration(10'000));
  if (of_machine.Chance(100)) plan.spec.timers.execution_limit = of_machine.Between(Duration(500), Duration(20'000));
  // an attempt that exceeds it always does
  if (plan.spec.timers.execution_limit.count() > 0) CountAll(plan.spec.restart);
  if (random.Chance(700)) return plan;
  plan.claim = ClaimFor(random);
  for (int64_t left = random.Between(0, 8); left > 0; --left) {
    const Duration at = random.Between(Duration(0), Duration(50'000));
    plan.faults.push_back({at, AskFor(random)});
  }
  return plan;
}

}  // namespace

Plan PlanFor(uint64_t seed) {
  Plan plan = PlanOf(seed);
  Random of_ends(seed ^ 0xf1715);
  if (of_ends.Chance(250)) MakeTolerant(of_ends, plan);
  // A separate generator leaves the rest of the plan unchanged for seeds that tests name.
  Random of_stages(seed ^ 0x57a6e);
  if (of_stages.Chance(150) && plan.spec.mode == DistributedMode::kGang) MakeStaged(of_stages, plan);
  Random of_dependencies(seed ^ 0xde9e2d5);
  if (of_dependencies.Chance(250) && plan.spec.framework != FrameworkKind::kStaged)
    MakeDependent(of_dependencies, plan);
  Random of_limits(seed ^ 0x1a11e1);
  if (of_limits.Chance(500) && plan.spec.mode == DistributedMode::kFcfs) LimitRoles(of_limits, plan);
  Random of_groups(seed ^ 0x92095);
  if (of_groups.Chance(150)) MakeOutliving(of_groups, plan);
  Random of_sidecars(seed ^ 0x51dec);
  if (of_sidecars.Chance(200)) LetOutlive(of_sidecars, plan);
  Random of_processes(seed ^ 0x9e0c5);
  if (of_processes.Chance(150)) MakeProcesses(of_processes, plan);
  Random of_doubts(seed ^ 0xd0b75);
  if (of_doubts.Chance(100)) AddDoubts(of_doubts, plan);
  Random of_clusters(seed ^ 0xc1a57);
  const bool on_cluster = of_clusters.Chance(200);
  if (on_cluster) PutOnCluster(of_clusters, plan);
  if (on_cluster && of_clusters.Chance(600)) LetClusterLie(of_clusters, plan);
  Random of_holds(seed ^ 0x401d);
  if (of_holds.Chance(150)) plan.spec.hold = of_holds.Between(Duration(100), Duration(30'000));
  return plan;
}

}  // namespace tony::sim
