// Converts text into HTML. All text that TonY did not write itself goes through Escape().
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/time.h"

namespace tony {

// Returns text that is safe as content and within a quoted attribute. Control characters, except tab and line end, and
// bytes that are not UTF-8 become U+FFFD.
std::string Escape(std::string_view text);

// Returns the output of a program for a person: without the colour codes of terminals, and with "\r" as a line end.
// Other control characters and bytes that are not UTF-8 become U+FFFD.
std::string ReadableLog(std::string_view text);

// Returns <TAG class="CSS_CLASS">escaped text</TAG>.
std::string Element(std::string_view tag, std::string_view text);
std::string Element(std::string_view tag, std::string_view css_class, std::string_view text);
// `href` is relative. Both arguments are escaped.
std::string Link(std::string_view href, std::string_view text);

// The parts that all pages have in common. Pure functions.

extern const std::string_view kPageStyle;   // page.css
extern const std::string_view kPageScript;  // page.js

struct PageFrame {
  std::string title;  // plain text, not escaped
  // The relative path from this page to the folder of page.css: "", "../../../".
  std::string up;
  std::string attributes;  // attributes of <main>, for the script
};
// Returns a complete document with `content`, which is HTML, inside its <main>. Every link in the document is relative.
std::string WholePage(const PageFrame& frame, const std::string& content);

std::string TimeHtml(Instant time);                // <time>, in UTC, to the second
std::string SizeText(int64_t bytes);               // "12 kB"
std::string StateBadge(const std::string& state);  // a coloured word
// Returns "good", "bad", "busy", "warn" or "idle" for the state of a job or task.
std::string_view StateColour(std::string_view state);

// Returns a bar whose parts are pairs of a colour and an amount.
std::string PartsBar(const std::vector<std::pair<std::string, int64_t>>& parts, std::string_view label);

}  // namespace tony
