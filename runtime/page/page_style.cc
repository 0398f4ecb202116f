#include "runtime/page/page_frame.h"

namespace tony {

const std::string_view kPageStyle = R"css(:root {
  --ink: #1d2430; --soft: #5d6778; --line: #e2e6ec; --paper: #ffffff; --ground: #f5f7f9; --link: #1f5fbf;
  --good: #1c7c45; --good-ground: #e0f4e8; --bad: #b3261e; --bad-ground: #fdeceb; --busy: #1f5fbf;
  --busy-ground: #e4eefc; --warn: #8f5a00; --warn-ground: #fdf1da; --idle: #5d6778; --idle-ground: #e9ecf0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #dfe5ee; --soft: #98a3b5; --line: #2c3440; --paper: #171c24; --ground: #0f1319; --link: #82b1ff;
    --good: #6fd198; --good-ground: #143423; --bad: #ff8f87; --bad-ground: #3b1917; --busy: #82b1ff;
    --busy-ground: #172b4a; --warn: #f2bd62; --warn-ground: #3a2a0d; --idle: #98a3b5; --idle-ground: #262d38;
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
code, pre, .task {
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
footer { color: var(--soft); font-size: .85rem; }
#note { position: fixed; right: 1rem; bottom: 1rem; margin: 0; padding: .3rem .8rem; border-radius: 6px;
        background: var(--warn-ground); color: var(--warn); }
#note:empty { display: none; }
)css";

}  // namespace tony
