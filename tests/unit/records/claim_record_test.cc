#include "runtime/records/claim_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::HasSubstr;

class ClaimRecordTest : public ::testing::Test {
 protected:
  void Write(const std::string& content) const {
    std::ofstream(temp_.path() / "claim.json", std::ios::binary) << content;
  }
  static ClaimRecord Sample() {
    const Instant due = RealClock().Now() + Duration(60'000);
    return {.epoch = {3},
            .claim = {{"o1"}, Duration(1'500)},
            .watcher = {"w1"},
            .planned = {{.reason = "late", .grace = Duration(-1), .if_owner = {"o1"}, .due = due, .asker = "root"},
                        {.reason = "", .grace = Duration(0), .if_watcher = {"w1"}, .due = due}}};
  }

  TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path());
};

TEST_F(ClaimRecordTest, IsReadAsItWasWritten) {
  ASSERT_TRUE(records_.WriteLease({.epoch = {3}, .am = {SocketOf({3})}}).ok());
  ClaimRecord record = Sample();
  ASSERT_TRUE(WriteClaimRecord(records_, record).ok());
  auto read = ReadClaimRecord(records_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  for (size_t i = 0; i < record.planned.size(); ++i) {
    EXPECT_LE(std::chrono::abs(read->planned.at(i).due - record.planned[i].due), Duration(100))
        << "two clocks are read";
    read->planned[i].due = record.planned[i].due;
  }
  EXPECT_EQ(*read, record);
}

TEST_F(ClaimRecordTest, ThatOfAnEarlierMasterDoesNotCount) {
  ASSERT_TRUE(WriteClaimRecord(records_, Sample()).ok());
  EXPECT_THAT(ReadClaimRecord(records_).error().message, HasSubstr("not the one that ruled last")) << "no lease at all";
  ASSERT_TRUE(records_.WriteLease({.epoch = {4}, .am = {SocketOf({4})}}).ok());
  EXPECT_THAT(ReadClaimRecord(records_).error().message, HasSubstr("of application master 3, which is not the one"));
}

TEST_F(ClaimRecordTest, AMissingOneIsNoneAndRemovingItIsHarmless) {
  EXPECT_EQ(ReadClaimRecord(records_).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(RemoveClaimRecord(records_).ok());
  ASSERT_TRUE(WriteClaimRecord(records_, Sample()).ok());
  EXPECT_TRUE(RemoveClaimRecord(records_).ok());
  EXPECT_EQ(ReadClaimRecord(records_).error().code, ErrorCode::kNotFound);
}

TEST_F(ClaimRecordTest, ADamagedOneIsRefusedWithItsField) {
  ASSERT_TRUE(records_.WriteLease({.epoch = {3}, .am = {SocketOf({3})}}).ok());
  const std::string whole = ToJson(Sample());
  for (size_t length = 0; length < whole.size(); ++length) {
    Write(whole.substr(0, length));
    EXPECT_FALSE(ReadClaimRecord(records_).ok()) << length;
  }
  const std::pair<const char*, const char*> damaged[] = {
      {"[]", ""},
      {R"({"schema":2,"epoch":3,"owner":"","watch_timeout_ms":0,"watcher":"","planned":[]})", "schema"},
      {R"({"schema":1,"epoch":0,"owner":"","watch_timeout_ms":0,"watcher":"","planned":[]})", "epoch"},
      {R"({"schema":1,"epoch":3,"owner":7,"watch_timeout_ms":0,"watcher":"","planned":[]})", "owner"},
      {R"({"schema":1,"epoch":3,"owner":"","watch_timeout_ms":-1,"watcher":"","planned":[]})", "watch_timeout_ms"},
      {R"({"schema":1,"epoch":3,"owner":"","watch_timeout_ms":0,"planned":[]})", "watcher"},
      {R"({"schema":1,"epoch":3,"owner":"","watch_timeout_ms":0,"watcher":"","planned":[{}]})", "planned[0].reason"},
  };
  for (const auto& [text, field] : damaged) {
    Write(text);
    const auto read = ReadClaimRecord(records_);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.error().message, HasSubstr((temp_.path() / "claim.json").string()));
    EXPECT_THAT(read.error().message, HasSubstr(field));
  }
}

}  // namespace
}  // namespace tony
