#include "am/journal_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/records/journal_format.h"

namespace tony::am {
namespace {

namespace fs = std::filesystem;

Status Failed(std::string_view what = "") { return Error{ErrorCode::kCannotWrite, StrCat(what, ErrnoText(errno))}; }

// Decimal and of one width, so that a shorter number leaves nothing of a longer one.
std::string NumberText(size_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%020zu\n", number);
  return text;
}

class LocalJournalFile : public JournalFile {
 public:
  LocalJournalFile(std::string path, UniqueFd journal, UniqueFd written)
      : path_(std::move(path)), journal_(std::move(journal)), written_(std::move(written)) {}

  Status Append(std::string_view bytes) override { return AppendTo(journal_.get(), bytes); }

  Status CutTo(size_t size) override {
    if (ftruncate(journal_.get(), static_cast<off_t>(size)) != 0) return Failed("cut off a torn tail: ");
    return Ok();
  }

  Status Sync() override {
    if (fdatasync(journal_.get()) != 0) return Failed("sync: ");
    return SyncName();
  }

  Status Replace(std::string_view content) override {
    const fs::path fresh = fs::path(path_).parent_path() / ".journal.new";
    UniqueFd fd(open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    if (!fd.valid()) return Failed("write it anew: ");
    Status written = AppendTo(fd.get(), content);
    if (written.ok() && fsync(fd.get()) != 0) written = Failed("sync: ");
    if (written.ok() && rename(fresh.c_str(), path_.c_str()) != 0) written = Failed("write it anew: ");
    if (!written.ok()) {
      unlink(fresh.c_str());  // somebody may need the room
      return written;
    }
    journal_ = std::move(fd);
    name_is_synced_ = false;
    return SyncName();
  }

  // Written over itself: needs no room on most file systems. Without it a later AM only checks less.
  void NoteWritten(size_t size) override {
    const std::string text = NumberText(size);
    [[maybe_unused]] const ssize_t ignored = pwrite(written_.get(), text.data(), text.size(), 0);
  }

 private:
  Status SyncName() {
    if (!name_is_synced_) TRY(SyncPath(fs::path(path_).parent_path()));
    name_is_synced_ = true;
    return Ok();
  }

  static Status AppendTo(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = write(fd, bytes.data(), bytes.size());
      if (n != -1) {
        bytes.remove_prefix(static_cast<size_t>(n));
      } else if (errno != EINTR) {
        return Failed();
      }
    }
    return Ok();
  }

  const std::string path_;
  UniqueFd journal_;
  const UniqueFd written_;
  bool name_is_synced_ = false;
};

Result<UniqueFd> OpenFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  return fd;
}

size_t ReadNumber(const std::string& path) {
  const auto text = ReadFile(path);
  const auto number = text.ok() ? ParseInt(Trim(*text)) : std::nullopt;
  return static_cast<size_t>(std::max<int64_t>(number.value_or(0), 0));
}

}  // namespace

Result<OpenedJournalFile> OpenJournalFile(const std::string& path) {
  TRY_ASSIGN(UniqueFd journal, OpenFile(path));
  TRY_ASSIGN(std::string content, ReadFile(path));
  Result<DecodedJournal> decoded = DecodeJournal(content);
  if (!decoded.ok()) return Annotate(decoded.error(), path);
  const std::string beside = path + ".written";
  if (const size_t written = ReadNumber(beside); decoded->valid_bytes < written) {
    return Error{ErrorCode::kInvalid, StrCat(path, ": damaged at byte ", decoded->valid_bytes,
                                             ": it ends here, and had ", written, " bytes")};
  }
  // Not O_APPEND: there pwrite() appends as well. A disk without room for it is no reason not to rule.
  UniqueFd note(open(beside.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  OpenedJournalFile opened{.torn_bytes = content.size() - decoded->valid_bytes};
  content.resize(decoded->valid_bytes);
  opened.content = decoded->outdated ? Update(content) : std::move(content);
  opened.outdated = decoded->outdated;
  opened.decisions = std::move(decoded->decisions);
  opened.file = std::make_unique<LocalJournalFile>(path, std::move(journal), std::move(note));
  return opened;
}

}  // namespace tony::am
