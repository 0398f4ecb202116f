#include "runtime/records/hdfs/hdfs_record_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "tests/support/results.h"
#include "tests/unit/records/hdfs/fake_hdfs.h"

namespace tony {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using Fate = FakeHdfs::Fate;

class HdfsRecordStoreTest : public testing::Test {
 protected:
  HdfsRecordStoreTest() {
    EXPECT_TRUE(MakeRecordFolder(hdfs, kJob).ok());
    hdfs->asked.clear();
  }
  std::string Bytes(const std::string& name) const {
    const auto record = store.Get(name);
    EXPECT_TRUE(record.ok()) << record.error().message;
    return record.ok() && *record ? (*record)->bytes : "none";
  }
  std::vector<std::string> Asked() const {
    std::vector<std::string> names;
    for (const std::string& call : hdfs->asked) names.push_back(call.substr(0, call.find(' ')));
    return names;
  }
  // Gives the call with number `call`, counted from now, this fate.
  void Meet(Fate fate, size_t call) {
    hdfs->fate = [=, count = size_t{0}](std::string_view) mutable { return count++ == call ? fate : Fate::kAnswered; };
  }

  const std::shared_ptr<FakeHdfs> hdfs = std::make_shared<FakeHdfs>();
  const HdfsRecordStore store{hdfs, kJob, Tries(4)};
  const std::string large = std::string(kMostInAttribute + 1, 'x');
};

TEST_F(HdfsRecordStoreTest, AReadReturnsTheLastWrittenVersionOfARecord) {
  EXPECT_EQ(Bytes("status.json"), "none");
  for (const std::string& bytes : {std::string("old"), std::string("n\0w", 3), large, std::string(), large + "y",
                                   std::string(kMostInAttribute, 'z')}) {
    ASSERT_TRUE(store.Replace("status.json", bytes, kKept).ok());
    EXPECT_EQ(Bytes("status.json"), bytes);
  }
  EXPECT_EQ((*store.Get("status.json"))->writer, "");
  EXPECT_THAT(hdfs->Files(), ElementsAre("/jobs/x/status.json"));
}

TEST_F(HdfsRecordStoreTest, ASmallRecordIsStoredInAnExtendedAttributeWithoutADataBlock) {
  ASSERT_TRUE(store.Replace("a", "small", kKept).ok());
  EXPECT_THAT(Asked(), ElementsAre("CREATE", "SETXATTR", "RENAME"));
  hdfs->asked.clear();
  EXPECT_EQ(Bytes("a"), "small");
  EXPECT_THAT(Asked(), ElementsAre("GETFILESTATUS", "GETXATTRS"));
  hdfs->asked.clear();
  ASSERT_TRUE(store.Replace("a", large, kKept).ok());
  EXPECT_THAT(Asked(), ElementsAre("CREATE", "GETFILESTATUS", "RENAME"));
}

TEST_F(HdfsRecordStoreTest, ASecretRecordIsNeverAnAttributeBecauseTheNameNodeLogsThose) {
  HdfsFolder job = kJob;
  job.secrets = {"token"};
  const HdfsRecordStore with_secrets{hdfs, job, Tries(4)};
  ASSERT_TRUE(*with_secrets.PutNew("token", "secret", kKept));
  EXPECT_THAT(Asked(), ElementsAre("CREATE", "GETFILESTATUS", "RENAME"));
  EXPECT_EQ(Bytes("token"), "secret");
}

TEST_F(HdfsRecordStoreTest, OnlyTheFirstOfManyWritersCreatesARecord) {
  std::atomic<int> first = 0;
  std::vector<std::jthread> racers;
  for (int i = 0; i < 8; ++i)
    racers.emplace_back([&, i] {
      const auto put = store.PutNew("acked.json", StrCat(i), kKept);
      ASSERT_TRUE(put.ok()) << put.error().message;
      if (*put) ++first;
    });
  racers.clear();
  EXPECT_EQ(first, 1);
  const std::string bytes = Bytes("acked.json");
  EXPECT_FALSE(*store.PutNew("acked.json", "later", kKept));
  EXPECT_EQ(Bytes("acked.json"), bytes);
  EXPECT_THAT(hdfs->Files(), ElementsAre("/jobs/x/acked.json")) << "nothing is left of those who came late";
}

TEST_F(HdfsRecordStoreTest, RecordsOfAFolderAreListedAndRemoved) {
  EXPECT_THAT(*store.List("kill-requests"), IsEmpty());
  ASSERT_TRUE(store.Replace("kill-requests/a.json", "1", kKept).ok());
  ASSERT_TRUE(*store.PutNew("kill-requests/b.json", "2", kKept));
  ASSERT_TRUE(*hdfs->Create("/jobs/x/kill-requests/.put-4f", "half"));
  EXPECT_THAT(*store.List("kill-requests"), UnorderedElementsAre("a.json", "b.json"));
  ASSERT_TRUE(store.Remove("kill-requests/a.json").ok());
  EXPECT_TRUE(store.Remove("kill-requests/a.json").ok()) << "again";
  EXPECT_THAT(*store.List("kill-requests"), UnorderedElementsAre("b.json"));
}

TEST_F(HdfsRecordStoreTest, AWriteOfARecordDoesNotRecreateTheFolderOfARemovedJob) {
  ASSERT_TRUE(*hdfs->Remove("/jobs/x"));
  EXPECT_EQ(store.Replace("status.json", "1", kKept).error().code, ErrorCode::kCannotWrite);
  EXPECT_EQ(store.PutNew("kill-requests/a.json", "1", kKept).error().code, ErrorCode::kCannotWrite);
  EXPECT_TRUE(store.Remove("status.json").ok());
  EXPECT_EQ(Bytes("status.json"), "none");
  EXPECT_EQ(hdfs->GetEntry("/jobs/x").error().code, ErrorCode::kNotFound);
}

// Each call of a write meets each fate once.
TEST_F(HdfsRecordStoreTest, RecordWritesSucceedEvenIfHdfsAnswersAreLostOrLate) {
  for (const Fate fate : {Fate::kNotDone, Fate::kUnheard, Fate::kLate, Fate::kRepeated, Fate::kCut}) {
    for (const std::string& bytes : {std::string("small"), large}) {
      for (size_t call = 0; call < 3; ++call) {
        SCOPED_TRACE(StrCat("fate ", static_cast<int>(fate), ", call ", call, ", bytes ", bytes.size()));
        Meet(fate, call);
        const auto put = Must(store.PutNew("new", bytes, kKept));
        EXPECT_TRUE(put);
        Meet(fate, call);
        ASSERT_TRUE(store.Replace("replaced", bytes, kKept).ok());
        hdfs->fate = nullptr;
        EXPECT_EQ(Bytes("replaced"), bytes);
        ASSERT_TRUE(store.Replace("replaced", "newer", kKept).ok());
        EXPECT_FALSE(*store.PutNew("new", "other", kKept));
        while (hdfs->RunLate()) {
        }
        EXPECT_EQ(Bytes("new"), bytes);
        EXPECT_EQ(Bytes("replaced"), "newer");
        EXPECT_THAT(*store.List(""), UnorderedElementsAre("new", "replaced"));
        ASSERT_TRUE(store.Remove("new").ok());
      }
    }
  }
}

TEST_F(HdfsRecordStoreTest, PutNewOfAnExistingRecordReturnsFalseEvenIfAnHdfsAnswerIsLost) {
  ASSERT_TRUE(*store.PutNew("new", "first", kKept));
  for (const Fate fate : {Fate::kNotDone, Fate::kUnheard, Fate::kLate}) {
    Meet(fate, 2);
    const auto put = Must(store.PutNew("new", "first", kKept));
    EXPECT_FALSE(put) << "the same bytes, but another's";
  }
}

// The rename of the second writer is still under way, and may be performed after the first writer's record is removed.
TEST_F(HdfsRecordStoreTest, PutNewReturnsUnavailableIfItsHdfsRenameMayStillBeExecutedLater) {
  ASSERT_TRUE(*store.PutNew("new", "first", kKept));
  hdfs->fate = [renames = 0](std::string_view call) mutable {
    if (call == "DELETE") return Fate::kNotDone;
    return call == "RENAME" && renames++ == 0 ? Fate::kLate : Fate::kAnswered;
  };
  const auto put = store.PutNew("new", "second", kKept);
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().code, ErrorCode::kUnavailable);
}

