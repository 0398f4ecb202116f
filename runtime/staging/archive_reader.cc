#include "runtime/staging/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <unistd.h>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr size_t kBlock = 1 << 18;

// Sets a UTF-8 locale for the thread. libarchive converts names to the thread's locale, and in the locale "C" this
// fails for names beyond ASCII.
class Utf8Locale {
 public:
  Utf8Locale() : utf8_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (utf8_ != nullptr) before_ = uselocale(utf8_);
  }
  ~Utf8Locale() {
    if (utf8_ == nullptr) return;
    uselocale(before_);
    freelocale(utf8_);
  }
  Utf8Locale(const Utf8Locale&) = delete;

 private:
  locale_t utf8_;
  locale_t before_ = nullptr;
};

ArchiveEntry::Kind KindOf(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return ArchiveEntry::Kind::kHardLink;
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return ArchiveEntry::Kind::kFile;
    case AE_IFDIR:
      return ArchiveEntry::Kind::kFolder;
    case AE_IFLNK:
      return ArchiveEntry::Kind::kSymlink;
    default:
      return ArchiveEntry::Kind::kOther;
  }
}

std::string TextOr(const char* text) { return text == nullptr ? "" : text; }

ArchiveEntry Convert(archive_entry* entry) {
  ArchiveEntry converted{.name = TextOr(archive_entry_pathname(entry)), .kind = KindOf(entry)};
  converted.executable = (archive_entry_perm(entry) & 0100) != 0;
  converted.encrypted = archive_entry_is_encrypted(entry) == 1;
  converted.target = converted.kind == ArchiveEntry::Kind::kHardLink ? TextOr(archive_entry_hardlink(entry))
                                                                     : TextOr(archive_entry_symlink(entry));
  converted.size = archive_entry_size(entry);
  if (archive_entry_mtime_is_set(entry))
    converted.modified = {archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
  return converted;
}

}  // namespace

struct ArchiveReader::State {
  Utf8Locale locale;
  archive* handle = archive_read_new();
  ~State() { archive_read_free(handle); }

  Error Failure() const {
    const char* text = archive_error_string(handle);
    return {ErrorCode::kInvalid, text != nullptr ? ToLower(text) : "the archive cannot be read"};
  }
};

ArchiveReader::ArchiveReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArchiveReader::~ArchiveReader() = default;

Result<std::unique_ptr<ArchiveReader>> ArchiveReader::Open(int fd) {
  auto state = std::make_unique<State>();
  archive* handle = state->handle;
  if (handle == nullptr) return Error{ErrorCode::kInternal, "no memory for reading an archive"};
  archive_read_support_filter_gzip(handle);
  archive_read_support_filter_bzip2(handle);
  archive_read_support_filter_xz(handle);
  archive_read_support_filter_zstd(handle);
  archive_read_support_format_tar(handle);
  // This format reads a zip by its directory, which is at the end of the file, so an incomplete zip is noticed.
  archive_read_support_format_zip_seekable(handle);
  if (lseek(fd, 0, SEEK_SET) != 0 || archive_read_open_fd(handle, fd, kBlock) != ARCHIVE_OK) {
    const char* text = archive_error_string(handle);
    if (text == nullptr || std::string_view(text) == "Unrecognized archive format")
      return Error{ErrorCode::kInvalid, "this file is not a zip or tar archive, or it is cut off"};
    return state->Failure();
  }
  return std::unique_ptr<ArchiveReader>(new ArchiveReader(std::move(state)));
}

Result<std::optional<ArchiveEntry>> ArchiveReader::Next() {
  archive_entry* entry = nullptr;
  switch (archive_read_next_header(state_->handle, &entry)) {
    case ARCHIVE_EOF:
      return std::optional<ArchiveEntry>();
    case ARCHIVE_OK:
    // A warning is not a failure. It may be about a name that is not text in this locale. The caller of Next() checks
    // the bytes of the name.
    case ARCHIVE_WARN:
      return std::optional(Convert(entry));
    default:
      break;
  }
  const char* text = archive_error_string(state_->handle);
  if (text != nullptr && std::string_view(text) == "Unrecognized archive format")
    return Error{ErrorCode::kInvalid, "this file is not a zip or tar archive, or it is cut off"};
  return state_->Failure();
}

Result<std::optional<ArchiveData>> ArchiveReader::NextData() {
  const void* bytes = nullptr;
  size_t size = 0;
  la_int64_t offset = 0;
  const int got = archive_read_data_block(state_->handle, &bytes, &size, &offset);
  if (got == ARCHIVE_EOF) return std::optional<ArchiveData>();
  if (got != ARCHIVE_OK) return state_->Failure();
  return std::optional(ArchiveData{offset, {static_cast<const char*>(bytes), size}});
}

int64_t ArchiveReader::Consumed() const { return archive_filter_bytes(state_->handle, -1); }

}  // namespace tony
