// Simulates the ledger among liars, by seeds. Honest keepers, each with a memory of its own, read and act in any order,
// also two at once. Liars put any entry anywhere between any two reads.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "runtime/ledger/ledger.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/ledger/machine.h"
#include "runtime/ledger/process_check.h"
#include "tests/support/results.h"
#include "tests/support/rounds.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMemory = 1000, kHonestUsers = 3, kFirstLiar = 11, kLiars = 4, kLiarMay = 100;

struct Honest {
  LedgerEntry entry;
  LedgerQueueStep turn;
  bool confirmed = false;     // admitted, and the admission was confirmed
  std::optional<Ledger> saw;  // the ledger it acts on next
};

class Town {
 public:
  explicit Town(unsigned seed) : random_(seed) {
    machine_ = {.memory_mb = kMemory, .gpus = {0, 1, 4, 7}, .user_limits = {.memory_mb = kLiarMay, .gpus = 0}};
    for (int64_t user = 1; user <= kHonestUsers; ++user) machine_.users[user] = {.memory_mb = kMemory, .gpus = 4};
  }

  void Step() {
    now_ += Duration(Below(1000));
    Lie();
    switch (Below(8)) {
      case 0:
        return Arrive();
      case 1:
        return Leave();
      default:
        LookAndAct();
    }
  }
  // Returns true if all honest jobs are admitted and leave. No new honest jobs arrive; the liars go on, and some of
  // their lies stay.
  bool AllHaveTheirTurn() {
    for (int64_t user = kFirstLiar; user < kFirstLiar + kLiars; ++user) {
      const LedgerEntry holds{.number = 1, .user = user, .ask = {.memory_mb = kMemory}, .place = Place::kAdmitted};
      for (const ProcessCheck witness : {ProcessCheck::kRuns, ProcessCheck::kNone}) {
        lies_.push_back({.entry = holds, .file = 2'000'000 + lies_.size(), .witness = witness});
        std::swap(lies_.back(), lies_[stays_++]);
      }
    }
    for (int step = 0; step < 20'000 && !honest_.empty(); ++step) {
      now_ += Duration(Below(1000));
      Lie();
      if (Below(4) == 0) JumpTheQueue();
      LookAndAct();
      if (Below(4) == 0) Leave();
      ExpectNotOvercommitted();
    }
    return honest_.empty();
  }
  void ExpectNotOvercommitted() const {
    int64_t memory = 0;
    std::vector<int> gpus;
    for (const Honest& job : honest_) {
      if (!job.confirmed) continue;
      memory += job.entry.ask.memory_mb;
      gpus.insert(gpus.end(), job.entry.gpus.begin(), job.entry.gpus.end());
    }
    EXPECT_LE(memory, kMemory);
    EXPECT_EQ(std::set<int>(gpus.begin(), gpus.end()).size(), gpus.size());
  }

