#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/cli/help.h"
#include "tests/support/places.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(KeyListTest, AKeyIsListedWithItsTypeItsDefaultItsMeaningAndRemarks) {
  EXPECT_THAT(KeyList(""), HasSubstr("tony.application.timeout  (milliseconds, 0 if not set)\n    time limit of "));
  EXPECT_THAT(KeyList(""), HasSubstr("tony.secret.key  (text, changeme if not set, secret)\n"));
  EXPECT_THAT(KeyList(""), HasSubstr("\n    only with tony.scheduler=yarn\n"));
  EXPECT_THAT(KeyList(""), HasSubstr("\n    no effect: TonY in C++ runs no Java\n"));
}

TEST(KeyListTest, APartOfAKeyNameSelectsTheMatchingKeys) {
  EXPECT_THAT(KeyList("docker"), HasSubstr("tony.docker.enabled"));
  EXPECT_THAT(KeyList("docker"), Not(HasSubstr("tony.application.name")));
  EXPECT_EQ(KeyList("no.such.part"), "");
}

TEST(KeyListTest, KeysMdContainsTheRowsPrintedByTheHelpKeysCommand) {
  std::stringstream page;
  page << std::ifstream(SourceFolder() + "/runtime/config/KEYS.md").rdbuf();
  EXPECT_TRUE(page.str().ends_with(KeyRowsInMarkdown()))
      << "the rows of runtime/config/KEYS.md are what \"tony help keys --markdown\" prints";
}

}  // namespace
}  // namespace tony
