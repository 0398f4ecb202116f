#include "runtime/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <random>
#include <set>

#include "tests/support/results.h"
#include "tests/support/script.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Instant kStart = FromMillis(1'700'000'000'000);
const Machine kMachine = {.memory_mb = 24000, .cores = 4, .gpus = {0, 1, 2, 3}};

LedgerEntry Waits(int64_t number, int64_t memory_mb, int64_t gpus = 0) {
  return {.number = number, .job = {"job-" + std::to_string(number)}, .ask = {.memory_mb = memory_mb, .gpus = gpus}};
}

RoleSpec Role(const std::string& name, int instances, int64_t memory_mb, int gpus = 0) {
  return {.name = name, .instances = instances, .resources = {.memory_mb = memory_mb, .gpus = gpus}};
}

// A machine and its ledger. Words of a row add entries: "waits 2 14000", "runs 1 10000" or "aside 9 100" with a number
// and MB, then "gpus=2", "held=1,3", "user=7", "priority=1", "job=NAME", "old" (made by a keeper of an earlier
// release), "among=2,3", "vcores=9". "mine" adds a queued entry. Words that name no entry refer to the one that was
// added last.
struct LedgerWorld {
  static std::vector<int> Numbers(const std::string& text) {
    std::vector<int> numbers;
    for (const std::string& each : Split(text, ',')) numbers.push_back(static_cast<int>(*ParseInt(each)));
    return numbers;
  }
  void Add(const Words& its, Place place) {
    LedgerEntry entry = Waits(its.Number(1), its.Number(2));
    entry.place = place;
    entry.keeper = {.pid = 1};
    for (size_t i = 3; !its[i].empty(); ++i) {
      const auto parts = Split(its[i], '=');
      if (its[i] == "old") {
        entry.keeper = {};
        continue;
      }
      const auto numbers = parts[0] == "job" ? std::vector<int>() : Numbers(parts[1]);
      if (parts[0] == "job") entry.job = {parts[1]};
      if (parts[0] == "gpus") entry.ask.gpus = numbers[0];
      if (parts[0] == "vcores") entry.ask.vcores = numbers[0];
      if (parts[0] == "user") entry.user = numbers[0];
      if (parts[0] == "priority") entry.priority = numbers[0];
      if (parts[0] == "among") entry.ask.gpus_among = numbers;
      if (parts[0] == "held") entry.gpus = numbers, entry.ask.gpus = std::ssize(numbers);
    }
    entries.push_back(entry);
  }
  Ledger Now() const { return {machine, entries}; }
  const LedgerEntry& Of(const Words& its) const {
    return its[1].empty() ? entries.back() : *std::ranges::find(entries, its.Number(1), &LedgerEntry::number);
  }
  static std::string Join(const std::vector<int>& numbers) {
    std::string text = "GPUs";
    for (const int number : numbers) text += StrCat(" ", number);
    return text;
  }
  static std::string NamesOf(const std::vector<LedgerEntry>& some) {
    std::string text;
    for (const LedgerEntry& entry : some) text += StrCat(" ", entry.job.value);
    return text.empty() ? " nobody" : text;
  }
  void Next(Duration after) { step = turn.Next(Now(), entries.back(), kStart + after); }
  static Deeds<LedgerWorld> Its() {
    return {
        {"small",
         [](auto& w, auto&) {
           w.machine = {.memory_mb = 1000, .gpus = {0, 1}};
         }},
        {"limits",
         [](auto& w, auto& its) {
           w.machine.user_limits = {.memory_mb = its.Number(1), .gpus = 1};
           w.machine.users[7] = {.memory_mb = 12000};
         }},
        {"waits", [](auto& w, auto& its) { w.Add(its, Place::kQueued); }},
        {"runs", [](auto& w, auto& its) { w.Add(its, Place::kAdmitted); }},
        {"aside", [](auto& w, auto& its) { w.Add(its, Place::kDeferred); }},
        {"mine", [](auto& w, auto& its) { w.Add(its, Place::kQueued); }},
        {"nobody", [](auto& w, auto&) { w.entries.clear(); }},
        {"may", [](auto& w, auto& its) { return w.Now().MayBeAdmitted(w.Of(its)) ? "may" : "may not"; }},
        {"fits", [](auto& w, auto& its) { return w.Now().Fits(w.Of(its)) ? "fits" : "does not fit"; }},
        {"ever", [](auto& w, auto& its) { return EverFits(w.Of(its).ask, w.machine, 0) ? "fits" : "never fits"; }},
        {"why", [](auto& w, auto& its) { return w.Now().WhyItWaits(w.Of(its)); }},
        {"gets", [](auto& w, auto& its) { return Join(w.Now().GpusFor(w.Of(its))); }},
        {"free", [](auto& w, auto&) { return StrCat(w.Now().FreeMemory(), " MB, ", Join(w.Now().FreeGpus())); }},
        {"number", [](auto& w, auto&) { return StrCat(w.Now().NextNumber()); }},
        {"before", [](auto& w, auto& its) { return "before:" + NamesOf(w.Now().Before(w.Of(its))); }},
        {"limits-of",
         [](auto& w, auto& its) {
           const UserLimits limits = w.machine.LimitsOf(its.Number(1));
           return StrCat(limits.memory_mb.value_or(-1), " MB, ", limits.gpus.value_or(-1), " GPUs");
         }},
        // ---- The next step of "mine". The first number counts patiences since its start. "more" adds the further
        // patience of a later position; another number adds milliseconds.
        {"next",
         [](auto& w, auto& its) {
           w.Next(its.Number(1) * kTurnPatience + (its[2] == "more" ? kTurnPatienceMore : Duration(its.Number(2))));
           using enum QueueAction::Kind;
           switch (w.step.kind) {
             case kAdmit:
               return Join(w.step.gpus) == "GPUs" ? std::string("admit") : "admit, " + Join(w.step.gpus);
             case kDefer:
               return "step aside: " + w.step.why;
             case kJoin:
               return StrCat("join as ", w.step.number,
                             w.step.displaced ? " in place of " + w.step.displaced->job.value : "");
             case kWait:
               return "wait for" + NamesOf(w.step.waits_for);
           }
           return std::string();
         }},
        {"looks-after-its-patience",
         [](auto& w, auto&) { return w.step.look_again == kStart + kTurnPatience ? "yes" : "no"; }},
        {"passed", [](auto& w, auto&) { return "passed" + NamesOf(w.turn.Passed()); }},
        {"has-room", [](auto& w, auto&) { return HasRoomFor(w.remembered, w.Now()) ? "room" : "no room"; }},
        {"remember", [](auto& w, auto&) { w.remembered = w.entries.back(); }},
    };
  }

