// Text into HTML. Everything that is not written by us goes through Escape().
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/time.h"

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

// What all pages have in common. Pure.

extern const std::string_view kPageStyle;   // page.css
extern const std::string_view kPageScript;  // page.js

struct PageFrame {
  std::string title;       // not escaped
  std::string up;          // from this page to the folder of page.css: "", "../../../"
  std::string attributes;  // of <main>, for the script
};
// A whole document with `content`, which is HTML, in its <main>. Every link in it is relative.
std::string WholePage(const PageFrame& frame, const std::string& content);

std::string TimeHtml(Instant time);                    // <time>, in UTC, to the second
std::string SizeText(int64_t bytes);                   // "12 kB"
std::string StateBadge(const std::string& state);      // a coloured word
std::string_view StateColour(std::string_view state);  // "good", "bad", "busy", "warn", "idle": of jobs and tasks

// A bar of parts: (colour, amount).
std::string PartsBar(const std::vector<std::pair<std::string, int64_t>>& parts, std::string_view label);

}  // namespace tony
