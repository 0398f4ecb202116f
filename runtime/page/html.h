// Text into HTML. Everything that is not written by us goes through Escape().
#pragma once

#include <string>
#include <string_view>

namespace tony {

// Safe as content and within a quoted attribute. Control characters but tab and line end, and bytes that are no UTF-8,
// become U+FFFD.
std::string Escape(std::string_view text);

// What a program wrote, as a person wants to read it: without the colour codes of terminals, "\r" as a line end, other
// control characters and bytes that are no UTF-8 as U+FFFD.
std::string ReadableLog(std::string_view text);

// <TAG CLASS>escaped text</TAG>
std::string Element(std::string_view tag, std::string_view text);
std::string Element(std::string_view tag, std::string_view css_class, std::string_view text);
// `href` is relative; it is escaped too.
std::string Link(std::string_view href, std::string_view text);

}  // namespace tony