TEST_F(HdfsRecordStoreTest, AnUnansweredReadIsTriedFourTimesAndThenFails) {
  hdfs->fate = [](std::string_view) { return Fate::kNotDone; };
  const auto record = store.Get("spec.json");
  EXPECT_EQ(record.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(record.error().message, StartsWith("read hdfs://nn:8020/jobs/x/spec.json: GETFILESTATUS"));
  EXPECT_EQ(hdfs->asked.size(), 4U);
  EXPECT_EQ(store.Replace("spec.json", "", kKept).error().code, ErrorCode::kUnavailable);
}

TEST_F(HdfsRecordStoreTest, HdfsErrorsAreMappedToErrorCodesOfReadsAndWrites) {
  for (const auto& [code, read, write] : std::vector<std::tuple<ErrorCode, ErrorCode, ErrorCode>>{
           {ErrorCode::kNotPermitted, ErrorCode::kNotPermitted, ErrorCode::kNotPermitted},
           {ErrorCode::kCannotWrite, ErrorCode::kUnavailable, ErrorCode::kCannotWrite},
           {ErrorCode::kInvalid, ErrorCode::kUnavailable, ErrorCode::kCannotWrite}}) {
    hdfs->refuses_all = Error{code, "why"};
    EXPECT_EQ(store.Get("a").error().code, read);
    EXPECT_EQ(store.List("a").error().code, read);
    EXPECT_EQ(store.Replace("a", "", kKept).error().code, write);
    const Error error = store.Remove("a").error();
    EXPECT_EQ(error.code, write);
    EXPECT_EQ(error.message, "remove hdfs://nn:8020/jobs/x/a: why");
  }
}

TEST_F(HdfsRecordStoreTest, RecordsAreStoredAsFilesIfHdfsRejectsExtendedAttributes) {
  hdfs->largest_xattr = 1000;
  ASSERT_TRUE(store.Replace("a", std::string(2000, 'x'), kKept).ok());
  hdfs->takes_xattrs = false;
  ASSERT_TRUE(store.Replace("b", "small", kKept).ok());
  EXPECT_EQ(Bytes("a"), std::string(2000, 'x'));
  EXPECT_EQ(Bytes("b"), "small");
  EXPECT_THAT(hdfs->Files(), ElementsAre("/jobs/x/a", "/jobs/x/b"));
}

TEST_F(HdfsRecordStoreTest, ExtendedAttributesAreNotTriedAgainAfterHdfsHasRejectedAnAttribute) {
  hdfs->takes_xattrs = false;
  for (const char* name : {"a", "b"}) ASSERT_TRUE(store.Replace(name, "small", kKept).ok());
  EXPECT_EQ(std::ranges::count_if(hdfs->asked, [](const std::string& call) { return call.starts_with("SETXATTR"); }),
            1);
}

TEST_F(HdfsRecordStoreTest, ARecordWrittenByAnotherUserIsReadWithTheWritersName) {
  ASSERT_TRUE(store.Replace("kill-request.json", "1", kKept).ok());
  hdfs->SetOwner("/jobs/x/kill-request.json", "mallory");
  EXPECT_EQ((*store.Get("kill-request.json"))->writer, "user mallory");
  const HdfsRecordStore without_user(hdfs, {"", "/jobs/x", ""});
  EXPECT_EQ((*without_user.Get("kill-request.json"))->writer, "");
}

// The record is replaced between the calls of a reader.
TEST_F(HdfsRecordStoreTest, AReadDuringTheReplacementOfARecordReturnsTheCompleteNewRecord) {
  for (const auto& [before, after] : {std::pair(large, std::string("small")), {"small", large}, {large, large + "y"}}) {
    ASSERT_TRUE(store.Replace("a", before, kKept).ok());
    hdfs->before = [&, after = after](std::string_view call) {
      if (call != "OPEN" && call != "GETXATTRS") return;
      hdfs->before = nullptr;
      ASSERT_TRUE(store.Replace("a", after, kKept).ok());
    };
    EXPECT_EQ(Bytes("a"), after);
  }
}

TEST_F(HdfsRecordStoreTest, AMasterCannotWriteRecordsAfterItsEpochIsSealed) {
  const HdfsJournalStore journal(hdfs, kJob);
  ASSERT_TRUE(*journal.Begin(Epoch{1}));
  const HdfsRecordStore masters(hdfs, kJob, Tries(4), EpochFolder(kJob, Epoch{1}));
  for (const std::string& bytes : {large, std::string("running")})
    ASSERT_TRUE(masters.Replace("status.json", bytes, kKept).ok());
  ASSERT_TRUE(masters.Replace("kill-requests/a.json", "1", kKept).ok());
  EXPECT_EQ(Bytes("status.json"), "running");
  ASSERT_TRUE(journal.Seal(Epoch{1}).ok());
  for (const std::string& bytes : {large, std::string("ended")}) {
    const Status written = masters.Replace("status.json", bytes, kKept);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code, ErrorCode::kNotPermitted);
    EXPECT_EQ(written.error().message,
              "write hdfs://nn:8020/jobs/x/status.json: /jobs/x/journal/1 is sealed: another process now writes the records of this "
              "job");
    EXPECT_FALSE(masters.PutNew("kill-requests/b.json", bytes, kKept).ok());
  }
  EXPECT_EQ(Bytes("status.json"), "running");
  EXPECT_THAT(*store.List("kill-requests"), ElementsAre("a.json"));
}

