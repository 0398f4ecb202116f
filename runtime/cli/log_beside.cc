#include "runtime/cli/log_beside.h"

#include "runtime/base/strings.h"
#include "runtime/cli/log_session.h"
#include "runtime/cli/output.h"
#include "runtime/client/choose_backend.h"

namespace tony {

LogsBeside::LogsBeside(const JobRecords& records, int fd)
    : records_(records), fd_(fd), thread_([this] {
        const Status shown = Show();
        if (!shown.ok()) Say(StrCat("tony: no logs are shown: ", shown.error().message));
      }) {}

Status LogsBeside::Show() {
  TRY_ASSIGN(const JobSpec spec, records_.ReadSpec());
  TRY_ASSIGN(const auto logs, BackendOf(records_.job()).logs().LogsOf(records_));
  LogPrinter printer = MakeLogPrinter(
      spec, {}, /*timestamps=*/false, [this](std::string_view text) { PrintAsIs(text, fd_); }, fd_);
  LogSession session(records_, *logs, {}, {});
  session.Follow(loop_, std::ref(printer), [] {});
  printer.Finish();
  return Ok();
}

void LogsBeside::End(bool stop) {
  if (!thread_.joinable()) return;
  if (stop) loop_.Post([this] { loop_.Stop(); });
  thread_.join();
}

}  // namespace tony
