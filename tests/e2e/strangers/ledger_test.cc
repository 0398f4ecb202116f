// Other users cannot block jobs through the ledger (the queue), and a user who tries is named.
#include <fcntl.h>
#include <sys/file.h>

#include <stdexcept>

#include "tests/e2e/strangers/strangers_test.h"

namespace tony {
namespace {

constexpr const char* kMachine = R"({"memory_mb":1000,"gpus":[0,1]})";

void Require(bool done, const std::string& what) {
  if (!done) throw std::runtime_error(what);
}

// The end of an attack: a hostile process creates the file `ready` and waits until it is killed.
std::string Stay(const fs::path& ready) {
  std::ofstream(ready) << "x";
  for (;;) pause();
}

// An attack that holds the lock of the ledger's folder.
std::string HoldFolder(const fs::path& ledger, int kind, const fs::path& ready) {
  const int fd = open(ledger.c_str(), O_RDONLY | O_DIRECTORY);
  Require(fd >= 0, "open");
  Require(flock(fd, kind) == 0, "flock");
  return Stay(ready);
}

std::string Entry(int64_t memory_mb, const std::string& more = "") {
  return R"({"schema":1,"memory_mb":)" + std::to_string(memory_mb) +
         R"(,"vcores":1,"gpus":0,"since":0,"held_gpus":[])" + more + "}";
}

void Lock(int fd, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  Require(fcntl(fd, F_OFD_SETLK, &lock) == 0, "lock");
}

// Makes an entry that looks like the entry of a keeper, and locks it as a keeper does.
void HoldFile(const fs::path& file, const std::string& content) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT, 0644);
  Require(fd >= 0, "make " + file.string());
  Require(write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()), "write");
  Lock(fd, F_WRLCK);
}

void MakeJunk(const fs::path& ledger, const std::string& mark) {
  const auto path = [&](const std::string& name) { return ledger / ("00000000" + name); };
  Require(mkfifo(path("01." + mark + "fifo.running").c_str(), 0666) == 0, "fifo");
  fs::create_directory(path("02." + mark + "folder.waiting"));
  fs::create_symlink("/dev/zero", path("03." + mark + "link.running"));
  HoldFile(path("04." + mark + "closed.running"), Entry(1000));
  fs::permissions(path("04." + mark + "closed.running"), fs::perms::none);
  HoldFile(path("05." + mark + "long.running"), "");
  fs::resize_file(path("05." + mark + "long.running"), uintmax_t{1} << 36);
  for (int i = 0; i < 500; ++i) std::ofstream(path("06." + mark + std::to_string(i) + ".waiting")) << "{";
  for (int i = 0; i < 500; ++i) std::ofstream(ledger / (mark + std::to_string(i))) << "";
}

class LedgerStrangersTest : public StrangersTest {
 protected:
  static Words Job(const std::string& command, const std::string& memory = "600m") {
    return One(command, {"tony.worker.memory=" + memory});
  }
  std::unique_ptr<ForkedCall> Attack(const OtherUser& user, const std::function<std::string(const fs::path&)>& attack) {
    const fs::path ready = user.home() / ("ready" + std::to_string(++attacks_));
    auto call = user.StartCall([=] { return attack(ready); });
    EXPECT_TRUE(WaitForFile(ready)) << call->Wait(Limit(100)).err;
    return call;
  }
  std::unique_ptr<ForkedCall> AttackByEntry(const OtherUser& user, const std::string& name, int64_t memory_mb,
                                            const std::string& more = "") {
    return Attack(user, [=, file = ledger_ / name](const fs::path& ready) {
      HoldFile(file, Entry(memory_mb, more));
      return Stay(ready);
    });
  }
  void ExpectHonestJobsRun(size_t count = 1) {
    for (size_t i = 0; i < count; ++i) {
      const Ran ran = honest_.Tony(Job("true"));
      EXPECT_EQ(ran.exit, 0) << ran.err;
    }
  }
  std::string Queue() const {
    const Ran ran = honest_.Tony({"list", "--queue"});
    return ran.err + ran.out;
  }
  static std::string Id(const OtherUser& user) { return std::to_string(user.uid()); }

  SharedFolder folder_;
  fs::path ledger_ = folder_.MakeLedger(kMachine);
  OtherUser honest_{ledger_};
  OtherUser hostile_{ledger_};
  int attacks_ = 0;
};