TEST_F(HdfsRecordStoreTest, AMasterRemovesARecordOnlyUntilItsEpochIsSealed) {
  const HdfsJournalStore journal(hdfs, kJob);
  ASSERT_TRUE(*journal.Begin(Epoch{1}));
  const HdfsRecordStore masters(hdfs, kJob, Tries(4), EpochFolder(kJob, Epoch{1}));
  for (const char* name : {"kill-requests/a.json", "kill-requests/b.json"})
    ASSERT_TRUE(store.Replace(name, "1", kKept).ok());
  EXPECT_TRUE(masters.Remove("kill-requests/a.json").ok());
  EXPECT_TRUE(masters.Remove("kill-requests/a.json").ok()) << "it is removed already";
  EXPECT_THAT(*store.List("kill-requests"), ElementsAre("b.json"));
  EXPECT_THAT(hdfs->Files(), ElementsAre("/jobs/x/kill-requests/b.json")) << "the temporary name is removed, too";
  ASSERT_TRUE(journal.Seal(Epoch{1}).ok());
  const Status removed = masters.Remove("kill-requests/b.json");
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.error().code, ErrorCode::kNotPermitted);
  EXPECT_THAT(*store.List("kill-requests"), ElementsAre("b.json"));
  EXPECT_TRUE(masters.Remove("kill-requests/c.json").ok()) << "a record that does not exist needs no removal";
}

