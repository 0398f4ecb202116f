#include "runtime/config/config_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/base/utf8.h"

namespace tony {

LineIndex::LineIndex(std::string_view text) {
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    line_ends_.push_back(at);
  }
}

size_t LineIndex::LineOf(size_t offset) const {
  return static_cast<size_t>(std::ranges::lower_bound(line_ends_, offset) - line_ends_.begin()) + 1;
}

Status CheckConfigText(std::string_view text, const std::string& name) {
  const auto fail = [&](size_t offset, std::string_view what) {
    return Error{ErrorCode::kInvalid, StrCat(name, ":", LineIndex(text).LineOf(offset), ": ", what)};
  };
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) return fail(nul, "a NUL character");
  if (const size_t valid = ValidUtf8Prefix(text); valid < text.size()) return fail(valid, "not valid UTF-8");
  return Ok();
}

bool IsVariableName(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto other = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text.front()) && std::ranges::all_of(text, other);
}

std::string_view NameAfterBlank(std::string_view value) {
  for (size_t equals = value.find('='); equals != value.npos; equals = value.find('=', equals + 1)) {
    const size_t blank = value.find_last_of(" \t\n", equals);
    if (blank == value.npos) continue;
    const std::string_view name = value.substr(blank + 1, equals - blank - 1);
    if (IsVariableName(name)) return name;
  }
  return {};
}

Result<std::string> ReadText(int fd) {
  std::string text;
  char buffer[8 << 10];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{ErrorCode::kInvalid, ErrnoText(errno)};
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kMaxFileBytes)
      return Error{ErrorCode::kInvalid, StrCat("larger than ", kMaxFileBytes >> 20, " MiB")};
  }
}

Result<std::string> ReadTextFile(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!fd.valid() || ::fstat(fd.get(), &about) != 0)
    return Error{ErrorCode::kInvalid, errno == ENOENT ? "no such file" : ErrnoText(errno)};
  if (S_ISDIR(about.st_mode)) return Error{ErrorCode::kInvalid, "a folder, not a file"};
  return ReadText(fd.get());
}

bool EndsWithOpenBackslash(std::string_view line) {
  const size_t last_other = line.find_last_not_of('\\');
  const size_t count = last_other == std::string_view::npos ? line.size() : line.size() - last_other - 1;
  return count % 2 == 1;
}

}  // namespace tony
