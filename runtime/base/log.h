// The program's own log: one line per state change. spdlog is behind it, in log.cc alone.
#pragma once

#include <string>

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

}  // namespace tony
