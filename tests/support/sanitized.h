// What this build was made with (TONY_SANITIZE): sanitizers make the programs slow and large, and keep what was freed.
#pragma once

#include <string_view>

namespace tony {

inline constexpr std::string_view kSanitizers = TONY_SANITIZERS;
inline constexpr bool kSanitized = !kSanitizers.empty();
inline constexpr bool kThreadSanitized = kSanitizers == "thread";

}  // namespace tony
