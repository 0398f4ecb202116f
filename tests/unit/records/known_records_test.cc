#include <gmock/gmock.h>

#include "runtime/records/job_records.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

class KnownRecordsTest : public ::testing::Test {
 protected:
  std::string Bytes(const std::string& name) const {
    const auto record = records_.Get(name);
    EXPECT_TRUE(record.ok()) << record.error().message;
    return record.ok() && *record ? (*record)->bytes : "none";
  }

  TempFolder temp_;
  const std::shared_ptr<const RecordStore> store_ = std::make_shared<LocalRecordStore>(temp_.path());
  const KnownRecords records_{store_, {{"token", "abc"}, {"secrets", std::nullopt}}};
};

TEST_F(KnownRecordsTest, TheStoreIsNotAskedForWhatIsKnown) {
  std::filesystem::create_directory(temp_.path() / "token");  // no record: to ask for it is an error
  std::filesystem::create_directory(temp_.path() / "secrets");
  EXPECT_FALSE(store_->Get("token").ok());
  EXPECT_EQ(Bytes("token"), "abc");
  EXPECT_EQ(Bytes("secrets"), "none");
}

TEST_F(KnownRecordsTest, AllElseIsTheStores) {
  EXPECT_EQ(Bytes("status.json"), "none");
  ASSERT_TRUE(store_->Replace("status.json", "new", Durability::kSurvivesPowerCut).ok());
  EXPECT_EQ(Bytes("status.json"), "new");
  ASSERT_TRUE(*records_.PutNew("acked.json", "1", Durability::kSurvivesPowerCut));
  ASSERT_TRUE(records_.Replace("am.lease", "2", Durability::kSurvivesPowerCut).ok());
  EXPECT_EQ((*store_->Get("acked.json"))->bytes, "1");
  EXPECT_EQ((*store_->Get("am.lease"))->bytes, "2");
  EXPECT_THAT(*records_.List(""), ::testing::IsSupersetOf({"acked.json", "am.lease", "status.json"}));
  ASSERT_TRUE(records_.Remove("acked.json").ok());
  EXPECT_EQ(Bytes("acked.json"), "none");
  EXPECT_EQ(records_.PlaceOf("token"), store_->PlaceOf("token"));
}

}  // namespace
}  // namespace tony
