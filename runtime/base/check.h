// CHECK states what cannot be; it ends the process with file and line. Bad input is never a CHECK.
#pragma once

#include <functional>
#include <string>

namespace tony {

// The exit code of a master that ends because of a failed CHECK. Its successor would replay the same journal and fail
// again, so nobody starts one.
inline constexpr int kFailedCheck = 79;

// `handler` is called with "check failed: EXPRESSION (FILE:LINE)", in the thread of the CHECK. If it returns, the process
// aborts. Set once, before there are threads.
void OnFailedCheck(std::function<void(const std::string& failure)> handler);

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace tony

#define CHECK(condition) ((condition) ? static_cast<void>(0) : ::tony::CheckFailed(#condition, __FILE__, __LINE__))
