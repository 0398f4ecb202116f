// JSON that is put together as text.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tony {

// Appends the text as a JSON string, escaped and with its quotes. Bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);
std::string JsonString(std::string_view text);
// The JSON object `object` with `fields` (name -> JSON value) added at its end.
std::string WithFields(std::string object, const std::map<std::string, std::string>& fields);

}  // namespace tony
