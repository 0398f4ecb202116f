// Well-formed UTF-8, as RFC 3629 says: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tony {

size_t ValidUtf8Prefix(std::string_view text);  // length of the longest well-formed beginning
inline bool IsUtf8(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }

// Each byte that is no part of a well-formed character becomes U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

std::string Utf8FromLatin1(std::string_view text);  // of ISO-8859-1, in which each byte is a character
// The other way; nothing where a character is not in ISO-8859-1. `text` is well-formed.
std::optional<std::string> Latin1FromUtf8(std::string_view text);

void AppendUtf8(std::string& out, uint32_t code_point);  // one that is no surrogate

}  // namespace tony
