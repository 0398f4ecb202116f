#include "executor/secret_mask.h"

#include <algorithm>
#include <array>
#include <set>

#include "runtime/base/strings.h"

namespace tony::executor {
namespace {

constexpr std::string_view kMask = "***";
constexpr size_t kShortestLine = 6;
// The length of the shortest base64 text that is masked. Shorter text would match by chance.
constexpr size_t kShortestBase64 = 8;
constexpr size_t kShortestByName = 8;
// The last characters of a log are held back only if they match at least this many characters of a secret.
constexpr size_t kShortestOpenEnd = 3;

using Forms = std::set<std::string>;

bool IsAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// Percent-encodes `text`. `plain` contains the characters that stay unchanged, in addition to letters and digits.
std::string UrlEncoded(std::string_view text, std::string_view plain, bool plus_for_blank, const char* digits) {
  std::string out;
  for (const char c : text) {
    if (IsAlphanumeric(c) || plain.find(c) != std::string_view::npos) {
      out += c;
    } else if (c == ' ' && plus_for_blank) {
      out += '+';
    } else {
      out += {'%', digits[static_cast<unsigned char>(c) >> 4], digits[static_cast<unsigned char>(c) & 15]};
    }
  }
  return out;
}

std::string UrlDecoded(std::string_view text) {
  std::string out;
  const auto digit = [&](size_t at) {
    const size_t value = std::string_view("0123456789abcdef").find(at < text.size() ? text[at] | 0x20 : ' ');
    return value == std::string_view::npos ? -1 : static_cast<int>(value);
  };
  for (size_t at = 0; at < text.size(); ++at) {
    const bool is_escape = text[at] == '%' && digit(at + 1) >= 0 && digit(at + 2) >= 0;
    out += is_escape ? static_cast<char>(digit(at + 1) * 16 + digit(at + 2)) : text[at];
    if (is_escape) at += 2;
  }
  return out;
}

// Returns the text escaped as in JSON. Python's repr() escapes these characters in the same way.
std::string JsonEscaped(std::string_view text, bool escapes_slash) {
  std::string out;
  for (const char c : text) {
    const size_t named = std::string_view("\b\f\n\r\t\"\\").find(c);
    if (named != std::string_view::npos) {
      out += {'\\', "bfnrt\"\\"[named]};
    } else if (c == '/' && escapes_slash) {
      out += "\\/";
    } else if (static_cast<unsigned char>(c) < ' ') {
      out += StrCat("\\u00", ToHex({&c, 1}));
    } else {
      out += c;
    }
  }
  return out;
}

// Escapes characters beyond ASCII as in JSON, e.g. as \u00e9. If `text` is not UTF-8, the result is meaningless. This
// does no harm, because no program writes such a result, and nothing in a log equals it.
std::string AsciiJson(std::string_view text) {
  std::string out;
  const auto escape = [&](uint32_t unit) {
    const char bytes[2] = {static_cast<char>(unit >> 8), static_cast<char>(unit)};
    out += "\\u" + ToHex({bytes, 2});
  };
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at++]);
    if (first < 0x80) {
      out += static_cast<char>(first);
      continue;
    }
    uint32_t point = first >= 0xF0 ? first & 7u : first >= 0xE0 ? first & 15u : first & 31u;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80)
      point = point << 6 | (static_cast<unsigned char>(text[at++]) & 63u);
    if (point < 0x10000) {
      escape(point);
    } else {
      escape(0xD800 + ((point - 0x10000) >> 10));
      escape(0xDC00 + ((point - 0x10000) & 0x3FF));
    }
  }
  return out;
}

// Base64 encodes bytes in groups of three. Returns the base64 characters that depend on `text` alone, if `before` bytes
// (0 to 2) precede `text` in its first group. `is_last`: no byte follows, so the characters at the end of `text` are
// included.
std::string Base64Amid(std::string_view text, size_t before, bool is_last, std::string_view alphabet) {
  const std::string bytes = std::string(before, '\0') + std::string(text);
  std::string out;
  for (size_t bit = 0; bit + (is_last ? 1 : 6) <= bytes.size() * 8; bit += 6) {
    unsigned window = static_cast<unsigned char>(bytes[bit / 8]) << 8;
    if (bit / 8 + 1 < bytes.size()) window |= static_cast<unsigned char>(bytes[bit / 8 + 1]);
    out += alphabet[window >> (10 - bit % 8) & 63];
  }
  out.erase(0, before == 0 ? 0 : before + 1);
  return out;
}

