// The program's own log, with one line per state change. Only log.cc uses spdlog.
#pragma once

#include <exception>
#include <string>

#include "runtime/base/result.h"

namespace tony {

// kInfo is for an operator who reads the log a month later, and kDebug is for development. kWarn is for failures that
// will be retried, and kError is for failures that will not be retried.
enum class LogLevel { kDebug, kInfo, kWarn, kError };

// Opens the log on standard error. Each line names `program`. Must be called once, at the beginning of main.
void OpenLog(const std::string& program, LogLevel lowest = LogLevel::kInfo);

void Log(LogLevel level, const std::string& line);
inline void LogDebug(const std::string& line) { Log(LogLevel::kDebug, line); }
inline void LogInfo(const std::string& line) { Log(LogLevel::kInfo, line); }
inline void LogWarn(const std::string& line) { Log(LogLevel::kWarn, line); }
inline void LogError(const std::string& line) { Log(LogLevel::kError, line); }

// Functions for errors that occur when the system refuses a resource: descriptors, processes, threads, memory.
// Libraries throw such errors as exceptions. Programs turn them into one line of text and an exit code.

// Returns whether a system call failed because of a lack of descriptors or memory. Such a failure proves nothing about
// the object of the call.
bool IsShortage(int error);

// Returns the limit that caused this error of a system call, e.g. " (at most 8: ulimit -n)"; empty if no limit caused
// it.
std::string LimitNote(int error);

// Returns an exception as an error. kUnavailable: the system refused a resource, and may grant it later.
Error ThrownError(const std::exception& thrown);

// Calls `function`, and returns an exception as an error. Used where no exception may escape: in main functions, and
// where threads are started.
template <class Function>
auto WithoutThrowing(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& thrown) {
    return ThrownError(thrown);
  }
}

}  // namespace tony