 private:
  int64_t Below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }

  Ledger Seen() const {
    std::vector<UncheckedEntry> sightings = lies_;
    for (const Honest& job : honest_)
      sightings.push_back({.name = job.entry.job.value, .entry = job.entry, .file = FileOf(job.entry)});
    return Ledger(machine_, Judge(std::move(sightings), machine_, machine_).entries);
  }
  static uint64_t FileOf(const LedgerEntry& entry) { return std::hash<std::string>()(entry.job.value); }

  void Arrive() {
    // Each honest job fits together with everything that the liars can hold.
    LedgerEntry entry{.number = Seen().NextNumber(),
                      .job = {"honest-" + std::to_string(++jobs_)},
                      .user = 1 + Below(kHonestUsers),
                      .ask = {.memory_mb = Below(kMemory - kLiars * kLiarMay + 1), .gpus = Below(5)},
                      .place = Place::kDeferred,
                      .priority = Below(3),
                      .keeper = {.pid = 1}};
    honest_.push_back({.entry = entry});
  }
  void Leave() {
    for (size_t i = 0; i < honest_.size(); ++i) {
      if (!honest_[i].confirmed) continue;
      honest_.erase(honest_.begin() + static_cast<int64_t>(i));
      return;
    }
  }

  void LookAndAct() {
    if (honest_.empty()) return;
    Honest& job = honest_[static_cast<size_t>(Below(static_cast<int64_t>(honest_.size())))];
    const Ledger seen = Seen();
    if (job.entry.admitted()) {
      // Other jobs may have been admitted between this job's read and its admission.
      if (!job.confirmed && !(job.confirmed = HasRoomFor(job.entry, seen))) job.entry.place = Place::kQueued;
      return;
    }
    // The ledger that the job acts on may be out of date.
    if (!job.saw && Below(2) == 0) {
      job.saw = seen;
      return;
    }
    const Ledger saw = job.saw ? *std::exchange(job.saw, std::nullopt) : seen;
    if (!saw.Find(job.entry.job, job.entry.user)) return;
    const QueueAction step = job.turn.Next(saw, job.entry, now_);
    switch (step.kind) {
      case QueueAction::Kind::kWait:
        return;
      case QueueAction::Kind::kDefer:
        job.entry.place = Place::kDeferred;
        return;
      case QueueAction::Kind::kAdmit:
        job.entry.gpus = step.gpus;
        job.entry.place = Place::kAdmitted;
        return;
      case QueueAction::Kind::kJoin:
        if (step.displaced && !Displace(*step.displaced)) return;
        job.entry.number = step.number;
        job.entry.place = Place::kQueued;
    }
  }
  bool Displace(const LedgerEntry& displaced) {
    for (Honest& other : honest_) {
      if (other.entry.job != displaced.job || other.entry.place != Place::kQueued) continue;
      other.entry.place = Place::kDeferred;
      return true;
    }
    return false;
  }

  // Puts new jobs ahead of all others. They belong to credible users and request as much as such a user may have.
  void JumpTheQueue() {
    std::erase_if(lies_, [](const UncheckedEntry& lie) { return lie.entry.job.value.starts_with("jump-"); });
    for (int64_t user = kFirstLiar; user < kFirstLiar + kLiars; ++user) {
      UncheckedEntry lie{.file = 3'000'000 + static_cast<uint64_t>(++lies_told_)};
      lie.entry = {
          .job = {"jump-" + std::to_string(lies_told_)}, .user = user + kLiars, .ask = {.memory_mb = kLiarMay}};
      lies_.push_back(lie);
    }
  }

  // Adds or removes a lie: anything that a file can contain. A process that imitates a keeper well may stand behind it.
  void Lie() {
    if (lies_.size() > stays_ && (lies_.size() > 30 || Below(3) == 0)) {
      const auto first = lies_.begin() + static_cast<int64_t>(stays_);
      lies_.erase(first + Below(lies_.end() - first));
      return;
    }
    static constexpr int64_t kNumbers[] = {0, 1, 7, kMostNumber - 1, kMostNumber, kMostNumber + 1, 999'999'999'999'999};
    UncheckedEntry lie;
    lie.file = 1'000'000 + static_cast<uint64_t>(++lies_told_);
    lie.witness = Below(2) == 0 ? ProcessCheck::kNone : ProcessCheck::kRuns;
    lie.entry.number = Below(2) == 0 ? kNumbers[Below(std::size(kNumbers))] : Below(2 * jobs_ + 2);
    lie.entry.job = {Below(2) == 0 ? "honest-" + std::to_string(Below(jobs_ + 1))
                                   : "lie-" + std::to_string(lies_told_)};
    lie.entry.user = kFirstLiar + Below(kLiars);
    lie.entry.place = static_cast<Place>(Below(3));
    lie.entry.ask = {.memory_mb = Below(4) == 0 ? Below(kMostAsked) : Below(2 * kMemory), .gpus = Below(5)};
    for (int64_t gpu = 0; gpu < lie.entry.ask.gpus; ++gpu) lie.entry.gpus.push_back(static_cast<int>(Below(9)));
    lie.entry.priority = Below(2001) - 1000;
    lie.entry.keeper.pid = Below(2);
    lies_.push_back(lie);
  }

  Machine machine_;
  std::mt19937 random_;
  Instant now_ = FromMillis(1'700'000'000'000);
  std::vector<Honest> honest_;
  std::vector<UncheckedEntry> lies_;
  size_t stays_ = 0;  // number of first lies that stay
  int64_t jobs_ = 0, lies_told_ = 0;
};

