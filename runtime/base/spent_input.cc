#include "runtime/base/spent_input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "runtime/base/unique_fd.h"

namespace tony {
namespace {

std::map<int, std::string>& Noted() {
  static auto& noted = *new std::map<int, std::string>;
  return noted;
}

Status GiveBack(int descriptor, const std::string& text) {
  // Above it: dup2() to the same number would leave it to be closed by exec.
  const UniqueFd memory(memfd_create("input", MFD_CLOEXEC));
  const UniqueFd above(fcntl(memory.get(), F_DUPFD_CLOEXEC, descriptor + 1));
  const Error failed{ErrorCode::kUnavailable, "give back input: out of memory or descriptors"};
  if (!above.valid()) return failed;
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(above.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return failed;
    done += static_cast<size_t>(std::max<ssize_t>(wrote, 0));
  }
  if (lseek(above.get(), 0, SEEK_SET) != 0 || dup2(above.get(), descriptor) < 0) return failed;
  return Ok();
}

}  // namespace

void NoteSpentInput(int descriptor, std::string text) { Noted()[descriptor] = std::move(text); }

Status GiveBackSpentInput() {
  for (const auto& [descriptor, text] : Noted()) TRY(GiveBack(descriptor, text));
  return Ok();
}

}  // namespace tony