  Machine machine = kMachine;
  std::vector<LedgerEntry> entries;
  LedgerQueueStep turn;
  QueueAction step;
  LedgerEntry remembered;
};

const TestRow kLedgers[] = {
    {"AJobThatFitsIsAdmittedAndGetsTheLowestNumberedFreeGpus",
     {{"runs 1 10000 held=1 | waits 2 14000 gpus=2 | may | gets | number", "may | GPUs 0 2 | 3"},
      {"free", "14000 MB, GPUs 0 2 3"}}},
    {"AJobThatRequestsOneMegabyteOrOneGpuMoreThanIsFreeIsQueued",
     {{"runs 1 10000 held=0,1,2 | waits 2 14001 | may", "may not"},
      {"nobody | runs 1 10000 held=0,1,2 | waits 2 0 gpus=2 | may", "may not"},
      {"nobody | runs 1 10000 held=0,1,2 | waits 2 14000 gpus=1 | may", "may"}}},
    {"RequestedCpuCoresDoNotLimitAdmission", {{"waits 1 1 vcores=1000 | may", "may"}}},
    {"ASmallJobDoesNotOvertakeAQueuedLargeJob",
     {{"runs 1 14000 | waits 2 14000 | waits 3 100 | may 2 | may 3", "may not | may not"}}},
    {"AJobTooLargeForTheMachineBlocksNoOtherJob",
     {{"waits 1 24001 | waits 2 24000 | waits 3 0 gpus=5 | may 1 | may 2 | may 3", "may not | may | may not"}}},
    {"FreeMemoryIsZeroIfRunningJobsHoldMoreMemoryThanTheMachineHas",
     {{"runs 1 20000 held=0,0,9 | runs 2 20000 | free | waits 3 0 gpus=1 | may", "0 MB, GPUs 1 2 3 | may"},
      {"nobody | runs 1 20000 held=0,0,9 | runs 2 20000 | waits 3 1 | may", "may not"}}},
    {"ThePendingReasonNamesFreeResourcesAndTheNumberOfJobsAhead",
     {{"runs 1 19904 held=0,1,2 | waits 2 8192 | waits 3 8192 gpus=2 | waits 4 1 | why 2 | why 3 | why 4",
       "waits for 8192 MB of memory: 4096 of 24000 MB are free | "
       "waits for 8192 MB of memory: 4096 of 24000 MB are free and 2 GPUs: 1 of 4 is free; 1 job is before it | "
       "waits for its turn; 2 jobs are before it"},
      {"waits 9 25000 | why 9",
       "requests 25000 MB of memory and 0 GPUs, and this machine has only 24000 MB and 4 GPUs"}}},
    {"EntryNumbersStopGrowingAtTheirMaximum",
     {{"number", "1"}, {StrCat("waits ", kMostNumber, " 1 | number"), StrCat(kMostNumber)}}},
    {"OnlyGpusInCudaVisibleDevicesOfTheSubmitterAreAssigned",
     {{"runs 1 1 held=2 | waits 2 1 gpus=1 among=2,3 | gets", "GPUs 3"},
      {"nobody | runs 1 1 held=2 | waits 2 1 gpus=2 among=2,3 | may | why",
       "may not | waits for 2 GPUs of those with the numbers 2,3: 1 of 2 is free"},
      {"waits 3 1 gpus=3 among=2,3 | ever 3", "never fits"}}},
    {"ANewJobQueuesBehindOneJobOfEachOtherUser",
     {{"waits 1 10 user=1 | waits 2 10 user=1 | waits 3 10 user=2 | waits 4 10 user=3 | before 4",
       "before: job-1 job-3"}}},
    {"ADeferredJobDoesNotBlockAJobOfAnotherUser", {{"aside 1 10 user=1 | waits 2 10 user=2 | may", "may"}}},
};
TABLE_TEST(LedgerTest, kLedgers, ScriptIn<LedgerWorld>());

