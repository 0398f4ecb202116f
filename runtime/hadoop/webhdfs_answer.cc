#include "runtime/hadoop/webhdfs_answer.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <utility>

#include "runtime/base/strings.h"

namespace tony::hadoop {
namespace json = boost::json;

namespace {

constexpr char kHexDigits[] = "0123456789ABCDEF";

Error NoAnswer(std::string_view expected) {
  return InvalidError("the answer is not from WebHDFS: it has no ", expected);
}

// Returns the value at the end of a path of names; nullptr if one of the names is missing.
const json::value* Find(const json::value& document, std::initializer_list<std::string_view> names) {
  const json::value* value = &document;
  for (const std::string_view name : names) {
    const json::object* object = value->if_object();
    if (object == nullptr) return nullptr;
    value = object->if_contains(json::string_view(name.data(), name.size()));
    if (value == nullptr) return nullptr;
  }
  return value;
}

json::value Parsed(std::string_view text) {
  json::error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  return error ? json::value() : value;
}

std::string StringAt(const json::value& value, std::string_view name) {
  const json::value* found = Find(value, {name});
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

int64_t NumberAt(const json::value& value, std::string_view name) {
  const json::value* found = Find(value, {name});
  return found != nullptr && found->is_int64() ? found->get_int64() : 0;
}

std::optional<int> OctalIn(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<HdfsEntry> EntryOf(const json::value& value) {
  const std::string type = StringAt(value, "type");
  const auto permission = OctalIn(StringAt(value, "permission"));
  const int64_t length = NumberAt(value, "length");
  if ((type != "FILE" && type != "DIRECTORY" && type != "SYMLINK") || !permission || length < 0) return std::nullopt;
  HdfsEntry entry;
  entry.name = StringAt(value, "pathSuffix");
  entry.is_folder = type == "DIRECTORY";
  entry.length = length;
  entry.modified = FromMillis(NumberAt(value, "modificationTime"));
  entry.permission = *permission;
  entry.owner = StringAt(value, "owner");
  entry.group = StringAt(value, "group");
  entry.id = NumberAt(value, "fileId");
  return entry;
}

std::optional<std::string> BytesOfHex(std::string_view text) {
  if (!text.starts_with("0x") || text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (text.remove_prefix(2); !text.empty(); text.remove_prefix(2)) {
    int byte = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + 2, byte, 16);
    if (error != std::errc() || end != text.data() + 2 || byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

std::string EscapedBut(std::string_view text, std::string_view kept) {
  std::string escaped;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || kept.find(c) != std::string_view::npos) {
      escaped.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    escaped += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
  }
  return escaped;
}

// Returns the reason in a page of an HTTP server: <title>Error 403 REASON</title>.
std::string ReasonInPage(std::string_view page, int status) {
  const std::string begin = StrCat("<title>Error ", status, " ");
  const size_t at = page.find(begin), end = page.find("</title>", at);
  if (at == std::string_view::npos || end == std::string_view::npos) return "";
  return FirstLine(page.substr(at + begin.size(), end - at - begin.size()));
}

// A NameNode that starts, or is in standby, cannot check a token. Its web server then answers with a SecurityException,
// and the real reason is the cause in the message, e.g. "Failed to obtain user group information:
// org.apache.hadoop.ipc.RetriableException: Namenode is in startup mode". The cause takes the place of the exception.
void UseStandbyCause(HdfsRefusal& refusal) {
  constexpr std::string_view kBegin = "Failed to obtain user group information: ";
  if (refusal.exception != "SecurityException" || !refusal.message.starts_with(kBegin)) return;
  const std::string cause = refusal.message.substr(kBegin.size());
  const std::string name = cause.substr(0, cause.find(": "));
  const std::string exception = name.substr(name.rfind('.') + 1);
  if (!IsStandbyException(exception)) return;
  refusal.exception = exception;
  refusal.message = cause.substr(std::min(name.size() + 2, cause.size()));
}

}  // namespace

std::optional<HdfsRefusal> RefusalIn(const HttpResponse& response) {
  if (response.status / 100 == 2 || response.status == 307) return std::nullopt;
  const json::value document = Parsed(response.body);
  HdfsRefusal refusal{response.status, "", ""};
  if (const json::value* remote = Find(document, {"RemoteException"})) {
    refusal.exception = StringAt(*remote, "exception");
    refusal.message = FirstLine(StringAt(*remote, "message"));
    UseStandbyCause(refusal);
  } else {
    refusal.message = ReasonInPage(response.body, response.status);
  }
  return refusal;
}

Result<bool> BooleanIn(std::string_view text) {
  const json::value document = Parsed(text);
  const json::value* value = Find(document, {"boolean"});
  if (value == nullptr || !value->is_bool()) return NoAnswer("boolean");
  return value->get_bool();
}

Result<HdfsEntry> EntryIn(std::string_view text) {
  const json::value document = Parsed(text);
  const json::value* status = Find(document, {"FileStatus"});
  const auto entry = status != nullptr ? EntryOf(*status) : std::nullopt;
  if (!entry) return NoAnswer("FileStatus");
  return *entry;
}

Result<HdfsListing> ListingIn(std::string_view text) {
  const json::value document = Parsed(text);
  const json::value* all = Find(document, {"DirectoryListing", "partialListing", "FileStatuses", "FileStatus"});
  const json::value* remaining = Find(document, {"DirectoryListing", "remainingEntries"});
  if (all == nullptr || !all->is_array() || remaining == nullptr || !remaining->is_int64())
    return NoAnswer("DirectoryListing");
  HdfsListing listing;
  listing.remaining = remaining->get_int64();
  for (const json::value& value : all->get_array()) {
    auto entry = EntryOf(value);
    if (!entry) return NoAnswer("FileStatus");
    listing.entries.push_back(*std::move(entry));
  }
  return listing;
}

Result<std::map<std::string, std::string>> XattrsIn(std::string_view text) {
  const json::value document = Parsed(text);
  const json::value* all = Find(document, {"XAttrs"});
  if (all == nullptr || !all->is_array()) return NoAnswer("XAttrs");
  std::map<std::string, std::string> xattrs;
  for (const json::value& value : all->get_array()) {
    const json::value* content = Find(value, {"value"});
    auto bytes = content == nullptr || content->is_null() ? std::string() : BytesOfHex(StringAt(value, "value"));
    if (!bytes) return NoAnswer("value of an attribute");
    xattrs[StringAt(value, "name")] = *std::move(bytes);
  }
  return xattrs;
}

Result<Instant> TimeIn(std::string_view text) {
  const json::value document = Parsed(text);
  const int64_t millis = NumberAt(document, "long");
  constexpr int64_t kLatest = int64_t{1} << 50;
  if (millis <= 0 || millis > kLatest) return NoAnswer("long");
  return FromMillis(millis);
}

Result<std::string> TextIn(std::string_view text, std::string_view name) {
  const json::value document = Parsed(text);
  std::string found = StringAt(document, name);
  if (found.empty()) return NoAnswer(name);
  return found;
}

Result<std::string> KeyProviderIn(std::string_view text) {
  const json::value document = Parsed(text);
  const json::value* defaults = Find(document, {"FsServerDefaults"});
  if (defaults == nullptr) return NoAnswer("FsServerDefaults");
  return StringAt(*defaults, "keyProviderUri");
}

Result<Token> TokenIn(std::string_view text) {
  const json::value document = Parsed(text);
  const json::value* found = Find(document, {"Token", "urlString"});
  if (found == nullptr || !found->is_string()) return NoAnswer("Token");
  TRY_ASSIGN(Token token, TokenFromText(found->get_string()));
  token.kind = kHdfsTokenKind;
  return token;
}

std::string EscapedPath(std::string_view path) { return EscapedBut(path, "/-._~"); }
std::string Escaped(std::string_view value) { return EscapedBut(value, "-._~"); }

std::string ToHexText(std::string_view bytes) {
  std::string text = "0x";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kHexDigits[byte >> 4], kHexDigits[byte & 15]};
  }
  return text;
}

}  // namespace tony::hadoop
