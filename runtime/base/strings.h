// Small string functions that std lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tony {

namespace internal {
inline void AppendPiece(std::string& out, std::string_view piece) { out.append(piece); }
inline void AppendPiece(std::string& out, char piece) { out.push_back(piece); }
template <class Number>
requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, char> &&
         !std::is_same_v<Number, bool>) void AppendPiece(std::string& out, Number piece) {
  out.append(std::to_string(piece));
}
}  // namespace internal

template <class... Pieces>
std::string StrCat(const Pieces&... pieces) {
  std::string out;
  (internal::AppendPiece(out, pieces), ...);
  return out;
}

// Returns all pieces, empty ones too: "a,,b" -> {"a", "", "b"}; "" -> {}.
std::vector<std::string> Split(std::string_view text, char separator);
std::vector<std::string> SplitAtAny(std::string_view text, std::string_view separators);  // empty pieces are left out
std::string_view Trim(std::string_view text);  // without surrounding blanks and line ends
std::string ToLower(std::string_view text);
std::string Join(const std::vector<std::string>& pieces, std::string_view separator);
std::optional<int64_t> ParseInt(std::string_view text);     // the whole text must be decimal
std::string Counted(int64_t count, std::string_view noun);  // e.g. "1 task", "2 tasks"
std::string ToHex(std::string_view bytes);                  // e.g. "0aff"
std::string ErrnoText(int error);                           // e.g. "no such file or directory"

// Returns the text as a word of a POSIX shell's command line, in quotes if it needs them.
std::string ShellWord(std::string_view text);

// Functions for well-formed UTF-8 as defined in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.

size_t ValidUtf8Prefix(std::string_view text);  // length of the longest well-formed beginning
inline bool IsUtf8(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }
// Returns the first line of a message of another program, which may end with a stack trace. Control characters are
// removed, and the result has at most 1000 bytes.
std::string FirstLine(std::string_view text);

// Replaces each byte that is not part of a well-formed character by U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

// Converts from ISO-8859-1, in which each byte is a character.
std::string Utf8FromLatin1(std::string_view text);
// Converts to ISO-8859-1; nullopt if ISO-8859-1 lacks a character of the text. `text` must be well-formed.
std::optional<std::string> Latin1FromUtf8(std::string_view text);

void AppendUtf8(std::string& out, uint32_t code_point);  // `code_point` must not be a surrogate

// Functions for JSON that is composed as text.

// Appends the text as a JSON string, escaped and with quotes. Bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);
std::string JsonString(std::string_view text);
// Returns the JSON object `object` with `fields` (name -> JSON value) added at its end.
std::string WithFields(std::string object, const std::map<std::string, std::string>& fields);

}  // namespace tony
