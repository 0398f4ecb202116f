// Reads the JSON of a job document, strictly: what two readers could understand differently is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

struct JsonNode {
  enum class Kind { kNull, kBool, kNumber, kText, kArray, kObject };
  Kind kind = Kind::kNull;
  std::string text;                // of a number or boolean: as it is written
  std::vector<std::string> names;  // of an object: each item's
  std::vector<JsonNode> items;     // of an array or object, in the order of the text
};
std::string_view ToString(JsonNode::Kind kind);  // "a text", "a list", ...

// kInvalid with "name:line" for what is no JSON, a member that is there twice, bytes that are not UTF-8, and for what
// is nested deeper or has more values than any job.
Result<JsonNode> ParseDocumentJson(std::string_view text, const std::string& name);

// A name or value from outside, for a message: in quotes, on one line, cut.
std::string InQuotes(std::string_view text);

}  // namespace tony
