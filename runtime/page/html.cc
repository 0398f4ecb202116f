#include "runtime/page/html.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool IsControl(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7F; }

// Returns the length of a code such as "\x1b[31m" at the beginning of `text`; 0 if the text begins with other
// characters.
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

std::string PercentEncoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : StrCat("%", ToHex(std::string_view(&c, 1)));
  }
  return out;
}

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
  const std::string exact = ToIso8601(time);  // e.g. 2026-11-21T09:30:15.123Z
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
  // Upper and lower case differ here. "KILLED" is the state of a job that a user killed, and gets a warning colour.
  // "killed" is the state of a task that was stopped because of another task, and does not get this colour.
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

// The page is complete without the script. The script replaces the job's page when the job's status changes, and
// appends new lines to a log.
const std::string_view kPageScript = R"js('use strict';
(() => {
  const main = () => document.querySelector('main');
  const note = document.getElementById('note');
  const say = (text) => { if (note.textContent !== text) note.textContent = text; };
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  const seen = () => new Promise((done) => {
    if (!document.hidden) return done();
    document.addEventListener('visibilitychange', done, {once: true});
  });

  // When the job has ended, YARN's proxy redirects to another page, for example the portal's.
  class Ended extends Error {}

  // Calls look() again and again until it returns false. If look() fails, a note reports the failure, and the call is
  // repeated.
  async function repeat(look, pause, ended) {
    for (;;) {
      await seen();
      try {
        if (!await look()) return;
        say('');
        if (pause()) await sleep(pause());
      } catch (failure) {
        if (failure instanceof Ended) return ended();
        say('Not connected: the job has ended, or its application master is being replaced. Trying again.');
        await sleep(3000);
      }
    }
  }

  async function get(path, query) {
    const url = new URL(path, location.href);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const answer = await fetch(url, {cache: 'no-store', redirect: 'manual'});
    if (answer.type === 'opaqueredirect') throw new Ended();
    if (!answer.ok) throw new Error(answer.status);
    return answer;
  }

  const pause = () => Number(main().dataset.pause);

  async function job() {
    if (main().dataset.live !== '1') return false;
    const answer = await get(location.search || './', {since: main().dataset.seq, timeout: pause() ? 0 : 10});
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    main().replaceWith(document.adoptNode(fresh.querySelector('main')));
    document.title = fresh.title;
    return true;
  }

  async function log() {
    const pre = document.getElementById('log');
    const answer = await get(pre.dataset.text, {cursor: pre.dataset.cursor});
    const text = await answer.text();
    const low = innerHeight + scrollY >= document.body.scrollHeight - 40;
    pre.append(text);
    pre.dataset.cursor = answer.headers.get('X-Tony-Cursor');
    if (text && low) scrollTo(0, document.body.scrollHeight);
    return true;
  }

  const pre = document.getElementById('log');
  // The job's page is requested again at once if pause() is 0, because the server delays its answer until the status
  // changes. A browser that paused could miss the end of the job.
  if (main().dataset.live === '1') repeat(job, pause, () => location.reload());
  if (pre && pre.dataset.cursor) {
    scrollTo(0, document.body.scrollHeight);
    repeat(log, () => 2000,
           () => say('The job has ended. This page shows the last part of the log; tony logs shows the whole log.'));
  }
})();
)js";

const std::string_view kPageStyle = R"css(:root {
  --ink: #1d2430; --soft: #5d6778; --line: #e2e6ec; --paper: #ffffff; --ground: #f5f7f9; --link: #1f5fbf;
  --good: #1c7c45; --good-ground: #e0f4e8; --bad: #b3261e; --bad-ground: #fdeceb; --busy: #1f5fbf;
  --busy-ground: #e4eefc; --warn: #8f5a00; --warn-ground: #fdf1da; --idle: #5d6778; --idle-ground: #e9ecf0; --lost: #c98a86;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #dfe5ee; --soft: #98a3b5; --line: #2c3440; --paper: #171c24; --ground: #0f1319; --link: #82b1ff;
    --good: #6fd198; --good-ground: #143423; --bad: #ff8f87; --bad-ground: #3b1917; --busy: #82b1ff;
    --busy-ground: #172b4a; --warn: #f2bd62; --warn-ground: #3a2a0d; --idle: #98a3b5; --idle-ground: #262d38; --lost: #7a4a47;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 84rem; margin: 0 auto; padding: 1.5rem 1.5rem 3rem; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus { text-decoration: underline; }
