#include "runtime/os/file_system.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace tony {
namespace {

TEST(FileSystemTest, AMissingPathHasTheFileSystemOfItsNearestExistingFolder) {
  const TempFolder folder;
  EXPECT_EQ(NearestExisting(folder.path() / "a/b"), folder.path());
  const auto here = FileSystemOf(folder.path() / "a/b");
  ASSERT_TRUE(here.ok());
  EXPECT_FALSE(here->type.empty());
  EXPECT_FALSE(here->network);
  EXPECT_GT(here->free_bytes, 0);
}

TEST(FileSystemTest, NfsIsRecognizedAsANetworkFileSystemAndUnknownTypesAreNamedByNumber) {
  EXPECT_EQ(FileSystemOfMagic(0x01021994).type, "tmpfs");
  EXPECT_FALSE(FileSystemOfMagic(0x01021994).network);
  EXPECT_EQ(FileSystemOfMagic(0x6969).type, "nfs");
  EXPECT_TRUE(FileSystemOfMagic(0x6969).network);
  EXPECT_EQ(FileSystemOfMagic(0x1a2b).type, "type 0x1a2b");
  EXPECT_EQ(NearestExisting("/no/such/folder"), "/");
}

}  // namespace
}  // namespace tony
