#include "runtime/records/record_store.h"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "runtime/base/strings.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr auto kKept = Durability::kSurvivesPowerCut;

class RecordStoreTest : public ::testing::Test {
 protected:
  std::string Bytes(const std::string& name) const {
    const auto record = store_.Get(name);
    EXPECT_TRUE(record.ok()) << record.error().message;
    return record.ok() && *record ? (*record)->bytes : "none";
  }
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(temp_.path()), {}));
  }

  TempFolder temp_;
  const LocalRecordStore store_{temp_.path()};
};

TEST_F(RecordStoreTest, ARecordIsReadAsItWasWrittenLast) {
  EXPECT_EQ(Bytes("status.json"), "none");
  ASSERT_TRUE(store_.Replace("status.json", "old", Durability::kLostWithPower).ok());
  ASSERT_TRUE(store_.Replace("status.json", std::string_view("new\0", 4), kKept).ok());
  EXPECT_EQ(Bytes("status.json"), std::string("new\0", 4));
  EXPECT_EQ((*store_.Get("status.json"))->writer, "");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(RecordStoreTest, OfManyWhoPutANewOneTheFirstAloneHasPutIt) {
  std::atomic<int> first = 0;
  std::vector<std::jthread> racers;
  for (int i = 0; i < 8; ++i)
    racers.emplace_back([&, i] {
      const auto put = store_.PutNew("acked.json", StrCat(i), kKept);
      ASSERT_TRUE(put.ok()) << put.error().message;
      if (*put) ++first;
    });
  racers.clear();
  EXPECT_EQ(first, 1);
  const std::string bytes = Bytes("acked.json");
  EXPECT_FALSE(*store_.PutNew("acked.json", "later", kKept));
  EXPECT_EQ(Bytes("acked.json"), bytes);
  EXPECT_EQ(Files(), 1u) << "nothing is left of those who came late";
}

TEST_F(RecordStoreTest, RecordsOfAFolderAreListedAndRemoved) {
  EXPECT_THAT(*store_.List("kill-requests"), IsEmpty());
  ASSERT_TRUE(store_.Replace("kill-requests/a.json", "1", Durability::kLostWithPower).ok());
  ASSERT_TRUE(store_.Replace("kill-requests/b.json", "2", Durability::kLostWithPower).ok());
  std::ofstream(temp_.path() / "kill-requests/.c.json.4f") << "half";
  EXPECT_THAT(*store_.List("kill-requests"), UnorderedElementsAre("a.json", "b.json"));
  ASSERT_TRUE(store_.Remove("kill-requests/a.json").ok());
  EXPECT_TRUE(store_.Remove("kill-requests/a.json").ok()) << "again";
  EXPECT_THAT(*store_.List("kill-requests"), UnorderedElementsAre("b.json"));
}

TEST_F(RecordStoreTest, WhatCannotBeReadOrWrittenIsNamed) {
  std::filesystem::create_directory(temp_.path() / "status.json");
  EXPECT_THAT(store_.Get("status.json").error().message, HasSubstr(store_.PlaceOf("status.json")));
  EXPECT_THAT(store_.Replace("status.json", "", kKept).error().message, HasSubstr(store_.PlaceOf("status.json")));
  EXPECT_THAT(store_.Remove("status.json").error().message, HasSubstr(store_.PlaceOf("status.json")));
  EXPECT_EQ(store_.PutNew("missing/acked.json", "", kKept).error().code, ErrorCode::kCannotWrite);
}

TEST_F(RecordStoreTest, AChangeIsTold) {
  EventLoop loop;
  int told = 0;
  const auto watch = store_.Watch(loop, [&] { ++told; });
  ASSERT_TRUE(watch.ok()) << watch.error().message;
  ASSERT_TRUE(store_.Replace("am.lease", "1", Durability::kLostWithPower).ok());
  EXPECT_TRUE(RunUntil(loop, [&] { return told > 0; }));
}

}  // namespace
}  // namespace tony