TEST(LedgerLiarsTest, ForgedEntriesNeitherBlockHonestJobsNorOvercommitTheMachine) {
  for (int seed = 0; seed < Rounds(20); ++seed) {
    SCOPED_TRACE(seed);
    Town town(static_cast<unsigned>(seed));
    for (int step = 0; step < 200; ++step) {
      town.Step();
      town.ExpectNotOvercommitted();
    }
    ASSERT_TRUE(town.AllHaveTheirTurn());
  }
}

// ---- process check

VisibleProcess Keeper(const std::string& command_line) {
  return {.pid = 1, .user = 7, .name = "tony-keeper", .command_line = command_line};
}

TEST(LedgerWitnessTest, AKeeperOrExecutorIsMatchedToAJobByTheJobFolderInItsCommandLine) {
  const LedgerEntry entry = {.job = {"local-1"}, .user = 7};
  EXPECT_TRUE(Runs(Keeper(std::string("tony-keeper\0/home/x/.tony/jobs/local-1\0", 39)), entry));
  VisibleProcess executor = Keeper("tony-executor /h/jobs/local-10 /h/jobs/local-1/x");
  executor.name = "tony-executor";
  EXPECT_TRUE(Runs(executor, entry));
}

TEST(LedgerWitnessTest, AProcessOfAnotherUserOrJobOrProgramIsNotMatchedToTheJob) {
  const LedgerEntry entry = {.job = {"local-1"}, .user = 7};
  EXPECT_FALSE(Runs(Keeper("tony-keeper /jobs/local-10"), entry));
  EXPECT_FALSE(Runs(Keeper("tony-keeper local-1"), entry));
  VisibleProcess other = Keeper("/jobs/local-1");
  other.user = 8;
  EXPECT_FALSE(Runs(other, entry));
  other = Keeper("/jobs/local-1");
  other.name = "python3";
  EXPECT_FALSE(Runs(other, entry));
}

TEST(LedgerWitnessTest, UserAndStartTimeAndCommandLineOfThisProcessAreRead) {
  const auto self = ReadVisibleProcess(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->user, geteuid());
  EXPECT_EQ(self->start, ThisKeeper().start);
  EXPECT_THAT(self->command_line, HasSubstr("ledger_test"));
  EXPECT_FALSE(ReadVisibleProcess(0));
}

TEST(LedgerWitnessTest, UnprintableBytesOfAProcessNameAreReplacedInItsDescription) {
  VisibleProcess process = {.pid = 12, .user = 4'000'000'000, .name = "a\033[2Jb\n"};
  EXPECT_EQ(Describe(process), "process 12 (a?[2Jb?) of 4000000000");
}

TEST(LedgerWitnessTest, EntriesOfTheSameUserAreAcceptedWithoutAProcessCheck) {
  EXPECT_EQ(ProcessChecker().Of({.job = {"x"}, .user = geteuid()}), ProcessCheck::kRuns);
}

TEST(LedgerWitnessTest, AnEntryWithoutARunningProcessFailsTheProcessCheck_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: others may not see all processes";
  EXPECT_EQ(ProcessChecker().Of({.job = {"no-such-job"}, .user = 4'000'000}), ProcessCheck::kNone);
}

TEST(LedgerLockTest, HoldersOfTheLedgerLockAreFoundByDeviceAndInodeOfTheFolder) {
  const std::string locks =
      "1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 fe:00:77 0 EOF\n"
      "2: -> FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF\n3: FLOCK  ADVISORY  READ 14 fe:01:77 0 EOF\n"
      "4: FLOCK  ADVISORY  READ 15 fe:00:78 0 EOF\n5: OFDLCK ADVISORY  READ -1 fe:00:77 0 EOF\n6: FLOCK\n\n";
  EXPECT_THAT(LockHoldersIn(locks, makedev(0xfe, 0), 77), ElementsAre(12));
  EXPECT_THAT(LockHoldersIn("", makedev(0xfe, 0), 77), IsEmpty());
}

TEST(LedgerLockTest, ThisProcessIsNotListedAsAHolderOfTheLedgerLock) {
  const TempFolder folder;
  const UniqueFd own(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(own.get(), LOCK_SH), 0);
  EXPECT_THAT(LockHolders(folder.path()), IsEmpty());
  EXPECT_THAT(DescribeHolders({}), HasSubstr("not visible from here"));
}

// ---- machine

class MachineTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void HasMemory() { Write("proc/meminfo", "MemTotal:       8388608 kB\nMemFree:         100 kB\n"); }
  Machine Detected() { return DetectMachine(root_.path()); }

  TempFolder root_;
};

