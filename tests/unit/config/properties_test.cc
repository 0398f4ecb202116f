#include "runtime/config/properties.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony {
namespace {

std::string Expanded(const Properties& properties, const std::string& key) {
  const auto expanded = ExpandVariables(properties);
  if (!expanded.ok()) return expanded.error().message;
  return expanded->Find(key)->value;
}

TEST(PropertiesTest, ALaterFileReplacesAllButFinalValues) {
  Properties first, later;
  first.Set("plain", "1", "a:1");
  first.Set("locked", {"1", "a:2", true});
  later.Set("plain", "2", "b:1");
  later.Set("locked", "2", "b:2");
  later.Set("new", "2", "b:3");
  first.Merge(later);
  EXPECT_EQ(first.Find("plain")->origin, "b:1");
  EXPECT_EQ(first.Find("locked")->value, "1");
  EXPECT_EQ(first.Find("new")->value, "2");
  EXPECT_EQ(first.Find("absent"), nullptr);
}

TEST(PropertiesTest, VariablesThatNameAKeyAreReplacedAndOthersStay) {
  Properties properties;
  properties.Set("dir", "/data/${user}", "f:1");
  properties.Set("user", "ann", "f:2");
  properties.Set("command", "cd ${dir} && echo ${HOME} $PWD ${dir} ${} ${a b} ${", "f:3");
  EXPECT_EQ(Expanded(properties, "command"), "cd /data/ann && echo ${HOME} $PWD /data/ann ${} ${a b} ${");
  EXPECT_EQ(ExpandVariables(properties)->Find("command")->origin, "f:3");
}

TEST(PropertiesTest, TheInnerVariableOfANestedOneIsReplacedOnce) {
  Properties properties;
  properties.Set("a", "b", "f:1");
  properties.Set("b", "x", "f:2");
  properties.Set("c", "${${a}}", "f:3");
  EXPECT_EQ(Expanded(properties, "c"), "${b}");
}

TEST(PropertiesTest, AKeyThatRefersToItselfIsAnErrorThatNamesThePlace) {
  Properties properties;
  properties.Set("a", "${b}", "f:1");
  properties.Set("b", "${a}", "f:2");
  EXPECT_EQ(Expanded(properties, "a"), "f:1: ${a} refers back to itself");
}

TEST(PropertiesTest, DeepNestingIsRefusedBeforeItExhaustsTheStack) {
  Properties properties;
  for (int i = 0; i < 1000; ++i) properties.Set(StrCat("k", i), StrCat("${k", i + 1, "}"), "f:1");
  const std::string message = Expanded(properties, "k0");
  EXPECT_NE(message.find("is nested more than 20 deep"), std::string::npos) << message;
}

TEST(PropertiesTest, ValuesMadeToExplodeAreRefused) {
  Properties properties;
  properties.Set("k0", std::string(1000, 'x'), "f:1");
  for (int i = 1; i < 19; ++i) properties.Set(StrCat("k", i), StrCat("${k", i - 1, "}${k", i - 1, "}"), "f:1");
  EXPECT_EQ(Expanded(properties, "k18"), "f:1: values grow too large by ${...}");
}

}  // namespace
}  // namespace tony