// An AM goes on writing while another process finalizes its job before one of the calls. Answers get lost, and calls
// that are no longer awaited are performed later. The finalized record must stay.
void RunSettled(uint32_t seed) {
  std::mt19937 random(seed);
  const auto one_of = [&](uint32_t count) { return random() % count; };
  const auto hdfs = std::make_shared<FakeHdfs>();
  ASSERT_TRUE(MakeRecordFolder(hdfs, kJob).ok());
  const HdfsJournalStore journal(hdfs, kJob, Tries(3));
  ASSERT_TRUE(*journal.Begin(Epoch{1}));
  const HdfsRecordStore masters(hdfs, kJob, Tries(3), EpochFolder(kJob, Epoch{1}));
  const HdfsRecordStore others(hdfs, kJob, Tries(3));
  bool settled = false;
  std::string found = "none";
  const auto settle = [&] {
    settled = true;
    while (!SealJournal(journal).ok()) {
    }
    auto last = others.Get("status.json");
    while (!last.ok()) last = others.Get("status.json");
    if (*last) found = (*last)->bytes;
    while (found != "ended" && !others.Replace("status.json", "settled", kKept).ok()) {
    }
  };
  hdfs->fate = [&](std::string_view) { return one_of(100) < 25 ? static_cast<Fate>(1 + one_of(5)) : Fate::kAnswered; };
  hdfs->before = [&](std::string_view) {
    while (one_of(4) == 0 && hdfs->RunLate(random())) {
    }
    if (!settled && one_of(20) == 0) settle();
  };
  for (int step = 0; step < 8; ++step)
    (void)masters.Replace("status.json", step == 7 ? "ended" : StrCat("running ", step), kKept);
  hdfs->before = nullptr;
  if (!settled) settle();
  hdfs->fate = nullptr;
  while (hdfs->RunLate(random())) {
  }
  const auto record = others.Get("status.json");
  ASSERT_TRUE(record.ok() && *record);
  ASSERT_EQ((*record)->bytes, found == "ended" ? "ended" : "settled") << "seed " << seed;
}

