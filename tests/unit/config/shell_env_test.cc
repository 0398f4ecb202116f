// -shell_env and -container_env, which TonY cut at commas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "runtime/config/properties.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ShellEnvTest : public ::testing::Test {
 protected:
  ShellEnvTest() { setenv("TONY_CONF_DIR", folder_.path().c_str(), 1); }
  ~ShellEnvTest() override { unsetenv("TONY_CONF_DIR"); }

  Properties Loaded(const std::vector<std::string>& shell_env) {
    auto loaded = LoadProperties({.shell_env = shell_env}, folder_.path());
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return loaded.ok() ? *std::move(loaded) : Properties();
  }
  static std::string ValueOf(const Properties& properties, const std::string& name) {
    const Property* property = properties.Find("tony.execution.env." + name);
    return property ? property->value : "none";
  }

  const TempFolder folder_;
};

TEST_F(ShellEnvTest, PairsAloneAreCutAtTheirCommas) {
  const Properties loaded = Loaded({"A=1,B=x=y,_c2="});
  EXPECT_EQ(ValueOf(loaded, "A"), "1");
  EXPECT_EQ(ValueOf(loaded, "B"), "x=y");
  EXPECT_EQ(ValueOf(loaded, "_c2"), "");
  EXPECT_THAT(loaded.warnings(), IsEmpty());
}

TEST_F(ShellEnvTest, AValueThatHoldsACommaIsOneValueAndAWarningWithoutIt) {
  for (const std::string text : {"A=x,y", "A=-Da=1,-Db=2", "A=1,B=2,", "A=1,2b=3", "A=1, B=2"}) {
    const Properties loaded = Loaded({text});
    EXPECT_EQ(ValueOf(loaded, "A"), text.substr(2));
    EXPECT_THAT(loaded.warnings(), ElementsAre("-shell_env A: one value, with its commas; TonY cut it there")) << text;
  }
}

TEST_F(ShellEnvTest, WhatLooksLikeASecondVariableBehindABlankIsAWarning) {
  const Properties loaded = Loaded({"A=/a:/b B2=1 C=2"});
  EXPECT_EQ(ValueOf(loaded, "A"), "/a:/b B2=1 C=2");
  EXPECT_THAT(
      loaded.warnings(),
      ElementsAre("-shell_env A: one value, with its blanks; B2 is a variable of its own only behind a comma or in "
                  "a -shell_env of its own"));
  for (const std::string text : {"A=-Da=1 -Db=2", "A=1 2=3", "A=a b == c", "A=x=y z", "A= =b"})
    EXPECT_THAT(Loaded({text}).warnings(), IsEmpty()) << text;
}

TEST_F(ShellEnvTest, TheLastOfANameCounts) {
  EXPECT_EQ(ValueOf(Loaded({"A=1,B=2", "B=3"}), "B"), "3");
  EXPECT_EQ(ValueOf(Loaded({"B=3", "A=1,B=2"}), "B"), "2");
}

}  // namespace
}  // namespace tony
