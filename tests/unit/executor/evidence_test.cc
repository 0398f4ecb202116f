#include "executor/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>

#include "executor/secret_mask.h"
#include "executor/task_logs.h"
#include "runtime/base/strings.h"
#include "runtime/job/failure_rules.h"
#include "tests/support/temp_folder.h"

namespace tony::executor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr ExitStatus kFailed{ExitStatus::Kind::kExited, 3};

class EvidenceTest : public testing::Test {
 protected:
  std::filesystem::path In(const std::string& name) const { return temp_.path() / name; }
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(In(name).parent_path());
    std::ofstream(In(name)) << text;
  }
  Evidence Gathered(ExitStatus exit = kFailed) const {
    return Gather(exit, {In("error.json"), In("stdout"), In("stderr")}, {}, "tony.worker.memory");
  }
  std::string Trouble() const { return Gathered().report_problem; }

  TempFolder temp_;
};

TEST_F(EvidenceTest, OomKillsOfCgroupV2AreReadFromMemoryEvents) {
  Write("proc/self/cgroup", "0::/user.slice/job\n");
  Write("sys/fs/cgroup/user.slice/job/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
  Write("proc/vmstat", "nr_free_pages 7\noom_kill 5\n");
  const OomKills kills = CountOomKills(temp_.path());
  EXPECT_EQ(kills.cgroup, 2);
  EXPECT_EQ(kills.machine, 5);
}

TEST_F(EvidenceTest, OomKillsOfCgroupV1AreReadFromMemoryOomControl) {
  Write("proc/self/cgroup", "12:cpu,cpuacct:/a\n4:memory:/docker/7\n0::/\n");
  Write("sys/fs/cgroup/memory/docker/7/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  EXPECT_EQ(CountOomKills(temp_.path()).cgroup, 4);
  EXPECT_EQ(CountOomKills(temp_.path()).machine, std::nullopt);
}

TEST_F(EvidenceTest, OomKillsInAContainerAreReadFromTheRootOfTheCgroupMount) {
  Write("proc/self/cgroup", "0::/kubepods/pod7\n");
  Write("sys/fs/cgroup/memory.events", "oom_kill 1\n");
  EXPECT_EQ(CountOomKills(temp_.path()).cgroup, 1);
}

TEST_F(EvidenceTest, OomKillCountsAreUnknownIfTheKernelsFilesAreMissingOrMalformed) {
  EXPECT_EQ(CountOomKills(temp_.path()).cgroup, std::nullopt);
  Write("proc/self/cgroup", "garbage\n:\n0::\n");
  Write("proc/vmstat", "oom_kill many\noom_kill\n");
  EXPECT_EQ(CountOomKills(temp_.path()).cgroup, std::nullopt);
  EXPECT_EQ(CountOomKills(temp_.path()).machine, std::nullopt);
}

TEST_F(EvidenceTest, OomKillsAreReadFromTheNearestParentCgroupThatCountsThem) {
  Write("proc/self/cgroup", "0::/user/x/tony-job-1-1\n");
  Write("sys/fs/cgroup/user/x/tony-job-1-1/cgroup.procs", "");
  Write("sys/fs/cgroup/user/memory.events", "low 0\noom_kill 4\n");
  EXPECT_EQ(CountOomKills(temp_.path()).cgroup, 4);
}

TEST_F(EvidenceTest, AnOomKillIsAttributedToTheCgroupIfItsKillCountRoseAndOtherwiseToTheMachine) {
  EXPECT_EQ(Compare({1, 5}, {2, 6}), OomEvidence::kCgroup);
  EXPECT_EQ(Compare({1, 5}, {1, 6}), OomEvidence::kMachine);
  EXPECT_EQ(Compare({{}, 5}, {{}, 6}), OomEvidence::kMachine);
  EXPECT_EQ(Compare({1, 5}, {1, 5}), OomEvidence::kNone);
  EXPECT_EQ(Compare({1, {}}, {1, {}}), OomEvidence::kNone);
  EXPECT_EQ(Compare({}, {}), OomEvidence::kUnknown);
  EXPECT_EQ(Compare({}, {7, 7}), OomEvidence::kUnknown);
  EXPECT_EQ(Compare({9, 9}, {1, 1}), OomEvidence::kNone) << "counted in another cgroup";
}

TEST_F(EvidenceTest, AnOomKillIsDescribedWithTheMemoryLimitAndPeakOfTheCgroup) {
  Write("proc/self/cgroup", "0::/u/tony-job-1-1\n");
  Write("sys/fs/cgroup/u/tony-job-1-1/memory.max", "2147483648\n");
  EXPECT_EQ(DescribeOom(1, "tony.worker.memory", temp_.path()),
            "out of memory: the container's limit of 2048 MB was reached, 1 process was killed by the kernel; "
            "tony.worker.memory sets the limit");
  Write("sys/fs/cgroup/u/tony-job-1-1/memory.peak", "2147480000\n");
  EXPECT_EQ(
      DescribeOom(3, "tony.worker.memory", temp_.path()),
      "out of memory: the container's limit of 2048 MB was reached (peak 2047 MB), 3 processes were killed by the "
      "kernel; tony.worker.memory sets the limit");
}

TEST_F(EvidenceTest, TheOomMessageNamesTheMemoryLimitOfACgroupThatTonyDidNotMake) {
  Write("proc/self/cgroup", "4:memory:/docker/7\n");
  Write("sys/fs/cgroup/memory/docker/7/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(DescribeOom(1, "tony.worker.memory", temp_.path()), "");
  Write("sys/fs/cgroup/memory/docker/7/memory.limit_in_bytes", "104857600\n");
  Write("sys/fs/cgroup/memory/docker/7/memory.max_usage_in_bytes", "104857600\n");
  EXPECT_EQ(
      DescribeOom(1, "tony.worker.memory", temp_.path()),
      "out of memory: the cgroup's limit of 100 MB was reached (peak 100 MB), 1 process was killed by the kernel");
  Write("sys/fs/cgroup/memory/docker/7/memory.max_usage_in_bytes", "10485760\n");
  EXPECT_EQ(DescribeOom(1, "tony.worker.memory", temp_.path()),
            "out of memory, but not because of the cgroup's limit of 100 MB (peak 10 MB): 1 process was killed by the "
            "kernel");
}

// With pages of 4 KiB, 1280 pages are 5 MB.
TEST_F(EvidenceTest, TheOomScoreOfATaskIsHigherThanTheScoreOfItsExecutor) {
  if (sysconf(_SC_PAGESIZE) != 4096) GTEST_SKIP() << "pages of another size";
  EXPECT_EQ(OomScoreOfTask(temp_.path()), "");
  Write("proc/self/cgroup", "0::/u/tony-job-1-1\n");
  Write("proc/self/oom_score_adj", "0\n");
  Write("proc/self/statm", "2000 1280 900 1 0 300 0\n");
  const auto with_limit = [&](int64_t mb) {
    Write("sys/fs/cgroup/u/tony-job-1-1/memory.max", StrCat(mb << 20, "\n"));
    return OomScoreOfTask(temp_.path());
  };
  EXPECT_EQ(with_limit(64), "157") << "10 of 64 MB";
  EXPECT_EQ(with_limit(2048), "5");
  EXPECT_EQ(with_limit(1 << 20), "1");
  Write("proc/self/oom_score_adj", "200\n");
  EXPECT_EQ(with_limit(2048), "205") << "as that of a user's session";
  Write("proc/self/oom_score_adj", "999\n");
  EXPECT_EQ(with_limit(64), "1000") << "the most that the kernel takes";
  Write("proc/self/oom_score_adj", "-1000\n");
  EXPECT_EQ(with_limit(2048), "-995") << "or nothing in the cgroup could be killed";
}

TEST_F(EvidenceTest, TheOomScoreOfATaskWithoutAMemoryLimitIsBasedOnTheMachinesMemory) {
  Write("proc/self/oom_score_adj", "0\n");
  Write("proc/self/statm", "2000 1 900 1 0 300 0\n");
  EXPECT_EQ(OomScoreOfTask(temp_.path()), "1");
}

TEST_F(EvidenceTest, EvidenceOfAFailureContainsTheErrorReportAndTheLastLinesOfStderr) {
  Write("stderr", "boom\n");
  Write("error.json", R"({"class":"infra","advice":"transient","message":"the store\nis \u001b[31mdown"})");
  const Evidence seen = Gathered();
  EXPECT_EQ(seen.exit, kFailed);
  EXPECT_EQ(seen.stderr_tail, "boom\n");
  ASSERT_TRUE(seen.report);
  EXPECT_EQ(*seen.report, (ErrorReport{OutcomeClass::kInfra, Advice::kTransient, "the store\nis down\n"}));
  EXPECT_EQ(seen.report_problem, "");
}

TEST_F(EvidenceTest, EvidenceHasTheEndOfStdoutAndMentionsNoFullDiskIfDiskSpaceIsFree) {
  Write("stdout", "step 7\n");
  EXPECT_EQ(Gathered().stdout_tail, "step 7\n");
  EXPECT_EQ(Gathered().full_disk, "");
  EXPECT_EQ(FullDiskUnder("/no/such/folder"), "");
}

TEST_F(EvidenceTest, StderrAndTheErrorFileAreNotReadForASuccessfulProcess) {
  Write("stderr", "boom\n");
  Write("error.json", "{");
  const Evidence seen = Gathered({ExitStatus::Kind::kExited, 0});
  EXPECT_EQ(seen.stderr_tail, "");
  EXPECT_EQ(seen.report_problem, "");
}

TEST_F(EvidenceTest, AMissingErrorFileIsNotAnError) {
  EXPECT_EQ(Trouble(), "");
  EXPECT_FALSE(Gathered().report);
}

TEST_F(EvidenceTest, AMalformedOrTooLargeErrorFileIsReportedAndIgnored) {
  Write("error.json", "{\"class\":");
  EXPECT_TRUE(Trouble().starts_with("error file: not JSON: ")) << Trouble();
  EXPECT_FALSE(Gathered().report);
  Write("error.json", "");
  EXPECT_TRUE(Trouble().starts_with("error file: not JSON: ")) << Trouble();
  Write("error.json", std::string(kLongestErrorFile + 1, ' '));
  EXPECT_EQ(Trouble(), "error file: the file is larger than 256 KiB");
}

TEST_F(EvidenceTest, AnErrorFileThatIsAPipeOrALinkIsReportedAndNotRead) {
  ASSERT_EQ(mkfifo(In("error.json").c_str(), 0600), 0);
  EXPECT_EQ(Trouble(), "error file: the path is not a regular file");
  RemoveLeftoverFile(In("error.json"));
  Write("elsewhere", R"({"class":"infra"})");
  std::filesystem::create_symlink(In("elsewhere"), In("error.json"));
  EXPECT_FALSE(Gathered().report);
  EXPECT_TRUE(Trouble().starts_with("error file: ")) << Trouble();
  RemoveLeftoverFile(In("error.json"));
  EXPECT_TRUE(std::filesystem::exists(In("elsewhere")));
  EXPECT_EQ(Trouble(), "");
}

// ---- Failures of real programs under real launchers: each verdict must name the cause that the record's label names.

struct Recorded {
  std::string name;
  Evidence evidence;
  // The verdict must not contain `trap`, which may be empty.
  std::string cause, cls, trap;
};

void AddStream(const std::string& name, const std::string& text, Evidence& evidence) {
  executor::LogTail words = executor::LogTailOf(text);
  (name == "stdout" ? evidence.stdout_tail : evidence.stderr_tail) = std::move(words.lines);
  (name == "stdout" ? evidence.stdout_text : evidence.stderr_text) = std::move(words.text);
}

ExitStatus EndOf(const std::string& text) {
  const auto words = Split(text, ' ');
  const auto kind = words.at(0) == "signal" ? ExitStatus::Kind::kSignaled : ExitStatus::Kind::kExited;
  return {kind, static_cast<int>(ParseInt(words.at(1)).value())};
}

Recorded Read(const std::filesystem::path& file) {
  Recorded recorded{.name = file.stem().string()};
  std::ifstream in(file);
  std::map<std::string, std::string> labels, streams;
  std::string stream;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("---- std")) {
      stream = line.substr(5);
    } else if (!stream.empty()) {
      streams[stream] += line + "\n";
    } else {
      const size_t colon = line.find(": ");
      labels[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  recorded.evidence.exit = EndOf(labels["end"]);
  for (const auto& [name, text] : streams) AddStream(name, text, recorded.evidence);
  recorded.cause = labels["cause"];
  recorded.cls = labels["class"];
  recorded.trap = labels["trap"];
  return recorded;
}

std::vector<Recorded> AllRecorded() {
  std::vector<Recorded> all;
  for (const auto& entry : std::filesystem::directory_iterator(TONY_FIRST_CAUSES)) {
    if (entry.path().extension() == ".log") all.push_back(Read(entry.path()));
  }
  std::ranges::sort(all, std::less(), &Recorded::name);
  return all;
}

TEST(FirstCausesTest, EachRecordedFailureIsClassifiedWithTheExpectedCauseAndFailureClass) {
  const auto all = AllRecorded();
  EXPECT_GE(all.size(), 60u);
  size_t right = 0;
  for (const Recorded& recorded : all) {
    const Outcome outcome = Classify(recorded.evidence, {});
    const bool named = outcome.message.find(recorded.cause) != std::string::npos;
    const bool trapped = !recorded.trap.empty() && outcome.message.find(recorded.trap) != std::string::npos;
    EXPECT_TRUE(named) << recorded.name << ": " << outcome.message;
    EXPECT_FALSE(trapped) << recorded.name << ": " << outcome.message;
    EXPECT_EQ(ToString(outcome.cls), recorded.cls) << recorded.name << ": " << outcome.message;
    right += named && !trapped && ToString(outcome.cls) == recorded.cls ? 1 : 0;
  }
  EXPECT_EQ(right, all.size()) << "of " << all.size();
}

// ---- secret mask

std::string Masked(const std::string& secret, const std::string& text) { return SecretMask({secret}).Masked(text); }

TEST(SecretMaskTest, EveryOccurrenceOfASecretIsMasked) {
  EXPECT_EQ(Masked("s3cret", "a s3cret, s3crets3cret"), "a ***, ***");
  EXPECT_EQ(Masked("s3cret", "a secret"), "a secret");
  EXPECT_EQ(SecretMask({"abcdef", "defghi"}).Masked("abcdefghi"), "***") << "secrets that overlap";
  EXPECT_EQ(SecretMask().Masked("text"), "text");
}

TEST(SecretMaskTest, SecretsShorterThan4CharactersAreNotMasked) {
  EXPECT_EQ(Masked("abc", "abc"), "abc");
  EXPECT_EQ(Masked("abcd", "abcd"), "***");
  EXPECT_EQ(Masked("", "text"), "text");
}

// The encoded forms are the same value as Python and JavaScript encode it: quote(), quote_plus(), encodeURIComponent(),
// json.dumps(), repr(), base64.b64encode() and urlsafe_b64encode().
TEST(SecretMaskTest, UrlEncodedJsonEscapedAndBase64FormsOfASecretAreMasked) {
  const std::string secret = "p/a s?s\"\\w\xC3\xB6rd!";
  for (const char* form :
       {"p/a%20s%3Fs%22%5Cw%C3%B6rd%21", "p%2Fa+s%3Fs%22%5Cw%C3%B6rd%21", "p%2Fa%20s%3Fs%22%5Cw%C3%B6rd!",
        "p%2fa%20s%3fs%22%5cw%c3%b6rd%21", "p/a s?s\\\"\\\\w\\u00f6rd!", "p/a s?s\\\"\\\\w\xC3\xB6rd!",
        "p\\/a s?s\\\"\\\\w\xC3\xB6rd!", "cC9hIHM/cyJcd8O2cmQh", "cC9hIHM_cyJcd8O2cmQh"})
    EXPECT_EQ(Masked(secret, StrCat("<", form, ">")), "<***>") << form;
  EXPECT_EQ(Masked("a\nb\tcd", R"("a\nb\tcd")"), "\"***\"");
  EXPECT_EQ(Masked("\xF0\x9F\x94\x91key", R"("\ud83d\udd11key")"), "\"***\"");
}

// Headers hold the base64 form of "user:password", here of train:fdS3cret77, me:fdS3cret77, x:fdS3cret77 and
// abcd:fdS3cret77.
TEST(SecretMaskTest, APasswordInABase64EncodedUserAndPasswordHeaderIsMasked) {
  EXPECT_EQ(Masked("fdS3cret77", "Basic dHJhaW46ZmRTM2NyZXQ3Nw=="), "Basic dHJhaW46***==");
  EXPECT_THAT(Masked("fdS3cret77", "Basic bWU6ZmRTM2NyZXQ3Nw=="), Not(HasSubstr("TM2NyZX")));
  EXPECT_THAT(Masked("fdS3cret77", "Basic eDpmZFMzY3JldDc3"), Not(HasSubstr("ZFMzY3Jl")));
  EXPECT_THAT(Masked("fdS3cret77", "Basic YWJjZDpmZFMzY3JldDc3"), Not(HasSubstr("ZFMzY3Jl")));
}

TEST(SecretMaskTest, EachLineOfAMultiLineSecretIsMaskedExceptShortLines) {
  const std::string key = "-----BEGIN KEY-----\r\nMIIEvQIBADAN\r\nab\r\n-----END KEY-----\n";
  EXPECT_EQ(Masked(key, "line MIIEvQIBADAN\nab\n"), "line ***\nab\n");
  EXPECT_EQ(Masked(key, StrCat("<", key, ">")), "<***>");
  EXPECT_EQ(Masked("fdS3\n", "fdS3 x"), "*** x") << "a file's line end";
}

TEST(SecretMaskTest, ThePasswordOfASecretUrlIsMaskedEvenOutsideOfTheUrl) {
  const std::string url = "postgresql://train:gu%40ss@db:5432/x?sslmode=on";
  EXPECT_EQ(Masked(url, "no such user: train gu@ss gu%40ss"), "no such user: train *** ***");
  EXPECT_EQ(Masked("https://example.org/a@b", "example.org"), "example.org");
}

TEST(SecretMaskTest, MaskingInPlaceKeepsTheLengthOfTheText) {
  std::string text = "a s3cret b";
  SecretMask({"s3cret"}).MaskInPlace(text);
  EXPECT_EQ(text, "a ****** b");
}

TEST(SecretMaskTest, TheLengthOfAnIncompleteSecretAtTheEndOfATextIsReturned) {
  const SecretMask mask({"s3cret"});
  EXPECT_EQ(mask.UnfinishedSecretAtEnd("a s3cre"), 5u);
  EXPECT_EQ(mask.UnfinishedSecretAtEnd("a s3cret"), 0u);
  EXPECT_EQ(mask.UnfinishedSecretAtEnd("a s3"), 0u) << "as everything may be";
}

TEST(SecretMaskTest, VariablesAreSecretIfDeclaredSecretOrNamedLikeATokenOrPassword) {
  EXPECT_THAT(SecretValues({"A=x", "B=a=b"}, {"HF_TOKEN=12345678", "API_KEY=1234", "TOKENIZERS_PARALLELISM=falsefalse",
                                              "db_password=longenough", "PATH=/usr/bin:/bin"}),
              ElementsAre("x", "a=b", "12345678", "longenough"));
}

}  // namespace
}  // namespace tony::executor
