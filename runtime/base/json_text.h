// JSON that is put together as text.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tony {

std::string JsonString(std::string_view text);  // quoted and escaped; bytes that are not UTF-8 become U+FFFD
// The JSON object `object` with `fields` (name -> JSON value) added at its end.
std::string WithFields(std::string object, const std::map<std::string, std::string>& fields);

}  // namespace tony
