#include "runtime/ledger/ledger_reservation.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <tuple>

#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr LedgerRequest kSixtyPercent = {.memory_mb = 600, .gpus = 1};

// A job of this process, and the reports that it received, in their order.
struct Job {
  std::unique_ptr<LedgerReservation> claim;
  std::vector<std::string> why;
  bool admitted = false;
};

class LedgerClaimTest : public testing::Test {
 protected:
  LedgerClaimTest() {
    EXPECT_TRUE(folder_.Make().ok());
    WriteMachine(R"({"memory_mb":1000,"gpus":[2,5]})");
  }

  void WriteMachine(const std::string& json) { std::ofstream(folder_.path() / "machine.json") << json; }

  static std::unique_ptr<Job> Enter(EventLoop& loop, const LedgerFolder& folder, const std::string& id,
                                    LedgerRequest ask, bool runs = false) {
    auto job = std::make_unique<Job>();
    auto claim =
        LedgerReservation::Enter(loop, folder, {id}, ask, runs,
                                 {.on_admitted = [j = job.get()] { j->admitted = true; },
                                  .on_waiting = [j = job.get()](const std::string& why) { j->why.push_back(why); }});
    EXPECT_TRUE(claim.ok());
    job->claim = *std::move(claim);
    return job;
  }
  std::unique_ptr<Job> Enter(const std::string& id, LedgerRequest ask = kSixtyPercent, bool runs = false) {
    return Enter(loop_, folder_, id, ask, runs);
  }
  bool WaitUntilAdmitted(const Job& job) {
    return RunUntil(loop_, [&] { return job.admitted; });
  }
  bool WaitUntilToldWhy(const Job& job, const std::string& part) {
    return RunUntil(loop_, [&] {
      return std::ranges::any_of(job.why, [&](const auto& why) { return why.find(part) != std::string::npos; });
    });
  }
  std::vector<LedgerEntry> Entries() { return folder_.Read()->ledger.entries(); }

