// The table of keys for people: what `tony help keys` prints, and the rows of runtime/config/KEYS.md.
#pragma once

#include <string>
#include <string_view>

namespace tony {

// The keys with `part` in their names; empty: there is none.
std::string KeyList(std::string_view part);
std::string KeyRowsInMarkdown();

}  // namespace tony
