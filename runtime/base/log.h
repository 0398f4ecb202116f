// The program's own log: one line per state change. spdlog is behind it, in log.cc alone.
#pragma once

#include <exception>
#include <string>

#include "runtime/base/result.h"

namespace tony {

// info: what an operator wants to read a month later. debug: what you want now. warn: will be retried. error: gave up.
enum class LogLevel { kDebug, kInfo, kWarn, kError };

// Where lines go: standard error by default. `program` starts each line. Call once, at the top of main.
void OpenLog(const std::string& program, LogLevel lowest = LogLevel::kInfo);

void Log(LogLevel level, const std::string& line);
inline void LogDebug(const std::string& line) { Log(LogLevel::kDebug, line); }
inline void LogInfo(const std::string& line) { Log(LogLevel::kInfo, line); }
inline void LogWarn(const std::string& line) { Log(LogLevel::kWarn, line); }
inline void LogError(const std::string& line) { Log(LogLevel::kError, line); }

// What the system refuses a process: descriptors, processes, threads, memory. Libraries throw it; programs end with one
// line and an exit code.

// Whether a system call failed for want of descriptors or memory: of what it was asked about this says nothing.
bool IsShortage(int error);

// The limit that this error of a system call comes from, " (at most 8: ulimit -n)"; empty: of none.
std::string LimitNote(int error);

// What was thrown, as an error: kUnavailable where the system refused something, which it may grant later.
Error ThrownError(const std::exception& thrown);

// For a program's main function and for the start of a thread: nothing is thrown out of it.
template <class Function>
auto WithoutThrowing(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& thrown) {
    return ThrownError(thrown);
  }
}

}  // namespace tony
