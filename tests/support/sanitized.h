// The sanitizers of this test's own build (TONY_SANITIZE), which make code slow and large and keep freed memory. A
// test of the built programs uses SanitizedPrograms() of tests/support/tony_runner.h, because it also runs programs of
// other builds.
#pragma once

#include <string_view>

namespace tony {

inline constexpr std::string_view kSanitizers = TONY_SANITIZERS;
inline constexpr bool kSanitized = !kSanitizers.empty();
inline constexpr bool kThreadSanitized = kSanitizers == "thread";

}  // namespace tony
