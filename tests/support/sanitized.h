// What this test was built with (TONY_SANITIZE): sanitizers make code slow and large, and keep what was freed. A test
// of the built programs asks SanitizedPrograms() of tests/support/tony_runner.h, since it runs programs of other builds
// too.
#pragma once

#include <string_view>

namespace tony {

inline constexpr std::string_view kSanitizers = TONY_SANITIZERS;
inline constexpr bool kSanitized = !kSanitizers.empty();
inline constexpr bool kThreadSanitized = kSanitizers == "thread";

}  // namespace tony