TEST_F(MachineTest, MachineMemoryIsReadFromProcMeminfo) {
  HasMemory();
  EXPECT_EQ(Detected().memory_mb, 8192);
  EXPECT_GE(Detected().cores, 1);
}

TEST_F(MachineTest, MachineMemoryIsCappedByTheLowestCgroupV2LimitOfAllAncestors) {
  HasMemory();
  Write("proc/self/cgroup", "0::/user.slice/job\n");
  Write("sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
  Write("sys/fs/cgroup/user.slice/job/memory.max", "max\n");
  EXPECT_EQ(Detected().memory_mb, 1024);
}

TEST_F(MachineTest, MachineMemoryIsCappedByTheCgroupV1MemoryLimit) {
  HasMemory();
  Write("proc/self/cgroup", "9:name=systemd:/\n5:cpu,memory:/docker/abc\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Detected().memory_mb, 8192);
  Write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(Detected().memory_mb, 2048);
}

TEST_F(MachineTest, MachineMemoryInAContainerIsCappedByTheLimitAtTheRootOfTheCgroupMount) {
  HasMemory();
  Write("proc/self/cgroup", "0::/../../docker/abc\n");
  Write("sys/fs/cgroup/memory.max", "536870912\n");
  EXPECT_EQ(Detected().memory_mb, 512);
}

TEST_F(MachineTest, GpusAreNumberedFromZeroWithoutGapsAsInCuda) {
  for (const char* name : {"nvidia3", "nvidia5", "nvidiactl", "nvidia-uvm", "nvidia-caps", "null"})
    Write(std::string("dev/") + name, "");
  EXPECT_THAT(Detected().gpus, ElementsAre(0, 1));
}

TEST_F(MachineTest, NoMemoryAndNoGpusAreDetectedIfProcAndDevAreMissing) {
  EXPECT_EQ(Detected().memory_mb, 0);
  EXPECT_THAT(Detected().gpus, IsEmpty());
}

TEST_F(MachineTest, GpusGetTheDriversNamesInTheOrderOfThePciBus) {
  for (const char* device : {"nvidia0", "nvidia1", "nvidiactl"}) Write(StrCat("dev/", device), "");
  Write("proc/driver/nvidia/gpus/0000:65:00.0/information", "Model: H100\nGPU UUID: \t GPU-bb\nDevice Minor: \t 0\n");
  EXPECT_THAT(Detected().gpu_names, IsEmpty()) << "one of two is not listed";
  Write("proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: H100\nGPU UUID: \t GPU-aa\nDevice Minor: \t 1\n");
  EXPECT_THAT(Detected().gpus, ElementsAre(0, 1));
  EXPECT_EQ(Detected().gpu_names, (std::map<int, std::string>{{0, "GPU-aa"}, {1, "GPU-bb"}}));
  EXPECT_FALSE(Detected().shows_gpu_names);
}

TEST_F(MachineTest, MoreThan100MbOfMemoryAreDetectedOnThisMachine) { EXPECT_GT(DetectMachine().memory_mb, 100); }

Machine FromJson(std::string_view json, const Machine& detected = {}) {
  const auto stated = MachineFromJson(json, detected);
  EXPECT_TRUE(stated.ok()) << stated.error().message;
  return stated.ok() ? stated->machine : Machine();
}

TEST(MachineJsonTest, FieldsMissingInMachineJsonKeepTheDetectedValues) {
  const Machine detected = {.memory_mb = 100, .cores = 2, .gpus = {0, 1}};
  EXPECT_EQ(FromJson("{}", detected), detected);
  EXPECT_EQ(FromJson(R"({"memory_mb":50})", detected), (Machine{50, 2, {0, 1}}));
  EXPECT_EQ(FromJson(R"({"gpus":[3,1,3],"rack":7})", detected), (Machine{100, 2, {1, 3}}));
  EXPECT_EQ(FromJson(R"({"gpus":[]})", detected), (Machine{100, 2, {}}));
}

TEST(MachineJsonTest, NamesOfGpusKeepTheirNumbersAndOtherNamesGetHigherOnes) {
  const Machine detected = {.memory_mb = 100, .gpus = {0, 1}, .gpu_names = {{0, "GPU-aa"}, {1, "GPU-bb"}}};
  const Machine machine = FromJson(R"({"gpus":["MIG-1","GPU-bb","MIG-2"]})", detected);
  EXPECT_THAT(machine.gpus, ElementsAre(2, 1, 3));
  EXPECT_EQ(machine.GpuNumber("MIG-2"), 3);
  EXPECT_TRUE(machine.shows_gpu_names);
}

TEST(MachineJsonTest, UserLimitsCanBeSetForAllUsersOrForUsersByNameOrNumber) {
  const Machine machine = FromJson(
      R"({"user_limits":{"memory_mb":8,"gpus":0,"run_minutes":60},"users":{"root":{"memory_mb":9},"12345":{}}})");
  EXPECT_EQ(machine.user_limits, (UserLimits{.memory_mb = 8, .gpus = 0, .run_minutes = 60}));
  EXPECT_EQ(machine.LimitsOf(0), (UserLimits{.memory_mb = 9, .gpus = 0, .run_minutes = 60}));
  EXPECT_EQ(machine.LimitsOf(12345), machine.user_limits);
}

TEST(MachineJsonTest, UnknownFieldsAndUnknownUsersAreNamedInWarnings) {
  const auto stated = Must(MachineFromJson(R"({"user_limit":{},"users":{"nobody-of-this-name":{"gpus":1}}})", {}));
  EXPECT_THAT(stated.warnings, ElementsAre(HasSubstr("user_limit,"), HasSubstr("nobody-of-this-name:")));
}

TEST(MachineJsonTest, InvalidUserLimitsAreRefusedAndTheErrorNamesTheField) {
  for (const char* json : {R"({"user_limits":7})", R"({"user_limits":{"memory":1}})",
                           R"({"user_limits":{"memory_mb":-1}})", R"({"user_limits":{"run_minutes":0}})"})
    EXPECT_THAT(MachineFromJson(json, {}).error().message, HasSubstr("field user_limits")) << json;
  for (const char* json : {R"({"users":[]})", R"({"users":{"root":3}})", R"({"users":{"root":{"gpu":3}}})"})
    EXPECT_THAT(MachineFromJson(json, {}).error().message, HasSubstr("field users")) << json;
}

TEST(MachineJsonTest, InvalidMemoryAndGpuValuesAreRefusedAndTheErrorNamesTheField) {
  for (const char* json :
       {R"({"memory_mb":0})", R"({"memory_mb":-1})", R"({"memory_mb":"2g"})", R"({"memory_mb":1e99})"})
    EXPECT_THAT(MachineFromJson(json, {}).error().message, HasSubstr("memory_mb")) << json;
  for (const char* json : {R"({"gpus":3})", R"({"gpus":[-1]})", R"({"gpus":["a"]})", R"({"gpus":[999999]})",
                           R"({"gpus":["GPU-a","GPU-a"]})", R"({"gpus":["GPU-a",1]})", R"({"gpus":[1,"GPU-a"]})"})
    EXPECT_THAT(MachineFromJson(json, {}).error().message, HasSubstr("gpus")) << json;
  for (const char* json : {"", "[", "null", "7", "\xff\xfe"}) EXPECT_FALSE(MachineFromJson(json, {}).ok()) << json;
}

}  // namespace
}  // namespace tony