TEST_F(LedgerStrangersTest, AnotherUsersLockOnTheLedgerFolderBlocksNoJobAndIsReported) {
  for (const int kind : {LOCK_EX, LOCK_SH}) {
    const auto attack = Attack(hostile_, [&](const fs::path& ready) { return HoldFolder(ledger_, kind, ready); });
    ExpectHonestJobsRun();
    const std::string holder = "process " + std::to_string(attack->pid());
    // Commands that only read the ledger share the lock.
    if (kind == LOCK_SH) continue;
    EXPECT_THAT(Queue(), AllOf(HasSubstr("the ledger's lock is held by " + holder), HasSubstr("of " + Id(hostile_))));
    EXPECT_THAT(honest_.Tony({"doctor"}).out, HasSubstr("warn  ledger: the ledger's lock is held by " + holder));
    EXPECT_THAT(honest_.Tony({"list", "--queue", "--json"}).out,
                HasSubstr(R"("lock_holders":[{"process":)" + std::to_string(attack->pid())));
  }
}

TEST_F(LedgerStrangersTest, TheStatusOfAWaitingJobNamesTheHoldersOfTheLedgerLockAndTheMemory) {
  const fs::path go = honest_.home() / "go";
  const auto first = honest_.Start(
      Words{"tony"} + One("until [ -e " + go.string() + " ]; do sleep 0.05; done", {"tony.worker.memory=600m"}));
  ASSERT_TRUE(WaitFor([&] { return Queue().find("running") != std::string::npos; })) << first->err();
  const auto attack = Attack(hostile_, [&](const fs::path& ready) { return HoldFolder(ledger_, LOCK_EX, ready); });
  const OtherUser other(ledger_);
  const Words words = Words{"tony"} + Job("true");
  const auto second = other.Start(words);
  ASSERT_TRUE(WaitFor([&] { return CountLines(second->out()) > 0; })) << second->err();
  const std::string id = second->out().substr(0, second->out().find('\n'));
  const auto delay = [&] { return other.Tony({"status", id, "--json"}).out; };
  EXPECT_TRUE(WaitFor([&] {
    const std::string text = delay();
    return text.find("process " + std::to_string(attack->pid())) != std::string::npos &&
           text.find(Id(honest_) + " holds 600 MB") != std::string::npos;
  })) << delay();
  std::ofstream(go) << "";
  EXPECT_EQ(first->Wait().exit, 0) << first->err();
  EXPECT_EQ(second->Wait().exit, 0) << second->err();
}

TEST_F(LedgerStrangersTest, ALedgerEntryWithTheHighestQueueNumberDoesNotBlockNewJobs) {
  const auto waiting = AttackByEntry(hostile_, "999999999999999.x.waiting", 1);
  const auto running = AttackByEntry(hostile_, "999999999999998.y.running", 1);
  ExpectHonestJobsRun();
  EXPECT_THAT(Queue(), AllOf(HasSubstr("999999999999999.x.waiting is rejected: the entry's queue number is too high"),
                             HasSubstr("(a file of " + Id(hostile_) + ")")));
}

TEST_F(LedgerStrangersTest, AFakeEntryAtTheFrontOfTheQueueBlocksNoJob) {
  const auto attack = AttackByEntry(hostile_, "0000000000.x.waiting", 1000);
  ExpectHonestJobsRun();
  EXPECT_THAT(
      Queue(),
      AllOf(HasSubstr("0000000000.x.waiting is rejected: no process of the entry's user runs this job (a file of " +
                      Id(hostile_) + ")"),
            HasSubstr("1000 of 1000 MB of memory")));
}

TEST_F(LedgerStrangersTest, AFakeEntryOfARunningJobReservesNoMemory) {
  const auto attack = AttackByEntry(hostile_, "0000000001.x.running", 1000);
  const auto larger = AttackByEntry(hostile_, "0000000002.y.running", 24'000'000);
  ExpectHonestJobsRun();
  EXPECT_THAT(honest_.Tony({"doctor"}).out, AllOf(HasSubstr("0000000001.x.running is rejected: no process"),
                                                  HasSubstr("0000000002.y.running is rejected: the entry holds"),
                                                  HasSubstr("(a file of " + Id(hostile_) + ")")));
}

