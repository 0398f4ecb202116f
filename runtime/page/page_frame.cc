#include "runtime/page/page_frame.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/page/html.h"

namespace tony {

std::string WholePage(const PageFrame& frame, const std::string& content) {
  return StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n",
      Element("title", frame.title), "\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"",
      frame.up, "page.css\">\n<script src=\"", frame.up,
      "page.js\" defer></script>\n</head>\n<body>\n<p id=\"note\" role=\"status\"></p>\n<main", frame.attributes, ">\n",
      content, "</main>\n</body>\n</html>\n");
}

std::string TimeHtml(Instant time) {
  const std::string exact = ToIso8601(time);  // 2026-11-21T09:30:15.123Z
  return StrCat("<time datetime=\"", exact, "\" title=\"", exact, "\">", exact.substr(0, 10), " ", exact.substr(11, 8),
                "</time>");
}

std::string SizeText(int64_t bytes) {
  if (bytes < 1000) return StrCat(bytes, " bytes");
  if (bytes < 10'000'000) return StrCat((bytes + 500) / 1000, " kB");
  return StrCat((bytes + 500'000) / 1'000'000, " MB");
}

std::string_view StateColour(std::string_view state) {
  const std::string word = ToLower(state);
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::count(words, word) > 0;
  };
  if (word == "succeeded") return "good";
  if (is_one_of({"failed", "lost"})) return "bad";
  if (word == "running") return "busy";
  // A job that somebody killed, not a task that was stopped because of another.
  if (state == "KILLED" || is_one_of({"silent", "backoff", "restarting", "stopping"})) return "warn";
  return "idle";
}

std::string StateBadge(const std::string& state) {
  return Element("span", StrCat("badge ", StateColour(state)), state);
}

std::string PartsBar(const std::vector<std::pair<std::string, int64_t>>& parts, std::string_view label) {
  constexpr int64_t kWidth = 10000;
  int64_t all = 0, before = 0;
  for (const auto& [colour, amount] : parts) all += amount;
  std::string bar = StrCat("<svg class=\"bar\" role=\"img\" aria-label=\"", Escape(label), "\" viewBox=\"0 0 ", kWidth,
                           " 10\" preserveAspectRatio=\"none\">");
  for (const auto& [colour, amount] : parts) {
    const int64_t x = all == 0 ? 0 : before * kWidth / all;
    before += amount;
    const int64_t end = all == 0 ? 0 : before * kWidth / all;
    if (end > x) bar += StrCat("<rect class=\"", colour, "\" x=\"", x, "\" width=\"", end - x, "\" height=\"10\"/>");
  }
  return bar + "</svg>\n";
}

}  // namespace tony
