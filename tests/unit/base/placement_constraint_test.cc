#include "runtime/base/placement_constraint.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/support/table_test.h"

namespace tony {
namespace {

std::string ErrorOf(const std::string& text) {
  const auto parsed = ParsePlacementConstraint(text);
  return parsed.ok() ? "accepted" : parsed.error().message;
}

const TestRow kConstraintErrors[] = {
    {"ATextThatIsNotAConstraintIsRefusedWithTheForms",
     {{"worker", "at character 1: expected in, notin, cardinality, and(...), or(...) or ATTRIBUTE=VALUE"},
      {"", "at character 1: expected in, notin, cardinality, and(...), or(...) or ATTRIBUTE=VALUE"},
      {"and(in,node,a:on,node,b)",
       "at character 15: expected in, notin, cardinality, and(...), or(...) or ATTRIBUTE=VALUE"}}},
    {"AnErrorInTheScopeOrTheTagsNamesTheirPosition",
     {{"in, machine,a", "at character 5: expected node or rack after in"},
      {"NotIn", "at character 6: expected node or rack after NotIn"},
      {"notin,node", "at character 11: expected a tag of containers after node"},
      {"in,node,app-tag/a",
       "at character 9: expected self, not-self or all before the / of a tag, and one tag behind it"},
      {"in,node,a=1", "at character 9: expected a tag, without = and !"}}},
    {"AnErrorInTheNumbersNamesTheirPosition",
     {{"cardinality,node,a,3", "at character 21: expected cardinality,SCOPE,TAG,...,MIN,MAX with numbers MIN <= MAX"},
      {"cardinality,node,a,x,1", "at character 20: expected cardinality,SCOPE,TAG,...,MIN,MAX with numbers MIN <= MAX"},
      {"cardinality,node,a,3,1",
       "at character 22: expected cardinality,SCOPE,TAG,...,MIN,MAX with numbers MIN <= MAX"}}},
    {"AnErrorInAnAttributeNamesItsPosition",
     {{"a/b/c=1", "at character 1: expected the name of a node attribute before =, such as rm.yarn.io/os"},
      {"os=a,b=c", "at character 6: expected a value, without = and !"},
      {"os!=", "at character 5: expected a value, without = and !"}}},
    {"TheNotationOfTheDistributedShellIsRefusedWithTheKeysOfTony",
     {{"train=3,notin,node,train",
       "at character 9: expected a value; if TAG=NUMBER is meant as in Hadoop's distributed shell, use "
       "tony.<role>.allocation-tags and tony.<role>.instances instead"}}},
    {"ABracketOrAColonInTheWrongPlaceIsRefused",
     {{"and(in,node,a", "at character 14: expected ) of and("},
      {"in,node,a(b)", "at character 10: a bracket may only follow and, or"},
      {"in,node,a:os=x", "at character 10: expected the end; and(C:C) or or(C:C) joins two constraints"},
      {"or(a=1:b=2)c", "at character 12: expected the end; and(C:C) or or(C:C) joins two constraints"}}},
};

TABLE_TEST(PlacementConstraintErrorTest, kConstraintErrors, Gives(ErrorOf));

TEST(PlacementConstraintTest, TextsNestDeeplyWithinALimit) {
  std::string deep = "a=1";
  for (int i = 0; i < 20; ++i) deep = "and(" + deep + ")";
  EXPECT_EQ(ErrorOf(deep), "accepted");
  EXPECT_EQ(ErrorOf("and(" + deep + ")"), "at character 81: expected at most 20 brackets within each other");
}

}  // namespace
}  // namespace tony