TEST_F(LedgerStrangersTest, AFakeEntryThatNamesAnotherUsersKeeperReservesNoMemory) {
  const fs::path go = honest_.home() / "go";
  const auto job = honest_.Start(
      Words{"tony"} + One("until [ -e " + go.string() + " ]; do sleep 0.05; done", {"tony.worker.memory=100m"}));
  std::string keeper, id;
  ASSERT_TRUE(WaitFor([&] {
    for (const auto& entry : fs::directory_iterator(ledger_)) {
      const std::string name = entry.path().filename();
      if (name.ends_with(".running")) id = name.substr(11, name.size() - 19);
    }
    for (const Process& process : honest_.Processes())
      if (process.program == "tony-keeper") keeper = std::to_string(process.pid);
    return !keeper.empty() && !id.empty();
  }));
  const auto attack = AttackByEntry(hostile_, "0000000009." + id + ".running", 900,
                                    R"(,"keeper":{"pid":)" + keeper + R"(,"start":"1","namespace":""})");
  ExpectHonestJobsRun();
  std::ofstream(go) << "";
  EXPECT_EQ(job->Wait().exit, 0) << job->err();
}

// The job is killed with SIGKILL, so only locks show that it has ended.
TEST_F(LedgerStrangersTest, TheReservationOfADeadJobIsFreedDespiteLocksOfAnotherUser) {
  const fs::path here = honest_.home() / "here";
  const auto job =
      honest_.Start(Words{"tony"} + One("touch " + here.string() + "; exec sleep 1000", {"tony.worker.memory=600m"}));
  ASSERT_TRUE(WaitForFile(here)) << job->err();
  const auto attack = Attack(hostile_, [&](const fs::path& ready) {
    for (const auto& entry : fs::directory_iterator(ledger_)) {
      const int fd = open(entry.path().c_str(), O_RDONLY);
      struct flock lock = {};
      lock.l_type = F_RDLCK;
      lock.l_start = 1;  // The keeper locks the byte before.
      Require(fcntl(fd, F_OFD_SETLK, &lock) == 0, "lock for reading");
    }
    return Stay(ready);
  });
  ASSERT_TRUE(WaitFor([&] {
    const std::vector<Process> left = honest_.Processes();
    for (const Process& process : left) kill(process.pid, SIGKILL);
    return left.empty();
  }));
  ExpectHonestJobsRun();
}

TEST_F(LedgerStrangersTest, JunkFilesInTheLedgerBlockNoJobAndAreReported) {
  const auto attack = Attack(hostile_, [&](const fs::path& ready) {
    MakeJunk(ledger_, "x");
    return Stay(ready);
  });
  ExpectHonestJobsRun(2);
  EXPECT_THAT(Queue(), AllOf(HasSubstr("01.xfifo.running is ignored: the path is not a file"),
                             HasSubstr("1000 of 1000 MB of memory")));
}

TEST_F(LedgerStrangersTest, AMachineFileWrittenByAnotherUserIsIgnored) {
  fs::remove(ledger_ / "machine.json");
  ASSERT_TRUE(hostile_.Write(ledger_ / "machine.json", R"({"memory_mb":1})"));
  ExpectHonestJobsRun();
}

// A program that imitates a keeper passes the process check, so it has the rights of a real job: other jobs wait for it
// while it has no room, and pass it once it has room and does not start.
TEST_F(LedgerStrangersTest, JobsOvertakeAQueuedFakeKeeperThatNeverStartsAJob) {
  const fs::path program = hostile_.home() / "tony-keeper";
  const Ran made = hostile_.Run({"cp", "/bin/sleep", program.string()});
  ASSERT_EQ(made.exit, 0) << made.err;
  const auto player = hostile_.Start({"bash", "-c", "exec -a /jobs/mimic " + program.string() + " 1000"});
  const auto attack = AttackByEntry(hostile_, "0000000000.mimic.waiting", 1000);
  ASSERT_TRUE(WaitFor([&] { return Queue().find("mimic  ") != std::string::npos; })) << Queue();
  ExpectHonestJobsRun();
}

TEST_F(LedgerStrangersTest, AFakeKeeperCannotReserveMoreThanTheMemoryLimitOfItsUser) {
  std::ofstream(ledger_ / "machine.json")
      << R"({"memory_mb":1000,"users":{")" << Id(hostile_) << R"(":{"memory_mb":300,"gpus":0}}})";
  const fs::path program = hostile_.home() / "tony-keeper";
  ASSERT_EQ(hostile_.Run({"cp", "/bin/sleep", program.string()}).exit, 0);
  const auto player = hostile_.Start({"bash", "-c", "exec -a /jobs/mimic " + program.string() + " 1000"});
  const auto attack = AttackByEntry(hostile_, "0000000001.mimic.running", 1000);
  ASSERT_TRUE(WaitFor([&] { return Queue().find("700 of 1000 MB") != std::string::npos; })) << Queue();
  ExpectHonestJobsRun();
}

