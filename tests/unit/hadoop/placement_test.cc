#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/hadoop/wire_records.h"
#include "tests/support/places.h"

namespace tony::hadoop {
namespace {

std::string MessageText(const wire::SimplePlacementConstraint& constraint) {
  constexpr const char* kTypes[] = {"", "NODE_ATTRIBUTE", "ALLOCATION_TAG"};
  constexpr const char* kSigns[] = {"", "NO_OP", "EQ", "NE"};
  std::vector<std::string> targets;
  for (const auto& target : constraint.targetexpressions()) {
    std::vector<std::string> values(target.targetvalues().begin(), target.targetvalues().end());
    std::ranges::sort(values);
    targets.push_back(StrCat(kTypes[target.targettype()], " ", target.targetkey(), " ", Join(values, "+")));
  }
  std::ranges::sort(targets);
  return StrCat(constraint.scope(), " ", constraint.mincardinality(), "..", constraint.maxcardinality(), " ",
                kSigns[constraint.attributeopcode()], " ", Join(targets, ", "));
}

std::string MessageText(const wire::PlacementConstraint& constraint) {
  if (constraint.has_simpleconstraint()) return MessageText(constraint.simpleconstraint());
  const auto& composite = constraint.compositeconstraint();
  std::vector<std::string> parts;
  for (const auto& part : composite.childconstraints()) parts.push_back(MessageText(part));
  const bool is_and = composite.compositetype() == wire::CompositePlacementConstraint::AND;
  return StrCat(is_and ? "AND(" : "OR(", Join(parts, "; "), ")");
}

// The suite "wire" of tests/conformance/hadoop compares the same file with Hadoop's own parser and client.
TEST(PlacementConstraintMessageTest, AConstraintBecomesTheMessageThatHadoopsClientSends) {
  std::ifstream file(SourceFolder() + "/tests/conformance/hadoop/placement_constraints.txt");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    if (line.starts_with('#')) continue;
    const size_t end = line.find(" | ");
    ASSERT_NE(end, std::string::npos) << line;
    const std::string expected = line.substr(end + 3, line.find(" | ", end + 3) - end - 3);
    const auto parsed = ParsePlacementConstraint(line.substr(0, end));
    EXPECT_EQ(parsed.ok() ? MessageText(ToWire(*parsed)) : "refused", expected) << line;
  }
  EXPECT_GT(lines, 0);
}

}  // namespace
}  // namespace tony::hadoop
