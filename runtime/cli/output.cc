#include "runtime/cli/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "runtime/base/strings.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/text_table.h"

namespace tony {
namespace {

int lost = 0;  // errno of the first write to standard output that failed

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // whoever shares it with us has made it non-blocking
      pollfd wait = {fd, POLLOUT, 0};
      poll(&wait, 1, -1);
      continue;
    }
    if (written < 0 && fd == STDOUT_FILENO && errno != EPIPE && lost == 0) lost = errno;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void HoldOutputs() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int unwritable = open("/dev/null", O_RDONLY);
    if (unwritable == fd || unwritable < 0) continue;
    dup2(unwritable, fd);
    close(unwritable);
  }
}

void Print(std::string_view text) { WriteAll(STDOUT_FILENO, Fitted(std::string(text), {ColumnsOfStandardOutput()})); }

void PrintAsIs(std::string_view text, int fd) { WriteAll(fd, text); }

void PrintLine(std::string_view text) {
  const std::string line = StrCat(text, '\n');
  WriteAll(STDOUT_FILENO, isatty(STDOUT_FILENO) == 1 ? SafeText(line) : line);
}

void Say(std::string_view line) { WriteAll(STDERR_FILENO, StrCat(SafeLine(Trim(line)), '\n')); }

int ExitOfAnswer(int exit) {
  if (lost == 0) return exit;
  Say(StrCat("tony: standard output: ", ErrnoText(lost)));
  return exit == 0 ? static_cast<int>(ErrorCode::kCannotWrite) : exit;
}

}  // namespace tony