const TestRow kUserLimits[] = {
    {"LimitsForOneUserOverrideTheLimitsForAllUsers",
     {{"limits 8000 | limits-of 1 | limits-of 7", "8000 MB, 1 GPUs | 12000 MB, 1 GPUs"}}},
    {"AJobAboveTheLimitOfItsUserIsQueuedAndBlocksNoOtherUser",
     {{"limits 8000 | runs 1 6000 user=1 | waits 2 2001 user=1 | waits 3 8000 user=2 | fits 2 | why 2 | may 3",
       "does not fit | waits for 2001 MB of memory: machine.json allows the job's user 8000 MB at a time, and the "
       "user's other jobs hold 6000 | may"}}},
    {"ResourcesHeldAboveTheLimitOfAUserAreTreatedAsFree",
     {{"limits 8000 | runs 1 20000 held=0,1,2 user=1 | free", "16000 MB, GPUs 1 2 3"}}},
};
TABLE_TEST(UserLimitsTest, kUserLimits, ScriptIn<LedgerWorld>());

// The machine has 1000 MB. Our job belongs to user 0, ann's job to user 1, and bob's job to user 2.
const TestRow kTurns[] = {
    {"AJobOnAnOtherwiseEmptyMachineIsAdmittedAtOnce", {{"small | mine 1 1000 gpus=1 | next", "admit, GPUs 0"}}},
    {"AJobWaitsForJobsQueuedEarlierAndNotForJobsQueuedLater",
     {{"small | runs 1 600 user=2 | waits 3 500 user=1 job=ann | mine 5 600 | next", "wait for ann"},
      {"nobody | runs 1 600 user=2 | waits 3 500 user=1 job=ann | waits 0 500 user=3 | waits 1 500 user=1 | mine 5 600 "
       "| next",
       "wait for ann"},
      // Entries that came later are not awaited, whatever their number is.
      {"nobody | waits 0 100 user=3 | waits 1 100 user=1 | mine 5 600 | next", "admit"}}},
    {"AJobWaitsForOnlyOneQueuedJobOfEachOtherUser",
     {{"small | runs 1 600 user=2 | waits 3 500 user=1 | waits 4 500 user=1 | waits 5 500 user=3 | mine 9 600 | next",
       "wait for job-3 job-5"},
      {"nobody | runs 1 600 user=2 | waits 4 500 user=1 | waits 5 500 user=3 | mine 9 600 | next", "wait for job-5"}}},
    {"AQueuedJobThatFitsButDoesNotStartIsOvertakenAfter5Seconds",
     {{"small | waits 3 500 user=1 job=ann | mine 5 600 | next | looks-after-its-patience", "wait for ann | yes"},
      {"next 1 -1 | next 1 | passed", "wait for ann | admit | passed ann"}}},
    {"AQueuedJobThatDoesNotFitYetIsNotOvertaken",
     {{"small | waits 3 500 user=1 job=ann | runs 1 600 user=2 | mine 5 100 | next | next 10",
       "wait for ann | wait for ann"},
      {"nobody | waits 3 500 user=1 job=ann | mine 5 100 | next 10",
       // The patience with ann begins when there is room.
       "wait for ann"}}},
    {"TheNextQueuedJobThatDoesNotStartIsOvertakenHalfASecondLater",
     {{"small | waits 3 500 user=1 job=ann | waits 4 500 user=2 job=bob | mine 9 600 | next | next 1 | next 1 more",
       "^wait | wait for bob | admit"}}},
    {"AJobAboveTheLimitOfItsUserDoesNotBlockAJobOfAnotherUser",
     {{"small | limits 700 | runs 1 400 user=1 | waits 3 400 user=1 | mine 9 100 | next", "admit"}}},
    {"AJobThatWouldExceedTheLimitOfItsUserIsDeferred",
     {{"small | limits 700 | runs 1 400 | mine 9 400 | next", "~step aside: "},
      {"next", "~allows the job's user 700 MB at a time"}}},
    {"ADeferredJobWaitsForThePreviousPendingJobOfTheSameUser",
     {{"small | waits 3 100 | aside 5 100 | aside 7 100 | aside 9 100 | next", "wait for job-7"},
      {"nobody | waits 3 100 | aside 9 100 | next", "wait for job-3"}}},
    {"ADeferredJobJoinsTheEndOfTheQueueWhenTheOtherJobOfItsUserIsAdmitted",
     {{"small | runs 3 100 | waits 12 100 user=1 | aside 9 100 | next", "join as 13"}}},
    {"AJobOfHigherPriorityTakesTheQueuePositionOfAnotherJobOfItsUser",
     {{"small | waits 3 100 | waits 2 100 user=1 | aside 9 100 priority=1 | next", "join as 3 in place of job-3"}}},
    {"AJobOfHigherPriorityDoesNotDisplaceAJobWhoseKeeperIsOfAnEarlierRelease",
     {{"small | waits 3 100 old | aside 9 100 priority=1 | next", "^wait for"}}},
    {"AQueuePositionCanBeHandedOverOnlyOnceToAnotherJobOfTheSameUser",
     {{"small | runs 1 600 user=2 | waits 3 500 user=1 job=ann | mine 9 600 | next", "wait for ann"},
      {"nobody | runs 1 600 user=2 | aside 3 500 user=1 job=ann | waits 3 500 user=1 job=urgent | mine 9 600 | next",
       "wait for urgent"},
      {"nobody | runs 1 600 user=2 | waits 3 500 user=1 job=urgent | mine 9 600 | next", "wait for urgent"},
      // a queue position is used once
      {"nobody | runs 1 600 user=2 | waits 3 500 user=1 job=another | mine 9 600 | next", "wait for nobody"}}},
};
TABLE_TEST(LedgerTurnTest, kTurns, ScriptIn<LedgerWorld>());

