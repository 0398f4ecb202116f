// A job document as it is read: JSON or YAML, strictly, as what two readers could understand differently is refused.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

struct DocumentNode {
  enum class Kind { kNull, kBool, kNumber, kText, kArray, kObject };
  Kind kind = Kind::kNull;
  std::string text;                 // of a number or boolean: as JSON writes it
  std::vector<std::string> names;   // of an object: each item's
  std::vector<DocumentNode> items;  // of an array or object, in the order of the text
};
std::string_view ToString(DocumentNode::Kind kind);  // "a text", "a list", ...

inline constexpr size_t kMostDocumentDepth = 8;        // a job document has 5
inline constexpr size_t kMostDocumentValues = 20'000;  // a hundred times what jobs have

// kInvalid with "name:line" for what is no JSON, a member that is there twice, bytes that are not UTF-8, and for what
// is nested deeper or has more values than any job.
Result<DocumentNode> ParseDocumentJson(std::string_view text, const std::string& name);

// The same of YAML 1.2, with aliases. Refused besides: what YAML 1.1 reads otherwise (yes, 010, 1:30, 2026-01-31; in
// quotes they are texts), merge keys, tags but !!str, and a second document.
Result<DocumentNode> ParseDocumentYaml(std::string_view text, const std::string& name);

// A name or value from outside, for a message: in quotes, on one line, cut.
std::string InQuotes(std::string_view text, size_t longest = 60);

}  // namespace tony
