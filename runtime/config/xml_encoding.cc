#include "runtime/config/xml_encoding.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/base/utf8.h"
#include "runtime/os/answer_of.h"

namespace tony {
namespace {

constexpr std::string_view kIconv = "/usr/bin/iconv";
constexpr auto kLimit = std::chrono::seconds(10);
constexpr size_t kLongestDeclaration = 200;

std::string DeclaredEncoding(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) return "UTF-8";
  if (text.starts_with("\xFE\xFF") || text.starts_with(std::string_view("\0<", 2))) return "UTF-16BE";
  if (text.starts_with("\xFF\xFE") || text.starts_with(std::string_view("<\0", 2))) return "UTF-16LE";
  if (!text.starts_with("<?xml")) return "UTF-8";
  const std::string_view declaration = text.substr(0, std::min(text.find("?>"), kLongestDeclaration));
  const size_t at = declaration.find("encoding");
  const size_t open = at == declaration.npos ? at : declaration.find_first_of("'\"", at);
  const size_t close = open == declaration.npos ? open : declaration.find(declaration[open], open + 1);
  if (close == declaration.npos) return "UTF-8";
  const std::string_view name = declaration.substr(open + 1, close - open - 1);
  // UTF-16 would have begun with other bytes.
  return ToLower(name).starts_with("utf-16") ? "UTF-8" : std::string(name);
}

bool IsEncodingName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

Result<std::string> Iconv(std::string_view text, const std::string& encoding) {
  const UniqueFd memory(memfd_create("xml", MFD_CLOEXEC));
  if (!memory.valid() || write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return Error{ErrorCode::kInvalid, ErrnoText(errno)};
  const std::string file = StrCat("/proc/", getpid(), "/fd/", memory.get());
  const auto answer = AnswerOf({std::string(kIconv), "-f", encoding, "-t", "UTF-8", file}, kLimit);
  if (!answer.ok()) return Error{ErrorCode::kInvalid, answer.error().message};
  if (answer->exit_code == 0 && IsUtf8(answer->output)) return answer->output;
  return Error{ErrorCode::kInvalid, "iconv does not know it, or the text is not in it"};
}

}  // namespace

Result<std::string> XmlAsUtf8(std::string_view text, const std::string& name) {
  const std::string encoding = DeclaredEncoding(text);
  const std::string lower = ToLower(encoding);
  if (lower == "utf-8" || lower == "utf8" || lower == "us-ascii" || lower == "ascii") return std::string(text);
  if (lower == "iso-8859-1" || lower == "latin1") return Utf8FromLatin1(text);
  Result<std::string> read =
      IsEncodingName(encoding) ? Iconv(text, encoding) : Error{ErrorCode::kInvalid, "not the name of an encoding"};
  if (!read.ok())
    return Error{ErrorCode::kInvalid, StrCat(name, ": encoding \"", encoding.substr(0, 40),
                                             "\": ", read.error().message, "; write the file in UTF-8")};
  if (read->starts_with("\xEF\xBB\xBF")) read->erase(0, 3);
  return read;
}

}  // namespace tony