const TestRow kRooms[] = {
    {"OnlyTheFirstOfTwoSimultaneousAdmissionsFitsTheMachine",
     {{"small | runs 1 600 job=a | remember | has-room | runs 1 600 job=b | has-room", "room | no room"},
      {"nobody | runs 1 600 job=b | has-room", "no room"},  // entry a was removed
      {"nobody | runs 1 0 job=a held=1 | remember | runs 1 0 job=b held=1 | has-room", "no room"}}},
};
TABLE_TEST(LedgerRoomTest, kRooms, ScriptIn<LedgerWorld>());

TEST(LedgerAskTest, TheRequestOfAJobIsTheSumOfTheResourcesOfAllTasks) {
  JobSpec spec;
  spec.roles = {Role("ps", 2, 1000), Role("worker", 3, 2000, 2)};
  EXPECT_EQ(AskOf(spec), (LedgerRequest{.memory_mb = 8000, .vcores = 5, .gpus = 6}));
}

TEST(LedgerAskTest, AJobRequestsOnlyGpusInCudaVisibleDevicesOfTheSubmitter) {
  JobSpec spec;
  spec.roles = {Role("worker", 1, 1, 2)};
  const auto among = [&](const std::vector<std::string>& environment) { return AskOf(spec, environment).gpus_among; };
  EXPECT_THAT(among({"CUDA_VISIBLE_DEVICES=2, 3"}), ElementsAre(2, 3));
  for (const std::string text : {"", "-1", "GPU-4f2a", "0,MIG-1", "1;2", "99999999999"})
    EXPECT_THAT(among({"CUDA_VISIBLE_DEVICES=" + text}), IsEmpty()) << text;
  EXPECT_THAT(among({"CUDA_VISIBLE_DEVICES=1", "TONY_JOB_ID=j"}), IsEmpty()) << "a keeper chose them, not a person";
}