h1 { margin: 0 0 .75rem; font-size: 1.5rem; line-height: 1.3; overflow-wrap: anywhere; }
h2 { margin: 0 0 .75rem; font-size: 1.05rem; }
h2 small { color: var(--soft); font-weight: normal; }
h3 { margin: 1rem 0 .25rem; font-size: .85rem; color: var(--soft); font-weight: 600; }
code, pre, .task, .who {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .87em;
}
pre { margin: 0; padding: .75rem 1rem; background: var(--ground); border: 1px solid var(--line); border-radius: 6px;
      overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
header, section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem;
                  margin-bottom: 1rem; }
.report { border-left: 5px solid var(--bad); }
.report.warn { border-left-color: var(--warn); }
.report h2 { color: var(--bad); }
.report.warn h2 { color: var(--warn); }
.cause { font-size: 1.05rem; font-weight: 600; margin: 0 0 .75rem; overflow-wrap: anywhere; }
.banner { margin: 0 0 1rem; padding: .6rem 1rem; border-radius: 8px; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 0 0 .75rem; }
.facts dt { font-size: .78rem; color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.counts, .links { margin: .3rem 0 .75rem; color: var(--soft); font-size: .9rem; }
header .counts { margin-bottom: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .9rem; }
th { text-align: left; font-weight: 600; font-size: .78rem; color: var(--soft); white-space: nowrap; }
th, td { padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: break-word; }
td a, td time, .task { white-space: nowrap; }
tbody tr:last-child td { border-bottom: 0; }
.badge { display: inline-block; padding: 0 .55em; border-radius: 1em; font-size: .8rem; font-weight: 600;
         line-height: 1.6; vertical-align: middle; white-space: nowrap; }
.good { color: var(--good); background: var(--good-ground); fill: var(--good); }
.bad { color: var(--bad); background: var(--bad-ground); fill: var(--bad); }
.busy { color: var(--busy); background: var(--busy-ground); fill: var(--busy); }
.warn { color: var(--warn); background: var(--warn-ground); fill: var(--warn); }
.idle { color: var(--idle); background: var(--idle-ground); fill: var(--idle); }
section.report { color: inherit; background: var(--paper); }
.bar { display: block; width: 100%; height: 8px; border-radius: 4px; overflow: hidden; background: var(--idle-ground); }
.key { display: inline-block; width: .7em; height: .7em; border-radius: 2px; }
.key.good { background: var(--good); } .key.bad { background: var(--bad); } .key.busy { background: var(--busy); }
.key.warn { background: var(--warn); } .key.idle { background: var(--idle); }
.lane { display: flex; align-items: center; gap: .75rem; margin: .25rem 0; }
.lane .who { flex: 0 0 7rem; overflow: hidden; text-overflow: ellipsis; }
.lane .bar { height: 12px; }
.lost { fill: var(--lost); }
.key.lost { background: var(--lost); }
.ends { display: flex; justify-content: space-between; margin: 0 0 .5rem 7.75rem; color: var(--soft); font-size: .78rem; }
.grid { display: flex; flex-wrap: wrap; gap: 3px; }
.grid a, .grid i { width: 14px; height: 14px; border-radius: 3px; background: currentColor; }
.search { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: end; margin: 0 0 1rem; }
.search label { font-size: .78rem; color: var(--soft); }
input, select, button { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line);
                        border-radius: 6px; padding: .25rem .5rem; }
.search input, .search select { display: block; max-width: 11rem; }
.id { color: var(--soft); overflow-wrap: anywhere; }
.none { color: var(--soft); font-style: italic; }
.compared table { table-layout: fixed; }
.compared th, .compared td { white-space: normal; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  .lane .who { flex-basis: 5rem; }
  .ends { margin-left: 0; }
  main { padding: .75rem .75rem 2rem; }
  .jobs thead { display: none; }
  .jobs tr { display: block; position: relative; padding: .5rem 0 .5rem 2rem; border-bottom: 1px solid var(--line); }
  .jobs td { display: inline-block; border: 0; padding: .1rem .75rem .1rem 0; overflow-wrap: anywhere; }
  .jobs td:nth-child(2), .jobs td:last-child { display: block; }
  .jobs .choice { position: absolute; left: 0; top: .5rem; }
}
footer { color: var(--soft); font-size: .85rem; }
#note { position: fixed; right: 1rem; bottom: 1rem; margin: 0; padding: .3rem .8rem; border-radius: 6px;
        background: var(--warn-ground); color: var(--warn); }
#note:empty { display: none; }
)css";

}  // namespace tony
