#include "runtime/logs/log_holes.h"

#include <sys/stat.h>
#include <unistd.h>

namespace tony {
namespace {

// Where the hole at `offset` ends.
off_t EndOfHole(int fd, off_t offset) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || info.st_size <= offset) return offset;
  const off_t data = lseek(fd, offset, SEEK_DATA);
  return data >= 0 ? data : info.st_size;  // no data: the hole goes to the end
}

}  // namespace

LogBytes ReadLog(int fd, int64_t offset, std::span<char> buffer) {
  off_t at = offset;
  // Cut again while we read, we try again behind it; a writer that outruns that so often is read next time.
  for (int attempt = 0; attempt < 8; ++attempt) {
    const ssize_t got = pread(fd, buffer.data(), buffer.size(), at);
    if (got <= 0) break;
    // Asked after the read: a cut only ever grows, so what is no hole now was none then.
    const off_t hole = lseek(fd, at, SEEK_HOLE);
    if (hole < 0 || hole >= at + got) return {at - offset, static_cast<size_t>(got)};
    if (hole > at) return {at - offset, static_cast<size_t>(hole - at)};
    at = EndOfHole(fd, at);
  }
  return {at - offset, 0};
}

std::vector<LogPart> PartsOfLog(int fd) {
  std::vector<LogPart> parts;
  for (off_t at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0;) {
    const off_t hole = lseek(fd, at, SEEK_HOLE);
    if (hole <= at) break;  // cut again just now
    parts.push_back({static_cast<uint64_t>(at), static_cast<uint64_t>(hole)});
    at = hole;
  }
  return parts;
}

}  // namespace tony