Machine MachineWithNames() {
  return {.memory_mb = 100, .gpus = {0, 1, 2}, .gpu_names = {{0, "GPU-4f2a"}, {1, "GPU-4f3b"}, {2, "MIG-77"}}};
}

TEST(LedgerAskTest, AGpuMayBeGivenByNumberByNameOrByTheBeginningOfItsName) {
  const Machine machine = MachineWithNames();
  EXPECT_EQ(machine.GpuNumber("1"), 1);
  EXPECT_EQ(machine.GpuNumber("GPU-4f3b"), 1);
  EXPECT_EQ(machine.GpuNumber("GPU-4f2"), 0);
  EXPECT_EQ(machine.GpuNumber("MIG-77"), 2);
  for (const char* text : {"", "GPU-", "GPU-4f", "GPU-9", "-1", "4f2a"})
    EXPECT_EQ(machine.GpuNumber(text), std::nullopt);
}

TEST(LedgerAskTest, NamesInCudaVisibleDevicesOrInTheJobsKeyLimitItsGpus) {
  JobSpec spec;
  spec.roles = {Role("worker", 1, 1, 2)};
  const std::vector<std::string> shell = {"CUDA_VISIBLE_DEVICES=GPU-4f2a,MIG-77"};
  EXPECT_THAT(AskOf(spec, shell, MachineWithNames()).gpus_among, ElementsAre(0, 2));
  spec.gpu_devices = {"GPU-4f3b", "2"};
  EXPECT_THAT(AskOf(spec, shell, MachineWithNames()).gpus_among, ElementsAre(1, 2)) << "the key goes before the shell";
  EXPECT_TRUE(CheckEverFits(spec, MachineWithNames(), 0).ok());
  spec.gpu_devices = {"GPU-4f3b"};
  ExpectError(CheckEverFits(spec, MachineWithNames(), 0), ErrorCode::kInvalid,
              "the job requests 2 GPUs (1 task: worker 1 x 2), and tony.local.gpu-devices allows 1; lower "
              "tony.worker.gpus");
  spec.gpu_devices = {"GPU-gone"};
  ExpectError(CheckEverFits(spec, MachineWithNames(), 0), ErrorCode::kInvalid,
              "tony.local.gpu-devices: \"GPU-gone\" is not a GPU that jobs may have here: 0 GPU-4f2a, 1 GPU-4f3b, 2 "
              "MIG-77");
  EXPECT_THAT(AskOf(spec, {}, MachineWithNames()).gpus_among, ElementsAre(kNoSuchGpu)) << "the job waits";
  spec.roles = {Role("worker", 1, 1, 0)};
  spec.gpu_devices = {"0"};
  ExpectError(CheckEverFits(spec, MachineWithNames(), 0), ErrorCode::kInvalid,
              "tony.local.gpu-devices: no task requests a GPU; set tony.worker.gpus");
}

Status CheckAsk(const std::vector<RoleSpec>& roles, const Machine& machine, int64_t user = 0) {
  JobSpec spec;
  spec.roles = roles;
  return CheckEverFits(spec, machine, user);
}

