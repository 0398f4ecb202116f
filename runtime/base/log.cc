#include "runtime/base/log.h"

#include <sys/resource.h>

#include <boost/system/system_error.hpp>
#include <cerrno>
#include <new>
#include <system_error>

#include "runtime/base/strings.h"

// Only this file includes spdlog. The header-only form makes the build slower. It is used because Debian has no static
// spdlog, and a further shared library would slow down the start of every executor.
#define FMT_HEADER_ONLY
#define SPDLOG_HEADER_ONLY

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

namespace {

std::string SoftLimit(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return StrCat("at most ", limit.rlim_cur);
}

std::string Note(int resource, const char* command) {
  const std::string limit = SoftLimit(resource);
  return limit.empty() ? "" : StrCat(" (", limit, ": ", command, ")");
}

Error Refused(int error) {
  return UnavailableError("the program cannot continue: ", ErrnoText(error), LimitNote(error));
}

}  // namespace

bool IsShortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

std::string LimitNote(int error) {
  if (error == EMFILE) return Note(RLIMIT_NOFILE, "ulimit -n");
  if (error == EAGAIN) return Note(RLIMIT_NPROC, "ulimit -u");
  return "";
}

Error ThrownError(const std::exception& thrown) {
  if (const auto* error = dynamic_cast<const std::system_error*>(&thrown)) return Refused(error->code().value());
  if (const auto* error = dynamic_cast<const boost::system::system_error*>(&thrown))
    return Refused(error->code().value());
  if (dynamic_cast<const std::bad_alloc*>(&thrown))
    return UnavailableError("the program cannot continue: out of memory");
  return {ErrorCode::kInternal, StrCat("the program cannot continue: ", thrown.what())};
}

}  // namespace tony
