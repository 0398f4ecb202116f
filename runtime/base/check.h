// CHECK states a condition that always holds. A failed CHECK ends the process with file and line. Bad input is never
// handled by a CHECK.
#pragma once

#include <functional>
#include <string>

namespace tony {

// The exit code of an AM that ends because of a failed CHECK. No AM is started in its place, because a new one would
// replay the same journal and fail again.
inline constexpr int kFailedCheck = 79;

// Sets a handler, which is called with "check failed: EXPRESSION (FILE:LINE)" in the thread of the CHECK. If the
// handler returns, the process aborts. Must be set once, before any thread is started.
void OnFailedCheck(std::function<void(const std::string& failure)> handler);

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace tony

#define CHECK(condition) ((condition) ? static_cast<void>(0) : ::tony::CheckFailed(#condition, __FILE__, __LINE__))
