// Records of jobs that have ended and have no process left: `tony history` without a JOB, and `tony list`.
#include <fcntl.h>

#include "tests/e2e/script.h"

namespace tony {
namespace {

// %n stands for the key of the job's name.
const TestRow kEnded[] = {
    {"TheHistoryCommandListsSucceededFailedAndKilledJobs",
     {{"history", "out=no jobs\n"},
      {"one true %n=good --request-id flow://1", ""},
      {"one `exit 7` %n=bad", "1"},
      // A keeper writes the line of the history after the client has the verdict.
      {"left", ""},
      {"& one `%H` %n=ended", ""},
      {"running 1", ""},
      {"history --json", "/jobs/0/name=bad && /jobs/1/name=good && /jobs/2=null"},
      {"kill %0 --reason enough", ""},
      {"end 0", "1"},
      {"left", ""},
      {"history --json",
       "/matched=3 && /complete=true && /skipped_lines=0 && /jobs/0/class=killed && /jobs/0/message~enough && "
       "/jobs/1/state=FAILED && /jobs/1/class=user_error && /jobs/1/message~exit code 7 && "
       "/jobs/2/request_id=flow://1 && /jobs/2/tasks=1 && /jobs/2/folder=true"},
      {"history --json --state FAILED", "/matched=1 && /jobs/0/name=bad"},
      {"history --json --class killed", "/matched=1 && /jobs/0/name=ended"},
      {"history --json --name g*", "/matched=1 && /jobs/0/name=good"},
      {"history --json --request-id flow://1", "/matched=1 && /jobs/0/name=good"},
      {"history --json --user nobody-of-that-name", "/jobs=[]"},
      {"history --json --since 1h", "/jobs/0/name=ended && /jobs/1/name=bad && /jobs/2/name=good && /jobs/3=null"},
      {"history --json --until 1h", "/jobs=[]"},
      {"history --json --limit 1", "/jobs/0/name=ended && /jobs/1=null"},
      {"history --json --stats", "/stats/jobs=3 && /stats/by_class/user_error=1 && /stats/by_state/KILLED=1"},
      {"history", "out~exit code 7"}}},
    {"AJobSucceedsEvenIfTheHistoryCannotBeWritten",
     {{"write home/history `a file in its place`", ""},
      {"one true", ""},
      {"left", ""},
      {"file %F/keeper.log", "~%B/home/history"}}},
    {"InvalidHistoryFiltersAreRefusedWithAOneLineError",
     {{"history --state DONE", "64 && line && ~--state"},
      {"history --class worn", "64 && line && ~--class"},
      {"history --since yesterday", "64 && line && ~--since"},
      {"history --until 2026-13-01", "64 && line && ~--until"},
      {"history --limit -1", "64 && line && ~--limit"},
      {"history --limit many", "64 && line && ~--limit"},
      {"history local-x --stats", "64 && line && ~--stats"},
      {"history --events", "64 && line && ~--events"},
      {"history local-x --limit 1", "64 && line && ~--limit"},
      {"history --conf", "64 && line && ~--conf"}}},
    {"TheHistoryCommandShowsTheConfigurationOfAJob",
     {{"one true %n=told", ""},
      {"history %J --conf", "out~tony.application.name = told"},
      {"history %J --conf --json", "/state=SUCCEEDED && ~{\"key\":\"tony.application.name\",\"value\":\"told\""}}},
    // The copied folders have later names than the running job's folder, which is the oldest.
    {"TheListCommandShowsAllRunningJobsAndALimitedNumberOfEndedJobs",
     {{"& one `%H` %n=runs", ""},
      {"running 1", ""},
      {"& one true %n=over", ""},
      {"end 1", ""},
      {"copy home/jobs/%1 home/jobs/local-29990101-000000-000001", ""},
      {"copy home/jobs/%1 home/jobs/local-29990101-000000-000002", ""},
      {"list --limit 2 --json", "/jobs/2/name=runs && /jobs/3=null && /left_out=1"},
      {"list --limit 0 --json", "/jobs/3/name~r && /jobs/4=null"},
      {"list --limit 1", "out~runs && err~2 older ended jobs"},
      {"go", ""}}},
};
TABLE_TEST(EndedTest, kEnded, [](const TestRow& row) { RunScriptWith({{"%n", "tony.application.name"}}, row); });

class EndedLogTest : public TonyTest {
 protected:
  static Words Named(const std::string& name) { return Conf("tony.application.name=" + name); }
  std::vector<std::string> Names(const Words& filter = {}) const {
    std::vector<std::string> names;
    const auto jobs = At(Json(Words{"history"} + filter), "/jobs");
    for (const auto& job : jobs.as_array()) names.push_back(Text(job, "/name"));
    return names;
  }
  fs::path Log() const { return box_.home() / "history/ended.log"; }