TEST_F(LedgerStrangersTest, AUsersMemoryLimitAppliesOnlyToJobsOfThatUser) {
  std::ofstream(ledger_ / "machine.json")
      << R"({"memory_mb":1000,"users":{")" << Id(honest_) << R"(":{"memory_mb":300}}})";
  const Ran refused = honest_.Tony(Job("true", "301m"));
  EXPECT_EQ(refused.exit, 65);
  EXPECT_THAT(refused.err, HasSubstr("requests 301 MB of memory (1 task: worker 1 x 301 MB), and machine.json allows "
                                     "the job's user 300 MB at a time; lower tony.worker.memory"));
  const fs::path go = honest_.home() / "go";
  Words words = Job("until [ -e " + go.string() + " ]; do sleep 0.05; done", "200m");
  words.insert(words.begin(), "tony");
  const auto first = honest_.Start(words);
  ASSERT_TRUE(WaitFor([&] { return Queue().find("running") != std::string::npos; })) << first->err();
  const auto second = honest_.Start(words);
  ASSERT_TRUE(WaitFor([&] {
    return Queue().find("machine.json allows the job's user 300 MB at a time, and the user's other jobs hold 200") !=
           std::string::npos;
  })) << Queue();
  const OtherUser other(ledger_);
  const Ran ran = other.Tony(Job("true", "800m"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  std::ofstream(go) << "";
  EXPECT_EQ(first->Wait().exit, 0) << first->err();
  EXPECT_EQ(second->Wait().exit, 0) << second->err();
}

// Ten users run all attacks of this file at once and in changing order. Meanwhile honest users queue for a machine that
// has room for one of their jobs at a time.
TEST_F(LedgerStrangersTest, JobsOfHonestUsersSucceedOneAtATimeDespiteTenHostileUsers) {
  std::vector<std::unique_ptr<OtherUser>> hostile;
  std::vector<std::unique_ptr<ForkedCall>> attacks;
  for (int i = 0; i < 10; ++i) {
    hostile.push_back(std::make_unique<OtherUser>(ledger_));
    const std::string mark = "h" + std::to_string(i);
    attacks.push_back(Attack(*hostile.back(), [&, i, mark](const fs::path& ready) {
      MakeJunk(ledger_, mark);
      HoldFile(ledger_ / ("999999999999999." + mark + ".waiting"), Entry(1));
      HoldFile(ledger_ / ("0000000000." + mark + ".waiting"), Entry(1000));
      HoldFile(ledger_ / ("0000000001." + mark + ".running"), Entry(1000));
      std::ofstream(ready) << "x";
      const int folder = open(ledger_.c_str(), O_RDONLY | O_DIRECTORY);
      const fs::path turns = ledger_ / ("0000000002." + mark + ".waiting");
      const fs::path other = ledger_ / ("0000000003." + mark + ".running");
      HoldFile(turns, Entry(500));
      // The entry alternates between waiting and running, with an exclusive lock, a shared lock, and no lock.
      for (int64_t n = 0;; ++n) {
        flock(folder, (n + i) % 3 == 0 ? LOCK_EX : (n + i) % 3 == 1 ? LOCK_SH : LOCK_UN);
        rename(turns.c_str(), other.c_str());
        usleep(500);
        rename(other.c_str(), turns.c_str());
      }
      return std::string();
    }));
  }
  const fs::path alone = folder_.path() / "alone", twice = folder_.path() / "twice";
  fs::create_directory(alone);
  fs::permissions(folder_.path(), fs::perms::all);
  fs::permissions(alone, fs::perms::all);
  const OtherUser second(ledger_);
  Words words =
      Job("mkdir " + alone.string() + "/x || touch " + twice.string() + "; sleep 0.05; rmdir " + alone.string() + "/x");
  words.insert(words.begin(), "tony");
  std::vector<std::unique_ptr<Background>> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(honest_.Start(words));
    jobs.push_back(second.Start(words));
  }
  for (const auto& job : jobs) {
    const Ran ran = job->Wait(Limit(100'000));
    EXPECT_EQ(ran.exit, 0) << ran.err;
  }
  EXPECT_FALSE(fs::exists(twice)) << "two of 60 % at once";
  const std::string doctor = honest_.Tony({"doctor"}).out;
  for (const auto& user : hostile) EXPECT_THAT(doctor, HasSubstr("(a file of " + Id(*user)));
}

}  // namespace
}  // namespace tony