TEST(HdfsRecordStoreSeeds, AMasterThatStillRunsDoesNotOverwriteTheStatusOfAFinalizedJob) {
  for (uint32_t seed = 1; seed <= 1000 && !testing::Test::HasFatalFailure(); ++seed) RunSettled(seed);
}

// A write that was reported as done is read until the next write. A write that failed may be read at once or later.
void RunSeed(uint32_t seed) {
  std::mt19937 random(seed);
  const auto one_of = [&](uint32_t count) { return random() % count; };
  const auto hdfs = std::make_shared<FakeHdfs>();
  const HdfsRecordStore store(hdfs, kJob, Tries(5));
  ASSERT_TRUE(MakeRecordFolder(hdfs, kJob).ok());
  const auto fates = [&](std::string_view call) {
    if (one_of(100) >= 25) return Fate::kAnswered;
    // A late removal would remove records that were put after it.
    if (call == "DELETE") return one_of(2) ? Fate::kNotDone : Fate::kUnheard;
    return static_cast<Fate>(1 + one_of(5));
  };
  // The possible contents of each record, by name; "none" stands for a missing record.
  std::map<std::string, std::set<std::string>> may_be, failed;
  for (const char* name : {"a", "b", "folder/c"}) may_be[name] = {"none"};
  for (int step = 0; step < 20; ++step) {
    const std::string name = std::vector<std::string>{"a", "b", "folder/c"}[one_of(3)];
    const std::string bytes = StrCat(step, one_of(8) == 0 ? std::string(kMostInAttribute, 'x') : "");
    hdfs->fate = fates;
    std::set<std::string>& now = may_be[name];
    const auto set_to = [&](const std::string& value, bool done) {
      if (done) now = failed[name];
      if (!done) failed[name].insert(value);
      now.insert(value);
    };
    const uint32_t what = one_of(10);
    if (what < 5) {
      set_to(bytes, store.Replace(name, bytes, kKept).ok());
    } else if (what < 8) {
      const auto put = store.PutNew(name, bytes, kKept);
      if (put.ok() && *put) {
        ASSERT_TRUE(now.count("none")) << "seed " << seed << ", step " << step;
      }
      if (put.ok() && !*put) {
        ASSERT_NE(now, std::set<std::string>{"none"}) << "seed " << seed << ", step " << step;
      }
      if (!put.ok() || *put) set_to(bytes, put.ok());
    } else if (what < 9) {
      set_to("none", store.Remove(name).ok());
    }
    while (one_of(4) == 0 && hdfs->RunLate(random())) {
    }
    hdfs->fate = nullptr;
    const auto record = Must(store.Get(name));
    const std::string read = record ? record->bytes : "none";
    ASSERT_TRUE(now.count(read)) << "seed " << seed << ", step " << step << ": " << name << " is "
                                 << read.substr(0, 20);
  }
}

TEST(HdfsRecordStoreSeeds, AnAcknowledgedRecordIsReadUnchangedUntilTheNextWrite) {
  for (uint32_t seed = 1; seed <= 2000 && !testing::Test::HasFatalFailure(); ++seed) RunSeed(seed);
}

}  // namespace
}  // namespace tony
