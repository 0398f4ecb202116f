// What is known of jobs that have ended, with no process of theirs left: `tony history` without a JOB, and `tony list`.
#include <fcntl.h>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class EndedTest : public TonyTest {
 protected:
  static Words Named(const std::string& name) { return Conf("tony.application.name=" + name); }
  std::vector<std::string> Names(const Words& filter = {}) const {
    std::vector<std::string> names;
    const auto jobs = At(Json(Words{"history"} + filter), "/jobs");
    for (const auto& job : jobs.as_array()) names.push_back(Text(job, "/name"));
    return names;
  }
  fs::path Log() const { return box_.home() / "history/ended.log"; }

  // Kills all processes of all jobs, so that none brings another back.
  void KillAll() const {
    ASSERT_TRUE(WaitFor([&] {
      for (const Process& process : box_.Processes()) kill(process.pid, SIGSTOP);
      for (const Process& process : box_.Processes()) kill(process.pid, SIGKILL);
      return box_.Processes().empty();
    }));
  }
};

TEST_F(EndedTest, HistoryListsJobsThatSucceededFailedAndWereKilled) {
  EXPECT_EQ(box_.Tony({"history"}).out, "no jobs\n");
  Succeeds(One("true") + Named("good") + Words{"--request-id", "flow://1"});
  Fails(1, One("exit 7") + Named("bad"));
  HoldDetached(One(HoldUntilGo()) + Named("ended"));
  EXPECT_THAT(Names(), ElementsAre("bad", "good")) << "one that runs has not ended";
  for (const std::string& job : box_.Jobs()) Succeeds({"kill", job, "--reason", "enough"});
  ExpectNothingLeft();

  const auto document = Json({"history"});
  ExpectJson(document, {{"/matched", 3}, {"/complete", true}, {"/skipped_lines", 0}, {"/jobs/0/class", "killed"}});
  EXPECT_THAT(Text(document, "/jobs/0/message"), HasSubstr("enough"));
  ExpectJson(document, {{"/jobs/1/state", "FAILED"}, {"/jobs/1/class", "user_error"}});
  EXPECT_THAT(Text(document, "/jobs/1/message"), HasSubstr("exit code 7"));
  ExpectJson(document, {{"/jobs/2/request_id", "flow://1"}, {"/jobs/2/tasks", 1}, {"/jobs/2/folder", true}});

  EXPECT_THAT(Names({"--state", "FAILED"}), ElementsAre("bad"));
  EXPECT_THAT(Names({"--class", "killed"}), ElementsAre("ended"));
  EXPECT_THAT(Names({"--name", "g*"}), ElementsAre("good"));
  EXPECT_THAT(Names({"--request-id", "flow://1"}), ElementsAre("good"));
  EXPECT_THAT(Names({"--user", "nobody-of-that-name"}), IsEmpty());
  EXPECT_THAT(Names({"--since", "1h"}), ElementsAre("ended", "bad", "good"));
  EXPECT_THAT(Names({"--until", "1h"}), IsEmpty());
  EXPECT_THAT(Names({"--limit", "1"}), ElementsAre("ended"));
  const auto stats = Json({"history", "--stats"});
  ExpectJson(stats, {{"/stats/jobs", 3}, {"/stats/by_class/user_error", 1}, {"/stats/by_state/KILLED", 1}});
  EXPECT_THAT(box_.Tony({"history"}).out, HasSubstr("exit code 7"));
}

TEST_F(EndedTest, AJobThatARebootEndedIsListedOnceSomebodyHasSeenIt) {
  HoldDetached(One(HoldUntilGo()) + Named("lost"));
  KillAll();
  std::ofstream(box_.JobFolder(Job()) / "boot-id") << "00000000-0000-0000-0000-000000000000\n";
  Fails(1, {"wait", Job()});
  EXPECT_THAT(Names({"--class", "node_lost"}), ElementsAre("lost"));
}

TEST_F(EndedTest, AKeeperThatDiesBeforeItsLastWordsIsFollowedByOneThatSaysThem) {
  // As somebody who writes the log anew: the keeper waits for us for two seconds, just before it says them.
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

TEST_F(EndedTest, ReindexAndGcFindWhatTheLogLacks) {
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
  EXPECT_THAT(box_.Tony({"history"}).out, HasSubstr("gone"));
  Succeeds({"history", "--reindex"});
  EXPECT_EQ(Names().size(), 2u) << "lines stay when folders go";
}

TEST_F(EndedTest, CollectionsAtOnceAllSucceed) {
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

TEST_F(EndedTest, AHistoryThatCannotBeWrittenFailsNoJob) {
  fs::create_directories(box_.home());
  std::ofstream(box_.home() / "history") << "a file in its place";
  Succeeds(One("true"));
  ExpectNothingLeft();
  EXPECT_THAT(ReadText(box_.JobFolder(Job()) / "keeper.log"), HasSubstr((box_.home() / "history").string()));
}

TEST_F(EndedTest, BadFiltersAreOneLineOfUsage) {
  const std::vector<Words> bad = {
      {"--state", "DONE"},         {"--class", "worn"}, {"--since", "yesterday"}, {"--until", "2026-13-01"},
      {"--limit", "-1"},           {"--limit", "many"}, {"local-x", "--stats"},   {"--events"},
      {"local-x", "--limit", "1"}, {"--conf"}};
  for (const Words& words : bad) {
    const Ran ran = box_.Tony(Words{"history"} + words);
    EXPECT_EQ(ran.exit, 64) << words[0] << ": " << ran.out;
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(words[0].starts_with("--") ? words[0] : words[1]));
  }
}

TEST_F(EndedTest, HistoryOfAJobShowsItsConfiguration) {
  Succeeds(One("true") + Named("told"));
  EXPECT_THAT(box_.Tony({"history", Job(), "--conf"}).out, HasSubstr("tony.application.name = told"));
  const auto document = Json({"history", Job(), "--conf"});
  std::map<std::string, std::string> values;
  const auto configuration = At(document, "/configuration");
  for (const auto& item : configuration.as_array()) values[Text(item, "/key")] = Text(item, "/value");
  EXPECT_EQ(values["tony.application.name"], "told");
  EXPECT_EQ(Text(document, "/state"), "SUCCEEDED");
}

TEST_F(EndedTest, ListShowsAllThatRunAndOnlyTheNewestOthers) {
  HoldDetached(One(HoldUntilGo()) + Named("runs"));
  Succeeds(One("true") + Named("over"));
  // Copies of it with later names.
  std::string over;
  for (const std::string& job : box_.Jobs())
    if (fs::exists(box_.JobFolder(job) / "finished")) over = job;
  for (const char* id : {"local-29990101-000000-000001", "local-29990101-000000-000002"})
    fs::copy(box_.JobFolder(over), box_.JobFolder(id), fs::copy_options::recursive);
  const auto list = Json({"list", "--limit", "2"});
  ASSERT_EQ(At(list, "/jobs").as_array().size(), 3u);
  EXPECT_EQ(Text(list, "/jobs/2/name"), "runs") << "the oldest, and it has not ended";
  EXPECT_EQ(Number(list, "/left_out"), 1);
  EXPECT_EQ(At(Json({"list", "--limit", "0"}), "/jobs").as_array().size(), 4u);
  const Ran text = box_.Tony({"list", "--limit", "1"});
  EXPECT_THAT(text.out, HasSubstr("runs"));
  EXPECT_THAT(text.err, HasSubstr("2 jobs that ended earlier"));
  Go();
}

}  // namespace
}  // namespace tony
