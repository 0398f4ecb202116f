// Users by name and by number. May ask a directory service over the network: not for every look.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tony {

std::string UserName(int64_t user);                          // its number where it has no name
std::optional<int64_t> UserNumber(const std::string& name);  // of a name, or of a number as text

}  // namespace tony
