// Writes GNU's form of tar through zlib. libarchive is not used, because its writer would add libxml2 and ICU to the
// program, for formats that are not needed.
#include "runtime/staging/pack_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/staging/source_tree.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 512;
// Compression level 1 is twice as fast as zlib's default level, and its result is a tenth larger.
constexpr char kQuick[] = "wb1";

struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[8];
  char user[32], group[32], major[8], minor[8], unused[167];
};
static_assert(sizeof(Header) == kBlock);

void PutOctal(char* field, size_t size, int64_t value) {
  field[size - 1] = '\0';
  for (size_t i = size - 1; i-- > 0; value >>= 3) field[i] = static_cast<char>('0' + (value & 7));
}

// Writes a size as eleven octal digits. A size from 8 GiB on is written in binary with the first bit set, as GNU tar
// does.
void PutSize(char (&field)[12], int64_t value) {
  if (value < int64_t{1} << 33) return PutOctal(field, sizeof field, value);
  for (size_t i = sizeof field - 1; i > 0; --i, value >>= 8) field[i] = static_cast<char>(value & 0xff);
  field[0] = '\x80';
}

class TarGz {
 public:
  explicit TarGz(int fd) : out_(gzdopen(fcntl(fd, F_DUPFD_CLOEXEC, 0), kQuick)) {}
  ~TarGz() {
    if (out_ != nullptr) gzclose(out_);
  }
  TarGz(const TarGz&) = delete;

  Status Add(char type, std::string_view name, std::string_view link, int mode, int64_t mtime, int64_t size) {
    // A name or target that is longer than its field is written before the entry, as an entry of its own.
    if (name.size() >= sizeof Header::name) TRY(AddLong('L', name));
    if (link.size() >= sizeof Header::link) TRY(AddLong('K', link));
    Header header = {};
    header.type = type;
    name.copy(header.name, sizeof header.name - 1);
    link.copy(header.link, sizeof header.link - 1);
    PutOctal(header.mode, sizeof header.mode, mode);
    PutOctal(header.uid, sizeof header.uid, 0);
    PutOctal(header.gid, sizeof header.gid, 0);
    PutOctal(header.mtime, sizeof header.mtime, std::max<int64_t>(0, mtime));
    PutSize(header.size, size);
    std::memcpy(header.magic, "ustar  ", sizeof header.magic);
    std::memset(header.checksum, ' ', sizeof header.checksum);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof header; ++i) sum += bytes[i];
    PutOctal(header.checksum, 7, sum);
    return Write({reinterpret_cast<const char*>(&header), sizeof header});
  }

  Status Write(std::string_view bytes) {
    if (bytes.empty() || (out_ != nullptr && gzwrite(out_, bytes.data(), static_cast<unsigned>(bytes.size())) > 0))
      return Ok();
    return Failure();
  }
  Status FillBlock(int64_t size) {
    const size_t over = static_cast<size_t>(size) % kBlock;
    return over == 0 ? Ok() : Write(std::string(kBlock - over, '\0'));
  }
  Status Finish() {
    TRY(Write(std::string(2 * kBlock, '\0')));
    if (gzclose(std::exchange(out_, nullptr)) == Z_OK) return Ok();
    return Failure();
  }

 private:
  static Error Failure() { return {ErrorCode::kCannotWrite, StrCat("cannot write an archive: ", ErrnoText(errno))}; }
  Status AddLong(char type, std::string_view text) {
    const auto size = static_cast<int64_t>(text.size()) + 1;
    TRY(Add(type, "././@LongLink", "", 0, 0, size));
    TRY(Write(StrCat(text, '\0')));
    return FillBlock(size);
  }

  gzFile out_;
};

Status AddContent(const fs::path& path, int64_t size, TarGz& out, const std::function<Status(int64_t)>& on_packed) {
  const UniqueFd in(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!in.valid()) return FileError(ErrorCode::kInvalid, "read", path, errno);
  std::vector<char> buffer(1 << 18);
  for (int64_t left = size; left > 0;) {
    const ssize_t got = read(in.get(), buffer.data(), std::min(buffer.size(), static_cast<size_t>(left)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(ErrorCode::kInvalid, "read", path, errno);
    if (got == 0)
      return Error{ErrorCode::kInvalid,
                   StrCat("cannot read ", path.string(), ": the file became shorter while it was packed")};
    TRY(out.Write({buffer.data(), static_cast<size_t>(got)}));
    TRY(on_packed(got));
    left -= got;
  }
  return out.FillBlock(size);
}

Status AddItem(const fs::path& path, const std::string& name, const SourceItem& item, TarGz& out,
               const std::function<Status(int64_t)>& on_packed) {
  switch (item.kind) {
    case SourceItem::Kind::kFolder:
      return out.Add('5', name + "/", "", 0755, item.modified.tv_sec, 0);
    case SourceItem::Kind::kLink:
      return out.Add('2', name, item.target, 0777, item.modified.tv_sec, 0);
    case SourceItem::Kind::kFile:
      TRY(out.Add('0', name, "", item.executable ? 0755 : 0644, item.modified.tv_sec, item.size));
      return AddContent(path, item.size, out, on_packed);
  }
  return Ok();
}

// Adds the content of a folder. `prefix` precedes each name.
Status AddFolder(const fs::path& folder, const std::string& prefix, TarGz& out,
                 const std::function<Status(int64_t)>& on_packed) {
  TRY_ASSIGN(const SourceListing listing, ListSource(folder, {}));
  for (const SourceItem& item : listing.items)
    TRY(AddItem(folder / item.name, prefix + item.name, item, out, on_packed));
  return Ok();
}

Status AddPart(const PackedPart& part, TarGz& out, const std::function<Status(int64_t)>& on_packed) {
  if (part.source.empty()) {
    const auto size = static_cast<int64_t>(part.text.size());
    TRY(out.Add('0', part.name, "", 0644, std::time(nullptr), size));
    TRY(out.Write(part.text));
    return out.FillBlock(size);
  }
  struct stat info {};
  if (stat(part.source.c_str(), &info) != 0) return FileError(ErrorCode::kInvalid, "read", part.source, errno);
  const SourceItem item{.kind = S_ISDIR(info.st_mode) ? SourceItem::Kind::kFolder : SourceItem::Kind::kFile,
                        .executable = (info.st_mode & S_IXUSR) != 0,
                        .size = info.st_size,
                        .modified = info.st_mtim};
  TRY(AddItem(part.source, part.name, item, out, on_packed));
  return item.kind == SourceItem::Kind::kFolder ? AddFolder(part.source, part.name + "/", out, on_packed) : Ok();
}

}  // namespace

Status PackFolder(const fs::path& folder, int to, const std::function<Status(int64_t bytes)>& on_packed) {
  TarGz out(to);
  TRY(AddFolder(folder, "", out, on_packed));
  return out.Finish();
}

Status PackParts(const std::vector<PackedPart>& parts, int to, const std::function<Status(int64_t bytes)>& on_packed) {
  TarGz out(to);
  for (const PackedPart& part : parts) TRY(AddPart(part, out, on_packed));
  return out.Finish();
}

}  // namespace tony
