#include "runtime/config/config_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"

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
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
    return fail(nul, "the text contains a NUL character");
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

bool ContinuesOnNextLine(std::string_view line) {
  const size_t last_other = line.find_last_not_of('\\');
  const size_t count = last_other == std::string_view::npos ? line.size() : line.size() - last_other - 1;
  return count % 2 == 1;
}

namespace {

constexpr size_t kLongestTag = 100;
constexpr std::string_view kHost = "azkaban.webserverhost";
constexpr std::string_view kUrl = "azkaban.url";
constexpr std::string_view kOfFlow[] = {"azkaban.flow.execid", "azkaban.flow.flowid", "azkaban.flow.projectname"};

// Returns the host and port of a URL: "[::1]:8081" for "http://ann@[::1]:8081/x".
std::string_view AddressIn(std::string_view url) {
  if (const size_t scheme = url.find("://"); scheme != url.npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const size_t user = url.rfind('@'); user != url.npos) url.remove_prefix(user + 1);
  return url;
}

// Returns the host of an address: "::1" for "[::1]:8081".
std::string_view HostIn(std::string_view address) {
  if (address.starts_with('[')) return address.substr(1, address.find(']') - 1);
  return address.substr(0, address.find(':'));
}

// Returns at most the first `most` characters of a UTF-8 text. The first byte of a character never has the form
// 10xxxxxx.
std::string_view FirstCharacters(std::string_view text, size_t most) {
  size_t characters = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && ++characters > most) return text.substr(0, at);
  }
  return text;
}

}  // namespace

std::string StepProperty(const Properties& step, std::string_view key) {
  const Property* found = step.Find(key);
  return std::string(found ? Trim(found->value) : "");
}

std::string AzkabanHost(const Properties& step) {
  std::string host = StepProperty(step, kHost);
  return host.empty() ? std::string(HostIn(AddressIn(StepProperty(step, kUrl)))) : host;
}

std::string AzkabanAddress(const Properties& step) {
  std::string address(AddressIn(StepProperty(step, kUrl)));
  return address.empty() ? StepProperty(step, kHost) : address;
}

std::vector<std::string> AzkabanTags(const Properties& step) {
  std::vector<std::string> tags;
  const auto add = [&tags](std::string_view key, std::string value) {
    std::ranges::replace(value, ',', ';');  // a comma separates tags
    if (!value.empty()) tags.emplace_back(FirstCharacters(StrCat(key, ":", value), kLongestTag));
  };
  for (const std::string_view key : kOfFlow) add(key, StepProperty(step, key));
  add(kHost, AzkabanHost(step));
  return tags;
}

}  // namespace tony