TEST(LedgerAskTest, ARoleWithALimitRequestsOnlyWhatRunsAtTheSameTime) {
  JobSpec spec;
  spec.roles = {Role("trial", 12, 3072)};
  const Machine machine{.memory_mb = 24'000, .cores = 4};
  const auto limited = [&](int asked, const Machine& on) {
    spec.roles[0].max_parallel = asked;
    LimitToMachine(spec, on, 0);
    return spec.roles[0].max_parallel;
  };
  EXPECT_EQ(limited(3, machine), 3);
  EXPECT_EQ(AskOf(spec).memory_mb, 3 * 3072);
  EXPECT_TRUE(CheckEverFits(spec, machine, 0).ok());
  EXPECT_EQ(limited(12, machine), 7) << "as many as the memory holds, also beyond the cores";
  EXPECT_EQ(limited(kAutoParallel, machine), 4) << "at most one per core";
  EXPECT_EQ(limited(kAutoParallel, {.memory_mb = 7000, .cores = 4}), 2);
  EXPECT_EQ(limited(kAutoParallel, {.memory_mb = 7000, .cores = 4, .user_limits = {.memory_mb = 4000}}), 1);
  EXPECT_EQ(limited(2, {.memory_mb = 100}), 1) << "the check of the request reports the error";
  EXPECT_FALSE(CheckEverFits(spec, {.memory_mb = 100}, 0).ok());
  spec.roles.push_back(Role("worker", 2, 6000));
  EXPECT_EQ(limited(12, machine), 3) << "beside the other roles";
}

TEST(LedgerAskTest, TheErrorForTooMuchMemoryNamesRequestedAndAvailableMbAndTheConfigKey) {
  const std::vector roles = {Role("ps", 1, 2048), Role("worker", 4, 2048)};
  ExpectError(
      CheckAsk(roles, {.memory_mb = 7800}), ErrorCode::kInvalid,
      "the job requests 10240 MB of memory (5 tasks: ps 1 x 2048 MB, worker 4 x 2048 MB), and this machine has 7800 "
      "MB; lower tony.worker.memory or tony.worker.instances");
  EXPECT_TRUE(CheckAsk(roles, {.memory_mb = 10240}).ok());
}

TEST(LedgerAskTest, TheErrorForTooManyGpusNamesRequestedAndAvailableGpusAndTheConfigKey) {
  const std::vector roles = {Role("ps", 1, 1), Role("worker", 1, 1, 2)};
  ExpectError(CheckAsk(roles, {.memory_mb = 100}),
              "the job requests 2 GPUs (1 task: worker 1 x 2), and this machine has none; lower tony.worker.gpus");
  ExpectError(CheckAsk(roles, {.memory_mb = 100, .gpus = {3}}), "~this machine has 1; lower");
}

TEST(LedgerAskTest, TheErrorNamesTheKeyTonyAmMemoryWhenAJobWithoutRolesDoesNotFit) {
  RoleSpec driver = Role("driver", 1, 2048);  // a role may have this name
  ExpectError(CheckAsk({driver}, {.memory_mb = 1000}), "~lower tony.driver.memory");
  driver.key_prefix = "tony.am";
  ExpectError(CheckAsk({driver}, {.memory_mb = 1000}), "~lower tony.am.memory");
}

TEST(LedgerAskTest, TheErrorForARequestAboveTheUserLimitNamesTheRequestedAndAllowedAmounts) {
  Machine machine = kMachine;
  machine.user_limits = {.memory_mb = 8000, .gpus = 1};
  machine.users[7] = {.memory_mb = 12000};
  ExpectError(CheckAsk({Role("worker", 3, 3000)}, machine, 1),
              "the job requests 9000 MB of memory (3 tasks: worker 3 x 3000 MB), and machine.json allows the job's "
              "user 8000 MB at a time; lower tony.worker.memory or tony.worker.instances");
  EXPECT_TRUE(CheckAsk({Role("worker", 3, 3000)}, machine, 7).ok());
  ExpectError(CheckAsk({Role("worker", 1, 1, 2)}, machine, 1), "~machine.json allows the job's user 1 at");
}

// A machine with jobs that arrive, are admitted as soon as possible, and leave or die, in an order that the seed
// decides.
class Traffic {
 public:
  explicit Traffic(unsigned seed) : random_(seed) {}

  void Step() {
    switch (Below(3)) {
      case 0:
        return Arrive();
      case 1:
        return Leave();
      default:
        AdmitOne();
    }
  }
  void Arrive() {
    const Ledger ledger(machine_, entries_);
    // About every sixteenth job can be too large for the machine.
    const int64_t most = Below(16) == 0 ? 2 : 1;
    entries_.push_back(Waits(ledger.NextNumber(), Below(machine_.memory_mb * most + 1), Below(4 * most + 1)));
  }
  void Leave() {
    if (!entries_.empty()) entries_.erase(entries_.begin() + Below(static_cast<int64_t>(entries_.size())));
  }
  // Admits a random job of those that may be admitted. Returns false if no job may be admitted.
  bool AdmitOne() {
    const Ledger ledger(machine_, entries_);
    std::vector<size_t> order(entries_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const size_t i : order) {
      LedgerEntry& entry = entries_[i];
      if (entry.admitted() || !ledger.MayBeAdmitted(entry)) continue;
      ExpectAllBeforeAreAdmitted(entry);
      entry.gpus = ledger.GpusFor(entry);
      EXPECT_EQ(static_cast<int64_t>(entry.gpus.size()), entry.ask.gpus);
      entry.place = Place::kAdmitted;
      return true;
    }
    return false;
  }
  void AdmitAll() {
    while (AdmitOne()) {
    }
  }
  void ExpectNotOvercommitted() const {
    int64_t memory = 0;
    std::vector<int> gpus;
    for (const LedgerEntry& entry : entries_) {
      if (!entry.admitted()) continue;
      memory += entry.ask.memory_mb;
      gpus.insert(gpus.end(), entry.gpus.begin(), entry.gpus.end());
    }
    EXPECT_LE(memory, machine_.memory_mb);
    EXPECT_EQ(std::set<int>(gpus.begin(), gpus.end()).size(), gpus.size());
    EXPECT_LE(gpus.size(), machine_.gpus.size());
  }
  // Lets every holder leave. In the end only jobs that never fit the machine may remain.
  void Drain() {
    for (;;) {
      AdmitAll();
      const auto holder = std::ranges::find(entries_, Place::kAdmitted, &LedgerEntry::place);
      if (holder == entries_.end()) break;
      entries_.erase(holder);
    }
    for (const LedgerEntry& entry : entries_) EXPECT_FALSE(EverFits(entry.ask, machine_, 0)) << entry.number;
  }

 private:
  int64_t Below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }
  void ExpectAllBeforeAreAdmitted(const LedgerEntry& entry) const {
    for (const LedgerEntry& other : entries_) {
      const bool admitted = other.number >= entry.number || !EverFits(other.ask, machine_, 0) || other.admitted();
      EXPECT_TRUE(admitted) << other.number;
    }
  }

  const Machine machine_ = {.memory_mb = 1000, .gpus = {0, 1, 4, 7}};
  std::mt19937 random_;
  std::vector<LedgerEntry> entries_;
};

