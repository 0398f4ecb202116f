#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

using Variables = std::map<std::string, std::string>;

TEST(VariablesTest, AVariableListIsSplitAtCommasAndEachItemAtItsFirstEqualsSign) {
  const auto parsed = ParseWith({{"tony.execution.envs", "A=1, B=x=y ,C=,"}, {"tony.containers.envs", "D=4"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.execution_env, (Variables{{"A", "1"}, {"B", "x=y"}, {"C", ""}}));
  EXPECT_EQ(parsed->spec.container_env, (Variables{{"D", "4"}}));
}

TEST(VariablesTest, TheKeyOfASingleVariableAcceptsAnyValueAndOverridesTheVariableList) {
  const auto parsed = ParseWith(
      {{"tony.execution.envs", "A=1,B=2"}, {"tony.execution.env.A", " x,y=z\n"}, {"tony.containers.env.P.Q", ""}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.execution_env, (Variables{{"A", " x,y=z\n"}, {"B", "2"}}));
  EXPECT_EQ(parsed->spec.container_env, (Variables{{"P.Q", ""}}));
}

TEST(VariablesTest, AListItemWithoutAnEqualsSignIsRejectedAndNotQuotedInTheError) {
  EXPECT_EQ(ErrorWith({{"tony.execution.envs", "A=1,DB_PASSWORD=p4ss,w0rd"}}),
            "tony.execution.envs (from -conf): expected NAME=VALUE pairs, and the item after \"DB_PASSWORD\" has no =; "
            "put a value that contains a comma into tony.execution.env.NAME");
  EXPECT_EQ(ErrorWith({{"tony.containers.envs", "p4ss"}}),
            "tony.containers.envs (from -conf): expected NAME=VALUE pairs, and the first item has no =; put a value "
            "that contains a comma into tony.containers.env.NAME");
}

TEST(VariablesTest, AnEnvironmentVariableWithAnInvalidNameOrANulCharacterIsRejected) {
  EXPECT_EQ(ErrorWith({{"tony.execution.envs", "=1"}}), "variable \"\" (from -conf): the name is empty");
  EXPECT_EQ(ErrorWith({{"tony.execution.env.", "1"}}),
            "variable \"\" (from -conf): the name is empty\n"
            "warning: tony.execution.env. (from -conf): unknown key, ignored; did you mean tony.execution.envs?");
  EXPECT_EQ(ErrorWith({{"tony.containers.env.A=B", "1"}}), "variable \"A=B\" (from -conf): a name cannot contain =");
  EXPECT_EQ(ErrorWith({{"tony.execution.env.A", std::string("x\0", 2)}}),
            "variable \"A\" (from -conf): a variable cannot contain a NUL character");
  EXPECT_EQ(ErrorWith({{std::string("tony.execution.env.A\0", 21), "x"}}),
            "variable \"A?\" (from -conf): a variable cannot contain a NUL character");
}

TEST(VariablesTest, AVariableOf131072BytesOrMoreIsRejected) {
  EXPECT_EQ(ErrorWith({{"tony.execution.env.AB", std::string(131072 - 4, 'x')}}), "accepted");
  EXPECT_EQ(
      ErrorWith({{"tony.execution.env.AB", std::string(131072 - 3, 'x')}}),
      "variable \"AB\" (from -conf): NAME=VALUE has 131072 bytes, and the kernel accepts at most 131071; put the value "
      "into a file");
}

TEST(VariablesTest, VariablesThatTogetherHave1500000BytesOrMoreAreRejected) {
  Settings settings;
  for (int i = 0; i < 15; ++i) {
    settings.emplace_back(StrCat(i % 2 ? "tony.execution.env.V" : "tony.containers.env.V", 10 + i),
                          std::string(100'000, 'x'));
  }
  EXPECT_EQ(ErrorWith(settings),
            "tony.execution.envs, tony.containers.envs and secrets together have 1500075 bytes; expected less than "
            "1500000");
  settings.pop_back();
  EXPECT_EQ(ErrorWith(settings), "accepted");
}

}  // namespace
}  // namespace tony