  // Starts a child that enters a job, writes a byte to `told` when the job is admitted, and stays until it is killed.
  pid_t StartHolder(const std::string& id, LedgerRequest ask, int told) {
    const pid_t child = fork();
    if (child != 0) return child;
    EventLoop loop;
    const auto job = Enter(loop, folder_, id, ask);
    const bool admitted = RunUntil(
        loop, [&] { return job->admitted; }, std::chrono::seconds(60));
    if (!admitted || write(told, "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  static void Kill(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  EventLoop loop_;
  TempFolder temp_;
  LedgerFolder folder_ = *LedgerFolder::Find(temp_.path(), (temp_.path() / "ledger").string());
};

TEST_F(LedgerClaimTest, AJobThatFitsIsAdmittedAfterItsEnterCallHasReturned) {
  const auto job = Enter("a", {.memory_mb = 1000, .gpus = 2});
  EXPECT_FALSE(job->admitted);
  EXPECT_EQ(job->claim->lock(), -1);
  ASSERT_TRUE(WaitUntilAdmitted(*job));
  EXPECT_TRUE(job->claim->admitted());
  EXPECT_THAT(job->claim->gpus(), ElementsAre(2, 5));
  EXPECT_GE(job->claim->lock(), 0);
  EXPECT_THAT(job->why, IsEmpty());
}

// Another user can make such links if fs.protected_hardlinks is 0.
TEST_F(LedgerClaimTest, AHardLinkThatMarksAQueuedJobAsRunningDoesNotBlockItsAdmission) {
  const auto first = Enter("a");
  ASSERT_TRUE(WaitUntilAdmitted(*first));
  const auto second = Enter("b");
  ASSERT_TRUE(WaitUntilToldWhy(*second, "waits for 600 MB"));
  fs::create_hard_link(folder_.path() / "0000000002.b.waiting", folder_.path() / "0000000009.b.running");
  first->claim->Leave();
  ASSERT_TRUE(WaitUntilAdmitted(*second));
}

TEST_F(LedgerClaimTest, ASecondJobOf60PercentOfTheMemoryIsAdmittedWhenTheFirstReleasesItsReservation) {
  const auto first = Enter("a"), second = Enter("b");
  ASSERT_TRUE(WaitUntilAdmitted(*first));
  ASSERT_TRUE(WaitUntilToldWhy(*second, "waits for 600 MB of memory: 400 of 1000 MB are free"));
  EXPECT_FALSE(second->admitted);
  first->claim->Leave();
  ASSERT_TRUE(WaitUntilAdmitted(*second));
  EXPECT_THAT(second->claim->gpus(), ElementsAre(2));
  second->claim->Leave();
  second->claim->Leave();
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(LedgerClaimTest, AQueuedJobIsAdmittedWithin900MillisecondsAfterTheRunningJobIsKilled) {
  int told[2];
  ASSERT_EQ(pipe2(told, O_CLOEXEC), 0);
  const pid_t holder = StartHolder("a", kSixtyPercent, told[1]);
  char byte;
  ASSERT_EQ(read(told[0], &byte, 1), 1);
  const auto second = Enter("b");
  ASSERT_TRUE(WaitUntilToldWhy(*second, "600 MB"));
  RunUntil(
      loop_, [] { return false; }, Duration(50));  // the job waits by now
  const auto before = std::chrono::steady_clock::now();
  kill(holder, SIGKILL);
  ASSERT_TRUE(WaitUntilAdmitted(*second));
  // The limit is far below the second after which a job that cannot be notified checks the ledger.
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(900));
  Kill(holder);
  close(told[0]);
  close(told[1]);
}

TEST_F(LedgerClaimTest, TheReservationOfADeadKeeperLastsUntilItsChildProcessExits) {
  const auto first = Enter("a");
  ASSERT_TRUE(WaitUntilAdmitted(*first));
  const pid_t executor = fork();
  if (executor == 0) {
    pause();
    _exit(0);
  }
  first->claim.reset();  // like a killed keeper
  const auto second = Enter("b");
  ASSERT_TRUE(WaitUntilToldWhy(*second, "600 MB"));
  EXPECT_THAT(Entries(), SizeIs(2));
  Kill(executor);
  EXPECT_TRUE(WaitUntilAdmitted(*second));
}

TEST_F(LedgerClaimTest, ALaterKeeperOfARunningJobGetsTheSameGpusAtOnce) {
  auto other = Enter("x", {.memory_mb = 1, .gpus = 1}), first = Enter("a");
  ASSERT_TRUE(WaitUntilAdmitted(*other) && WaitUntilAdmitted(*first));
  EXPECT_THAT(first->claim->gpus(), ElementsAre(5));
  const UniqueFd executors_copy(fcntl(first->claim->lock(), F_DUPFD_CLOEXEC, 0));
  first->claim.reset();
  other->claim->Leave();
  const auto later = Enter("a", kSixtyPercent, /*runs=*/true);
  ASSERT_TRUE(WaitUntilAdmitted(*later));
  EXPECT_THAT(later->claim->gpus(), ElementsAre(5));
  EXPECT_THAT(Entries(), SizeIs(1));
}

TEST_F(LedgerClaimTest, AJobThatAlreadyRunsIsAdmittedEvenIfTheMachineIsFull) {
  const auto first = Enter("a"), waits = Enter("b");
  ASSERT_TRUE(WaitUntilAdmitted(*first));
  const auto runs = Enter("c", kSixtyPercent, /*runs=*/true);
  ASSERT_TRUE(WaitUntilAdmitted(*runs));
  EXPECT_THAT(runs->claim->gpus(), ElementsAre(5));
  EXPECT_FALSE(waits->admitted);
}

TEST_F(LedgerClaimTest, AJobLargerThanTheMachineGetsAPendingReasonAndBlocksNoOtherJob) {
  const auto huge = Enter("a", {.memory_mb = 5000}), small = Enter("b");
  ASSERT_TRUE(WaitUntilAdmitted(*small));
  EXPECT_TRUE(WaitUntilToldWhy(*huge, "requests 5000 MB of memory and 0 GPUs, and this machine has only 1000 MB"));
  WriteMachine(R"({"memory_mb":6000})");
  EXPECT_TRUE(WaitUntilAdmitted(*huge));
}

TEST_F(LedgerClaimTest, ThePendingReasonOfAJobChangesWhenTheJobAheadLeavesTheQueue) {
  const auto first = Enter("a"), second = Enter("b"), third = Enter("c", {.memory_mb = 500});
  ASSERT_TRUE(WaitUntilToldWhy(*third, "job b of the same user is queued before it"));
  second->claim->Leave();
  EXPECT_TRUE(WaitUntilToldWhy(*third, "waits for 500 MB of memory: 400 of 1000 MB are free"));
  EXPECT_THAT(third->why.back(), testing::Not(HasSubstr("in the line")));
}

TEST_F(LedgerClaimTest, ALedgerFolderIsRecreatedIfTheFolderIsRemovedWhileJobsWait) {
  const auto first = Enter("a", {.memory_mb = 900}), second = Enter("b", {.memory_mb = 101});
  ASSERT_TRUE(WaitUntilToldWhy(*second, "101 MB"));
  fs::remove_all(folder_.path());
  // The limit in machine.json was removed with the folder, and the first job's entry cannot be seen any more.
  EXPECT_TRUE(WaitUntilAdmitted(*second));
  EXPECT_THAT(Entries(), SizeIs(1));
}

TEST_F(LedgerClaimTest, AJobWhoseEntryIsRemovedJoinsTheEndOfTheQueueAgain) {
  const auto first = Enter("a"), second = Enter("b"), third = Enter("c");
  ASSERT_TRUE(WaitUntilToldWhy(*third, "job b of the same user is queued before it"));
  fs::remove(folder_.path() / "0000000002.b.waiting");
  ASSERT_TRUE(RunUntil(loop_, [&] { return Entries().size() == 3; }));
  first->claim->Leave();
  ASSERT_TRUE(WaitUntilAdmitted(*third));
  EXPECT_FALSE(second->admitted);
}

TEST_F(LedgerClaimTest, AnUnusableLedgerFolderIsThePendingReasonUntilARetrySucceeds) {
  std::ofstream(temp_.path() / "file") << "in the way";
  const LedgerFolder blocked = *LedgerFolder::Find(temp_.path(), (temp_.path() / "file/ledger").string());
  const auto job = Enter(loop_, blocked, "a", {.memory_mb = 1});
  ASSERT_TRUE(WaitUntilToldWhy(*job, "waits for the ledger, which cannot be used: "));
  EXPECT_THAT(job->why.front(), HasSubstr((temp_.path() / "file").string()));
  fs::remove(temp_.path() / "file");
  EXPECT_TRUE(WaitUntilAdmitted(*job));
}

TEST_F(LedgerClaimTest, AFailedWriteToTheLedgerIsThePendingReasonUntilARetrySucceeds) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto job = Enter("a");
  const bool told = WaitUntilToldWhy(*job, "file too large");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(told);
  EXPECT_TRUE(WaitUntilAdmitted(*job));
  EXPECT_THAT(Entries(), SizeIs(1));
}

TEST_F(LedgerClaimTest, ALedgerLockThatIsNeverReleasedDoesNotBlockAdmissions) {
  const UniqueFd lock(open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const int kind : {LOCK_EX, LOCK_SH}) {
    ASSERT_EQ(flock(lock.get(), kind), 0);
    // Either job may be the first to stop waiting for the lock.
    const auto a = Enter("a"), b = Enter("b");
    ASSERT_TRUE(RunUntil(loop_, [&] { return a->admitted || b->admitted; }));
    const auto& [first, second] = a->admitted ? std::tie(a, b) : std::tie(b, a);
    ASSERT_TRUE(WaitUntilToldWhy(*second, "the ledger's lock is held by "));
    EXPECT_FALSE(second->admitted);
    first->claim->Leave();
    EXPECT_TRUE(WaitUntilAdmitted(*second));
    second->claim->Leave();
  }
}

TEST_F(LedgerClaimTest, AJobOfHigherPriorityIsAdmittedBeforeQueuedJobsOfTheSameUser) {
  const auto runs = Enter("a");
  ASSERT_TRUE(WaitUntilAdmitted(*runs));
  const auto low = Enter("b"), last = Enter("c");
  ASSERT_TRUE(WaitUntilToldWhy(*last, "job b of the same user is queued before it"));
  auto high = std::make_unique<Job>();
  high->claim = *LedgerReservation::Enter(loop_, folder_, {"d"}, kSixtyPercent, false,
                                          {.on_admitted = [j = high.get()] { j->admitted = true; },
                                           .on_waiting = [j = high.get()](const auto& why) { j->why.push_back(why); }},
                                          /*priority=*/5);
  ASSERT_TRUE(WaitUntilToldWhy(*low, "job d of the same user is queued before it"));
  runs->claim->Leave();
  ASSERT_TRUE(WaitUntilAdmitted(*high));
  EXPECT_FALSE(low->admitted || last->admitted);
  high->claim->Leave();
  ASSERT_TRUE(WaitUntilAdmitted(*low));
  EXPECT_FALSE(last->admitted);
  low->claim->Leave();
  EXPECT_TRUE(WaitUntilAdmitted(*last));
}

TEST_F(LedgerClaimTest, ThePendingReasonOfAJobNamesTheMemoryLimitThatItsUserHasReached) {
  WriteMachine(R"({"memory_mb":1000,"user_limits":{"memory_mb":700}})");
  const auto first = Enter("a", {.memory_mb = 600}), second = Enter("b", {.memory_mb = 200});
  ASSERT_TRUE(WaitUntilToldWhy(
      *second, "machine.json allows the job's user 700 MB at a time, and the user's other jobs hold 600"));
  EXPECT_TRUE(first->admitted);
  first->claim->Leave();
  EXPECT_TRUE(WaitUntilAdmitted(*second));
}

TEST_F(LedgerClaimTest, ThePendingReasonOfAJobNamesTheRunningJobsAndTheirResources) {
  const auto first = Enter("a"), second = Enter("b");
  EXPECT_TRUE(WaitUntilToldWhy(*second, " holds 600 MB and 1 GPU with a (process "));
}

TEST_F(LedgerClaimTest, AReservationMayBeDestroyedByItsOwnCallback) {
  std::unique_ptr<LedgerReservation> claim;
  bool told = false;
  const auto gone = [&](auto...) {
    claim.reset();
    told = true;
  };
  claim =
      *LedgerReservation::Enter(loop_, folder_, {"a"}, kSixtyPercent, false, {.on_admitted = gone, .on_waiting = gone});
  EXPECT_TRUE(RunUntil(loop_, [&] { return told; }));
  told = false;
  claim = *LedgerReservation::Enter(loop_, folder_, {"b"}, {.memory_mb = 5000}, false,
                                    {.on_admitted = gone, .on_waiting = gone});
  EXPECT_TRUE(RunUntil(loop_, [&] { return told; }));
}

// A contender waits until it is admitted, checks that it is alone, and then leaves, exits or is killed.
int Contend(const LedgerFolder& folder, const fs::path& alone, int number) {
  EventLoop loop;
  bool admitted = false;
  auto claim = *LedgerReservation::Enter(loop, folder, {"job-" + std::to_string(number)}, kSixtyPercent, false,
                                         {.on_admitted = [&] { admitted = true; }, .on_waiting = [](const auto&) {}});
  if (!RunUntil(
          loop, [&] { return admitted; }, std::chrono::seconds(100)))
    return 1;
  const UniqueFd lock(open(alone.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  // two jobs of 60 % at once
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return 2;
  RunUntil(
      loop, [] { return false; }, Duration(5));
  // The lock is released before the end, because the kernel closes the files of a process in an order of its own.
  flock(lock.get(), LOCK_UN);
  if (number % 3 == 0) kill(getpid(), SIGKILL);
  if (number % 3 == 1) claim->Leave();
  return 0;
}

TEST_F(LedgerClaimTest, TwentyJobsOf60PercentOfTheMemoryRunOneAtATime) {
  std::vector<pid_t> children;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(Contend(folder_, temp_.path() / "alone", i));
    children.push_back(child);
  }
  for (size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    ASSERT_EQ(waitpid(children[i], &status, 0), children[i]);
    if (i % 3 == 0) {
      EXPECT_TRUE(WIFSIGNALED(status)) << i << ": " << WEXITSTATUS(status);
    } else {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << i << ": " << status;
    }
  }
}

// Behaves like a keeper of the last release: it acts under the lock, strictly by number, and does not confirm its
// admission.
class OldKeeper {
 public:
  OldKeeper(fs::path folder, std::string job) : folder_(std::move(folder)), job_(std::move(job)) {}

  bool WaitUntilAdmitted() {
    for (int looks = 0; looks < 50'000; ++looks) {
      const UniqueFd lock(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0 && Proceed()) return true;
      usleep(2000);
    }
    return false;
  }
  void Leave() { fs::remove(folder_ / Name("running")); }

 private:
  bool Proceed() {
    int64_t highest = 0;
    bool waits = false;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (!name.ends_with(".waiting") && !name.ends_with(".running")) continue;
      if (!IsHeldByAnybody(entry.path())) continue;
      const int64_t number = std::stoll(name);
      highest = std::max(highest, number);
      waits = waits || (entry_.valid() && name != Name("waiting") && (name.ends_with("running") || number < number_));
    }
    if (!entry_.valid()) return Add(highest + 1), false;
    if (waits) return false;
    fs::rename(folder_ / Name("waiting"), folder_ / Name("running"));
    return true;
  }
  void Add(int64_t number) {
    number_ = number;
    std::ofstream(folder_ / ".new-old")
        << R"({"schema":1,"job":")" << job_
        << R"(","memory_mb":600,"vcores":1,"gpus":0,"since":1700000000000,"held_gpus":[]})";
    entry_ = UniqueFd(open((folder_ / ".new-old").c_str(), O_RDWR | O_CLOEXEC));
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_len = 1;
    EXPECT_EQ(fcntl(entry_.get(), F_OFD_SETLK, &lock), 0);
    fs::rename(folder_ / ".new-old", folder_ / Name("waiting"));
  }
  static bool IsHeldByAnybody(const fs::path& path) {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    return fd.valid() && fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  }
  std::string Name(const std::string& state) const {
    const std::string number = std::to_string(number_);
    return std::string(10 - number.size(), '0') + number + "." + job_ + "." + state;
  }

  const fs::path folder_;
  const std::string job_;
  int64_t number_ = 0;
  UniqueFd entry_;
};