void AddEncoded(std::string_view value, Forms& forms) {
  if (value.size() < kShortestSecret) return;
  forms.emplace(value);
  for (const std::string_view plain : {"-._~", "-._~/", "-._~!'()*", "-._*"})
    for (const bool plus : {false, true})
      for (const char* digits : {"0123456789ABCDEF", "0123456789abcdef"})
        forms.insert(UrlEncoded(value, plain, plus, digits));
  for (const bool slash : {false, true}) {
    forms.insert(JsonEscaped(value, slash));
    forms.insert(AsciiJson(JsonEscaped(value, slash)));
  }
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  for (const char* last : {"+/", "-_"}) {
    for (const size_t before : {0, 1, 2}) {
      for (const bool is_last : {false, true}) {
        const std::string form = Base64Amid(value, before, is_last, alphabet + last);
        if (form.size() >= kShortestBase64) forms.insert(form);
      }
    }
  }
}

// Returns the password in a URL such as "postgresql://train:PASSWORD@db/x".
std::string_view PasswordIn(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  const std::string_view authority = url.substr(scheme + 3, url.find_first_of("/?#", scheme + 3) - scheme - 3);
  const size_t at = authority.rfind('@'), colon = authority.find(':');
  if (at == std::string_view::npos || colon > at) return {};
  return authority.substr(colon + 1, at - colon - 1);
}

bool IsSecretByName(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWords = {"PASSWORD", "PASSWD", "SECRET", "TOKEN", "KEY", "APIKEY"};
  // Without a "_", npos + 1 is 0, and the whole name is the word.
  std::string_view word = name.substr(name.rfind('_') + 1);
  return std::ranges::any_of(kWords, [&](std::string_view secret) { return ToLower(word) == ToLower(secret); });
}

}  // namespace

SecretMask::SecretMask(const std::vector<std::string>& values) {
  Forms forms;
  for (const std::string& value : values) {
    AddEncoded(value, forms);
    AddEncoded(Trim(value), forms);
    AddEncoded(PasswordIn(value), forms);
    AddEncoded(UrlDecoded(PasswordIn(value)), forms);
    for (const std::string& line : Split(value, '\n'))
      if (Trim(line).size() >= kShortestLine) forms.emplace(Trim(line));
  }
  forms_.assign(forms.begin(), forms.end());
  for (const std::string& form : forms_) longest_ = std::max(longest_, form.size());
}

std::vector<SecretMask::Span> SecretMask::Find(std::string_view text) const {
  std::vector<Span> found;
  for (const std::string& form : forms_)
    for (size_t at = text.find(form); at != std::string_view::npos; at = text.find(form, at + 1))
      found.push_back({at, at + form.size()});
  std::ranges::sort(found, {}, &Span::begin);
  std::vector<Span> disjoint;
  for (const Span& span : found) {
    if (disjoint.empty() || span.begin > disjoint.back().end) {
      disjoint.push_back(span);
    } else {
      disjoint.back().end = std::max(disjoint.back().end, span.end);
    }
  }
  return disjoint;
}

std::string SecretMask::Masked(std::string_view text) const {
  std::string out;
  size_t done = 0;
  for (const Span& span : Find(text)) {
    out += StrCat(text.substr(done, span.begin - done), kMask);
    done = span.end;
  }
  return out += text.substr(done);
}

void SecretMask::MaskInPlace(std::string& text) const {
  for (const Span& span : Find(text))
    for (size_t at = span.begin; at < span.end; ++at)
      if (text[at] != '\n') text[at] = '*';
}

size_t SecretMask::UnfinishedSecretAtEnd(std::string_view text) const {
  size_t open = 0;
  for (const std::string& form : forms_)
    for (size_t size = std::min(form.size() - 1, text.size()); size >= kShortestOpenEnd && size > open; --size)
      if (text.ends_with(std::string_view(form).substr(0, size))) open = size;
  return open;
}

std::vector<std::string> SecretValues(const std::vector<std::string>& secrets, const std::vector<std::string>& others) {
  std::vector<std::string> values;
  const auto add = [&](const std::string& variable, bool is_secret) {
    const size_t equals = std::min(variable.find('='), variable.size());
    const std::string value = variable.substr(std::min(equals + 1, variable.size()));
    if (is_secret || (IsSecretByName(variable.substr(0, equals)) && value.size() >= kShortestByName))
      values.push_back(value);
  };
  for (const std::string& variable : secrets) add(variable, true);
  for (const std::string& variable : others) add(variable, false);
  return values;
}

}  // namespace tony::executor