TEST(LedgerPropertyTest, RandomJobsAreAdmittedInOrderAndNeverShareMemoryOrGpus) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    for (int step = 0; step < 100; ++step) {
      traffic.Step();
      traffic.ExpectNotOvercommitted();
    }
  }
}

TEST(LedgerPropertyTest, EachJobThatFitsTheMachineIsEventuallyAdmittedAsRunningJobsEnd) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    for (int step = 0; step < 60; ++step) traffic.Step();
    traffic.Drain();
  }
}

TEST(LedgerPropertyTest, JobsOf60PercentOfTheMemoryAreAdmittedOneByOneInOrder) {
  std::vector<LedgerEntry> entries;
  for (int64_t number = 1; number <= 10; ++number) entries.push_back(Waits(number, 14400));
  while (!entries.empty()) {
    std::vector<int64_t> may;
    const Ledger ledger(kMachine, entries);
    for (const LedgerEntry& entry : entries) {
      if (ledger.MayBeAdmitted(entry)) may.push_back(entry.number);
    }
    ASSERT_THAT(may, ElementsAre(entries.front().number));
    entries.front().place = Place::kAdmitted;
    const Ledger held(kMachine, entries);
    for (const LedgerEntry& entry : entries) EXPECT_FALSE(!entry.admitted() && held.MayBeAdmitted(entry));
    entries.erase(entries.begin());
  }
}

// ---- validation of entries

const Machine kSmallMachine = {.memory_mb = 1000, .gpus = {0, 1}};

UncheckedEntry Seen(const std::string& job, uint64_t file = 1) {
  return {.name = job + ".waiting", .entry = {.number = 1, .job = {job}, .user = 7}, .content_job = job, .file = file};
}

std::string WhyNot(const UncheckedEntry& sighting, const Machine& detected = kSmallMachine) {
  const ValidatedEntries belief = Judge({sighting}, kSmallMachine, detected);
  EXPECT_EQ(belief.entries.size() + belief.doubts.size(), 1u);
  return belief.doubts.empty() ? "" : belief.doubts[0].why;
}

