#include "azkaban-plugin/account.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "azkaban-plugin/step_request.h"
#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/client/outputs.h"

namespace tony::azkaban {
namespace {

constexpr Duration kAttachmentInterval{1000};
// The longest wait until Azkaban has read the output. Azkaban allows a step two seconds after SIGTERM, and the kill of
// the job needs a part of them.
constexpr Duration kReadLimit{500};
// The pause between two checks of the output, and after the last check. The last pause is needed, because Azkaban first
// reads a line into a buffer and then writes the line into its log.
constexpr Duration kReadPause{100};

}  // namespace

void PrintInLog(std::string_view line) { PrintLine(SafeLine(line)); }

// The pipe is polled, because the kernel does not notify the writer of a pipe when the pipe is empty.
void WaitForLogReader() {
  struct stat output {};
  if (fstat(STDOUT_FILENO, &output) != 0 || !S_ISFIFO(output.st_mode)) return;
  const Instant limit = RealClock().Now() + kReadLimit;
  int unread = 0;
  while (ioctl(STDOUT_FILENO, FIONREAD, &unread) == 0 && unread > 0 && RealClock().Now() < limit)
    std::this_thread::sleep_for(kReadPause);
  std::this_thread::sleep_for(kReadPause);
}

void Account::Tell(JobStatus status) {
  if (!status.tracking_url.empty() && status.tracking_url != page_) {
    page_ = status.tracking_url;
    PrintInLog("TonY UI: " + page_);
  }
  if (!status.tensorboard_url.empty() && status.tensorboard_url != tensorboard_) {
    tensorboard_ = status.tensorboard_url;
    PrintInLog("TensorBoard: " + tensorboard_);
  }
  Attach(status);
  // Both addresses were printed above, so they are not listed among the changes.
  status.tracking_url.clear();
  status.tensorboard_url.clear();
  for (const std::string& line : ChangeLines(before_, status)) PrintInLog(line);
  before_ = std::move(status);
}

void Account::TellEnd(const JobStatus& status) {
  attached_ = {};
  Attach(status);
  Print(SafeText(VerdictText(status, records_)));
}

void Account::Attach(const JobStatus& status) {
  const Instant now = RealClock().Now();
  const bool soon = now - attached_ < kAttachmentInterval && before_ && before_->state == status.state;
  if (attachment_.empty() || soon) return;
  attached_ = now;
  const Status done = WriteAttachment(attachment_, StatusDocument(records_, status));
  if (done.ok()) return;
  PrintInLog(StrCat("warning: cannot write the job's live status for Azkaban: ", done.error().message));
  attachment_.clear();
}

}  // namespace tony::azkaban
