// The only file that includes spdlog. Header-only here on purpose: Debian has no static spdlog, and one more shared
// library costs an executor more start-up time than this file costs the build.
#define FMT_HEADER_ONLY
#define SPDLOG_HEADER_ONLY
#include "runtime/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tony {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& Logger() {
  static spdlog::logger logger("tony", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  return logger;
}

}  // namespace

void OpenLog(const std::string& program, LogLevel lowest) {
  Logger().set_pattern("%Y-%m-%dT%H:%M:%S.%e " + program + "[%P] %l: %v");
  Logger().set_level(ToSpdlog(lowest));
  Logger().flush_on(spdlog::level::trace);
}

void Log(LogLevel level, const std::string& line) { Logger().log(ToSpdlog(level), line); }

}  // namespace tony
