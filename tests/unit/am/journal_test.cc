#include "am/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "am/journal_format.h"
#include "runtime/base/strings.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/am/sample_decisions.h"

namespace tony::am {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Json(const std::vector<Decision>& decisions) {
  std::vector<std::string> texts;
  for (const Decision& decision : decisions) texts.push_back(ToJson(decision));
  return texts;
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// No file of this process may grow beyond `bytes` while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(size_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class JournalTest : public testing::Test {
 protected:
  // The journal and, in `read_`, what was in it.
  Result<std::unique_ptr<LocalJournal>> Open() {
    read_.clear();
    return LocalJournal::Open(loop_, path_, &read_);
  }
  std::unique_ptr<LocalJournal> Opened() {
    auto journal = Open();
    EXPECT_TRUE(journal.ok()) << journal.error().message;
    return journal.ok() ? *std::move(journal) : nullptr;
  }
  // Keeps what `done` was told in `answers_`.
  void Append(LocalJournal& journal, const std::vector<Decision>& decisions, bool durable = true) {
    ++expected_;
    journal.Append(decisions, durable, [this](const Status& status) {
      EXPECT_EQ(std::this_thread::get_id(), thread_);
      answers_.push_back(status.ok() ? "" : status.error().message);
    });
  }
  void RunUntilAnswered() {
    EXPECT_TRUE(RunUntil(loop_, [this] { return answers_.size() == expected_; }));
  }
  void AppendAndWait(LocalJournal& journal, const std::vector<Decision>& decisions) {
    Append(journal, decisions);
    RunUntilAnswered();
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  const TempFolder folder_;
  std::string path_ = (folder_.path() / "journal").string();
  EventLoop loop_;
  std::vector<Decision> read_;
  std::vector<std::string> answers_;  // error messages; empty: written
  size_t expected_ = 0;
};

TEST_F(JournalTest, ANewJournalIsEmptyAndPrivate) {
  const auto journal = Opened();

  EXPECT_THAT(read_, IsEmpty());
  struct stat file {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
}

TEST_F(JournalTest, WhatWasAppendedIsThereAfterReopening) {
  const std::vector<Decision> decisions = OneOfEachKind();
  {
    const auto journal = Opened();
    AppendAndWait(*journal, {decisions.begin(), decisions.begin() + 5});
    AppendAndWait(*journal, {decisions.begin() + 5, decisions.end()});
  }

  const auto journal = Opened();

  EXPECT_EQ(Json(read_), Json(decisions));
  EXPECT_THAT(answers_, Each(""));
}

TEST_F(JournalTest, WhatIsAnsweredIsInTheFile) {
  const auto journal = Opened();

  AppendAndWait(*journal, OneOfEachKind());

  const auto decoded = DecodeJournal(ReadFile(path_));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(Json(decoded->decisions), Json(OneOfEachKind()));
}

TEST_F(JournalTest, ATornTailIsCutOffAndAppendedAfter) {
  const std::vector<Decision> decisions = OneOfEachKind();
  {
    const auto journal = Opened();
    AppendAndWait(*journal, {decisions[0]});
  }
  const std::string whole = ReadFile(path_);
  std::ofstream(path_, std::ios::binary | std::ios::app) << EncodeRecord(decisions[1]).substr(0, 20);

  {
    const auto journal = Opened();
    EXPECT_EQ(Json(read_), Json({decisions[0]}));
    EXPECT_EQ(ReadFile(path_), whole);
    AppendAndWait(*journal, {decisions[2]});
  }

  const auto journal = Opened();
  EXPECT_EQ(Json(read_), Json({decisions[0], decisions[2]}));
}

TEST_F(JournalTest, AJournalThatDiedWithinItsHeaderBeginsAnew) {
  std::ofstream(path_, std::ios::binary) << EncodeHeader().substr(0, 7);
  {
    const auto journal = Opened();
    EXPECT_THAT(read_, IsEmpty());
    AppendAndWait(*journal, {OneOfEachKind()[0]});
  }

  const auto journal = Opened();

  EXPECT_EQ(read_.size(), 1U);
}

TEST_F(JournalTest, ADamagedJournalIsRefusedWithItsPathAndLeftAsItIs) {
  {
    const auto journal = Opened();
    AppendAndWait(*journal, OneOfEachKind());
  }
  std::string bytes = ReadFile(path_);
  bytes[40] = static_cast<char>(bytes[40] ^ 1);
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;

  const auto journal = Open();

  ASSERT_FALSE(journal.ok());
  EXPECT_EQ(journal.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(journal.error().message, HasSubstr(path_ + ": damaged at byte 12"));
  EXPECT_EQ(ReadFile(path_), bytes);
}

TEST_F(JournalTest, AFolderThatIsNotThereIsAnError) {
  path_ = (folder_.path() / "no such folder" / "journal").string();

  const auto journal = Open();

  ASSERT_FALSE(journal.ok());
  EXPECT_EQ(journal.error().code, ErrorCode::kCannotWrite);
  EXPECT_THAT(journal.error().message, HasSubstr(path_));
}

TEST_F(JournalTest, AnswersComeInOrderOnTheLoop) {
  const auto journal = Opened();
  std::vector<int> order;
  constexpr int kAppends = 200;
  for (int i = 0; i < kAppends; ++i) {
    journal->Append({OneOfEachKind()[0]}, /*durable=*/i % 7 == 0, [&order, i, this](const Status& status) {
      EXPECT_TRUE(status.ok());
      EXPECT_EQ(std::this_thread::get_id(), thread_);
      order.push_back(i);
    });
  }
  EXPECT_THAT(order, IsEmpty()) << "never from within Append";

  EXPECT_TRUE(RunUntil(loop_, [&] { return order.size() == static_cast<size_t>(kAppends); }));
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST_F(JournalTest, ManyAppendsAtOnceShareTheirSyncs) {
  const auto journal = Opened();
  const std::vector<Decision> one = {OneOfEachKind()[3]};
  constexpr size_t kAppends = 1000;

  for (size_t i = 0; i < kAppends; ++i) Append(*journal, one);
  RunUntilAnswered();

  EXPECT_THAT(answers_, Each(""));
  EXPECT_GE(journal->syncs(), 1);
  EXPECT_LT(journal->syncs(), static_cast<int64_t>(kAppends / 2));
}

TEST_F(JournalTest, WhatNeedNotBeDurableIsWrittenWithoutASync) {
  const auto journal = Opened();

  Append(*journal, OneOfEachKind(), /*durable=*/false);
  RunUntilAnswered();

  EXPECT_EQ(journal->syncs(), 0);
  EXPECT_EQ(DecodeJournal(ReadFile(path_))->decisions.size(), OneOfEachKind().size());
}

TEST_F(JournalTest, AnAppendOfNothingIsAnsweredInItsPlace) {
  const auto journal = Opened();

  Append(*journal, OneOfEachKind());
  Append(*journal, {}, /*durable=*/false);
  RunUntilAnswered();

  EXPECT_EQ(answers_.size(), 2U);
}

TEST_F(JournalTest, AJournalThatGoesAwayWritesWhatItWasGivenAndAnswersNobody) {
  bool answered = false;
  {
    const auto journal = Opened();
    journal->Append(OneOfEachKind(), /*durable=*/true, [&](const Status&) { answered = true; });
  }
  loop_.Post([this] { loop_.Stop(); });
  loop_.Run();
  EXPECT_FALSE(answered);

  const auto journal = Opened();

  EXPECT_EQ(read_.size(), OneOfEachKind().size());
}

TEST_F(JournalTest, AnAnswerMayEndTheJournal) {
  auto journal = Opened();
  for (int i = 0; i < 2; ++i) {
    journal->Append(OneOfEachKind(), /*durable=*/true, [&](const Status&) {
      ASSERT_NE(journal, nullptr) << "the second answer comes from a journal that is gone";
      journal.reset();
    });
  }

  EXPECT_TRUE(RunUntil(loop_, [&] { return journal == nullptr; }));
}

TEST_F(JournalTest, AFailedWriteIsToldToItAndToAllLaterOnes) {
  const std::vector<Decision> decisions = OneOfEachKind();
  {
    const auto journal = Opened();
    AppendAndWait(*journal, {decisions[0]});
    {
      const FileSizeLimit limit(ReadFile(path_).size() + 10);
      Append(*journal, {decisions[1]});
      Append(*journal, {decisions[2]});
      RunUntilAnswered();
    }
    AppendAndWait(*journal, {decisions[3]});  // there is space again, but a hole before it
  }

  ASSERT_EQ(answers_.size(), 4U);
  EXPECT_EQ(answers_[0], "");
  EXPECT_THAT(answers_[1], HasSubstr(StrCat("append to ", path_)));
  EXPECT_EQ(answers_[2], answers_[1]);
  EXPECT_EQ(answers_[3], answers_[1]);
}

TEST_F(JournalTest, AfterAFailedWriteTheNextMasterFindsAllThatWasAnswered) {
  const std::vector<Decision> decisions = OneOfEachKind();
  {
    const auto journal = Opened();
    AppendAndWait(*journal, {decisions[0]});
    const FileSizeLimit limit(ReadFile(path_).size() + 10);
    AppendAndWait(*journal, {decisions[1]});
  }

  const auto journal = Opened();
  EXPECT_EQ(Json(read_), Json({decisions[0]}));
  AppendAndWait(*journal, {decisions[2]});
  EXPECT_EQ(answers_.back(), "");
}

}  // namespace
}  // namespace tony::am
