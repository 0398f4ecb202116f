#include "runtime/base/shortage.h"

#include <sys/resource.h>

#include <boost/system/system_error.hpp>
#include <cerrno>
#include <new>
#include <system_error>

#include "runtime/base/strings.h"

namespace tony {
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
  return {ErrorCode::kUnavailable, StrCat("cannot go on: ", ErrnoText(error), LimitNote(error))};
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
  if (dynamic_cast<const std::bad_alloc*>(&thrown)) return {ErrorCode::kUnavailable, "cannot go on: out of memory"};
  return {ErrorCode::kInternal, StrCat("cannot go on: ", thrown.what())};
}

}  // namespace tony
