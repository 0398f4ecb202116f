// Converts text into HTML. All text that TonY did not write itself goes through Escape().
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/time.h"

namespace tony {

// Returns `text` escaped for the content of an element or for a quoted attribute. U+FFFD replaces bytes that are not
// UTF-8, and control characters other than tab and line end.
std::string Escape(std::string_view text);

// Returns the output of a program in a readable form: without the colour codes of terminals, and with a line end in
// place of each "\r". U+FFFD replaces other control characters and bytes that are not UTF-8.
std::string ReadableLog(std::string_view text);

// Returns <TAG>text</TAG> or <TAG class="CSS_CLASS">text</TAG>, with the text escaped.
std::string Element(std::string_view tag, std::string_view text);
std::string Element(std::string_view tag, std::string_view css_class, std::string_view text);
// Returns a link to `href`, a relative address. Both arguments are escaped.
std::string Link(std::string_view href, std::string_view text);

// Returns the text as one component of a path, or as a name or value of a query: all except letters, digits and -._~ is
// percent-encoded.
std::string PercentEncoded(std::string_view text);

// The parts that all pages have in common. Pure functions.

extern const std::string_view kPageStyle;   // page.css
extern const std::string_view kPageScript;  // page.js

struct PageFrame {
  std::string title;  // plain text, not escaped
  // The relative path from this page to the folder of page.css, e.g. "../../../".
  std::string up;
  std::string attributes;  // attributes of <main>, for the script
};
// Returns a complete document with `content`, which is HTML, inside its <main>. Every link in the document is relative.
std::string WholePage(const PageFrame& frame, const std::string& content);

std::string TimeHtml(Instant time);                // <time> element, UTC, whole seconds
std::string SizeText(int64_t bytes);               // e.g. "12 kB"
std::string StateBadge(const std::string& state);  // a coloured word
// Returns "good", "bad", "busy", "warn" or "idle" for the state of a job or task.
std::string_view StateColour(std::string_view state);

// Returns a bar with one segment for each pair of a colour and an amount. `label` is the bar's text for screen readers.
std::string PartsBar(const std::vector<std::pair<std::string, int64_t>>& parts, std::string_view label);

}  // namespace tony
