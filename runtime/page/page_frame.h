// What all pages have in common. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/time.h"
#include "runtime/job/job_status.h"

namespace tony {

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