int ContendAsOldKeeper(const fs::path& folder, const fs::path& alone, int number) {
  OldKeeper keeper(folder, "old-" + std::to_string(number));
  if (!keeper.WaitUntilAdmitted()) return 1;
  const UniqueFd lock(open(alone.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  // two jobs of 60 % at once
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return 2;
  usleep(5000);
  flock(lock.get(), LOCK_UN);
  if (number % 2 == 0) keeper.Leave();
  return 0;
}

TEST_F(LedgerClaimTest, JobsOf60PercentOfTheMemoryRunOneAtATimeUnderKeepersOfTwoReleases) {
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    const pid_t child = fork();
    const bool is_old = i % 2 == 0;
    if (child == 0) {
      _exit(is_old ? ContendAsOldKeeper(folder_.path(), temp_.path() / "alone", i / 2)
                   : Contend(folder_, temp_.path() / "alone", i / 2 * 3 + 1));
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

TEST_F(LedgerClaimTest, KilledJobsLeaveNoReservationThatBlocksTheNextJob) {
  int told[2];
  ASSERT_EQ(pipe2(told, O_CLOEXEC), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 5; ++i) children.push_back(StartHolder("job-" + std::to_string(i), kSixtyPercent, told[1]));
  char byte;
  ASSERT_EQ(read(told[0], &byte, 1), 1);
  for (const pid_t child : children) Kill(child);
  const auto next = Enter("next", {.memory_mb = 1000, .gpus = 2});
  ASSERT_TRUE(WaitUntilAdmitted(*next));
  EXPECT_THAT(Entries(), SizeIs(1));
  next->claim->Leave();
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_.path())) files += entry.path().filename() != "machine.json";
  EXPECT_EQ(files, 0u);
  close(told[0]);
  close(told[1]);
}

}  // namespace
}  // namespace tony
