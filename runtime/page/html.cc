#include "runtime/page/html.h"

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"

namespace tony {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool IsControl(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7F; }

// Length of "\x1b[31m" and its like at the beginning of `text`; 0: none is there.
size_t ColourCode(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  size_t at = 2;
  while (at < text.size() && text[at] >= 0x20 && text[at] < 0x40) ++at;
  return at < text.size() && text[at] >= 0x40 && text[at] < 0x7F ? at + 1 : 0;
}

void AppendEscaped(std::string& out, char c) {
  switch (c) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    case '\'':
      out += "&#39;";
      return;
    default:
      out += IsControl(c) ? kReplacement : std::string_view(&c, 1);
  }
}

}  // namespace

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : ReplaceInvalidUtf8(text)) AppendEscaped(out, c);
  return out;
}

std::string ReadableLog(std::string_view text) {
  const std::string whole = ReplaceInvalidUtf8(text);
  std::string out;
  for (size_t at = 0; at < whole.size();) {
    const std::string_view rest = std::string_view(whole).substr(at);
    const size_t colour = ColourCode(rest);
    if (colour == 0 && rest.front() == '\r') {
      if (!rest.starts_with("\r\n")) out += '\n';
    } else if (colour == 0) {
      out += IsControl(rest.front()) ? kReplacement : rest.substr(0, 1);
    }
    at += colour > 0 ? colour : 1;
  }
  return out;
}

std::string Element(std::string_view tag, std::string_view text) {
  return StrCat("<", tag, ">", Escape(text), "</", tag, ">");
}

std::string Element(std::string_view tag, std::string_view css_class, std::string_view text) {
  return StrCat("<", tag, " class=\"", Escape(css_class), "\">", Escape(text), "</", tag, ">");
}

std::string Link(std::string_view href, std::string_view text) {
  return StrCat("<a href=\"", Escape(href), "\">", Escape(text), "</a>");
}

}  // namespace tony