TEST(LedgerBeliefTest, AConsistentLedgerEntryIsAccepted) {
  EXPECT_EQ(WhyNot(Seen("a")), "");
  UncheckedEntry old = Seen("a");
  old.content_job.clear();
  EXPECT_EQ(WhyNot(old), "");
  old.witness = ProcessCheck::kCannotTell;
  EXPECT_EQ(WhyNot(old), "");
}

TEST(LedgerBeliefTest, AnEntryWhoseUserRunsNoProcessOfTheJobIsRejected) {
  UncheckedEntry fake = Seen("a");
  fake.witness = ProcessCheck::kNone;
  const ValidatedEntries belief = Judge({fake}, kSmallMachine, kSmallMachine);
  EXPECT_THAT(belief.entries, IsEmpty());
  EXPECT_EQ(belief.doubts, (std::vector<Doubt>{{"a.waiting", 7, "no process of the entry's user runs this job"}}));
}

TEST(LedgerBeliefTest, AnEntryWithAnImpossiblyHighNumberIsRejected) {
  UncheckedEntry fake = Seen("a");
  fake.entry.number = kMostNumber;
  EXPECT_EQ(WhyNot(fake), "");
  fake.entry.number = kMostNumber + 1;
  EXPECT_THAT(WhyNot(fake), HasSubstr("the entry's queue number is too high:"));
}

TEST(LedgerBeliefTest, AnAdmittedEntryWithMoreMemoryThanTheMachineHasIsRejected) {
  UncheckedEntry fake = Seen("a");
  fake.entry.ask.memory_mb = 1001;
  EXPECT_EQ(WhyNot(fake), "") << "it only waits: it can never fit, and holds nobody up";
  fake.entry.place = Place::kAdmitted;
  EXPECT_EQ(WhyNot(fake), "the entry holds 1001 MB of memory, and this machine has only 1000");
  EXPECT_EQ(WhyNot(fake, {.memory_mb = 2000}), "") << "it was admitted before machine.json said less";
}

TEST(LedgerBeliefTest, AnEntryThatHoldsMoreGpusThanItRequestedIsRejected) {
  UncheckedEntry fake = Seen("a");
  fake.entry.place = Place::kAdmitted;
  fake.entry.ask.gpus = 1;
  fake.entry.gpus = {0, 1};
  EXPECT_EQ(WhyNot(fake), "the entry holds 2 GPUs and requested only 1");
}

TEST(LedgerBeliefTest, EntriesWritableByOtherUsersOrWithContradictingJobNamesAreRejected) {
  UncheckedEntry fake = Seen("a");
  fake.writable_by_others = true;
  EXPECT_EQ(WhyNot(fake), "users other than the entry's owner may write to the entry");
  fake = Seen("a");
  fake.content_job = "b";
  EXPECT_EQ(WhyNot(fake), "the entry's name and the entry's content name different jobs");
}

TEST(LedgerBeliefTest, AnEntryFileNamedBothWaitingAndRunningIsReadAsRunning) {
  UncheckedEntry waits = Seen("a", 5), runs = Seen("a", 5), other = Seen("b", 6);
  runs.name = "a.running";
  runs.entry.place = Place::kAdmitted;
  const ValidatedEntries belief = Judge({waits, other, runs}, kSmallMachine, kSmallMachine);
  ASSERT_THAT(belief.entries, SizeIs(2));
  EXPECT_TRUE(belief.entries[0].admitted());
  EXPECT_EQ(belief.doubts, (std::vector<Doubt>{{"a.waiting", 7, "the entry is the same file as a.running"}}));
}

TEST(LedgerBeliefTest, AHardLinkNamedRunningIsRejectedIfTheEntryWasNeverAdmitted) {
  UncheckedEntry waits = Seen("a", 5), fake = Seen("a", 5);
  fake.entry.place = Place::kAdmitted;
  waits.content_never_admitted = fake.content_never_admitted = true;
  const ValidatedEntries belief = Judge({waits, fake}, kSmallMachine, kSmallMachine);
  ASSERT_THAT(belief.entries, SizeIs(1));
  EXPECT_FALSE(belief.entries[0].admitted());
  EXPECT_EQ(belief.doubts[0].why,
            "the entry's file has a second name (a hard link), and the entry's job was never admitted");
}

}  // namespace
}  // namespace tony
