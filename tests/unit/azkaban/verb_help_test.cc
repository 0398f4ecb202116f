#include "runtime/cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "azkaban-plugin/doctor.h"
#include "azkaban-plugin/install.h"

namespace tony::azkaban {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(VerbHelpTest, IsAskedForInTheUsualWays) {
  for (const char* word : {"--help", "-help", "-h"}) EXPECT_TRUE(AsksForHelp({"/jobtypes", word})) << word;
  EXPECT_FALSE(AsksForHelp({}));
  EXPECT_FALSE(AsksForHelp({"help", "--json"}));
}

TEST(VerbHelpTest, NamesEachOptionOfAVerb) {
  EXPECT_THAT(HelpOf("tony-azkaban", InstallVerb()),
              StartsWith("tony-azkaban install JOBTYPES_FOLDER [OPTIONS]\n  make type=tony"));
  for (const VerbSpec& verb : {InstallVerb(), DoctorVerb()}) {
    for (const OptionSpec& option : verb.options) {
      EXPECT_THAT(HelpOf("tony-azkaban", verb), HasSubstr(Dashed(option.name)));
      EXPECT_THAT(HelpOf("tony-azkaban", verb), HasSubstr(std::string("  ") + std::string(option.text) + "\n"));
    }
  }
  EXPECT_THAT(HelpOf("tony-azkaban", DoctorVerb()), HasSubstr("\n  --user NAME...  "));
}

}  // namespace
}  // namespace tony::azkaban
