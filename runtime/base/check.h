// CHECK states what cannot be; it ends the process with file and line. Bad input is never a CHECK.
#pragma once

namespace tony {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}  // namespace tony

#define CHECK(condition) ((condition) ? static_cast<void>(0) : ::tony::CheckFailed(#condition, __FILE__, __LINE__))