  // Kills all processes of all jobs. All are stopped first, so that none of them restarts another one.
  void KillAll() const {
    ASSERT_TRUE(WaitFor([&] {
      for (const Process& process : box_.Processes()) kill(process.pid, SIGSTOP);
      for (const Process& process : box_.Processes()) kill(process.pid, SIGKILL);
      return box_.Processes().empty();
    }));
  }
};

TEST_F(EndedLogTest, TheWaitCommandWritesAHistoryEntryForAJobLostInAReboot) {
  HoldDetached(One(HoldUntilGo()) + Named("lost"));
  KillAll();
  std::ofstream(box_.JobFolder(Job()) / "boot-id") << "00000000-0000-0000-0000-000000000000\n";
  Fails(1, {"wait", Job()});
  EXPECT_THAT(Names({"--class", "node_lost"}), ElementsAre("lost"));
}

TEST_F(EndedLogTest, ARestartedKeeperWritesTheMissingHistoryEntryOfItsJob) {
  // Takes the lock that a rewrite of the log takes. The keeper waits two seconds for it before it appends its entry.
  fs::create_directories(Log().parent_path());
  const int log = open(Log().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(log, F_OFD_SETLK, &lock), 0);
  Succeeds(One("true") + Named("late") + Words{"--detach"});
  ASSERT_TRUE(WaitFor(
      [&] { return ReadText(box_.JobFolder(Job()) / "status.json").find("\"verdict\"") != std::string::npos; }));
  KillAll();
  close(log);
  ASSERT_FALSE(fs::exists(box_.JobFolder(Job()) / "finished"));
  EXPECT_THAT(Names(), IsEmpty());
  Succeeds({"wait", Job()});
  EXPECT_THAT(Names(), ElementsAre("late"));
  ExpectNothingLeft();
}

TEST_F(EndedLogTest, TheOptionReindexAndTheGcCommandRestoreMissingHistoryEntries) {
  Succeeds(One("true") + Named("first"));
  Succeeds(One("true") + Named("second"));
  const std::string log = ReadText(Log());
  std::ofstream(Log()) << log.substr(0, log.size() - 30) << "\nrubbish\n";
  EXPECT_THAT(Names(), ElementsAre("first"));
  EXPECT_EQ(Number(Json({"history"}), "/skipped_lines"), 2);
  EXPECT_THAT(box_.Tony({"history"}).err, HasSubstr("--reindex"));
  const auto reindexed = Json({"history", "--reindex"});
  ExpectJson(reindexed, {{"/jobs", 2}, {"/from_folders", 2}});
  EXPECT_EQ(ReadText(Log()), log);

  fs::remove(Log());
  Succeeds({"gc", "--older-than", "0m"});
  EXPECT_THAT(box_.Jobs(), IsEmpty());
  EXPECT_THAT(Names(), UnorderedElementsAre("first", "second"));
  EXPECT_EQ(At(Json({"history"}), "/jobs/0/folder"), value(false));
  EXPECT_THAT(box_.Tony({"history"}).out, HasSubstr("removed"));
  Succeeds({"history", "--reindex"});
  EXPECT_EQ(Names().size(), 2u) << "lines stay when folders go";
}

TEST_F(EndedLogTest, ConcurrentGarbageCollectionsAllSucceed) {
  Succeeds(One("true"));
  const fs::path first = box_.JobFolder(Job());
  for (int i = 0; i < 100; ++i) {
    const fs::path copy = first.parent_path() / ("local-20260101-000000-" + std::to_string(100'000 + i));
    fs::copy(first, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }
  std::vector<std::unique_ptr<Background>> collections;
  for (int i = 0; i < 3; ++i) collections.push_back(box_.StartTony({"gc", "--older-than", "0m"}));
  for (const auto& collection : collections) {
    const Ran ran = Ends(*collection);
    EXPECT_EQ(ran.err, "");
  }
  EXPECT_THAT(box_.Jobs(), IsEmpty());
}

}  // namespace
}  // namespace tony
