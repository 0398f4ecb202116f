// A condition on the node of a container, in the notation of Hadoop's PlacementConstraintParser. Pure.
//
//   in,SCOPE,TAG,...      notin,SCOPE,TAG,...      SCOPE is node or rack
//   cardinality,SCOPE,TAG,...,MIN,MAX
//   ATTRIBUTE=VALUE,...   ATTRIBUTE!=VALUE,...     attributes of nodes
//   and(C:C:...)          or(C:C:...)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

struct PlacementConstraint {
  enum class Form { kTags, kEqual, kNotEqual, kAnd, kOr };
  // A tag of containers, e.g. "train", and the applications to which the containers belong: self, not-self or all.
  struct Tag {
    std::string applications = "self";
    std::string name;
    bool operator==(const Tag&) const = default;
  };

  Form form = Form::kTags;
  std::vector<PlacementConstraint> parts = {};  // for kAnd and kOr
  // For kTags: how many containers with each of the tags a node, or a rack, must have before the new one is added.
  std::string scope = "node";
  int32_t least = 0, most = 0;
  std::vector<Tag> tags = {};
  std::string attribute = {}, value = {};  // for kEqual and kNotEqual

  bool operator==(const PlacementConstraint&) const = default;
};

// An error names the position in the text, and what was expected there. Some texts are refused although Hadoop's parser
// reads them, because Hadoop reads them differently from their look: a condition without tags, numbers that no node can
// meet, and the signs ( ) : = ! within a tag or a value. Several values of an attribute become an "or", or an "and" for
// "!=", because a ResourceManager compares only one of them.
Result<PlacementConstraint> ParsePlacementConstraint(std::string_view text);

}  // namespace tony
