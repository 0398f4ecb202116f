#include "runtime/staging/known_hashes.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/records/entry_store.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHashDigits = 64;

template <typename Number>
bool TakeNumber(std::string_view& text, char end, Number& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest == text.data() + text.size() || *rest != end) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()) + 1);
  return true;
}

// "<device>:<inode>:<size>:<modified>:<changed> <hash>".
std::optional<std::pair<FileStamp, std::string>> ParseLine(std::string_view line) {
  FileStamp stamp;
  const bool whole = TakeNumber(line, ':', stamp.device) && TakeNumber(line, ':', stamp.inode) &&
                     TakeNumber(line, ':', stamp.size) && TakeNumber(line, ':', stamp.modified) &&
                     TakeNumber(line, ' ', stamp.changed) && line.size() == kHashDigits &&
                     line.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!whole) return std::nullopt;
  return std::pair(stamp, std::string(line));
}

}  // namespace

KnownHashes KnownHashes::Load(const fs::path& store, const fs::path& source, int64_t bytes) {
  KnownHashes known;
  if (bytes < kNotWorthIt) return known;
  std::error_code error;
  known.file_ =
      store / StrCat(EntryStore::kHashesPrefix, Sha256Hex(fs::absolute(source, error).string()).substr(0, 16));
  const auto text = ReadFile(known.file_);
  if (!text.ok()) return known;
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (auto line = ParseLine(rest.substr(0, end))) known.known_.insert(*std::move(line));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return known;
}

std::string KnownHashes::Find(const FileStamp& stamp) {
  const auto found = known_.find(stamp);
  if (found == known_.end()) return "";
  seen_.insert(*found);
  return found->second;
}

void KnownHashes::Add(const FileStamp& stamp, const std::string& hash, Instant read) {
  if (!file_.empty() && HasSettled(stamp, read)) seen_[stamp] = hash;
}

void KnownHashes::Keep() const {
  if (file_.empty() || seen_ == known_) return;
  std::string text;
  for (const auto& [stamp, hash] : seen_) text += StrCat(ToString(stamp), " ", hash, "\n");
  (void)WriteFileByRename(file_, text, /*durable=*/false);
}

void KnownHashes::Forget() const {
  if (!file_.empty()) unlink(file_.c_str());
}

}  // namespace tony
